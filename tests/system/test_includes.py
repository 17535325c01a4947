"""Files include each other by their path from the root of the sources, in one direction, without cycles."""
import re
import subprocess
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from support.stack import ROOT

# What each folder of lib may include, besides itself.
LIB = {
    "text": set(),
    "crypto": set(),
    "platform": {"text"},
    "config": {"text", "platform"},
    "program": {"text", "platform", "config"},
    "metrics": set(),
    "json": {"text", "platform"},
    "webhook": {"text", "platform", "config", "json", "crypto"},
    "contacts": {"text", "platform", "config", "json", "crypto", "webhook"},
    "delivery": {"text", "platform", "config", "json", "crypto", "webhook"},
    "mail": {"text", "platform", "config", "crypto"},
    "store": {"text", "platform", "config", "json", "crypto", "webhook", "contacts", "delivery"},
}
PROGRAMS = ("fcgi-app", "dispatcher", "notices", "admin")
# The beginnings of the paths of files that decide by values alone, without database or network.
PURE = ("dispatcher/schedule/fair_queue.hpp", "dispatcher/schedule/fair_slots.", "dispatcher/schedule/recent_ids.hpp",
        "dispatcher/schedule/slot_counts.hpp", "dispatcher/schedule/waiting_entities.hpp", "dispatcher/outage/outage_judge.",
        "dispatcher/fan_out/passed_over.", "dispatcher/fan_out/fan_out_outcome.hpp")
# Foreign library -> the beginning of the path of each file that may include it.
FOREIGN = {"rapidjson/": "lib/json/", "mysql": "lib/store/session/session.cpp", "cppconn/": "lib/store/session/session.cpp",
           "prometheus/": "lib/metrics/", "fcgiapp": "fcgi-app/http/fastcgi.cpp",
           "ares.h": "dispatcher/http/resolver.cpp", "openssl/": ("lib/crypto/crypto.cpp", "dispatcher/http/t")}


@cache
def includes(form: str) -> dict[str, list[str]]:
    files = subprocess.run(["find", "lib", *PROGRAMS, "tests", "bench", "-name", "*.[chi][pn][pl]"], cwd=ROOT, check=True, text=True,
                           capture_output=True).stdout.split()
    return {file: re.findall(form, (ROOT / file).read_text(), re.M) for file in files}


def ours() -> dict[str, list[str]]:
    return includes(r'^#include "([^"]+)"')


def is_there(path: str) -> bool:
    """Also true if the build makes the file, from a file with `.in` at the end."""
    return (ROOT / path).is_file() or (ROOT / f"{path}.in").is_file()


def test_every_file_is_included_by_its_path_from_the_root():
    assert len(ours()) > 400
    assert [(file, path) for file, paths in ours().items() for path in paths if not is_there(path)] == []


def test_nothing_includes_itself_by_whichever_way():
    list(TopologicalSorter(ours()).static_order())  # raises CycleError, which names the files


def test_the_rooms_include_each_other_in_one_direction():
    def allowed(file: str, path: str) -> bool:
        top, room = Path(file).parts[:2]
        if top == "lib":
            return path.startswith("lib/") and Path(path).parts[1] in LIB[room] | {room}
        return top in ("tests", "bench") or path.startswith(("lib/", f"{top}/"))

    assert [(file, path) for file, paths in ours().items() for path in paths if not allowed(file, path)] == []


def test_the_folders_of_a_room_include_each_other_in_one_direction():
    for room in ("lib/store", "dispatcher", "fcgi-app"):
        def folder(path: str) -> str | None:
            inner = Path(path).relative_to(room).parts if path.startswith(f"{room}/") else ()
            return inner[0] if len(inner) > 1 else None

        graph: dict[str, set[str]] = {}
        for file, paths in ours().items():
            if folder(file):
                graph.setdefault(folder(file), set()).update(filter(None, map(folder, paths)))
        assert graph
        list(TopologicalSorter({name: used - {name} for name, used in graph.items()}).static_order())  # raises CycleError


def test_what_is_pure_includes_neither_the_store_nor_the_network():
    pure = {file: paths for file, paths in ours().items() if file.startswith(PURE)}
    assert len(pure) == 11
    assert [(file, path) for file, paths in pure.items() for path in paths
            if not path.startswith((*PURE, "lib/delivery/", "lib/platform/", "lib/store/types.hpp"))] == []


def test_a_foreign_library_is_seen_by_its_adapter_alone():
    seen = [(file, path) for file, paths in includes(r"^#include <([^>]+)>").items() if not file.startswith(("tests/", "bench/"))
            for path in paths]
    for library, adapter in FOREIGN.items():
        files = {file for file, path in seen if path.startswith(library)}
        assert files and all(file.startswith(adapter) for file in files), (library, files)


def test_no_numeric_limit_is_asked_of_an_id():
    """std::numeric_limits has no specialization for an id, so each of its limits would be 0."""
    asked = includes(r"numeric_limits<(?:\w+::)*\w*Id>")
    assert [file for file, found in asked.items() if found] == []
