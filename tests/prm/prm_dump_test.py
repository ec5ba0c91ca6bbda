#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""prm_dump_test.py PRM_DUMP: the tool's output, its help, and what it refuses."""
import subprocess
import sys
import unittest

PRM_DUMP = sys.argv[1]


def run(*arguments, stdout=subprocess.PIPE):
    return subprocess.run([PRM_DUMP, *arguments], stdout=stdout, stderr=subprocess.PIPE,
                          text=True, check=False, timeout=600)


class PrmDumpTest(unittest.TestCase):
    def assert_refused(self, result, *words, status=1):
        self.assertEqual(result.returncode, status)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_one_layout_is_its_fields_in_order_and_nothing_else(self):
        result = run("destroy_mkey_in")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "destroy_mkey_in\topcode\t0\t16\n"
                                        "destroy_mkey_in\tuid\t16\t16\n"
                                        "destroy_mkey_in\top_mod\t48\t16\n"
                                        "destroy_mkey_in\tmkey_index\t72\t24\n")

    def test_nested_fields_have_dots_and_absolute_offsets(self):
        lines = run("create_qp_in").stdout.splitlines()
        self.assertIn("create_qp_in\tqpc.primary_address_path.ack_timeout\t448\t5", lines)

    def test_without_arguments_every_line_has_four_columns_and_is_unique(self):
        lines = run().stdout.splitlines()
        self.assertGreater(len(lines), 1800)
        self.assertTrue(all(len(line.split("\t")) == 4 for line in lines))
        self.assertEqual(len(lines), len(set(lines)))

    def test_several_names_are_printed_in_the_order_asked(self):
        layouts = [line.split("\t")[0] for line in run("cmd_out", "cmd_in").stdout.splitlines()]
        self.assertEqual(layouts, ["cmd_out"] * 3 + ["cmd_in"] * 2)

    def test_help_is_printed_and_succeeds(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("prm-dump [LAYOUT..]", result.stdout)

    def test_an_unknown_layout_is_one_line_and_nothing_is_printed(self):
        result = run("cmd_in", "no_such_layout")
        self.assert_refused(result, "no_such_layout")
        self.assertEqual(result.stdout, "")

    def test_an_unknown_option_is_one_line(self):
        self.assert_refused(run("--verbose"), "--verbose", "--help")

    def test_an_output_that_is_full_is_an_error(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            self.assert_refused(run(stdout=full), "standard output", status=74)


unittest.main(argv=sys.argv[:1], verbosity=2)
