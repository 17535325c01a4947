"""Texts that occur nowhere else, and the search for them in everything that a stack leaves."""
from __future__ import annotations

import base64
import secrets
import threading
from pathlib import Path

from support.stack import Stack

PROCESS_FILES = ("cmdline", "environ")
STEM = "canario"  # every planted text begins with STEM, so data without any form of STEM contain no planted text


def forms(kind: str, text: str) -> dict[bytes, str]:
    """Returns each form of `text` to search for, with a name for the form."""
    raw = text.encode()
    found = {raw: f"{kind} as it is", raw.hex().encode(): f"{kind} in hex", raw.hex().upper().encode(): f"{kind} in HEX"}
    for offset in range(3):  # base64 depends on the text's offset in the encoded data, modulo 3
        coded = base64.b64encode(b"\0" * offset + raw)
        certain = coded[(4 * offset + 2) // 3:8 * (offset + len(raw)) // 6]  # independent of the bytes around the text
        found |= {certain: f"{kind} in base64", certain.translate(bytes.maketrans(b"+/", b"-_")): f"{kind} in base64url"}
    return found


class Canaries:
    def __init__(self):
        self._planted: dict[bytes, str] = {}
        self._added: dict[bytes, str] = {}
        self._stems = list(forms("", STEM))
        self.watched: set[str] = set()  # canaries seen in /proc
        self._stop = threading.Event()

    def plant(self, kind: str) -> str:
        """Returns a new canary, which the test puts somewhere."""
        text = STEM + secrets.token_hex(12)
        self._planted |= forms(kind, text)
        return text

    def add(self, kind: str, text: str) -> str:
        """Adds a text that already exists (a token, a key) to the canaries."""
        self._added |= forms(kind, text)
        return text

    def found_in(self, data: bytes | str) -> set[str]:
        data = data.encode() if isinstance(data, str) else data
        found = {form for needle, form in self._added.copy().items() if needle in data}
        if any(stem in data for stem in self._stems):
            found |= {form for needle, form in self._planted.copy().items() if needle in data}
        return found

    def found_in_files(self, folder: Path, besides: set[str]) -> dict[str, set[str]]:
        """Returns path -> canaries for each file below `folder` that contains any. `besides`: entries of the folder to skip."""
        files = (file for file in sorted(folder.rglob("*"))
                 if file.is_file() and file.relative_to(folder).parts[0] not in besides)
        found = {str(file.relative_to(folder)): self.found_in(file.read_bytes()) for file in files}
        return {file: forms for file, forms in found.items() if forms}

    def __enter__(self) -> "Canaries":
        """Looks at every process of this host again and again, in a thread, until the block ends."""
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._watcher.join()

    def _watch(self):
        while not self._stop.wait(0.1):
            self.look_at_processes()

    def look_at_processes(self):
        for process in Path("/proc").glob("[0-9]*"):
            for name in PROCESS_FILES:
                try:
                    data = (process / name).read_bytes()
                except OSError:
                    continue  # the process has ended
                self.watched |= {f"{form} in {name} of {process.name}: {data[:200]!r}" for form in self.found_in(data)}


def dump(stack: Stack) -> str:
    """Returns every column of every table as text, bytes in hex."""
    columns = stack.sql("SELECT table_name, column_name, data_type FROM information_schema.columns"
                        f" WHERE table_schema = '{stack.env['DB_NAME']}' ORDER BY table_name, ordinal_position")
    tables: dict[str, list[str]] = {}
    for table, column, kind in columns:
        shown = f"HEX(`{column}`)" if "binary" in kind or "blob" in kind else f"`{column}`"
        tables.setdefault(table, []).append(shown)
    return "\n".join(stack.dev("sql", input=f"SELECT {', '.join(shown)} FROM `{table}`").stdout
                     for table, shown in tables.items())
