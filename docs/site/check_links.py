# SPDX-License-Identifier: BSD-3-Clause
"""Follows every link of a site of HTML files that stays inside: files, and anchors in them.

    check_links.py FOLDER

A link to a host is not followed, and none may fetch a script, a style or a picture from one.
"""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The anchors of a page, and where it points."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[int, str]] = []
        self.fetched: list[tuple[int, str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        line = self.getpos()[0]
        for name in ("id", "name"):
            if values.get(name):
                self.anchors.add(values[name])
        for name in ("href", "src", "data"):
            target = values.get(name)
            if target is None or (tag == "object" and not target):
                continue
            if tag == "a" or values.get("rel") in ("index", "search", "next", "prev"):
                self.links.append((line, target))
            else:
                self.fetched.append((line, target))


def findings(folder: pathlib.Path) -> tuple[list[str], int]:
    """What is broken, a line each; and how many links were followed."""
    folder = folder.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8", errors="replace"))
             for path in sorted(folder.rglob("*.html"))}
    found, count = [], 0
    for path, page in pages.items():
        where = path.relative_to(folder)
        for line, target in page.fetched:
            if urllib.parse.urlsplit(target).netloc:
                found.append(f"{where}:{line}: {target} is fetched from a host")
        for line, target in [*page.links, *page.fetched]:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            there = path.parent / urllib.parse.unquote(parts.path) if parts.path else path
            there = there.resolve()
            anchor = urllib.parse.unquote(parts.fragment)
            if not there.is_file():
                found.append(f"{where}:{line}: no file {target}")
            elif anchor and there in pages and anchor not in pages[there].anchors:
                found.append(f"{where}:{line}: no anchor {target}")
    return found, count


def main() -> int:
    broken, count = findings(pathlib.Path(sys.argv[1]))
    for finding in broken:
        print(finding)
    print(f"{count} links inside, {len(broken)} broken")
    return 1 if broken or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
