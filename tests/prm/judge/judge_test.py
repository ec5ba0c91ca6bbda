#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""judge_test.py JUDGE LAYOUTS.tsv CONSTANTS.tsv: the judge sees what is wrong, and only that."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

JUDGE, LAYOUTS, CONSTANTS = sys.argv[1:4]


def differences(layouts, constants):
    """(exit code, lines about a difference, number in the sums) for these texts as input."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder, name) for name in ("layouts.tsv", "constants.tsv")]
        for path, text in zip(paths, (layouts, constants)):
            path.write_text(text)
        run = subprocess.run([JUDGE, *paths], capture_output=True, text=True, check=False)
    lines = [line for line in run.stdout.splitlines() if line.startswith("difference:")]
    return run.returncode, lines, int(re.search(r"(\d+) differences", run.stdout).group(1))


class JudgeTest(unittest.TestCase):
    def setUp(self):
        self.layouts = pathlib.Path(LAYOUTS).read_text()
        self.constants = pathlib.Path(CONSTANTS).read_text()

    def altered(self, text, old, new):
        self.assertEqual(text.count(old), 1)
        return text.replace(old, new)

    def expect_one(self, layouts, constants, *words):
        code, lines, number = differences(layouts, constants)
        self.assertEqual((code, len(lines), number), (1, 1, 1), lines)
        for word in words:
            self.assertIn(word, lines[0])

    def test_rows_as_they_are_have_no_difference(self):
        self.assertEqual(differences(self.layouts, self.constants), (0, [], 0))

    def test_one_offset_altered_is_one_difference(self):
        rows = self.altered(self.layouts, "\ndestroy_mkey_in\tmkey_index\t72\t24\n",
                            "\ndestroy_mkey_in\tmkey_index\t64\t24\n")
        self.expect_one(rows, self.constants, "destroy_mkey_in mkey_index", "64 24", "72 24")

    def test_one_width_altered_is_one_difference(self):
        rows = self.altered(self.layouts, "\nmlx5_cqe64\top_own\t504\t8\n",
                            "\nmlx5_cqe64\top_own\t504\t16\n")
        self.expect_one(rows, self.constants, "mlx5_cqe64 op_own", "mlx5dv.h")

    def test_a_field_that_later_linux_has_elsewhere_is_a_difference_once_it_is_altered(self):
        rows = self.altered(self.layouts, "\ncmd_hca_cap\tshampo\t186\t1\n",
                            "\ncmd_hca_cap\tshampo\t187\t1\n")
        self.expect_one(rows, self.constants, "cmd_hca_cap shampo", "187 1")

    def test_one_devx_field_moved_is_one_difference(self):
        rows = self.altered(self.layouts, "\ncreate_qp_in\twq_umem_id\t2112\t32\n",
                            "\ncreate_qp_in\twq_umem_id\t2080\t32\n")
        self.expect_one(rows, self.constants, "create_qp_in wq_umem_id", "mlx5_prm_structs.py")

    def test_one_register_moved_is_one_difference(self):
        rows = self.altered(self.layouts, "\nmlx5_init_seg\thealth_counter\t32896\t32\n",
                            "\nmlx5_init_seg\thealth_counter\t32864\t32\n")
        self.expect_one(rows, self.constants, "mlx5_init_seg health_counter", "device.h")

    def test_one_constant_altered_is_one_difference(self):
        rows = self.altered(self.constants, "\nMLX5_CMD_OP_2ERR_QP\t1287\n",
                            "\nMLX5_CMD_OP_2ERR_QP\t1288\n")
        self.expect_one(self.layouts, rows, "MLX5_CMD_OP_2ERR_QP")

    def test_a_name_that_no_header_has_is_one_difference(self):
        self.expect_one(self.layouts + "qpc\tno_such_field\t0\t4\n", self.constants,
                        "qpc no_such_field")

    def test_a_field_left_out_is_one_difference(self):
        rows = self.altered(self.layouts, "\nalloc_pd_out\tpd\t72\t24\n", "\n")
        self.expect_one(rows, self.constants, "alloc_pd_out pd")

    def test_a_layout_too_long_is_one_difference(self):
        rows = self.altered(self.constants, "\nsizeof eqe\t512\n", "\nsizeof eqe\t544\n")
        code, lines, _ = differences(self.layouts, rows)
        # mlx5_ifc.h and device.h both know the size of an EQE.
        self.assertEqual((code, len(lines)), (1, 2))


unittest.main(argv=sys.argv[:1], verbosity=2)
