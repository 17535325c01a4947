"""Waits for a condition or a thread, or asserts that a condition holds for a time."""
import threading
import time


def wait_until(condition, timeout: float = 30, what: str = "the condition", every: float = 0.02):
    """Returns the first true value of condition(). Raises AssertionError with the last value after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: still {value!r} after {timeout} s")
        time.sleep(every)
    return value


def join(thread: threading.Thread, timeout: float) -> None:
    """Waits for the thread's end; raises AssertionError if it does not come within `timeout` seconds."""
    thread.join(timeout)
    assert not thread.is_alive(), f"the thread {thread.name} has not ended after {timeout} s"


def holds_for(seconds: float, condition, what: str = "the condition"):
    """Asserts that the condition holds for `seconds`; fails as soon as it does not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert condition(), f"{what} ceased to hold"
        time.sleep(0.02)
