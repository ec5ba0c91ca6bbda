# SPDX-License-Identifier: BSD-3-Clause
#
# What the pages only show, for it needs a card, a peer or an hour: each command is of a program
# that there is, and has options that its help has. What a page shows as a terminal is run instead.
"""commands_test.py SOURCE FOLDER_OF_PROGRAMS ..."""

import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

SOURCE, FOLDERS = pathlib.Path(sys.argv[1]), sys.argv[2:]
PATH = ":".join([*map(os.path.abspath, FOLDERS), "/usr/bin", "/bin"])
# A program of ours, by its name or where a build leaves it; what is typed before it is no matter.
COMMAND = re.compile(r"^    +(?:\$ )?(?:sudo )?(?:build/release/\w+/)?"
                     r"(?P<command>(?P<program>\./dev|[a-z_][\w-]*)( .*)?)$")
FOREIGN = "--benchmark_"  # of Google Benchmark, whose help is another
LIMIT_S = 100


def programs():
    names = {path.name for folder in FOLDERS for path in pathlib.Path(folder).iterdir()
             if path.is_file() and os.access(path, os.X_OK)}
    return names | {"./dev"}


@functools.cache
def help_of(*words):
    """What those print of themselves; "" where they are not asked so."""
    shown = subprocess.run([*words, "--help"], text=True, stdin=subprocess.DEVNULL, check=False,
                           capture_output=True, timeout=LIMIT_S, cwd=SOURCE,
                           env={"PATH": PATH, "HOME": "/nonexistent"})
    return shown.stdout if shown.returncode == 0 else ""


def words_of(command):
    """Up to what the shell makes another command of, and without a comment."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if re.fullmatch(r"[|&;<>()]+", word):
            break
        words.append(word)
    return words


def commands(page):
    """(line, command) of a page; a line that ends in a backslash goes on."""
    known = programs()
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        shown = COMMAND.match(line)
        if shown is None or shown["program"] not in known:
            continue
        command, at = shown["command"], number
        while command.endswith("\\") and at < len(lines):
            command, at = command[:-1] + lines[at].strip(), at + 1
        yield number, command


class Pages(unittest.TestCase):
    def check(self, command):
        words = words_of(command)
        if words[:1] == ["portcullis"] and len(words) > 1 and not words[1].startswith("-"):
            words = words[1:]
        if words[0] == "./dev":
            self.assertRegex(help_of("./dev"), rf"(?m)^  {re.escape(words[1])} ")
            return
        if "--" in words:  # what stands before it is for DPDK's EAL
            words = [words[0], *words[words.index("--") + 1:]]
        told = help_of(words[0])
        self.assertNotEqual(told, "", f"{words[0]} --help")
        for verb in [word for word in words[1:3] if re.fullmatch(r"[a-z][a-z-]*", word)]:
            told += help_of(words[0], verb)
        options = [word.partition("=")[0] for word in words[1:] if word.startswith("--")]
        for option in [each for each in options if not each.startswith(FOREIGN)]:
            self.assertRegex(told, rf"(?<![\w-]){re.escape(option)}(?![\w-])")

    def test_commands_name_options_that_there_are(self):
        count = 0
        for page in [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))]:
            for number, command in commands(page):
                with self.subTest(f"{page.relative_to(SOURCE)}:{number}: {command}"):
                    self.check(command)
                count += 1
        self.assertGreater(count, 100)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
