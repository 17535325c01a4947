"""Stops requests in the middle: handlers wait for a locked table as long as a test wants."""
import contextlib
import threading
from concurrent.futures import Future

from support.sql import SqlError, SqlSession
from support.stack import Stack
from support.wait import wait_until


@contextlib.contextmanager
def locked(stack: Stack, table: str = "webhooks"):
    """Locks `table` against all other sessions until the block ends, or until the yielded function is called."""
    session = SqlSession(stack.env["DB_SOCKET"], stack.env["DB_NAME"], "root", "")
    with contextlib.closing(session):  # the session ends, and its locks with it
        session(f"LOCK TABLES {table} WRITE")
        yield session.close


def wait_blocked(stack: Stack, count: int = 1) -> None:
    """Returns once at least `count` statements of the API wait for a table lock."""
    query = ("SELECT COUNT(*) FROM information_schema.processlist"
             " WHERE state LIKE 'Waiting for table%' AND user LIKE '%api'")
    wait_until(lambda: int(stack.value(query)) >= count, what=f"{count} blocked requests")


def kill_sessions(stack: Stack, user: str) -> None:
    """Kills the sessions of a database user whose name ends like this (`dispatcher`, `api`)."""
    for (session,) in stack.sql(f"SELECT id FROM information_schema.processlist WHERE user LIKE '%{user}'"):
        with contextlib.suppress(SqlError):  # the session has ended by itself
            stack.sql(f"KILL {session}")


def in_background(function, *arguments, **named) -> Future:
    """Calls `function` in another thread; returns a future of its result."""
    future = Future()

    def run():
        try:
            future.set_result(function(*arguments, **named))
        except BaseException as error:  # future.result() raises it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def wait_row_lock(stack: Stack, user: str) -> None:
    """Returns once a session waits for a row lock. `user`: how the name of its database user ends (`admin`, `api`)."""
    query = ("SELECT COUNT(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p"
             f" ON p.id = t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' AND p.user LIKE '%{user}'")
    # The server caches innodb_trx for 0.1 s.
    wait_until(lambda: int(stack.value(query)), 30, f"{user} to wait for a row", every=0.2)
