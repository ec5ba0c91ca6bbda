# SPDX-License-Identifier: BSD-3-Clause
"""failover/proofs/build.sh against small developments that it must refuse, and one it must accept.

    build_test.py BUILD_SH [unittest arguments]

A gate that never closes proves nothing: each way to leave something unproved is tried once.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = ""

GOOD = "Lemma fine : forall n : nat, n = n.\nProof. reflexivity. Qed.\n"


def build(files: dict[str, str], project: str | None = None) -> subprocess.CompletedProcess:
    with tempfile.TemporaryDirectory() as folder:
        sources = pathlib.Path(folder, "sources")
        sources.mkdir()
        for name, text in files.items():
            (sources / name).write_text(text, encoding="utf-8")
        lines = project if project is not None else "-Q . Small\n" + "\n".join(files) + "\n"
        (sources / "_CoqProject").write_text(lines, encoding="utf-8")
        return subprocess.run(["bash", BUILD, str(sources), str(pathlib.Path(folder, "out"))],
                              capture_output=True, text=True, timeout=1200, check=False)


class Build(unittest.TestCase):
    def refused(self, files: dict[str, str], said: str, project: str | None = None):
        done = build(files, project)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(said, done.stderr)
        self.assertEqual(done.stderr.count("build.sh: "), 1)

    def test_closed_development_is_accepted(self):
        done = build({"Good.v": GOOD})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 of 1 theorems are closed", done.stdout)
        self.assertIn("coqchk: no axiom", done.stdout)

    def test_words_in_comments_are_no_offence(self):
        done = build({"Good.v": "(* no Axiom, (* nothing Admitted *) here *)\n" + GOOD})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_axiom_is_refused_with_its_line(self):
        self.refused({"A.v": GOOD + "Axiom wish : False.\n"}, "A.v:3:")

    def test_admitted_is_refused(self):
        self.refused({"A.v": "Lemma wish : False.\nAdmitted.\n"}, "A.v:2:")

    def test_admit_tactic_is_refused(self):
        self.refused({"A.v": "Lemma wish : False.\nProof. admit. Defined.\n"}, "A.v:2:")

    def test_variable_outside_a_section_is_refused(self):
        text = "Variable wish : False.\nLemma no : False.\nProof. exact wish. Qed.\n"
        self.refused({"A.v": text}, "1 of 1 theorems rest on an axiom")

    def test_axiom_of_the_standard_library_is_refused(self):
        text = ("From Coq Require Import FunctionalExtensionality.\n"
                "Lemma eta : (fun n => n + 0) = (fun n : nat => n).\n"
                "Proof. apply functional_extensionality.\n"
                "intro n. induction n; cbn; congruence. Qed.\n")
        self.refused({"A.v": text}, "1 of 1 theorems rest on an axiom")

    def test_unused_assumption_is_refused_by_the_checker(self):
        self.refused({"A.v": GOOD + "Variable wish : 0 = 1.\n"}, "coqchk: not 'Axioms: <none>'")

    def test_wrong_proof_is_refused(self):
        text = "Lemma no : 0 = 1.\nProof. reflexivity. Qed.\n"
        self.refused({"A.v": text}, "A.v does not compile")

    def test_guard_switched_off_is_refused(self):
        self.refused({"A.v": "Unset Guard Checking.\n" + GOOD}, "A.v:1:")

    def test_file_outside_the_project_is_refused(self):
        self.refused({"A.v": GOOD, "B.v": GOOD}, "B.v is not named", "-Q . Small\nA.v\n")

    def test_file_that_is_not_there_is_refused(self):
        self.refused({"A.v": GOOD}, "no file 'C.v'", "-Q . Small\nA.v\nC.v\n")

    def test_development_without_statements_is_refused(self):
        self.refused({"A.v": "(* nothing *)\n"}, "no statement found")


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
