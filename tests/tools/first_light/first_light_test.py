# SPDX-License-Identifier: BSD-3-Clause
"""first-light as its users run it: on the model in its own process and in another, shown, compared,
and given what is no bundle.

    first_light_test.py FIRST_LIGHT HCA_SERVER
"""

import io
import json
import os
import pathlib
import resource
import subprocess
import sys
import tarfile
import tempfile
import unittest

DEADLINE_S = 300
ROOT = pathlib.Path(__file__).resolve().parents[3]
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

    @staticmethod
    def files_of(path):
        plain = subprocess.run(["zstd", "-dc", path], stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
            return {each.name: archive.extractfile(each).read() for each in archive}

    @staticmethod
    def packed(files):
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w") as archive:
            for name, data in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        return subprocess.run(["zstd", "-c"], input=plain.getvalue(), stdout=subprocess.PIPE,
                              check=True).stdout

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
        told = said.stdout.split("; relaxed ordering ")[1]
        conclusions = told.split("\n\n", 1)[1].split("bundle: ")[0]
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

    def test_model_of_a_bundle_says_the_same(self):
        device = "model,timing=cx5-16.35.4506,behaviour=data-path-ns=20000+a2-off"
        path, _ = self.bundle("a.tar.zst", device)
        again, said = self.bundle("b.tar.zst", f"model,profile={path},seed=7")
        self.assertEqual(said.returncode, 2, said.stdout)
        compared = self.light("diff", path, again)
        self.assertEqual(compared.returncode, 0, compared.stdout)
        self.assertIn("the same was found", compared.stdout)

    def test_device_of_a_bundle_that_is_none_is_one_line(self):
        junk = self.folder / "junk"
        junk.write_bytes(bytes(range(256)) * 40)
        self.assertIn(f"{junk}: no bundle", self.refuse(f"model,profile={junk}"))
        path, _ = self.bundle("a.tar.zst", "model,behaviour=cmdif-rev-6", "--steps", "bring-up")
        self.assertIn("never came up", self.refuse(f"model,profile={path}"))
        self.assertIn("beside profile=", self.refuse(f"model,vf,profile={path}"))

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

    def test_kernel_log_of_the_card_stands_beside_our_bring_up(self):
        log = ROOT / "tests/trace/data/connectx4_bringup.log"
        path, said = self.bundle("a.tar.zst", "--dmesg", log, "--steps", "bring-up,loopback")
        self.assertEqual(said.returncode, 0, said.stderr)
        files = self.files_of(path)
        self.assertIn(b"ENABLE_HCA", files["linux.trace"])
        beside = files["beside-linux.txt"].decode()
        self.assertRegex(beside, r"(?m)^ *1?.*ENABLE_HCA")
        self.assertNotIn("RST2INIT_QP", beside)  # of loopback, which is no bring-up
        names = {each["name"] for each in json.loads(files["manifest.json"])["files"]}
        self.assertLessEqual({"linux.trace", "beside-linux.txt"}, names)
        for name, data in files.items():
            self.assertNotIn(str(log).encode(), data, name)

    def test_kernel_log_that_is_none_ends_it_before_the_first_step(self):
        self.assertIn("No such file", self.refuse("--dmesg", self.folder / "none",
                                                   "--bundle", self.folder / "b"))
        empty = self.folder / "empty"
        empty.write_text("nothing of mlx5\n")
        self.assertIn(f"--dmesg {empty}: ", self.refuse("--dmesg", empty, "--bundle",
                                                           self.folder / "b"))

    def test_pipe_that_nobody_writes_keeps_nobody_waiting(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.assertIn(f"--dmesg {pipe}: ", self.refuse("--dmesg", pipe, "--bundle",
                                                          self.folder / "b"))
        self.assertIn(f"{pipe}: no bundle", self.refuse("show", pipe))

    def test_crash_dump_is_in_the_bundle_of_who_asked_for_it_alone(self):
        path = self.folder / "hca"
        server = subprocess.Popen([HCA_SERVER, "--shm", path], text=True, stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.addCleanup(server.stderr.close)
        self.assertIn("listening", server.stderr.readline())
        steps = (f"shm:{path}", "--steps", "bring-up,end")
        kept, said = self.bundle("a.tar.zst", "--crash-dump", *steps)
        self.assertIn("with a crash dump)", said.stdout)
        dump = self.files_of(kept)["crash-dump.txt"].decode()
        self.assertRegex(dump, r"\A# behind step end: \d+ words of a space of 0x4000 bytes, to its "
                               r"end\n0x00000000 0x[0-9a-f]{8}\n")
        self.assertIn("crash dump behind step end: whole", self.light("show", kept).stdout)
        without, _ = self.bundle("b.tar.zst", *steps)
        self.assertNotIn("crash-dump.txt", self.files_of(without))

    def test_full_disk_costs_what_is_written_there_alone(self):
        page = self.folder / "a.html"
        said = self.light("--bundle", "/dev/full", "--html", page, "--steps", "bring-up")
        self.assertEqual(said.returncode, 1)
        self.assertEqual(said.stderr,
                         "first-light: /dev/full cannot be written: No space left on device\n")
        self.assertRegex(said.stdout, r"not run +A1 ")
        self.assertIn("<h2>Conclusions</h2>", page.read_text(encoding="utf-8"))
        broken = self.light(*LITTLE, "model,behaviour=data-path-ns=20000+a2-off",
                            "--steps", "audit", "--bundle", "/dev/full")
        self.assertEqual(broken.returncode, 2)

    def test_disk_that_is_full_so_far_is_told_once_and_at_the_end(self):
        """A limit of a file's size stands for the disk."""
        bundle = self.folder / "a.tar.zst"
        said = subprocess.run(
            [PROGRAM, *LITTLE, "--bundle", bundle, "--steps", "bring-up,commands"], text=True,
            capture_output=True, timeout=DEADLINE_S, stdin=subprocess.DEVNULL, check=False,
            restore_signals=False, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (64, resource.RLIM_INFINITY)))
        self.assertEqual(said.returncode, 1)
        wrong = f"first-light: {bundle} cannot be written: File too large"
        self.assertEqual(said.stderr,
                         f"{wrong}; tried again behind each step\n{wrong}\n")
        self.assertRegex(said.stdout, r"confirmed|not run")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_bundle_is_neither_its_page_nor_what_was_read(self):
        bundle, _ = self.bundle("a.tar.zst", "--steps", "end")
        before = bundle.read_bytes()
        log = self.folder / "dmesg"
        log.write_text("x", encoding="utf-8")
        again = self.folder / "." / "a.tar.zst"
        for arguments in (("show", bundle, "--html", again), ("--bundle", bundle, "--html", again),
                          (f"model,profile={bundle}", "--bundle", again),
                          ("--dmesg", log, "--bundle", log)):
            self.assertIn("accepted", self.refuse(*arguments))
        self.assertEqual(bundle.read_bytes(), before)
        self.assertEqual(log.read_text(encoding="utf-8"), "x")

    def test_device_that_is_not_there_costs_no_bundle_of_another_day(self):
        bundle, _ = self.bundle("a.tar.zst", "--steps", "end")
        before = bundle.read_bytes()
        for device in ("mlx5_77", f"shm:{self.folder}/none"):
            self.refuse(device, "--bundle", bundle)
        self.assertEqual(bundle.read_bytes(), before)

    def test_what_only_a_bundle_keeps_needs_one(self):
        log = self.folder / "dmesg"
        log.write_text("x", encoding="utf-8")
        self.assertIn("--bundle FILE", self.refuse("--dmesg", log))
        self.assertIn("--bundle FILE", self.refuse("--crash-dump"))
        self.assertIn("step bring-up", self.refuse("--dmesg", log, "--steps", "end", "--bundle",
                                                   self.folder / "b"))

    def test_empty_value_is_none_that_was_not_given(self):
        for option in ("--bundle", "--dmesg", "--peer", "--html", "--address", "--steps"):
            self.assertIn(option, self.refuse(option, ""))

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

    def test_hostile_bundle_is_one_line_whoever_reads_it(self):
        path, _ = self.bundle("a.tar.zst", "--steps", "bring-up")
        files = self.files_of(path)
        facts, profile = "facts.json", "profile.json"
        hostile = {
            "cut": path.read_bytes()[:-40],
            "path": self.packed(files | {"../../etc/passwd": b"x"}),
            "count": self.packed(files | {profile: files[profile].replace(
                b'"least_ns": ', b'"least_ns": 99999999999999999999', 1)}),
            "minus": self.packed(files | {profile: files[profile].replace(
                b'"least_ns": ', b'"least_ns": -1', 1)}),
            "nan": self.packed(files | {profile: b'{"format": NaN}'}),
            "version": self.packed(files | {profile: files[profile].replace(
                b'"version": 1', b'"version": 2', 1)}),
            "word": self.packed(files | {profile: files[profile].replace(
                b'"behaviours": [', b'"behaviours": ["rm-rf", ', 1).replace(b', ]', b']')}),
        }
        for name, data in hostile.items():
            (self.folder / name).write_bytes(data)
            said = self.refuse(f"model,profile={self.folder / name}", "--steps", "bring-up")
            self.assertIn(name, said)
        for name, text in (("minus", files[facts].replace(b'_ms": ', b'_ms": -1', 1)),
                           ("nan", files[facts].replace(b'_ms": ', b'_ms": NaN', 1)),
                           ("version", files[facts].replace(b'"version": ', b'"version": 9', 1))):
            (self.folder / name).write_bytes(self.packed(files | {facts: text}))
            self.assertIn("facts.json", self.refuse("show", self.folder / name))

    def test_device_that_is_none_is_one_line(self):
        self.assertIn('device "modle"', self.refuse("modle"))
        self.assertIn("ffff:1f:1f.7", self.refuse("ffff:1f:1f.7"))


if __name__ == "__main__":
    PROGRAM, HCA_SERVER = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
