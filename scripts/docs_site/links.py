"""Converts links. In web/docs they lead to other pages (NAME.md#anchor) and to files of examples/; on the site, to pages and
downloads."""
from __future__ import annotations

from urllib.parse import unquote

from docs_site.problem import Problem

EXAMPLES, DOWNLOADS = "../../examples/", "descargas/"
OUTSIDE = ("https://", "mailto:", "/apientidades/")


def downloaded(path: str) -> str:
    return DOWNLOADS + path.removeprefix(EXAMPLES) if path.startswith(EXAMPLES) else path


class Links:
    """The links of one page: their targets are kept for `check`, which needs all pages."""

    def __init__(self, page: str, files: set[str]):
        self.page, self.files, self.targets = page, files, []

    def address(self, target: str) -> str:
        if target.startswith(OUTSIDE):
            return target
        target = unquote(target)  # the Markdown parser has percent-encoded it
        path, _, anchor = target.partition("#")
        if downloaded(path) in self.files:
            return downloaded(path)
        if path and not path.endswith(".md"):
            raise Problem(f"{self.page}.md: the link {target} is neither a page of web/docs, a download nor an address")
        name = path[:-len(".md")] if path else self.page
        self.targets.append((name, anchor, target))
        return f"{name}.html{'#' + anchor if anchor else ''}" if path else target

    def check(self, anchors: dict[str, set[str]]) -> None:
        for name, anchor, target in self.targets:
            if name not in anchors:
                raise Problem(f"{self.page}.md: the link {target} leads to a page that does not exist")
            if anchor and anchor not in anchors[name]:
                raise Problem(f"{self.page}.md: the link {target} leads to a heading that does not exist")
