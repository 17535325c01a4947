"""Runs wrk, which sends requests over kept TLS connections without pause, and measures the processor time that they cost."""
from __future__ import annotations

import json
import resource
import subprocess
from pathlib import Path

from bench import ROOT, machine


def run(kind: str, url: str, tokens: Path, connections: int, seconds: int, parts: dict[str, list[int]],
        path: str = "") -> dict:
    """Returns requests, seconds, p50_ms, p99_ms, `us` and others_seconds. `us` is processor time in µs per request: of each
    of `parts` (lists of pids), and of wrk. others_seconds is the processor time of the rest of the machine.

    `kind` is one of `kinds` in load.lua, or `get`: a GET of `path`, which is whole, or below /webhooks. Raises AssertionError
    if a connection fails, a request times out, or a status is 400 or more (with the kinds no_token and wrong_token: if
    a status is less than 400).
    """
    threads = connections if kind == "register" else 1
    usage, before = machine.Usage(**parts), _children()
    output = subprocess.run(
        ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s",
         "-s", ROOT / "bench" / "load.lua", url, "--", kind, tokens, *([path] if path else [])],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True, start_new_session=True).stdout
    used = usage.read(wrk=_children() - before)
    found = json.loads(output.split("JSON ", 1)[1])
    refused = found["requests"] if kind in ("no_token", "wrong_token") else 0
    if found["broken"] or found["refused"] != refused or not found["requests"]:
        raise AssertionError(f"{kind} was not answered as it must be: {found}")
    others = used.pop("others")
    return found | {"others_seconds": others, "us": {part: s / found["requests"] * 1e6 for part, s in used.items()}}


def _children() -> float:
    """Processor time of children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
