# SPDX-License-Identifier: BSD-3-Clause
"""What the judge of a random run's history finds, each by a history of its own.

    operations_test.py FAILOVER_CHECK [Class.test_..]
"""

import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from operations import MOST_WRITES, Operations


def lease(over=(), listed=(), asked_s=1, told_s=2):
    return types.SimpleNamespace(asked_s=asked_s, told_s=told_s, over=list(over),
                                 listed=list(listed))


class Judged(unittest.TestCase):
    def wrong(self, operations):
        with tempfile.TemporaryDirectory() as folder:
            return operations.judge(FAILOVER_CHECK, pathlib.Path(folder, "operations.json"))

    def of_lease(self, seen, landed=(), refused=()):
        operations = Operations()
        operations.add_lease("n/1", seen, list(landed), list(refused))
        return self.wrong(operations)

    def of_epochs(self, *epochs):
        operations = Operations()
        operations.add_epochs(epochs)
        return self.wrong(operations)


class Leases(Judged):
    def test_writes_between_grant_and_outcome_are_right(self):
        self.assertEqual(self.of_lease(lease([("outcome of", 5)], [(3, 3.5)]), [3, 4, 4.5], [4.8]),
                         [])

    def test_write_that_lands_after_the_outcome_is_found(self):
        self.assertIn("WRITE 1 n/1", self.of_lease(lease([("outcome of", 5)]), [3, 6])[0])

    def test_write_that_lands_after_the_answer_of_a_fence_is_found(self):
        self.assertIn("held n/1", self.of_lease(lease([("fence of", 5)]), [6])[0])

    def test_grant_that_is_told_after_the_answer_and_written_into_is_found(self):
        self.assertNotEqual(self.of_lease(lease([("fence of", 1.5)]), [2.5]), [])

    def test_write_that_lands_after_one_was_refused_is_found(self):
        self.assertNotEqual(self.of_lease(lease(), [5], [4]), [])

    def test_lease_that_is_listed_after_its_outcome_is_found(self):
        self.assertNotEqual(self.of_lease(lease([("outcome of", 5)], [(6, 7)])), [])

    def test_end_that_nobody_was_told_of_is_right(self):
        self.assertEqual(self.of_lease(lease(), [3], [4]), [])

    def test_last_of_many_writes_counts(self):
        many = [3 + i / 1e6 for i in range(3 * MOST_WRITES)]
        self.assertEqual(self.of_lease(lease([("outcome of", 5)]), many), [])
        self.assertNotEqual(self.of_lease(lease([("outcome of", 5)]), [*many, 6]), [])


class Epochs(Judged):
    def test_fences_at_once_are_in_any_order(self):
        self.assertEqual(self.of_epochs((1, 4, 9), (2, 3, 7)), [])

    def test_later_fence_of_a_lower_epoch_is_found(self):
        self.assertIn("epoch", self.of_epochs((1, 2, 9), (3, 4, 7))[0])

    def test_two_fences_of_one_epoch_are_found(self):
        self.assertNotEqual(self.of_epochs((1, 2, 9), (3, 4, 9), (5, 6, 11)), [])


if __name__ == "__main__":
    FAILOVER_CHECK = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
