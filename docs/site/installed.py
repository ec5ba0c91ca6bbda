# SPDX-License-Identifier: BSD-3-Clause
"""The documents as they are installed: a link to what stays behind in the sources is its text.

    installed.py SOURCE_TREE FOLDER

writes README.md, CHANGELOG.md and each page of docs/ into FOLDER, which has their neighbours (the
figures, the examples) already.
"""

import pathlib
import re
import sys

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
OWN = ("README.md", "CHANGELOG.md")


def is_installed(path: str) -> bool:
    """Of a path from the top of the tree."""
    stays = ("docs/man/", "docs/site/")
    return path in OWN or (path.startswith("docs/") and not path.startswith(stays))


def as_installed(text: str, page: pathlib.PurePosixPath) -> str:
    """The page of that path from the top of the tree."""

    def link(match: re.Match) -> str:
        words, target = match.groups()
        path = target.partition("#")[0]
        if not path or re.match(r"[a-z]+:", path):
            return match.group(0)
        parts: list[str] = []
        for part in (page.parent / path).parts:
            if part == ".." and parts:
                parts.pop()
            else:
                parts.append(part)
        return match.group(0) if is_installed("/".join(parts)) else words

    return LINK.sub(link, text)


def main() -> int:
    tree, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for page in [*(tree / name for name in OWN), *sorted((tree / "docs").rglob("*.md"))]:
        path = page.relative_to(tree)
        if not is_installed(path.as_posix()):
            continue
        there = folder / path
        there.parent.mkdir(parents=True, exist_ok=True)
        text = page.read_text(encoding="utf-8")
        installed = as_installed(text, pathlib.PurePosixPath(path.as_posix()))
        there.write_text(installed, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
