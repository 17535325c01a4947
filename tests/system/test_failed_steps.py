"""A failed step does not count as done: tests of the package's scripts."""
import os
import subprocess

import pytest

from support.stack import ROOT
from support.wait import wait_until

POSTINST = (ROOT / "packaging/deb/postinst").read_text()


@pytest.fixture
def run(tmp_path):
    """Returns a function that runs `script`, which can call the functions of postinst. These use tmp_path in place of
    /etc/apientidades. Each of `commands` is a shell script that replaces the system's command of that name."""
    def of(script, **commands):
        for name, body in commands.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
            (tmp_path / name).chmod(0o755)
        functions = POSTINST.partition("case $1 in")[0].replace("etc=/etc/apientidades", f"etc={tmp_path}")
        return subprocess.run(["sh", "-c", functions + script, "postinst", "configure"], capture_output=True, text=True, timeout=20,
                              env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    return of


@pytest.mark.parametrize("command, body", [
    ("head", "exit 1"), ("head", "echo"), ("base64", "exit 1"), ("base64", "exit 0"), ("tr", "exit 1"), ("sha256sum", "exit 1")])
@pytest.mark.parametrize("kind", ["new_key", "new_password"])
def test_no_secret_is_made_of_what_is_not_random(run, tmp_path, kind, command, body):
    result = run(f"make_secret secret 0600 \"$(id -gn)\" {kind}", **{command: body})
    secret = tmp_path / "secret"
    if result.returncode == 0:  # this kind of secret does not need the command
        assert len(secret.read_text()) > 24
    else:
        assert not secret.exists()
    if command in ("head", "base64"):
        assert result.returncode != 0


def test_a_secret_is_one_line_and_each_is_another(run, tmp_path):
    result = run('for n in 1 2; do make_secret "p$n" 0600 "$(id -gn)" new_password; make_secret "k$n" 0600 "$(id -gn)" new_key; done')
    assert result.returncode == 0, result.stderr
    texts = [(tmp_path / name).read_text() for name in ("p1", "p2", "k1", "k2")]
    assert len(set(texts)) == 4 and all(text.count("\n") == 1 and len(text) > 30 for text in texts)


def test_what_runs_cannot_be_told(run):
    result = run("restart_running 'apientidades-fcgi@*.service'", systemctl="exit 1", **{"deb-systemd-invoke": "echo restarted"})
    assert "does not tell" in result.stderr and "restarted" not in result.stdout


def test_a_restart_that_fails_is_told(run):
    result = run("restart_running x", systemctl="echo one.service loaded; echo two.service loaded", **{"deb-systemd-invoke": "exit 1"})
    assert result.returncode != 0 and result.stderr.count("did not restart") == 1  # the second one keeps running


@pytest.mark.parametrize("content", ["", "x", "3", "3 x", "a b c", "1e9 2", "-1 -1"])
def test_a_count_of_failures_that_was_cut_short_is_a_first_one(tmp_path, content):
    (tmp_path / "failures.unit").write_text(content)
    result = subprocess.run(["sh", ROOT / "packaging/back-off", "unit"], capture_output=True, text=True, timeout=20,
                            env={**os.environ, "RUNTIME_DIRECTORY": str(tmp_path), "SERVICE_RESULT": "signal", "EXIT_STATUS": "9"})
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert (tmp_path / "failures.unit").read_text().startswith("1 ")


@pytest.mark.parametrize("step, cases", [("true", ["fine"]), ("die 'no mirror'", ["fine", "1 bad 1"])])
def test_a_step_beside_the_others_that_fails_counts_and_is_shown(tmp_path, step, cases):
    """`joined` shows what the step has printed; a step that did not end well is a failed suite."""
    script = f"""
        set -euo pipefail
        RESULTS={tmp_path}
        die() {{ echo "died: $*" >&2; exit 1; }}
        case_of() {{ echo "$1 $2"; }}
        write_suite() {{ echo "$2 $3"; }}
        source {ROOT}/scripts/dev/beside.sh
        bad() {{ echo begun; {step}; }}
        beside bad bad
        echo fine
        joined bad"""
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=20)
    assert (result.returncode, result.stdout.splitlines()) == (0, cases)
    assert result.stderr.startswith("begun\n") and ("died: no mirror" in result.stderr) == (len(cases) > 1)


def test_what_runs_beside_ends_with_the_run(tmp_path):
    """The step and what it has started end, however the run ends."""
    script = f"""
        RESULTS={tmp_path}
        source {ROOT}/scripts/dev/beside.sh
        step() {{ sleep 600 & echo "$!"; wait; }}
        beside step step
        until [[ -s {tmp_path}/step.log ]]; do :; done
        exit 7"""
    assert subprocess.run(["bash", "-c", script], timeout=20).returncode == 7
    started = int((tmp_path / "step.log").read_text())
    wait_until(lambda: not os.path.exists(f"/proc/{started}"), what="the step's process to end")
