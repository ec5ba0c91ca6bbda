# SPDX-License-Identifier: BSD-3-Clause
"""clang-tidy over translation units, and none twice that passed as it is.

    tidy.py BUILD [--jobs N] [--seconds N] [FILE ..]

FILE: a source as compile_commands.json of BUILD has it, from this tree's top. Status 1 when one has
a finding. After --seconds no further one is begun, in the order that is given; how many of them
nobody looked at is said, and the status is that of those that were.

What passed is remembered below $XDG_CACHE_HOME/portcullis-tidy by a hash of all that clang-tidy
reads: its version, .clang-tidy, the compile command, and every file that the compiler read for the
object (ninja's own record). An object that is missing, or older than what it is made of, has no
such record: its source is read each time.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

KEPT_DAYS = 30


def cache_folder() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "portcullis-tidy"


class Records:
    """What each source of a build is compiled from."""

    def __init__(self, build: pathlib.Path, root: pathlib.Path):
        self.build = build
        self.root = root
        self.commands = {}
        for entry in json.loads((build / "compile_commands.json").read_text()):
            self.commands[os.path.relpath(entry["file"], root)] = entry
        self.reads = self._reads()
        self.hashes: dict[str, str] = {}
        version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True)
        rules = (root / ".clang-tidy").read_bytes()
        self.common = hashlib.sha256(version.stdout + rules).hexdigest()

    def _reads(self) -> dict[str, list[str]]:
        """ninja -t deps: "OBJECT: #deps N, deps mtime T (VALID)", then a file a line, indented."""
        out = subprocess.run(["ninja", "-C", self.build, "-t", "deps"], capture_output=True,
                             text=True, check=True).stdout
        reads: dict[str, list[str]] = {}
        for block in out.split("\n\n"):
            head, *files = block.splitlines() or [""]
            if head.endswith("(VALID)"):
                reads[head.split(":", 1)[0]] = [file.strip() for file in files]
        return reads

    def _hash(self, path: str) -> str:
        if path not in self.hashes:
            self.hashes[path] = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
        return self.hashes[path]

    def key(self, source: str) -> str | None:
        """None: there is no record of what this source reads as it is now."""
        entry = self.commands[source]
        command = entry.get("command") or " ".join(entry["arguments"])
        words = command.split()
        made = words[words.index("-o") + 1] if "-o" in words else ""
        files = self.reads.get(made)
        if not files:
            return None
        try:
            made_at = (self.build / made).stat().st_mtime_ns
            paths = sorted({os.path.realpath(self.build / file) for file in files})
            if any(os.stat(path).st_mtime_ns > made_at for path in paths):
                return None
            rows = [f"{os.path.relpath(path, self.root)} {self._hash(path)}" for path in paths]
        except OSError:
            return None
        text = "\n".join([self.common, command.replace(str(self.root), "."), *rows])
        return hashlib.sha256(text.encode()).hexdigest()


def run(build: pathlib.Path, source: str, until: float) -> tuple[str, bool, str] | None:
    """None: it was not begun in time."""
    if time.monotonic() >= until:
        return None
    done = subprocess.run(["clang-tidy", "-p", build, "--quiet", source], capture_output=True,
                          text=True)
    return source, done.returncode == 0, done.stdout


def forget_old(folder: pathlib.Path) -> None:
    oldest = time.time() - KEPT_DAYS * 86400
    for kept in folder.iterdir():
        if kept.stat().st_mtime < oldest:
            kept.unlink(missing_ok=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=int, help="none is begun later (default: no limit)")
    parser.add_argument("files", nargs="*")
    given = parser.parse_intermixed_args()
    root = pathlib.Path.cwd()
    records = Records(given.build.resolve(), root)
    unknown = [file for file in given.files if file not in records.commands]
    if unknown:
        print(f"tidy: '{unknown[0]}' is not compiled in {given.build}", file=sys.stderr)
        return 2
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    keys = {file: records.key(file) for file in given.files}
    todo = []
    for file, key in keys.items():
        if key and (folder / key).exists():
            os.utime(folder / key)
        else:
            todo.append(file)
    print(f"clang-tidy: {len(keys)} translation units, {len(keys) - len(todo)} of them passed "
          "before as they are", flush=True)
    failed = 0
    unread = 0
    until = time.monotonic() + (float("inf") if given.seconds is None else given.seconds)
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for done in pool.map(lambda file: run(given.build, file, until), todo):
            if done is None:
                unread += 1
                continue
            file, passed, said = done
            if passed and keys[file]:
                (folder / keys[file]).touch()
            if not passed:
                failed += 1
                print(said, end="", flush=True)
    forget_old(folder)
    if unread:
        print(f"clang-tidy: {unread} of {len(keys)} translation units were not looked at in "
              f"{given.seconds} s")
    if failed:
        print(f"clang-tidy: {failed} of {len(keys)} translation units have findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
