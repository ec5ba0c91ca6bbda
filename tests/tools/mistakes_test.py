# SPDX-License-Identifier: BSD-3-Clause
#
# What every program has in common: --help is for people and leaves with 0; --version is a line with
# the commit; a mistake is one line on standard error, behind the program's name, that names it, and
# a status that is not 0.
"""mistakes_test.py PROGRAM .. --eal PROGRAM ..: their paths; EAL arguments stand before a "--"."""

import pathlib
import subprocess
import sys
import unittest

UNKNOWN = "--no-such-option"
EAL = sys.argv.index("--eal")
PROGRAMS = {pathlib.Path(path): [UNKNOWN] for path in sys.argv[1:EAL]}
PROGRAMS |= {pathlib.Path(path): ["--", UNKNOWN] for path in sys.argv[EAL + 1:]}


def run(program, *arguments):
    return subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=300)


class EveryProgram(unittest.TestCase):
    def test_help_names_the_program_and_leaves(self):
        for program in PROGRAMS:
            with self.subTest(program.name):
                shown = run(program, "--help")
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                self.assertRegex(shown.stdout, rf"(?im)^usage: {program.name}\b")
                self.assertNotIn(str(program.parent), shown.stdout)

    def test_version_is_a_line_with_the_commit(self):
        commit = r"([0-9a-f]{10}(-changed)?|unknown)"
        for program in PROGRAMS:
            with self.subTest(program.name):
                shown = run(program, "--version")
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                self.assertRegex(shown.stdout, rf"\A{program.name} \(portcullis [0-9.]+, "
                                               rf"commit {commit}(, [^)]*)?\)\n\Z")

    def test_unknown_option_is_named_in_one_line(self):
        for program, mistake in PROGRAMS.items():
            with self.subTest(program.name):
                refused = run(program, *mistake)
                self.assertNotEqual(refused.returncode, 0)
                self.assertEqual(refused.stdout, "")
                self.assertRegex(refused.stderr, rf"\A{program.name}: .*{UNKNOWN}.*\n\Z")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
