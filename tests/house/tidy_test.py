# SPDX-License-Identifier: BSD-3-Clause
"""tidy.py over a build whose ninja and clang-tidy are scripts: what is read again, and what is not.

    tidy_test.py ROOT_OF_THE_TREE
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path()
NEW_S = 2_000_000_000  # an object's time; what it is made of is older

NINJA = """#!/bin/sh
cat "$FAKE/deps"
"""
TIDY = """#!/bin/sh
[ "$1" = --version ] && exec cat "$FAKE/version"
for word; do [ "$word" = -- ] && break; file=$word; done
case $file in
  /*) echo "together$(cat "${file%/*}/.clang-tidy" 2>/dev/null)" ;;
  *) echo "$file" ;;
esac >>"$FAKE/read"
! grep -n BAD "$file" /dev/null | sed 's/^\\([^:]*:[0-9]*\\):/\\1:1: error: /' | grep .
"""
# A name stands once in what is compiled.
CLANG = """#!/bin/sh
for file; do :; done
! grep -n NAME "$file" /dev/null | sed '1d; s/^\\([^:]*:[0-9]*\\):/\\1:1: error: /' | grep . >&2
"""


class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("bin/ninja", NINJA).chmod(0o755)
        self.write("bin/clang-tidy", TIDY).chmod(0o755)
        self.write("bin/clang++", CLANG).chmod(0o755)
        self.write("version", "14")
        self.write(".clang-tidy", "Checks: one")
        self.write("a.cpp", "int a;")
        self.write("a.hpp", "int b;")
        self.build()
        self.says("(VALID)")

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def build(self, flags: str = "-O1"):
        self.write("build/a.o", "")
        os.utime(self.root / "build/a.o", (NEW_S, NEW_S))
        self.write("build/compile_commands.json", json.dumps([{
            "directory": str(self.root / "build"), "file": str(self.root / "a.cpp"),
            "command": f"clang++ {flags} -o a.o -c ../a.cpp"}]))

    def compile(self, **texts: str):
        """Sources with the same flags, and no record of what they read."""
        entries = []
        for name, text in texts.items():
            self.write(f"{name}.cpp", text)
            entries.append({"directory": str(self.root / "build"),
                            "file": str(self.root / f"{name}.cpp"),
                            "command": f"clang++ -O1 -o {name}.o -c ../{name}.cpp"})
        self.write("build/compile_commands.json", json.dumps(entries))

    def says(self, state: str):
        self.write("deps", f"a.o: #deps 2, deps mtime 1 {state}\n    ../a.cpp\n    ../a.hpp\n\n")

    def tidy(self, *files: str) -> subprocess.CompletedProcess:
        self.write("read", "")
        return subprocess.run(
            [sys.executable, "-B", str(ROOT / "tests/house/tidy.py"), "build", *files],
            cwd=self.root, capture_output=True, text=True, timeout=60,
            env={**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}",
                 "FAKE": str(self.root), "XDG_CACHE_HOME": str(self.root / "cache")})

    def read(self) -> list[str]:
        return (self.root / "read").read_text().split()

    def test_what_passed_is_not_read_again(self):
        self.assertEqual(self.tidy("a.cpp").returncode, 0)
        self.assertEqual(self.read(), ["a.cpp"])
        again = self.tidy("a.cpp")
        self.assertEqual((again.returncode, self.read()), (0, []))
        self.assertIn("1 of them passed before", again.stdout)

    def test_a_finding_is_told_each_time(self):
        self.write("a.cpp", "BAD")
        for _ in range(2):
            done = self.tidy("a.cpp")
            self.assertEqual((done.returncode, self.read()), (1, ["a.cpp"]))
            self.assertIn("1 of 1 translation units have findings", done.stdout)

    def test_whatever_changes_is_read_again(self):
        changes = {
            "source": lambda: self.write("a.cpp", "int a; // more"),
            "header": lambda: self.write("a.hpp", "int c;"),
            "rules": lambda: self.write(".clang-tidy", "Checks: two"),
            "version": lambda: self.write("version", "15"),
            "command": lambda: self.build("-O2"),
        }
        for name, change in changes.items():
            with self.subTest(name):
                self.tidy("a.cpp")
                change()
                self.tidy("a.cpp")
                self.assertEqual(self.read(), ["a.cpp"])

    def test_without_a_record_it_is_read_each_time(self):
        self.says("(STALE)")
        self.tidy("a.cpp")
        self.tidy("a.cpp")
        self.assertEqual(self.read(), ["a.cpp"])

    def test_an_object_older_than_its_source_is_no_record(self):
        os.utime(self.root / "a.hpp", (NEW_S + 1, NEW_S + 1))
        self.tidy("a.cpp")
        self.tidy("a.cpp")
        self.assertEqual(self.read(), ["a.cpp"])

    def test_what_there_was_no_time_for_is_told_and_read_the_next_time(self):
        done = self.tidy("--seconds", "0", "a.cpp")
        self.assertEqual((done.returncode, self.read()), (0, []))
        self.assertIn("1 of 1 translation units were not looked at in 0 s", done.stdout)
        self.tidy("--seconds", "60", "a.cpp")
        self.assertEqual(self.read(), ["a.cpp"])

    def test_sources_with_the_same_flags_are_read_together(self):
        self.compile(a="int a;", b="int b;", c="int c;")
        done = self.tidy("a.cpp", "b.cpp", "c.cpp")
        self.assertEqual((done.returncode, self.read()), (0, ["together"]))

    def test_who_has_a_finding_among_others_is_read_alone_and_told(self):
        self.compile(a="int a;", b="int b;\nBAD", c="int c;")
        done = self.tidy("a.cpp", "b.cpp", "c.cpp")
        self.assertEqual((done.returncode, self.read()), (1, ["together", "b.cpp"]))
        self.assertIn("b.cpp:2:1: error: BAD", done.stdout)
        self.assertIn("1 of 3 translation units have findings", done.stdout)

    def test_who_hides_a_name_of_others_is_read_without_them(self):
        self.compile(a="NAME", b="int b;", c="NAME", d="NAME")
        done = self.tidy("a.cpp", "b.cpp", "c.cpp", "d.cpp")
        self.assertEqual(done.returncode, 0)
        read = self.read()  # the two side by side, so either may be the first
        self.assertEqual((read[0], sorted(read[1:])), ("together", ["c.cpp", "d.cpp"]))

    def test_what_a_batch_would_hide_is_read_alone(self):
        used = "int b(one x);"
        for name, text in {"using-declaration": "using n::one;  // one", "main": "int main() {}",
                           "include": '#include "a.hpp"\n#include "a.hpp"'}.items():
            with self.subTest(name):
                self.compile(a=text, b=used, c=used)
                self.tidy("a.cpp", "b.cpp", "c.cpp")
                self.assertEqual(self.read(), ["together", "a.cpp"])

    def test_rules_of_a_folder_hold_for_its_batches(self):
        self.write("tests/.clang-tidy", "-fewer")
        self.compile(**{"tests/a": "int a;", "tests/b": "int b;", "c": "int c;", "d": "int d;"})
        self.tidy("tests/a.cpp", "tests/b.cpp", "c.cpp", "d.cpp")
        self.assertEqual(sorted(self.read()), ["together", "together-fewer"])

    def test_a_file_that_is_not_compiled_is_named(self):
        done = self.tidy("b.cpp")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'b.cpp' is not compiled in build", done.stderr)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
