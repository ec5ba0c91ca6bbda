#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""flow_probe_test.py PROGRAM [PROBE..]: the program of a build that has these probes."""
import subprocess
import sys
import unittest

PROGRAM, BUILT = sys.argv[1], sys.argv[2:]


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False,
                          timeout=600)


class FlowProbeTest(unittest.TestCase):
    def test_list_names_the_probes_of_this_build(self):
        result = run("--", "--list")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.split(), BUILT)

    def test_version_says_which_probes_are_built_in(self):
        expected = "probes " + ", ".join(BUILT) if BUILT else "no probes"
        self.assertRegex(run("--version").stdout,
                         rf"^flow-probe \(portcullis [0-9.]+, commit \S+, {expected}\)\n$")

    def test_runs_what_is_built_and_refuses_in_one_line_otherwise(self):
        result = run("--", "--device", "model,timing=cx5-16.35.4506")
        self.assertEqual(result.returncode, 0 if BUILT else 2, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 0 if BUILT else 1, result.stderr)
        self.assertEqual(result.stdout.count("(as on firmware 16.35.4506)"), len(BUILT))

    def test_help_says_what_a_probe_does_to_others(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("drops packets of the whole function", result.stdout)

    def test_silence_longer_than_the_retries_is_refused(self):
        result = run("--", "--quiet-ms", "500")
        self.assertEqual(result.returncode, 2)
        self.assertIn("400", result.stderr)

    def test_an_unknown_option_is_one_line(self):
        result = run("--", "--speed")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("--speed", result.stderr)


unittest.main(argv=sys.argv[:1], verbosity=2)
