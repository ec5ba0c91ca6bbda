# SPDX-License-Identifier: BSD-3-Clause
"""Many translation units as one, for clang-tidy: most of its time goes to the headers they share.

A batch is the text of its sources, one behind the other, so that clang-tidy takes all of them for
its main file. What it finds in none of them it would find in none alone, but for three things:
  - sources may hide each other's names: then they do not compile together, and who is to blame
    leaves the batch (split());
  - a using-declaration may be used by a later source alone, an #include may stand in two sources:
    is_alone() says of which sources a batch cannot tell;
  - a name that one source shows another may change what a line means. Then clang-tidy reads other
    code than the compiler does, and nobody is told: that is the price.
Who has a finding in a batch is read once more, alone, and that is what users see.
"""

import pathlib
import re
import shlex
import subprocess

USING = re.compile(r"^\s*using\s+(?:\w*::)+(\w+)\s*;", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"][^>"\n]+[>"])', re.M)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
MAIN = re.compile(r"^int main\(", re.M)
PLACE = re.compile(r"^([^:\n]+):(\d+):\d+: (?:fatal )?error:", re.M)


def is_alone(text: str) -> bool:
    """Whether a batch could hide what clang-tidy finds in this source alone."""
    code = COMMENT.sub("", text)
    includes = INCLUDE.findall(code)
    unused = [name for name in USING.findall(code) if len(re.findall(rf"\b{name}\b", code)) < 2]
    return bool(unused) or len(set(includes)) < len(includes) or bool(MAIN.search(code))


def flags_of(entry: dict) -> tuple[str, ...]:
    """The words of a compile command between the compiler and `-o OBJECT -c SOURCE`."""
    words = shlex.split(entry["command"]) if "command" in entry else entry["arguments"]
    return tuple(words[1:words.index("-o")])


class Batch:
    """`sources` of the tree at `root`, all compiled with `flags`, as one file `at`. clang-tidy
    takes its rules from the folder of `at` and those above it."""

    def __init__(self, root: pathlib.Path, sources: list[str], flags: tuple[str, ...],
                 at: pathlib.Path):
        self.root = root
        self.sources = sources
        self.flags = flags
        self.at = at
        self.starts: list[int] = []

    def _write(self) -> None:
        self.starts = []
        lines = 0
        parts = []
        for source in self.sources:
            text = (self.root / source).read_text()
            parts.append(text if text.endswith("\n") else text + "\n")
            self.starts.append(lines)
            lines += parts[-1].count("\n")
        self.at.write_text("".join(parts))

    def _blamed(self, said: str) -> set[str]:
        """The sources in which something is said to be wrong; all of them, where that is in another
        file."""
        blamed = set()
        for file, line in PLACE.findall(said):
            if pathlib.Path(file) != self.at:
                return set(self.sources)
            before = sum(start < int(line) for start in self.starts)
            blamed.add(self.sources[before - 1])
        return blamed

    def split(self) -> set[str]:
        """Takes out, and returns, what does not compile behind the others."""
        self._write()
        done = subprocess.run(["clang++", *self.flags, "-fsyntax-only", "-ferror-limit=0", self.at],
                              capture_output=True, text=True)
        blamed = set()
        if done.returncode != 0:
            blamed = self._blamed(done.stderr) or set(self.sources)
        self.sources = [source for source in self.sources if source not in blamed]
        return blamed

    def read(self) -> set[str]:
        """The sources with findings."""
        self._write()
        done = subprocess.run(["clang-tidy", "--quiet", "--checks=-readability-duplicate-include",
                               self.at, "--", *self.flags], capture_output=True, text=True)
        if done.returncode == 0:
            return set()
        return self._blamed(done.stdout) or set(self.sources)
