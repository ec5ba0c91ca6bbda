# SPDX-License-Identifier: BSD-3-Clause
"""The documents as one static site, of which every link inside is there.

    build.py --pages FOLDER --out FOLDER

Lays the documents out as they lie in the tree (OUT/source), adds to docs/programs/NAME.md what the
program says itself (NAME.md of --pages, made with the manual pages), has Doxygen write the API
reference and Sphinx the site (OUT/html), and follows each link of it. Nothing is asked of a
network. docs/README.md is the first page; its headings and links are the table of contents, so a
page that it does not name fails the build.
"""

import argparse
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

from check_links import findings

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
LINK = re.compile(r"\[(?P<text>[^\]\[]*)\]\((?P<target>[^)\s#]*)(?P<anchor>(?:#[^)\s]*)?)\)")
API = "include/portcullis"  # a link to it leads to the reference that Doxygen writes
LIMIT_S = 1800


class BuildError(Exception):
    """One line for whoever reads the log."""


def documents() -> list[str]:
    pages = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    return [*TOP, *pages]


def version() -> str:
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"\bproject\(\w+\s+VERSION\s+([\d.]+)", text)[1]


def target_of(page: str, target: str) -> str:
    """The path in the tree that a link of a page leads to; "" of one that leads out of it."""
    if not target or ":" in target.split("/")[0]:
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def rewritten(page: str, text: str, new_page: str) -> tuple[str, set[str]]:
    """A page as it reads at its place in the site, and the files and folders that it links to."""
    folder = posixpath.dirname(new_page)
    needed = set()

    def link(match: re.Match) -> str:
        path = target_of(page, match["target"])
        if not path:
            return match[0]
        if path == API:
            href = posixpath.relpath("api/index.html", folder or ".")
            return f'<a class="reference" href="{href}">{match["text"]}</a>'
        if path == "docs/README.md":
            path = "index.md"
        elif (ROOT / path).is_dir():
            needed.add(path)
            path += ".md"
        elif path not in documents():
            needed.add(path)
            path = place_of(path)
        return f'[{match["text"]}]({posixpath.relpath(path, folder or ".")}{match["anchor"]})'

    return LINK.sub(link, text), needed


def place_of(file: str) -> str:
    """What a file is called in the site. Sphinx takes each .md for a page, which not all are."""
    return file + ".txt" if file.endswith(".md") and file not in documents() else file


def listing(folder: str) -> tuple[str, set[str]]:
    """A page with the files of a folder, for a link to the folder."""
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).iterdir()
                   if path.is_file())
    base = posixpath.basename(folder)
    lines = ["---", "orphan: true", "---", f"# {folder}", ""]
    lines += [f"- [{posixpath.basename(file)}]({base}/{posixpath.basename(place_of(file))})"
              for file in files]
    return "\n".join(lines) + "\n", set(files)


def contents(index: str) -> str:
    """A table of contents for each heading of the index, of the pages that stand below it."""
    found, seen = [], set()
    for part in re.split(r"^## ", index, flags=re.M)[1:]:
        title, _, body = part.partition("\n")
        pages = [match["target"][:-3] for match in LINK.finditer(body)
                 if match["target"].endswith(".md")]
        pages = [page for page in dict.fromkeys(pages) if page not in seen]
        seen |= set(pages)
        if pages:
            found.append("\n".join(["```{toctree}", ":hidden:", ":titlesonly:",
                                    f":caption: {title}", "", *pages, "```"]))
    return "\n\n".join(found)


def lay_out(source: pathlib.Path, pages: pathlib.Path) -> None:
    shutil.rmtree(source, ignore_errors=True)
    needed: set[str] = set()
    for name in documents():
        text = (ROOT / name).read_text(encoding="utf-8")
        place = "index.md" if name == "docs/README.md" else name
        text, more = rewritten(name, text, place)
        of_program = re.fullmatch(r"docs/programs/([\w-]+)\.md", name)
        if of_program:
            said = pages / f"{of_program[1]}.md"
            if not said.is_file():
                raise BuildError(f"{said} is not there: `pages` is the target that makes it")
            text += "\n" + said.read_text(encoding="utf-8")
        if place == "index.md":
            text += "\n" + contents(text) + "\n"
        write(source / place, text)
        needed |= more
    for folder in sorted(path for path in needed if (ROOT / path).is_dir()):
        text, files = listing(folder)
        write(source / f"{folder}.md", text)
        needed = needed - {folder} | files
    for file in sorted(needed - set(documents())):
        write(source / place_of(file), (ROOT / file).read_bytes())


def write(path: pathlib.Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def call(what: str, command: list[str], **environment: str) -> None:
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S,
                          check=False)
    said = (done.stdout + done.stderr).replace(f"{ROOT}/", "").strip()
    if done.returncode != 0:
        raise BuildError(f"{what} found\n{said}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", required=True, type=pathlib.Path,
                        help="folder with NAME.md of each program")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder to write to")
    options = parser.parse_args()
    out = options.out.resolve()
    source, html, api = out / "source", out / "html", out / "html" / "api"
    try:
        lay_out(source, options.pages)
        shutil.rmtree(html, ignore_errors=True)
        api.mkdir(parents=True)
        call("Doxygen", ["doxygen", "docs/site/Doxyfile"], PORTCULLIS_VERSION=version(),
             PORTCULLIS_API_DIR=str(api))
        call("Sphinx", ["/usr/bin/sphinx-build", "-q", "-W", "--keep-going", "-E", "-b", "html",
                        "-c", str(SITE), "-d", str(out / "doctrees"), str(source), str(html)],
             PORTCULLIS_VERSION=version())
    except (BuildError, OSError, subprocess.TimeoutExpired) as error:
        print(f"build.py: {error}", file=sys.stderr)
        return 1
    broken, count = findings(html)
    for finding in broken:
        print(finding)
    print(f"{html}/index.html: {count} links inside, {len(broken)} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
