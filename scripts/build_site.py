"""Builds the entities' documentation site. Builds everything or nothing; needs Jinja2, markdown-it-py and PyYAML."""
import argparse
import sys
from pathlib import Path

from docs_site.build import build
from docs_site.problem import Problem

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="is made, or its files are replaced")
    try:
        build(ROOT, parser.parse_args(arguments).folder.absolute())
    except (Problem, OSError) as problem:
        print(f"build_site.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
