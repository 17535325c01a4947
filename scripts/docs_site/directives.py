"""Replaces each directive of a page by the text that the directive's function returns. A directive is a line `@name argument`
of a page, outside of code blocks."""
from __future__ import annotations

import re
from typing import Callable

from docs_site.problem import Problem

DIRECTIVE = re.compile(r"@([a-z]+)(?: (.+))?")
FENCE = re.compile(r"(`{3,}|~{3,})")


def expand(text: str, directives: dict[str, Callable[[str], str]], where: str) -> str:
    lines, fence = [], ""
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)
        elif mark and line.startswith(fence) and line.strip() == mark.group(1):
            fence = ""
        found = None if fence else DIRECTIVE.fullmatch(line)
        lines.append(_call(found, directives, where) if found else line)
    return "\n".join(lines)


def _call(found: re.Match, directives: dict[str, Callable[[str], str]], where: str) -> str:
    if found.group(1) not in directives:
        raise Problem(f"{where}: there is no directive @{found.group(1)}; there are {', '.join('@' + one for one in sorted(directives))}")
    return directives[found.group(1)](found.group(2) or "")


def code_block(text: str, language: str) -> str:
    """Returns the text as a Markdown code block. Its fence is longer than the longest run of backticks in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
