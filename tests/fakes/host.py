#!/usr/bin/python3
"""Stands in for the commands that docs/operations.md tells the operator to run. A test puts links to this program, each with
the name of one of the commands, into a folder of PATH. The program then does to the stack of DEV_DIR what that command does to
an installation:

apientidades-admin   runs `./dev admin`; --watch ends after a second
systemctl            start, stop, restart, reload and is-active, for the parts that the stack has
journalctl           prints the logs of units (-u), filtered by FIELD=value, -g, -p and -n; ignores --since
mariadb, mariadb-dump  connect as root to the stack's database; on MySQL, they are its own mysql and mysqldump
nginx                runs with the stack's configuration
chgrp                does nothing: a stack has no groups of its own
"""
import fnmatch
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STACK = Path(os.environ.get("DEV_DIR", ROOT / ".dev"))
PARTS = {"apientidades-fcgi@1": "fcgi", "apientidades-fcgi@2": "fcgi", "apientidades-dispatcher": "dispatcher",
         "nginx": "nginx", "mariadb": "db"}
LEVELS = {"err": "error", "warning": "error|warning", "info": "error|warning|info"}  # journalctl's priority -> the log's levels


def dev(*arguments, **how) -> subprocess.CompletedProcess:
    return subprocess.run([ROOT / "dev", *arguments], **how)


def parts_of(units: list[str]) -> list[str]:
    if units == ["apientidades.target"]:
        units = ["apientidades-*"]
    named = [part for unit in units for known, part in PARTS.items() if fnmatch.fnmatch(known, unit.removesuffix(".service"))]
    return list(dict.fromkeys(named)) or sys.exit(f"the stack has none of {units}: should the block of the manual be `sh system`?")


def apientidades_admin(*words) -> int:
    command = [ROOT / "dev", "admin", *words]
    if "--watch" in words:
        command = ["timeout", "--preserve-status", "--signal=INT", "1", *command]
    return subprocess.run(command).returncode


def systemctl(verb, *units) -> int:
    for part in parts_of([unit for unit in units if not unit.startswith("-")]):
        pids = dev("pids", part, capture_output=True, text=True).stdout.split()
        if verb == "is-active":
            print("active" if pids else "inactive")
        elif verb == "reload":
            for pid in pids:
                os.kill(int(pid), signal.SIGHUP)
        elif verb in ("start", "stop", "restart"):
            if pids and verb != "start":
                dev("kill", part, check=True)
            if verb != "stop":
                dev("start", part, check=True)
        else:
            sys.exit(f"systemctl {verb}: only a block `sh system` of the manual can have it")
    return 0


def journalctl(*words) -> int:
    options, wanted, words = {"-u": []}, [], list(words)
    while words:
        word = words.pop(0)
        if word == "-u":
            options["-u"].append(words.pop(0))
        elif word in ("-g", "-p", "-n", "--since"):
            options[word] = words.pop(0)
        elif "=" in word:
            field, value = word.removeprefix("APIENTIDADES_").split("=")
            wanted.append(rf" {field.lower()}={re.escape(value)}( |$)")
        else:
            sys.exit(f"journalctl {word}: only a block `sh system` of the manual can have it")
    units = options["-u"] or ["apientidades-*"]
    lines = [line for part in parts_of(units) for line in (STACK / f"log/{part}.log").read_text().splitlines()]
    if "-p" in options:
        lines = [line for line in lines if re.match(rf"\S+ ({LEVELS[options['-p']]}) ", line)]
    for pattern in [*wanted, options.get("-g", "")]:
        lines = [line for line in lines if re.search(pattern, line)]
    print(*lines[-int(options.get("-n", 1000)):] or ["-- No entries --"], sep="\n")
    return 0


def server_program(stack: Path, program: str) -> list:
    """The command of a program of the stack's server: bin/mariadb, bin/mariadb-dump, sbin/mariadbd, or what takes its place on
    MySQL."""
    if not (stack / "db/mysql.ibd").exists():
        return [Path("/usr", program)]
    tree = ROOT / ".dev/mysql/usr"
    libraries, = tree.glob("lib/*-linux-gnu")
    loader, = libraries.glob("ld-linux-*")
    return [loader, "--library-path", libraries, tree / program.replace("mariadb-", "mysql").replace("mariadb", "mysql")]


def database(program, *words) -> int:
    socket = next(line.split("'")[1] for line in dev("env", capture_output=True, text=True).stdout.splitlines()
                  if line.startswith("DB_SOCKET="))
    return subprocess.run([*server_program(STACK, f"bin/{program}"), "--no-defaults", f"--socket={socket}", "--user=root", *words]).returncode


def nginx(*words) -> int:
    return subprocess.run(["/usr/sbin/nginx", "-e", STACK / "log/nginx.log", "-c", STACK / "nginx/nginx.conf", *words]).returncode


COMMANDS = {
    "apientidades-admin": apientidades_admin, "systemctl": systemctl, "journalctl": journalctl, "nginx": nginx,
    "mariadb": lambda *words: database("mariadb", *words), "mariadb-dump": lambda *words: database("mariadb-dump", *words),
    "chgrp": lambda *words: 0}

if __name__ == "__main__":
    sys.exit(COMMANDS[Path(sys.argv[0]).name](*sys.argv[1:]))
