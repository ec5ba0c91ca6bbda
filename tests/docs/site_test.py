# SPDX-License-Identifier: BSD-3-Clause
"""docs/site without Sphinx and Doxygen: links of a site, headers as Doxygen sees them, contents.

    site_test.py ROOT_OF_THE_TREE
"""

import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path()


class Links(unittest.TestCase):
    def found(self, **pages: str) -> list[str]:
        from check_links import findings
        with tempfile.TemporaryDirectory() as folder:
            for name, text in pages.items():
                pathlib.Path(folder, f"{name}.html").write_text(text, encoding="utf-8")
            return findings(pathlib.Path(folder))[0]

    def test_links_that_lead_somewhere_pass(self):
        self.assertEqual(self.found(a='<a href="b.html#x">', b='<p id="x"><a href="#x">'), [])

    def test_file_that_is_not_there_is_named(self):
        self.assertEqual(self.found(a='<p>\n<a href="c.html">'), ["a.html:2: no file c.html"])

    def test_anchor_that_is_not_there_is_named(self):
        self.assertEqual(self.found(a='<a href="b.html#y">', b='<p id="x">'),
                         ["a.html:1: no anchor b.html#y"])

    def test_host_may_be_linked_to_and_nothing_fetched_from_it(self):
        self.assertEqual(self.found(a='<a href="https://a.example/">'), [])
        self.assertEqual(self.found(a='<script src="https://a.example/a.js">'),
                         ["a.html:1: https://a.example/a.js is fetched from a host"])


class Installed(unittest.TestCase):
    def test_link_into_the_sources_is_its_text(self):
        from installed import as_installed
        page = pathlib.PurePosixPath("docs/a/b.md")
        kept = "[y](../c.md#d) [z](https://z.example/) [w](#w) ![v](v.svg)"
        self.assertEqual(as_installed("[x](../../pmd/x.cpp#L1) " + kept, page), "x " + kept)

    def test_no_installed_page_has_a_link_that_leads_nowhere(self):
        from installed import LINK, OWN, as_installed, is_installed
        pages = [str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")]
        pages = [*OWN, *(page for page in pages if is_installed(page))]
        self.assertGreater(len(pages), 20)
        for path in pages:
            page = pathlib.PurePosixPath(path)
            text = (ROOT / path).read_text(encoding="utf-8")
            for _, target in LINK.findall(as_installed(text, page)):
                file = target.partition("#")[0]
                if not file or ":" in file:
                    continue
                there = (ROOT / page.parent / file).resolve().relative_to(ROOT.resolve())
                leads = is_installed(str(there)) and (ROOT / there).exists()
                self.assertTrue(leads, f"{path}: {target}")


class Headers(unittest.TestCase):
    def seen(self, *lines: str) -> list[str]:
        from doxygen_filter import marked
        return marked(["// SPDX-License-Identifier: BSD-3-Clause", "//", "// The file.", *lines],
                      is_c=False)[3:]

    def test_comment_behind_a_member_is_its_own_however_far(self):
        self.assertEqual(self.seen("#pragma once", "  int a = 0;    // of it"),
                         ["#pragma once", "  int a = 0;    ///< of it"])

    def test_comment_that_goes_on_below_is_one(self):
        self.assertEqual(self.seen("int a;  // of it, and", "        // more"),
                         ["int a;  ///< of it, and", "        ///< more"])

    def test_comment_of_its_own_is_nobodys(self):
        self.assertEqual(self.seen("  // Of what follows:", "  int a;"),
                         ["  // Of what follows:", "  int a;"])


class Contents(unittest.TestCase):
    """docs/README.md names each page, and there is one of each program."""

    def test_every_page_is_in_the_index(self):
        from build import documents, rewritten, contents
        text, _ = rewritten("docs/README.md", (ROOT / "docs/README.md").read_text(encoding="utf-8"),
                            "index.md")
        named = set(contents(text).splitlines())
        self.assertEqual([page for page in documents()
                          if page != "docs/README.md" and page[:-3] not in named], [])

    def test_every_link_of_a_page_leads_to_a_page_or_to_a_file_that_is_laid_out(self):
        from build import LINK, API, documents, place_of, rewritten, target_of
        pages = {"index.md" if page == "docs/README.md" else page: page for page in documents()}
        for place, page in pages.items():
            text = (ROOT / page).read_text(encoding="utf-8")
            text, needed = rewritten(page, text, place)
            there = set(pages) | {place_of(file) for file in needed}
            there |= {f"{file}.md" for file in needed if (ROOT / file).is_dir()}
            targets = {target_of(place, match["target"]) for match in LINK.finditer(text)}
            self.assertLessEqual(targets - {"", API}, there, page)

    def test_page_that_is_none_of_the_documents_is_laid_out_as_a_file(self):
        from build import rewritten
        text, needed = rewritten("docs/a.md", "[it](../.github/ISSUE_TEMPLATE/first-light.md)",
                                 "docs/a.md")
        self.assertEqual(text, "[it](../.github/ISSUE_TEMPLATE/first-light.md.txt)")
        self.assertEqual(needed, {".github/ISSUE_TEMPLATE/first-light.md"})

    def test_every_program_has_a_page(self):
        listed = (ROOT / "cmake/Programs.cmake").read_text(encoding="utf-8")
        names = re.findall(r'^    "([a-z-]+) (?:programs|service) ', listed, re.MULTILINE)
        self.assertGreater(len(names), 10)
        self.assertEqual([name for name in names
                          if not (ROOT / f"docs/programs/{name}.md").is_file()], [])


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    unittest.main()
