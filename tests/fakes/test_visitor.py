"""What the judge of the visitors finds wrong, and that a thread that hangs is an error."""
import threading

import pytest

from support.visitor import Visitor, judge
from support.wait import join

URL = "https://visita-1.receptor.test/"


def problems(status: int, rows: list) -> list[str]:
    visitor = Visitor(entity=None)
    visitor.urls = {URL: status, "https://visita-2.receptor.test/": 201}
    return judge([visitor], [["https://visita-2.receptor.test/", "1"], *rows])


@pytest.mark.parametrize("status,rows", [(201, [[URL, "1"]]), (0, []), (0, [[URL, "1"]])])
def test_what_is_right(status, rows):
    """A refused registration may have been carried out."""
    assert problems(status, rows) == []


@pytest.mark.parametrize("status,rows,problem", [
    (201, [], f"{URL} was answered 201, and is not in the table"),
    (201, [[URL, "2"]], f"{URL} was registered 2 times"),
    (0, [[URL, "2"]], f"{URL} was registered 2 times")])
def test_what_is_wrong(status, rows, problem):
    assert problems(status, rows) == [problem]


@pytest.mark.parametrize("urls", [{}, {URL: 0}])
def test_a_visitor_without_a_registration_is_wrong(urls):
    visitor = Visitor(entity=None)
    visitor.urls = urls
    assert judge([visitor], []) == ["visitor 1 has registered nothing"]


def test_a_thread_that_hangs_is_an_error():
    go_on = threading.Event()
    thread = threading.Thread(target=go_on.wait, name="hanging", daemon=True)
    thread.start()
    with pytest.raises(AssertionError, match="hanging has not ended"):
        join(thread, 0)
    go_on.set()
    join(thread, 10)
