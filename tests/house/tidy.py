# SPDX-License-Identifier: BSD-3-Clause
"""clang-tidy over translation units, and none twice that passed as it is.

    tidy.py BUILD [--jobs N] [--seconds N] [FILE ..]

FILE: a source as compile_commands.json of BUILD has it, from this tree's top. Status 1 when one has
a finding. Sources with the same flags are read together (tidy_batch.py), in the order that is
given. After --seconds nothing further is begun; how many sources nobody looked at is said, and the
status is that of those that were.

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
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import tidy_batch

KEPT_DAYS = 30
# Sources that are read together at first; those that cannot be meet others, in fewer. Sixteen take
# about three times as long as one.
BATCH_SIZES = (16, 6)


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


class Reading:
    """Reads sources, together and alone, as long as there is time; calls keep(source) of each that
    passes."""

    def __init__(self, records: Records, jobs: int, until: float, keep):
        self.records = records
        self.keep = keep
        self.jobs = jobs
        self.until = until
        self.lock = threading.Lock()
        self.alone: set[str] = set()  # cannot, or need not, be read with others
        self.passed: set[str] = set()
        self.failed = 0

    def _pass(self, source: str) -> None:
        self.passed.add(source)
        self.keep(source)

    def _each(self, work, things: list) -> None:
        """Calls work(thing) of all things, side by side; begins none when the time is over."""
        def begin(thing) -> None:
            if time.monotonic() < self.until:
                work(thing)

        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(begin, things))

    def _folder(self, scratch: pathlib.Path, source: str) -> pathlib.Path:
        """Where a batch of this source lies: below a copy of the rules for it."""
        top = pathlib.Path(source).parts[:-1][:1]
        folder = scratch.joinpath(*top)
        folder.mkdir(exist_ok=True)
        rules = self.records.root.joinpath(*top, ".clang-tidy")
        if top and rules.is_file():
            shutil.copy(rules, folder)
        return folder

    def _batches(self, scratch: pathlib.Path, sources: list[str],
                 size: int) -> list[tidy_batch.Batch]:
        alike: dict[tuple, list[str]] = {}
        for source in sources:
            flags = tidy_batch.flags_of(self.records.commands[source])
            alike.setdefault((flags, self._folder(scratch, source)), []).append(source)
        batches = []
        for (flags, folder), group in alike.items():
            for start in range(0, len(group) - 1, size):
                chosen = group[start:start + size]
                at = folder / f"{pathlib.Path(chosen[0]).stem}-{len(batches)}.cpp"
                batches.append(tidy_batch.Batch(self.records.root, chosen, flags, at))
        return batches

    def _together(self, batch: tidy_batch.Batch) -> None:
        batch.split()
        if len(batch.sources) < 2:
            return
        found = batch.read()
        with self.lock:
            self.alone.update(found)
            for source in batch.sources:
                if source not in found:
                    self._pass(source)

    def _alone(self, source: str) -> None:
        done = subprocess.run(["clang-tidy", "-p", self.records.build, "--quiet", source],
                              capture_output=True, text=True)
        with self.lock:
            if done.returncode == 0:
                self._pass(source)
                return
            self.failed += 1
            print(done.stdout, end="", flush=True)

    def read(self, sources: list[str]) -> None:
        self.alone = {source for source in sources
                      if tidy_batch.is_alone((self.records.root / source).read_text())}
        # Below this tree, for the rules of its top.
        with tempfile.TemporaryDirectory(prefix="tidy-", dir=self.records.build) as scratch:
            for size in BATCH_SIZES:
                left = [one for one in sources if one not in self.alone | self.passed]
                self._each(self._together, self._batches(pathlib.Path(scratch), left, size))
        self._each(self._alone, [one for one in sources if one not in self.passed])


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
    until = time.monotonic() + (float("inf") if given.seconds is None else given.seconds)

    def keep(file: str) -> None:
        if keys[file]:
            (folder / keys[file]).touch()

    reading = Reading(records, given.jobs, until, keep)
    reading.read(todo)
    failed = reading.failed
    unread = len(todo) - len(reading.passed) - failed
    forget_old(folder)
    if unread:
        print(f"clang-tidy: {unread} of {len(keys)} translation units were not looked at in "
              f"{given.seconds} s")
    if failed:
        print(f"clang-tidy: {failed} of {len(keys)} translation units have findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
