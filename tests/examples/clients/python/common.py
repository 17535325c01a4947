"""What the programs of this folder share: their settings, and how they say what they read (../scenario.py)."""
import os
import sys
import time
from datetime import datetime, timedelta, timezone

API, LATER_API = os.environ["API"], os.environ["API_LATER"]
TOKEN, READ_ONLY_TOKEN = os.environ["TOKEN"], os.environ["TOKEN_READ_ONLY"]
URL, WEBHOOK = os.environ["URL_OF_RECEIVER"], int(os.environ["WEBHOOK"])
ONLY_REFUSED = sys.argv[1:] == ["refused"]
NOW = datetime.now(timezone.utc)
YESTERDAY, TOMORROW = NOW - timedelta(days=1), NOW + timedelta(days=1)
LARGE = {"relleno": "x" * 70_000}
WORDS = {True: "true", False: "false", None: "null"}


def say(step: str, *values) -> None:
    print(step, *(WORDS[one] if one is None or isinstance(one, bool) else one for one in values), flush=True)


def until(ask, done):
    """Asks until `done` is true of the answer."""
    while not done(answer := ask()):
        time.sleep(0.2)
    return answer
