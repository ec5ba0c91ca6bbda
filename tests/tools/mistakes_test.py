# SPDX-License-Identifier: BSD-3-Clause
#
# What every program has in common: --help is for people and leaves with 0; --version is a line with
# the commit; a mistake is one line on standard error, behind the program's name, that names it, and
# a status that is not 0.
"""mistakes_test.py PROGRAM .. --eal PROGRAM ..: their paths; EAL arguments stand before a "--"."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

UNKNOWN = "--no-such-option"
EAL = sys.argv.index("--eal")
PROGRAMS = {pathlib.Path(path): [UNKNOWN] for path in sys.argv[1:EAL]}
PROGRAMS |= {pathlib.Path(path): ["--", UNKNOWN] for path in sys.argv[EAL + 1:]}


def run(program, *arguments):
    return subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=300)


def numeric_options(text):
    """Whose value --help calls by a name that is a number's."""
    return re.findall(r"(?m)^\s+(?:-\w,)?(--[\w-]+) (?:UINT|INT|N|MS|\d+-\d+)\b", text)


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

    def test_number_with_a_leading_zero_is_named_in_one_line(self):
        looked_at = 0
        for program, mistake in PROGRAMS.items():
            for option in numeric_options(run(program, "--help").stdout):
                with self.subTest(program.name, option=option):
                    refused = run(program, *mistake[:-1], option, "010")
                    self.assertNotEqual(refused.returncode, 0)
                    self.assertEqual(refused.stdout, "")
                    self.assertRegex(refused.stderr, rf"\A{program.name}: {option}: 010: a decimal "
                                                     r"number without a leading zero, .*\n\Z")
                    looked_at += 1
        self.assertGreater(looked_at, 50)  # of two dozen programs


class TwoFilesOfOneName(unittest.TestCase):
    """The second would take the place of the first, and nobody would know."""

    def test_are_refused_before_the_work(self):
        with tempfile.TemporaryDirectory() as folder:
            one, same = f"{folder}/a", f"{folder}/./a"
            asked = {
                "fence-audit": ["--fences", "1", "--json", one, "--per-fence", same],
                "lease-serve": ["--device=model", "--listen=1", "--dump", one, "--json", same],
                "lease-verify": ["--request-file", one, "--grant-file", same],
                "hca-server": ["--shm", one, "--pcap", same]}
            for program, mistake in PROGRAMS.items():
                if program.name not in asked:
                    continue
                with self.subTest(program.name):
                    refused = run(program, *mistake[:-1], *asked.pop(program.name))
                    self.assertNotEqual(refused.returncode, 0)
                    self.assertRegex(refused.stderr,
                                     rf"\A{program.name}: --.*{re.escape(folder)}.*: "
                                     r".*(two files are|another file is) accepted\n\Z")
            self.assertEqual(asked, {})
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])


class WhatHasNoEffect(unittest.TestCase):
    """An option that would be passed over in silence is refused: its user meant something by it."""

    def test_is_refused_with_the_option_that_it_needs(self):
        asked = {
            "roce-peer": (["--device=model", "--server=h:1", "--messages=9"], "--ping-pong"),
            "lease-serve": (["--device=model", "--listen=1", "--fabric-watchdog-ms=5"],
                            "--fabric"),
            "vfio-peer": (["--device=0000:03:00.0", "--samples=9"], "--latency"),
            "hca-server": (["--shm=a", "--vf=3"], "--vf takes no value"),
            "doctor": ([""], "no device")}
        for program, mistake in PROGRAMS.items():
            if program.name not in asked:
                continue
            arguments, needed = asked.pop(program.name)
            with self.subTest(program.name):
                refused = run(program, *mistake[:-1], *arguments)
                self.assertNotEqual(refused.returncode, 0)
                self.assertEqual(refused.stdout, "")
                self.assertRegex(refused.stderr, rf"\A{program.name}: .*{needed}.*\n\Z")
        self.assertEqual(asked, {})


class DeviceOfAProcessThatEnds(unittest.TestCase):
    def test_lease_serve_ends_too(self):
        by_name = {program.name: program for program in PROGRAMS}
        with tempfile.TemporaryDirectory() as folder:
            hca = f"{folder}/hca"
            with subprocess.Popen([by_name["hca-server"], "--shm", hca], text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
                self.assertIn("listening", server.stderr.readline())
                with subprocess.Popen([by_name["lease-serve"], "--", f"--device=shm:{hca}",
                                       f"--request-file={folder}/request",
                                       f"--grant-file={folder}/grant"], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) as serve:
                    lines = iter(serve.stdout.readline, "")
                    self.assertTrue(any(line.startswith("awaiting") for line in lines))
                    server.kill()
                    told = serve.communicate(timeout=300)[1]
                    self.assertTrue(
                        told.endswith(f"lease-serve: shm {hca}: its server has gone\n"), told)
                self.assertEqual(serve.returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
