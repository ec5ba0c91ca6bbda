# SPDX-License-Identifier: BSD-3-Clause
#
# Manners that every program has, whatever it does: help that fits a terminal; no home, no locale
# and no folder to write to cost nothing; what is too long or no text is refused in one line that
# can be read; no link is written over or through; Ctrl-C is heeded.
"""manners_test.py SOURCE PROGRAM .. --eal PROGRAM ..: EAL arguments stand before a "--"."""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SOURCE / "docs/man"))
import help as taken_apart  # noqa: E402  pylint: disable=wrong-import-position

EAL = sys.argv.index("--eal")
OWN = [pathlib.Path(path).resolve() for path in sys.argv[2:EAL]]
WITH_EAL = [pathlib.Path(path).resolve() for path in sys.argv[EAL + 1:]]
PROGRAMS = {path.name: path for path in [*OWN, *WITH_EAL]}
LIMIT_S = 300  # ends what hangs
COLUMNS = 100
LONGEST = 131_071  # bytes of one argument that execve(2) takes: MAX_ARG_STRLEN and its end
LONG_LINE = 1_000  # characters that somebody still reads
READ_ONLY = "/proc"  # nobody makes a file there, root neither
# A model whose commands take no time.
MODEL = "model,behaviour=data-path-ns=1000"
RING = ("ring-3", "--set", "d=0.125")
REQUEST = ("lease-request version=1 qpn=0x11 psn=0x3a51b2 gid=192.0.2.2 mac=02:50:43:00:00:02 "
           "mtu=1024\n")
TRACE = """portcullis-trace 1
source by hand
command 1 QUERY_ISSI 0x10a op_mod 0x0
delivery OK 0x0
status OK 0x0
syndrome 0x0
in_length 16
in_hex 0x000: 010a0000 00000000 00000000 00000000
out_length 112
out_hex 0x000: 00000000 00000000 00000001 00000000
end
"""
# What prints the same each time and needs nothing but its words; {folder} has request and trace.
SHORT = {
    "prm-dump": (),
    "trace-diff": ("{folder}/trace", "{folder}/trace"),
    "failover-check": ("explore", "blind-fadd"),
    "fence_proof": ("--runs", "1", "--jobs", "1"),
    "late-write": ("--print-fabric",),
    "pfc-deadlock": ("cbd", *RING),
    "portcullis": ("--help",),
    "fence-audit": ("--", MODEL, "--plan", "seed", "--fences", "2"),
    "first-light": ("--", MODEL, "--steps", "key"),
}
# What writes a file, and the option that names it.
WRITES = {
    "failover-check": [("explore", "blind-fadd", "--svg")],
    "fence_proof": [("--runs", "1", "--jobs", "1", "--trace"), ("--runs", "1", "--jobs", "1",
                                                                "--pcap")],
    "late-write": [("--rest-ms", "1", "--svg")],
    "pfc-deadlock": [("fluid", *RING, "--until", "1", "--svg"),
                     ("fluid", *RING, "--until", "1", "--report"),
                     ("packet", *RING, "--until", "1", "--report"),
                     ("cbd", *RING, "--report"), ("cbd", *RING, "--advise", "lossy", "--advice"),
                     ("sweep", *RING, "--vary", "theta=0.5:2:2", "--until", "1", "--svg"),
                     ("residence", *RING, "--report")],
    "fence-audit": [("--", MODEL, "--plan", "seed", "--fences", "2", option)
                    for option in ("--json", "--per-fence")],
    "first-light": [("--", MODEL, "--steps", "key", option) for option in ("--bundle", "--html")],
    "lease-serve": [("--", "--device", "model", "--address", "192.0.2.1", "--revoke-after-ms", "1",
                     "--watch-ms", "1", "--request-file", "{folder}/request", *more)
                    for more in (("--grant-file",), ("--grant-file", "{folder}/grant", "--json"),
                                 ("--grant-file", "{folder}/grant", "--dump"))],
    "hca-server": [("--socket", "{folder}/s", option) for option in ("--trace", "--pcap")],
    "leased": [("--socket", "{folder}/s", "--journal")],
}
# Of a leased that is built with a sanitizer, which does what its seccomp forbids.
LEASED = os.environ.get("LEASED_ARGUMENTS", "").split()
# What goes on for as long as it is let, and what it prints when it is at work; None where it has
# nothing to say before its end.
AT_WORK = {
    "hca-server": [(("--shm", "{folder}/hca"), "listening"),
                   (("--socket", "{folder}/s"), "listening")],
    "leased": [(("--socket", "{folder}/s", "--journal", "none", *LEASED), "serves ")],
    "lease-serve": [(("--", "--device", "model", "--address", "192.0.2.1", "--request-file",
                      "{folder}/none", "--grant-file", "{folder}/grant"), "awaiting")],
    "fence-audit": [(("--", MODEL, "--fences", "1000000000"), None)],
    "first-light": [(("--", MODEL, "--rounds", "1000000000"), "bring-up ")],
    "fence_proof": [(("--runs", "1000000000"), None)],
    "late-write": [(("--settle-ms", "1000"), None)],
    "failover-check": [(("explore", "tagged-help-cas", "--clients", "3"), None)],
    "pfc-deadlock": [(("packet", "ring:4,2", "--until", "100000000", "--watchdog", "drop",
                       "--detect-ms", "0.4", "--restore-ms", "0.2"), None),
                     (("sweep", *RING, "--vary", "theta=0.5:2:1000", "--runs", "1000"), None)],
    "revoke_bench": [(("--", "--device=model,execution=stepped", "--leases=1"), None)],
}


class EveryProgram(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "request").write_text(REQUEST, encoding="utf-8")
        (self.folder / "trace").write_text(TRACE, encoding="utf-8")

    def words(self, name, words):
        return [PROGRAMS[name], *(str(word).format(folder=self.folder) for word in words)]

    def run_it(self, command, **more):
        more = {"stdin": subprocess.DEVNULL, "cwd": self.folder} | more
        return subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False, **more)

    def expect_one_readable_line(self, name, ended):
        self.assertIn(ended.returncode, range(1, 126))
        said = ended.stderr.decode(encoding="utf-8", errors="strict")
        self.assertRegex(said, rf"\A{name}: [^\n]*\n\Z")
        self.assertLess(len(said), LONG_LINE)
        self.assertTrue(all(letter.isprintable() or letter == "\n" for letter in said), said)

    def test_help_of_each_command_fits_a_terminal(self):
        for name, path in PROGRAMS.items():
            todo = [taken_apart.read(str(path), name)]
            for page in todo:
                todo += page.commands
                with self.subTest(" ".join(page.words)):
                    self.assertTrue(page.text.isascii())
                    longest = max(page.text.splitlines(), key=len)
                    self.assertLessEqual(len(longest), COLUMNS, longest)

    def test_longest_argument_is_refused_in_a_line_that_can_be_read(self):
        for name, path in PROGRAMS.items():
            before = ["--"] if path in WITH_EAL else []
            for word in ("x" * LONGEST, "--" + "x" * (LONGEST - 2), "--json=" + "x" * 60_000,
                         "model," + "x" * 60_000):
                with self.subTest(name, word=word[:7]):
                    self.expect_one_readable_line(name, self.run_it([path, *before, word]))

    def test_argument_of_a_mebibyte_in_all_is_refused_too(self):
        for name, path in PROGRAMS.items():
            before = ["--"] if path in WITH_EAL else []
            with self.subTest(name):
                many = self.run_it([path, *before, *["x" * LONGEST] * 8])
                self.expect_one_readable_line(name, many)

    def test_argument_that_is_no_text_is_refused_in_a_line_that_can_be_read(self):
        for name, path in PROGRAMS.items():
            before = ["--"] if path in WITH_EAL else []
            for word in (b"--\xff\xfe\x1b[2J", b"model,\xc3\x28\x07", b"--json\n\rx"):
                with self.subTest(name, word=word):
                    self.expect_one_readable_line(name, self.run_it([path, *before, word]))

    def test_home_locale_and_folder_change_nothing(self):
        for name, words in SHORT.items():
            command = self.words(name, words)
            usual = self.run_it(command)
            others = {
                "no environment": {"env": {}},
                "LC_ALL=C": {"env": os.environ | {"LC_ALL": "C"}},
                "LC_ALL=C.UTF-8": {"env": os.environ | {"LC_ALL": "C.UTF-8"}},
                "a locale that is not there": {"env": os.environ | {"LC_ALL": "tlh_KX.UTF-8"}},
                "home that is not there": {"env": os.environ | {"HOME": "/nonexistent"}},
                "read-only folder": {"cwd": READ_ONLY},
            }
            for what, more in others.items():
                with self.subTest(name, what=what):
                    ended = self.run_it(command, **more)
                    self.assertEqual((ended.returncode, ended.stderr),
                                     (usual.returncode, usual.stderr))
                    self.assertEqual(self.without_times(ended.stdout),
                                     self.without_times(usual.stdout))

    @staticmethod
    def without_times(text):
        """What a program says of how long it took is another each time."""
        return [line for line in text.decode().splitlines() if " s" not in line]

    def test_help_needs_no_environment_and_no_folder(self):
        for name, path in PROGRAMS.items():
            with self.subTest(name):
                usual = self.run_it([path, "--help"])
                for more in ({"env": {}}, {"cwd": READ_ONLY}):
                    ended = self.run_it([path, "--help"], **more)
                    self.assertEqual((ended.returncode, ended.stdout), (0, usual.stdout))

    def test_output_that_is_full_closed_or_unread_has_a_status_of_its_own(self):
        for name, words in SHORT.items():
            command = [str(word) for word in self.words(name, words)]
            reader, writer = os.pipe()
            os.close(reader)
            with open("/dev/full", "wb") as full, subprocess.Popen(["true"]) as ended:
                ended.wait()
                streams = {"full": full, "unread": writer}
                for what, stream in streams.items():
                    with self.subTest(name, stdout=what):
                        told = subprocess.run(command, stdout=stream, stderr=subprocess.PIPE,
                                              stdin=subprocess.DEVNULL, timeout=LIMIT_S,
                                              check=False, text=True)
                        self.assertEqual(told.returncode, 74)
                        self.assertRegex(told.stderr, rf"(?m)^{name}: standard output refused")
            os.close(writer)
            with self.subTest(name, stdout="closed"):
                closed = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
                told = self.run_it(closed, text=True)
                self.assertEqual(told.returncode, 74)
                self.assertRegex(told.stderr, "it is closed")

    def test_link_is_neither_written_over_nor_through(self):
        for name, ways in WRITES.items():
            for words in ways:
                target, link = self.folder / "target", self.folder / "link"
                for is_there in (True, False):
                    with self.subTest(name, option=words[-1], is_there=is_there):
                        target.unlink(missing_ok=True)
                        link.unlink(missing_ok=True)
                        if is_there:
                            target.write_text("mine", encoding="utf-8")
                        link.symlink_to(target)
                        ended = self.run_it([*self.words(name, words), str(link)])
                        self.assertIn(ended.returncode, range(1, 126), ended.stdout)
                        self.assertIn(f"{link}", ended.stderr.decode())
                        self.assertTrue(link.is_symlink())
                        self.assertEqual(target.exists(), is_there)
                        if is_there:
                            self.assertEqual(target.read_text(encoding="utf-8"), "mine")

    def test_ctrl_c_is_heeded(self):
        """Within a second on a machine of its own: here it is what a program still uses that
        counts, however busy the machine is."""
        for name, ways in AT_WORK.items():
            for words, said in ways if name in PROGRAMS else []:
                with self.subTest(name, words=words):
                    self.interrupt(name, self.words(name, words), said)

    def interrupt(self, name, command, said):
        messages = self.folder / "messages"
        ended_s = self.ended_s()
        with open(messages, "wb") as out, subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                cwd=self.folder) as process:
            try:
                while process.poll() is None and not self.is_at_work(process, messages, said):
                    time.sleep(0.02)
                self.assertIsNone(process.poll(), messages.read_text(encoding="utf-8"))
                before_s = self.used_s(process)
                process.send_signal(signal.SIGINT)
                process.wait(timeout=120)  # of a second, on a machine that is busy
            finally:
                process.kill()
        # Of both cores for a second, and what a busy machine adds to it.
        self.assertLess(self.ended_s() - before_s - ended_s, 8, name)
        self.assertIn(process.returncode, (0, 1, 2, 3, 130, -signal.SIGINT), name)
        self.assertEqual(list(self.folder.glob(".unfinished*")), [])
        shutil.rmtree(self.folder / "s", ignore_errors=True)

    @staticmethod
    def is_at_work(process, messages, said):
        """It has said so; or it has used a processor for longer than it takes to start."""
        if said is not None:
            return said in messages.read_text(encoding="utf-8")
        return EveryProgram.used_s(process) >= 0.25

    @staticmethod
    def used_s(process):
        """Of processors, by a process that runs."""
        stat = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii")
        used = sum(int(ticks) for ticks in stat.rsplit(")", 1)[1].split()[11:13])
        return used / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def ended_s():
        """By all that have ended."""
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
