# SPDX-License-Identifier: BSD-3-Clause
"""failover/proofs/seed_map.py against small trees: what it makes, and what it must refuse.

    seed_map_test.py FOLDER_OF_SEED_MAP [unittest arguments]
"""

import pathlib
import sys
import tempfile
import unittest

ITEMS = "# comment\n2.1 Definition Addr\n5.1 Axiom wish\n"
ADDR = "(*@ 2.1 Definition Addr: proved as stated\n    A note. *)\nDefinition Addr := nat.\n"
WISH = ("(*@ 5.1 Axiom wish: refuted *)\n"
        "Theorem wish_contradicts : wish -> False.\nProof. exact (fun w => w). Qed.\n")


def made(text: str, items: str = ITEMS) -> str:
    with tempfile.TemporaryDirectory() as folder:
        sources = pathlib.Path(folder)
        (sources / "seed_items.txt").write_text(items, encoding="utf-8")
        (sources / "A.v").write_text(text, encoding="utf-8")
        return seed_map.document(sources)


class SeedMap(unittest.TestCase):
    def refused(self, text: str, said: str, items: str = ITEMS):
        with self.assertRaises(seed_map.Wrong) as caught:
            made(text, items)
        self.assertIn(said, str(caught.exception))

    def test_each_item_gets_its_row_in_the_order_of_the_list(self):
        lines = made(WISH + ADDR).splitlines()
        self.assertEqual([line for line in lines if "(../failover/proofs/A.v)" in line], [
            "| 2.1 | Definition `Addr` | proved as stated | [A.Addr](../failover/proofs/A.v) "
            "| A note. |",
            "| 5.1 | Axiom `wish` | refuted | [A.wish_contradicts](../failover/proofs/A.v) |  |"])

    def test_verdicts_are_counted(self):
        self.assertIn("2 items: 1 proved as stated, 0 proved corrected, 1 refuted.",
                      made(ADDR + WISH))

    def test_two_comments_share_a_declaration(self):
        items = "5.1 Axiom wish\n5.1 Axiom dream\n"
        text = ("(*@ 5.1 Axiom wish: refuted *)\n(*@ 5.1 Axiom dream: refuted *)\n"
                "Theorem both : wish -> dream -> False.\n")
        self.assertEqual(made(text, items).count("[A.both]"), 2)

    def test_item_without_row_is_refused(self):
        self.refused(ADDR, "5.1 Axiom wish: no row")

    def test_item_with_two_rows_is_refused(self):
        self.refused(ADDR + WISH + ADDR, "2.1 Definition Addr: a row in A.v and one in A.v")

    def test_row_without_item_is_refused(self):
        self.refused(ADDR + WISH, "5.1 Axiom wish: not in seed_items.txt", "2.1 Definition Addr\n")

    def test_unknown_verdict_is_refused_with_its_line(self):
        self.refused(ADDR.replace("as stated", "somehow") + WISH, "A.v:1: '2.1 Definition Addr")

    def test_lemma_proved_by_a_definition_is_refused(self):
        text = "(*@ 2.1 Lemma fine: proved as stated *)\nDefinition fine := True.\n"
        self.refused(text, "A.v:1: Lemma fine is proved as stated by a mere Definition",
                     "2.1 Lemma fine\n")

    def test_inconsistent_axiom_that_is_no_hypothesis_is_refused(self):
        self.refused(ADDR + WISH.replace("wish -> False", "True"), "is no '.. wish .. -> False'")

    def test_comment_before_nothing_is_refused(self):
        self.refused(ADDR + WISH + "(*@ 2.1 Definition Val: proved as stated *)\n",
                     "no declaration follows")

    def test_note_that_names_what_is_not_declared_is_refused(self):
        self.refused(ADDR.replace("A note", "See Words.nothing") + WISH,
                     "its note names Words.nothing, which is not declared")

    def test_malformed_list_is_refused_with_its_line(self):
        self.refused(ADDR, "seed_items.txt:1: '2.1 Addr', expected", "2.1 Addr\n")

    def test_document_that_is_not_current_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            sources = pathlib.Path(folder)
            (sources / "seed_items.txt").write_text(ITEMS, encoding="utf-8")
            (sources / "A.v").write_text(ADDR + WISH, encoding="utf-8")
            page = sources / "page.md"
            page.write_text(seed_map.document(sources), encoding="utf-8")
            current = seed_map.main([folder, str(page)])
            page.write_text(page.read_text(encoding="utf-8") + "\n", encoding="utf-8")
            self.assertEqual((current, seed_map.main([folder, str(page)])), (0, 1))


if __name__ == "__main__":
    sys.path.insert(0, sys.argv.pop(1))
    import seed_map

    unittest.main()
