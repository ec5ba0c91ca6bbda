# SPDX-License-Identifier: BSD-3-Clause
"""program_pages_test.py MADE: manual pages and completions of the programs that are installed."""

import pathlib
import re
import subprocess
import sys
import unittest

MADE = pathlib.Path(sys.argv[1])


class OfEveryInstalledProgram(unittest.TestCase):
    def setUp(self):
        self.made = sorted(MADE.glob("*.1"))

    def test_there_is_one_for_each(self):
        names = {page.stem for page in self.made}
        self.assertLessEqual({"portcullis", "leased", "leasectl", "doctor", "pfc-deadlock"}, names)
        for page in self.made:
            self.assertTrue((MADE / f"{page.stem}.bash").is_file())
            self.assertTrue((MADE / f"_{page.stem}").is_file())

    def test_each_has_help_and_version(self):
        for page in self.made:
            with self.subTest(page.stem):
                text = page.read_text(encoding="utf-8").replace(r"\-", "-")
                self.assertRegex(text, r"(?m)^\.SH SYNOPSIS\n\.nf\n" + page.stem + r"\b")
                missing = {word for word in ("--help", "--version") if word not in text}
                self.assertEqual(missing, set())

    def test_each_completion_is_bash_and_has_the_options_of_the_page(self):
        for page in self.made:
            with self.subTest(page.stem):
                script = MADE / f"{page.stem}.bash"
                subprocess.run(["bash", "-n", script], check=True, timeout=300)
                text = page.read_text(encoding="utf-8").replace(r"\-", "-")
                options = set(re.findall(r"(?m)^\\fB(?:-\w, ?)?(--[\w-]+)", text))
                self.assertLessEqual(options, set(re.findall(r"--[\w-]+", script.read_text())))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
