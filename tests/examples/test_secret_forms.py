"""Which key each official library of Standard Webhooks makes of a secret: tests/unit/secret_forms.json says what they do."""
import base64
import hashlib
import hmac
import json
import os
import subprocess

import pytest

from support.example_receivers import PREPARED, require
from support.stack import ROOT

if "EXAMPLES" not in os.environ:
    pytest.skip("./dev test --examples runs these", allow_module_level=True)

FORMS = json.loads((ROOT / "tests/unit/secret_forms.json").read_text())["forms"]
PROGRAMS = {  # each prints, for each secret, the key in hexadecimal, or null: the library refuses the secret
    "python": """
import json, sys
from standardwebhooks.webhooks import Webhook
def key(secret):
    try:
        return Webhook(secret)._whsecret.hex()
    except Exception:
        return None
print(json.dumps([key(secret) for secret in json.load(sys.stdin)]))""",
    "javascript": """
const { Webhook } = require("standardwebhooks");
const key = (secret) => { try { return Buffer.from(new Webhook(secret).key).toString("hex"); } catch { return null; } };
console.log(JSON.stringify(JSON.parse(require("fs").readFileSync(0)).map(key)));""",
    "java": """
import com.google.gson.*;
import com.standardwebhooks.Webhook;
import java.util.*;
public class Keys {
    static String key(String secret) {
        try {
            var field = Webhook.class.getSuperclass() == Object.class ? Webhook.class.getDeclaredField("key")
                : Webhook.class.getSuperclass().getDeclaredField("key");
            var webhook = new Webhook(secret);
            field.setAccessible(true);
            return HexFormat.of().formatHex((byte[]) field.get(webhook));
        } catch (Exception refused) {
            return null;
        }
    }
    public static void main(String[] none) throws Exception {
        var keys = new JsonArray();
        for (var secret : JsonParser.parseString(new String(System.in.readAllBytes(), "UTF-8")).getAsJsonArray()) {
            keys.add(key(secret.getAsString()));
        }
        System.out.println(keys);
    }
}""",
    "php": """<?php
$key = fn ($secret) => bin2hex(base64_decode(str_starts_with($secret, 'whsec_') ? substr($secret, 6) : $secret));
echo json_encode(array_map($key, json_decode(stream_get_contents(STDIN))));""",
}
COMMANDS = {
    "python": lambda program: [PREPARED / "python/venv/bin/python", program],
    "javascript": lambda program: ["node", program],
    "java": lambda program: ["java", "-cp", f"{PREPARED}/java/lib/*", program],
    "php": lambda program: ["php", program],
}
SUFFIX = {"python": "py", "javascript": "js", "java": "java", "php": "php"}


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_library_makes_the_keys_of_the_table(language, tmp_path):
    require(language)
    program = tmp_path / f"Keys.{SUFFIX[language]}"
    program.write_text(PROGRAMS[language])
    assert printed(COMMANDS[language](program)) == {form["name"]: form["libraries"][language] for form in FORMS}


@pytest.mark.parametrize("language", ["go", "rust"])
def test_a_library_that_hides_its_key_signs_with_the_key_of_the_table(language):
    require(language)
    expected = {form["name"]: signature(form["libraries"][language]) for form in FORMS}
    assert printed([PREPARED / language / "keys"]) == expected


def printed(command: list) -> dict[str, str | None]:
    """Returns what the program prints for the secret of each form."""
    environment = os.environ | {"NODE_PATH": f"{PREPARED}/javascript/node_modules", "LANG": "C.UTF-8"}
    secrets = json.dumps([form["secret"] for form in FORMS])
    ran = subprocess.run([*map(str, command)], input=secrets, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return {form["name"]: value for form, value in zip(FORMS, json.loads(ran.stdout), strict=True)}


def signature(key: str | None) -> str | None:
    """The signature of the message that tests/support/secret_keys sign; null as in the table."""
    return key if key is None else "v1," + base64.b64encode(hmac.digest(bytes.fromhex(key), b"id.1.body", hashlib.sha256)).decode()
