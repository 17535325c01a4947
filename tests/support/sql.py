"""A database session through the mariadb client, which shares no code with the service."""
from __future__ import annotations

import contextlib
import itertools
import os
import re
import subprocess

NULL = "NULL"
# Session settings that the tests' statements rely on, even if a test has changed the server's.
SESSION = ("SET SESSION sql_safe_updates = 0, sql_select_limit = 18446744073709551615, max_join_size = 18446744073709551615,"
           " sql_big_selects = 1, autocommit = 1, completion_type = 0 /*M! , max_statement_time = 0, tx_read_only = 0 */"
           " /*!80000 , max_execution_time = 0, transaction_read_only = 0 */")
GONE = (2006, 2013, 2026)  # codes of a lost connection: over TLS it is 2026, and MySQL uses TLS even on its Unix socket


class SqlError(Exception):
    """An error that the server or the client reports. `code` is its number, or 2006 if it has none."""

    def __init__(self, line: str):
        super().__init__(line)
        number = re.match(r"ERROR (\d+)", line)  # the client's own errors may have no number
        self.code = int(number.group(1)) if number else GONE[0]


class SqlSession:
    """One connection kept open, so that a statement costs no new connection. Rows are lists of texts."""

    def __init__(self, socket: str, database: str, user: str, password: str):
        self._marks = itertools.count(1)
        self._client = subprocess.Popen(
            ["mariadb", "--no-defaults", "--protocol=socket", f"--socket={socket}", f"--user={user}", "--batch",
             "--skip-column-names", "--unbuffered", "--force", "--skip-reconnect", "--default-character-set=utf8mb4",
             f"--init-command={SESSION}",
             database],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
            env={**os.environ, "MYSQL_PWD": password})

    def __call__(self, statement: str) -> list[list[str]]:
        mark = f"--mark-{next(self._marks)}--"
        self._client.stdin.write(f"{statement};\nSELECT '{mark}';\n")
        self._client.stdin.flush()
        lines, error = [], None
        while (line := self._client.stdout.readline()) and line != mark + "\n":
            if line.startswith("ERROR "):
                error = error or SqlError(line.strip())
                if error.code in GONE:
                    break  # the mark will not come
            else:
                lines.append(line.rstrip("\n").split("\t"))
        if error:
            raise error
        if not line:
            raise SqlError("ERROR 2013: the connection is gone")
        return lines

    def abandon(self):
        """Kills the client, even while another thread waits for the answer to a statement."""
        self._client.kill()

    def close(self):
        with contextlib.suppress(BrokenPipeError):  # the client has ended before
            self._client.stdin.close()
        self._client.stdout.close()
        self._client.wait()


def literal(value) -> str:
    """A Python value as SQL text."""
    if value is None:
        return NULL
    if isinstance(value, (int, float)):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n").replace("\0", "\\0")
    return f"'{escaped}'"


def numbers(count: int) -> str:
    """A table of one column `seq` from 1 to `count`, for MariaDB and MySQL."""
    return f"JSON_TABLE(CONCAT('[0', REPEAT(',0', {count - 1}), ']'), '$[*]' COLUMNS (seq FOR ORDINALITY)) numeros"


def insert(table: str, **columns) -> str:
    """An INSERT of one row. A column with the value Ellipsis (`...`) is left out, so it gets its default."""
    given = {name: value for name, value in columns.items() if value is not ...}
    return f"INSERT INTO {table} ({', '.join(given)}) VALUES ({', '.join(map(literal, given.values()))})"
