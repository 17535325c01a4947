"""Comments and documents are plain English: few words that make a sentence hard to read, and no paragraph in a table's cell."""
import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from support.stack import ROOT

NOT_OURS = {"build", "__pycache__", "node_modules", "target"}
MOST_IN_1000_LINES = 1.0
LONGEST_CELL = 120

# MARKER does not match the name of a system user: `nobody`, "nobody", nobody:nogroup, user nobody.
MARKER = re.compile(r"\b(?:somebody|(?<!\buser )(?<![\"'`=])nobody(?![\"'`]|:\w)|whoever|meanwhile|whose)\b", re.I)
# "Of" at the start of a text, a line, a list's item or a cell, or after one of the marks .!?:;)» and a
# blank. Such a sentence often lacks its subject or verb.
OF = re.compile(r"(?:\A|[.!?:;)»] |^\s*(?:[*-] |\d+\. )?|\| )(Of )", re.M)
CODE_SPAN = re.compile(r"(`+).+?\1", re.S)


class Text(NamedTuple):
    """A comment, or what a document says."""
    line: int
    text: str


# The functions cpp_comments to shell_comments return the comments of a source.

def joined(comments: list[Text]) -> list[Text]:
    """Makes one comment of line comments on consecutive lines."""
    result: list[Text] = []
    for comment in comments:
        if result and result[-1].line + result[-1].text.count("\n") + 1 == comment.line:
            result[-1] = Text(result[-1].line, f"{result[-1].text}\n{comment.text}")
        else:
            result.append(comment)
    return result


CPP = re.compile(r"""
    R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"   # raw strings: not comments
  | "(?:\\.|[^"\\\n])*" | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'
  | //[/!]?\ ?(?P<one>[^\n]*)
  | /\*(?P<block>.*?)\*/""", re.X | re.S)
# A docstring is the first thing of a file, or follows a line that ends with a colon.
PYTHON = re.compile(r"""
    (?:\A(?:\#![^\n]*\n)?|(?<=:\n))[\ \t]*[rR]?\"{3}(?P<block>.*?)\"{3}
  | \"{3}.*?\"{3} | '{3}.*?'{3}
  | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
  | \#\ ?(?P<one>[^\n]*)""", re.X | re.S)
SQL = re.compile(r"'(?:''|[^'])*'|\"[^\"]*\"|--\ (?P<one>[^\n]*)|/\*(?!!)(?P<block>.*?)\*/", re.S)


def found_by(pattern: re.Pattern, source: str) -> list[Text]:
    result = []
    for found in pattern.finditer(source):
        for kind in ("one", "block"):
            if found[kind] is not None:
                text = found[kind].lstrip()
                result.append(Text(source.count("\n", 0, found.end(kind) - len(text)) + 1, text))
    return joined(result)


def cpp_comments(source: str) -> list[Text]:
    return found_by(CPP, source)


def sql_comments(source: str) -> list[Text]:
    return found_by(SQL, source)


def python_comments(source: str) -> list[Text]:
    return found_by(PYTHON, source)


def shell_comments(source: str) -> list[Text]:
    """A comment begins with a # at the start of a line or after a blank, but not within quotes that end on that line."""
    result = []
    for number, line in enumerate(source.splitlines(), 1):
        bare = re.sub(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", lambda quoted: "_" * len(quoted[0]), line)
        found = re.search(r"(?:^|\s)#(?!!)", bare)
        if found:
            result.append(Text(number, line[found.end():].lstrip("# ")))
    return joined(result)


def comments_of(file: Path):
    """The function that finds the comments of `file`; None if its language is not checked."""
    if file.suffix in {".cpp", ".hpp"}:
        return cpp_comments
    if file.suffix == ".sql":
        return sql_comments
    if file.suffix == ".py":
        return python_comments
    if file.suffix in {".sh", ".bash"}:
        return shell_comments
    if file.suffix == "" and file.is_file():
        with file.open("rb") as opened:
            first = opened.readline(100)
        if first.startswith(b"#!"):
            return python_comments if b"python" in first else shell_comments if re.search(rb"\b(ba|da)?sh\b", first) else None
    return None


# The files to check, and the checks.

def files() -> list[Path]:
    result = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name not in NOT_OURS and (not name.startswith(".") or name == ".ci"))
        result += [Path(folder, name) for name in sorted(names)]
    return [file for file in result if not file.is_symlink()]


def documents() -> list[Path]:
    return [*sorted((ROOT / "docs").glob("*.md")), *(ROOT / f"{name}.md" for name in ("README", "SECURITY", "CONTRIBUTING"))]


def without_code(text: str) -> str:
    """Empties blocks and spans of code, and keeps the number of lines."""
    text = re.sub(r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)
    return CODE_SPAN.sub(lambda span: "`" + "\n" * span[0].count("\n") + "`", text)


def markers(texts: list[Text]) -> list[tuple[int, str]]:
    """For each match of MARKER or OF: its line, and the text from there."""
    found = [(text, one.start(one.lastindex or 0)) for text in texts for pattern in (MARKER, OF) for one in pattern.finditer(text.text)]
    return sorted((text.line + text.text.count("\n", 0, at), text.text[at:].split("\n", 1)[0][:60]) for text, at in found)


def judge(places: list[str], lines: int) -> None:
    rate = 1000 * len(places) / lines
    if rate > MOST_IN_1000_LINES:
        pytest.fail(f"{len(places)} in {lines} lines, {rate:.2f} in 1,000 (at most {MOST_IN_1000_LINES}):\n" + "\n".join(places), pytrace=False)


def test_comments_are_plain_english():
    lines, places = 0, []
    for file in files():
        comments = comments_of(file)
        if comments:
            source = file.read_text()
            lines += source.count("\n")
            places += [f"{file.relative_to(ROOT)}:{line}: {text}" for line, text in markers(comments(source))]
    assert lines > 10_000
    judge(places, lines)


def test_documents_are_plain_english():
    lines, places = 0, []
    for document in documents():
        text = document.read_text()
        lines += text.count("\n")
        places += [f"{document.relative_to(ROOT)}:{line}: {what}" for line, what in markers([Text(1, without_code(text))])]
    assert lines > 1_000
    judge(places, lines)


def prose(cell: str) -> str:
    """The prose of a cell, without images, targets of links and messages in «»; empty if the cell is all code."""
    if not re.search(r"\w", CODE_SPAN.sub("", cell)):
        return ""
    cell = re.sub(r"!\[[^\]]*\]\([^)]*\)|«[^»]*»", "", cell)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell).strip()


def long_cells(text: str) -> list[tuple[int, str]]:
    text = re.sub(r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)
    return [(number, cell) for number, line in enumerate(text.splitlines(), 1) if line.startswith("|")
            for cell in map(prose, re.split(r"(?<!\\)\|", line)) if len(cell) > LONGEST_CELL]


def test_no_cell_of_a_table_is_a_paragraph():
    places = [f"{document.relative_to(ROOT)}:{line}: {len(cell)} characters: {cell[:60]}"
              for document in documents() for line, cell in long_cells(document.read_text())]
    if places:
        pytest.fail(f"longer than {LONGEST_CELL}; a list or a paragraph reads better:\n" + "\n".join(places), pytrace=False)


# The functions above find what they must find.

@pytest.mark.parametrize("comments, source, expected", [
    (cpp_comments, 'auto a = "// no";  // one\n/// two\nint b; /* three\nfour */\n', ["one\ntwo\nthree\nfour "]),
    (cpp_comments, "auto a = R\"sql(-- no // no)sql\";\nint million = 1'000'000;  // one\nchar b = '\"';  // two\n", ["one\ntwo"]),
    (sql_comments, "SELECT '-- no'; -- one\n-- two\n/* three */\n", ["one\ntwo\nthree "]),
    (python_comments, '"""One."""\na = "# no"  # two\n# three\ndef b():\n    """Four."""\n', ["One.\ntwo\nthree", "Four."]),
    (shell_comments, "#!/bin/sh\necho '# no' ${a#b} $# # one\n# two\n", ["one\ntwo"]),
])
def test_comments_are_found(comments, source, expected):
    assert [comment.text for comment in comments(source)] == expected


@pytest.mark.parametrize("text, expected", [
    ("It waits for somebody.\nNobody comes.", [(1, "somebody."), (2, "Nobody comes.")]),
    ("Whoever waits meanwhile, whose lease ends", [(1, "Whoever waits meanwhile, whose lease ends"), (1, "meanwhile, whose lease ends"),
                                                    (1, "whose lease ends")]),
    ("Of a webhook.", [(1, "Of a webhook.")]), ("It is read. Of a webhook the URL.", [(1, "Of a webhook the URL.")]),
    ("Read\n* Of one", [(2, "Of one")]), ("The end of it, or Office. One of them.", []),
    ("the user nobody, `nobody`, chown nobody:nogroup", []), ("a `code somebody`", [(1, "somebody`")]),
])
def test_markers_are_found(text, expected):
    assert markers([Text(1, text)]) == expected


@pytest.mark.parametrize("cell, length", [
    ("a" * 121, 121), ("`" + "a" * 200 + "`, `b`", 0), ("[" + "a" * 10 + "](" + "b" * 200 + ")", 10), ("see «" + "a" * 200 + "»", 3),
    ("`" + "a" * 118 + "` b", 122), ("![" + "a" * 200 + "](b.png)", 0),
])
def test_a_cell_is_measured_by_its_visible_prose(cell, length):
    assert len(prose(cell)) == length


def test_code_in_documents_is_no_sentence():
    assert without_code("a `nobody b`\n```sh\nwhose\n```\nc") == "a ``\n\n\n\nc"
