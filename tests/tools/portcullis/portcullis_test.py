# SPDX-License-Identifier: BSD-3-Clause
"""portcullis_test.py PROGRAM LIST: `portcullis`, and cmake/Programs.cmake, which has its list.

Its neighbours here are scripts, so that it is seen what they are given."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, LIST = map(pathlib.Path, sys.argv[1:])
SCRIPT = "#!/bin/sh\necho \"$0: $*\"\nexit 7\n"


class Portcullis(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        self.program = self.bin / "portcullis"
        shutil.copy(PROGRAM, self.program)

    def put(self, folder, name):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(SCRIPT, encoding="utf-8")
        (folder / name).chmod(0o755)

    def run_it(self, *arguments, program=None, path="/nowhere", **streams):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
        return subprocess.run([program or self.program, *arguments], text=True, check=False,
                              timeout=300, env=os.environ | {"PATH": path},
                              stdin=subprocess.DEVNULL, **streams)

    def test_without_arguments_lists_what_help_lists(self):
        shown = self.run_it()
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertEqual(shown.stdout, self.run_it("--help").stdout)

    def test_lists_each_installed_program_with_its_line(self):
        listed = dict(re.findall(r"^  ([a-z][a-z-]*) +(\S.*)$", self.run_it("--help").stdout, re.M))
        wanted = re.findall(r'^ +"(\S+) (?:programs|service) ([^"]+)"',
                            LIST.read_text(encoding="utf-8"), re.M)
        self.assertGreater(len(wanted), 10)
        self.assertLessEqual({"leased", "leasectl", "doctor"}, listed.keys())
        self.assertLessEqual(set(listed.items()), set(wanted))

    def test_runs_the_program_beside_it_with_its_arguments_and_status(self):
        self.put(self.bin, "leasectl")
        ended = self.run_it("leasectl", "revoke", "--plan", "seed")
        self.assertEqual((ended.returncode, ended.stderr), (7, ""))
        self.assertEqual(ended.stdout, f"{self.bin}/leasectl: revoke --plan seed\n")

    def test_called_by_a_link_runs_what_lies_beside_the_program(self):
        self.put(self.bin, "leasectl")
        link = self.folder / "link"
        link.symlink_to(self.program)
        self.assertEqual(self.run_it("leasectl", program=link).returncode, 7)

    def test_runs_a_program_of_the_path_when_there_is_none_beside_it(self):
        self.put(self.folder / "other", "doctor")
        ended = self.run_it("doctor", path=f"{self.folder}/other:/usr/bin:/bin")
        self.assertEqual(ended.stdout, f"{self.folder}/other/doctor: \n")

    def test_program_that_is_not_installed_is_named_with_status_127(self):
        ended = self.run_it("doctor")
        self.assertEqual((ended.returncode, ended.stdout), (127, ""))
        self.assertRegex(ended.stderr, r"\Aportcullis: doctor is not installed; .*\n\Z")

    def test_program_that_cannot_be_run_is_named_with_status_126(self):
        self.put(self.bin, "doctor")
        (self.bin / "doctor").chmod(0o644)
        ended = self.run_it("doctor")
        self.assertEqual(ended.returncode, 126)
        self.assertRegex(ended.stderr, r"\Aportcullis: doctor: Permission denied\n\Z")

    def test_program_of_the_path_that_is_none_of_ours_is_not_run(self):
        self.put(self.bin, "stranger")
        ended = self.run_it("stranger")
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        self.assertRegex(ended.stderr, r'\Aportcullis: no program "stranger"; .*\n\Z')

    def test_program_finds_a_closed_stream_closed(self):
        (self.bin / "doctor").write_text("#!/bin/sh\n[ ! -e /proc/self/fd/1 ] && exit 9\n",
                                         encoding="utf-8")
        (self.bin / "doctor").chmod(0o755)
        ended = self.run_it("-c", f"exec {self.program} doctor >&-", program="/bin/sh")
        self.assertEqual(ended.returncode, 9)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
