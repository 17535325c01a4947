"""Runs the commands of web/docs/primeros-pasos.md, the first page for newcomers. They are unchanged except for what each reader
replaces: names, port, token, the webhook's id and the paths of the certificate."""
import contextlib
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from support.stack import free_port
from support.wait import wait_until

PAGE = "/apientidades/docs/primeros-pasos.md"
HOST = "avisos.receptor.test"  # the stack's dispatcher dials 127.0.0.1 for it


class Newcomer:
    """A person with two terminals in one folder. Without a real certificate and DNS, ~/.curlrc tells curl which CA to trust and
    which address HOST has."""

    def __init__(self, stack, token: str, folder: Path):
        self.stack, self.token, self.folder, self.port = stack, token, folder, free_port()
        page = stack.api("GET", PAGE).text
        self.blocks = [self._as_mine(block) for block in re.findall(r"```sh\n(.*?)```", page, re.S)]
        self.typed = folder / "typed"  # the command lines of curl, which `ps` shows to every user of the machine
        (folder / "bin").mkdir()
        (folder / "bin/curl").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{self.typed}\nexec /usr/bin/curl "$@"\n')
        (folder / "bin/curl").chmod(0o755)
        (folder / ".curlrc").write_text(f'cacert = "{stack.env["CA_CERT"]}"\nresolve = "{HOST}:{self.port}:127.0.0.1"\n')

    def _as_mine(self, block: str) -> str:
        mine = {"https://apientidades.ejemplo.es": self.stack.env["BASE_URL"], "apie_…": self.token, "integracion.ejemplo.es:8443": f"{HOST}:{self.port}",
                "--puerto 8443": f"--puerto {self.port}", "/etc/letsencrypt/live/integracion.ejemplo.es/fullchain.pem": self.stack.env["RECEIVER_CERT"],
                "/etc/letsencrypt/live/integracion.ejemplo.es/privkey.pem": self.stack.env["RECEIVER_KEY"]}
        for theirs, own in mine.items():
            block = block.replace(theirs, own)
        return block

    def block(self, words: str) -> str:
        """Returns the one block that contains `words`."""
        found = [block for block in self.blocks if words in block]
        assert len(found) == 1, (words, self.blocks)
        return found[0]

    def types(self, words: str) -> str:
        """Runs a block in the first terminal, after the definitions of step 1; returns its output."""
        done = subprocess.run(["bash", "-c", f"{self.variables}\n{self.block(words)}"], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 0 and not done.stderr, done
        return done.stdout

    @property
    def variables(self) -> str:
        return self.block("Bearer ").partition("\napi \"")[0]

    @property
    def environment(self) -> dict:
        return {"HOME": str(self.folder), "PATH": f"{self.folder}/bin:/usr/bin:/bin", "PYTHONUNBUFFERED": "1", "LANG": "C.UTF-8"}

    @contextlib.contextmanager
    def receiver(self, *options: str):
        """Runs the page's receiver in the second terminal, until Ctrl-C; yields a function that reads the screen."""
        screen = self.folder / "screen"
        with screen.open("w") as output:
            command = shlex.split(self.block("python3 apientidades-receptor").replace("\\\n", ""))
            process = subprocess.Popen(
                [*command, *options], cwd=self.folder, env=self.environment, stdout=output, stderr=output,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # pytest ignores SIGINT if a shell started it with `&`
            try:
                wait_until(lambda: "Escuchando" in screen.read_text() or process.poll() is not None, what="the receiver to listen")
                assert process.poll() is None, screen.read_text()
                yield screen.read_text
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(30)


@pytest.fixture
def newcomer(new_entity, stack, tmp_path):
    return Newcomer(stack, new_entity().token, tmp_path)


def test_from_the_token_to_a_verified_notification(newcomer):
    assert "evaluacion.abierta" in newcomer.types("Bearer ")
    newcomer.types("curl -sSO")
    newcomer.types("openssl")
    with newcomer.receiver() as screen:
        assert newcomer.types('"secreto": "').startswith('{"id":')
        assert "encolado para 1 webhook" in newcomer.types("/webhooks/test")
        wait_until(lambda: "respuesta      204" in screen(), what="the test event on the screen")
        assert re.search(r"ES UNA PRUEBA\n.*firma +correcta\n", screen(), re.S)
        assert newcomer.types("webhook-signature") == "401\n"
        wait_until(lambda: "RECHAZADO" in screen(), what="the forged notification on the screen")
    for name in (".apie-token", "secreto"):
        assert (newcomer.folder / name).stat().st_mode & 0o777 == 0o600
    typed = newcomer.typed.read_text()
    assert "/webhooks" in typed and newcomer.token not in typed and (newcomer.folder / "secreto").read_text().strip() not in typed


def test_what_fails_comes_again_and_is_told(newcomer):
    newcomer.types("curl -sSO")
    newcomer.types("openssl")
    with newcomer.receiver("--fallar", "500") as screen:
        id = re.match(r'\{"id":(\d+),', newcomer.types('"secreto": "')).group(1)
        newcomer.types("/webhooks/test")
        wait_until(lambda: len(re.findall(r"webhook-id +(msg_\S+)", screen())) > 1, what="the notification to come again")
        assert len(set(re.findall(r"webhook-id +(msg_\S+)", screen()))) == 1
        newcomer.blocks = [block.replace("/webhooks/1/", f"/webhooks/{id}/") for block in newcomer.blocks]
        wait_until(lambda: "El receptor respondió 500" in newcomer.types("/entregas"), what="the failure among the deliveries")
