# SPDX-License-Identifier: BSD-3-Clause
"""Sections of documents that programs name in what they say are there.

    sections_test.py ROOT
"""

import pathlib
import re
import sys
import unittest

FOLDERS = ("fleet", "service", "client", "tools", "program")
LITERALS = re.compile(r'"\s*\n\s*"')           # one text over several lines
NAMED = re.compile(r'(docs/[\w./-]+\.md), \\"([^"\\]+)\\"')


def named():
    """Each (source, document, section)."""
    return [(source, *match.groups())
            for folder in FOLDERS for source in sorted((ROOT / folder).rglob("*.cpp"))
            for match in NAMED.finditer(LITERALS.sub("", source.read_text(encoding="utf-8")))]


class Sections(unittest.TestCase):
    def test_each_that_is_named_is_there(self):
        self.assertNotEqual(named(), [])
        for source, document, section in named():
            with self.subTest(source=source, section=section):
                lines = (ROOT / document).read_text(encoding="utf-8").splitlines()
                self.assertIn(section, [line.lstrip("#").strip() for line in lines
                                        if line.startswith("#")])


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
