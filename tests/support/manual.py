"""Reads docs/operations.md (the manual) for the tests in tests/system. The manual has three kinds of code blocks:

sh          commands that test_operations_manual.py runs in order on a private stack; debian/test_4_manual.py runs some, too
sh system   commands that need a real systemd: debian/test_4_manual.py runs them on the machine of `./dev test --system`
text        what the commands just above print; digits and the width of blanks may differ, and … stands for anything
"""
from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

MANUAL = Path(__file__).resolve().parents[2] / "docs/operations.md"
KINDS = ("sh", "sh system", "text")


@dataclass(frozen=True)
class Block:
    chapter: str  # the last heading above the block
    line: int  # the number, in the manual, of the first line after ```
    kind: str
    commands: str
    shown: str = ""  # the output in the manual


def blocks(manual: Path = MANUAL) -> list[Block]:
    """Returns the blocks `sh` and `sh system` in order, each with the `text` below it. ValueError for a block of unknown kind,
    or a `text` that follows no command."""
    found: list[Block] = []
    chapter = kind = None
    for number, line in enumerate(manual.read_text().splitlines(), 1):
        if kind is None and line.startswith("```"):
            kind, start, content = line[3:], number + 1, []
        elif kind is None:
            heading = re.match(r"#{2,} (.*)", line)
            chapter = heading.group(1) if heading else chapter
        elif line == "```":
            _add(found, Block(chapter, start, kind, "\n".join(content)))
            kind = None
        else:
            content.append(line)
    return found


def _add(found: list[Block], block: Block) -> None:
    if block.kind not in KINDS:
        raise ValueError(f"line {block.line}: '{block.kind}' is none of {KINDS}")
    if block.kind != "text":
        found.append(block)
    elif found and found[-1].chapter == block.chapter and not found[-1].shown:
        found[-1] = replace(found[-1], shown=block.commands)
    else:
        raise ValueError(f"line {block.line}: an output that follows no command")


def not_printed(shown: str, printed: str) -> list[str]:
    """Returns the lines that the manual shows and the commands did not print."""
    lines = [line.strip() for line in printed.splitlines()]
    return [line for line in shown.splitlines() if line.strip() and not any(_pattern(line).fullmatch(p) for p in lines)]


def _pattern(shown: str) -> re.Pattern:
    words = (".*".join(map(re.escape, word.split("…"))) for word in shown.split())
    return re.compile(r"\s+".join(re.sub(r"\d+", r"\\d+", word) for word in words))
