"""Builds the entities' documentation site: build_site.py FOLDER. Builds everything or nothing; needs Jinja2,
markdown-it-py and PyYAML."""
import sys
from pathlib import Path

from docs_site.build import build
from docs_site.problem import Problem

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: build_site.py FOLDER", file=sys.stderr)
        return 2
    try:
        build(ROOT, Path(arguments[0]).absolute())
    except (Problem, OSError) as problem:
        print(f"build_site.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
