"""The control programs, which send the same requests as the service: bench/control.cpp, a bare libcurl multi loop, and
bench/lean.cpp, without libcurl."""
from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

from bench import ROOT

SECRET = "whsec_YmFuY28gZGUgcHJ1ZWJhcyBkZSBub3RpZmljYWNpb25lcw=="
PROGRAM = ROOT / "build" / os.environ.get("DEV_PRESET", "release") / "bench" / "bench_control"
LEAN = PROGRAM.with_name("bench_lean")
SEAL = PROGRAM.with_name("bench_seal")


@contextmanager
def running(program: Path = PROGRAM, **options):
    """Starts a control program, yields its process, and ends it. `options` are those of the program: hosts=10, ca_file=…"""
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    process = subprocess.Popen([program, *arguments, f"--secret={SECRET}"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def run(program: Path = PROGRAM, **options) -> dict:
    """Runs a control program to its end. Returns its output: sent, failed, connects, seconds, rate, cpu_seconds, max_rss_kib."""
    with running(program, **options) as process:
        output = process.stdout.read()
        status = process.wait()
    if status:
        raise AssertionError(f"the control failed: {output}")
    return json.loads(output)


def sealed(key_file: Path, first: int, count: int) -> list[list[str]]:
    """For each of `count` webhooks from id `first` on: its id, the key's id, and SECRET sealed for it, in hexadecimal."""
    output = subprocess.run([SEAL, f"--key-file={key_file}", f"--secret={SECRET}", f"--first={first}", f"--count={count}"],
                            stdout=subprocess.PIPE, text=True, check=True).stdout
    return [line.split() for line in output.splitlines()]
