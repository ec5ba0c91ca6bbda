# SPDX-License-Identifier: BSD-3-Clause
"""first-light as its users run it: on the model in its own process and in another, shown, compared,
stopped, and given what is no bundle.

    first_light_test.py FIRST_LIGHT HCA_SERVER
"""

import json
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

DEADLINE_S = 300
LITTLE = ("--rounds", "2", "--writes", "4", "--revokes", "2", "--fences", "32")


class FirstLight(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def light(self, *arguments):
        return subprocess.run([PROGRAM, *map(str, arguments)], text=True, capture_output=True,
                              timeout=DEADLINE_S, stdin=subprocess.DEVNULL, check=False)

    def bundle(self, name, *arguments):
        path = self.folder / name
        said = self.light(*LITTLE, "--bundle", path, *arguments)
        self.assertTrue(path.exists(), said.stderr)
        return path, said

    def refuse(self, *arguments):
        said = self.light(*arguments)
        self.assertEqual(said.returncode, 1)
        self.assertRegex(said.stderr, r"\Afirst-light: .*\n\Z")
        return said.stderr

    def test_run_is_what_show_says_of_its_bundle(self):
        path, said = self.bundle("a.tar.zst", "--html", self.folder / "a.html")
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        shown = self.light("show", path, "--html", self.folder / "b.html")
        self.assertEqual(shown.returncode, 0)
        conclusions = said.stdout.split("link up\n\n")[1].split("bundle: ")[0]
        self.assertIn(conclusions, shown.stdout)
        self.assertIn("plan  ", shown.stdout)
        page = (self.folder / "a.html").read_text(encoding="utf-8")
        self.assertEqual((self.folder / "b.html").read_text(encoding="utf-8"), page)

    def test_bundle_is_plain_files_for_tar(self):
        path, _ = self.bundle("a.tar.zst", "--steps", "bring-up")
        plain = self.folder / "a.tar"
        with open(plain, "wb") as out:
            subprocess.run(["zstd", "-dc", path], stdout=out, check=True)
        with tarfile.open(plain) as archive:
            names = archive.getnames()
            manifest = json.load(archive.extractfile("manifest.json"))
        self.assertEqual(names[:2], ["README.txt", "manifest.json"])
        self.assertEqual({each["name"] for each in manifest["files"]} | {"manifest.json"},
                         set(names))
        self.assertEqual(manifest["format"], "portcullis-first-light")

    def test_broken_promise_is_status_2_and_what_differs(self):
        device = "model,behaviour=data-path-ns=20000"
        good, _ = self.bundle("good.tar.zst", device, "--steps", "audit")
        bad, said = self.bundle("bad.tar.zst", device + "+a2-off", "--steps", "audit")
        self.assertEqual(said.returncode, 2, said.stdout)
        self.assertRegex(said.stdout, r"refuted +A2 ")
        self.assertEqual(self.light("show", bad).returncode, 2)
        compared = self.light("diff", good, bad)
        self.assertEqual(compared.returncode, 3)
        self.assertIn("A2\n  - confirmed\n  + refuted\n", compared.stdout)
        self.assertNotIn("A1\n", compared.stdout)
        self.assertEqual(self.light("diff", good, good).returncode, 0)

    def test_device_of_another_process_is_left_so_that_it_can_be_asked_again(self):
        path = self.folder / "hca"
        with subprocess.Popen([HCA_SERVER, "--shm", path], text=True, stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL) as server:
            try:
                self.assertIn("listening", server.stderr.readline())
                steps = ("--steps", "bring-up,loopback,key,plans,end")
                for _ in range(2):
                    said = self.light(*LITTLE, f"shm:{path}", *steps)
                    self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
            finally:
                server.kill()

    def test_ctrl_c_ends_it_with_what_is_done_so_far(self):
        path = self.folder / "a.tar.zst"
        with subprocess.Popen([PROGRAM, "--bundle", path, "--rounds", "1000000000"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            while not process.stdout.readline().startswith("bring-up "):
                pass
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 130)
        self.assertRegex(out, r"commands +failed .*\n +stopped\n")
        self.assertRegex(out, r"audit +not run ")
        self.assertEqual(self.light("show", path).returncode, 3)

    def test_what_cannot_be_written_is_refused_before_the_work(self):
        for option in ("--bundle", "--html"):
            said = self.refuse(option, self.folder / "none" / "a", "--fences", "1000000000")
            self.assertIn("none/a", said)

    def test_what_is_no_bundle_is_one_line(self):
        junk = self.folder / "junk"
        junk.write_bytes(bytes(range(256)) * 40)
        self.assertIn(f"{junk}: no bundle", self.refuse("show", junk))
        self.assertIn("cannot be read", self.refuse("show", self.folder / "absent"))
        self.assertIn("cannot be read", self.refuse("show", self.folder))
        other = self.folder / "other.tar"
        with tarfile.open(other, "w") as archive:
            archive.add(junk, "junk")
        self.assertIn("facts.json is missing", self.refuse("diff", other, other))

    def test_device_that_is_none_is_one_line(self):
        self.assertIn('device "modle"', self.refuse("modle"))
        self.assertIn("ffff:1f:1f.7", self.refuse("ffff:1f:1f.7"))


if __name__ == "__main__":
    PROGRAM, HCA_SERVER = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
