# SPDX-License-Identifier: BSD-3-Clause
"""docs/examples/run_shown.py: pages that are as they are shown pass, and others do not.

    run_shown_test.py ROOT_OF_THE_TREE
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path()
TIMEOUT_S = 600

NAME = "1de9ef064e930000:3d5c83fb31d6a118"
OTHER = "ca5882f124de0001:3d5c83fb31d6a119"


def block(*lines: str, terminal: str = "") -> str:
    return "\n".join([f"```console {terminal}".rstrip(), *lines, "```", "text", ""])


class Shown(unittest.TestCase):
    def run_page(self, *blocks: str):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            page.write_text("# Page\n\n" + "\n".join(blocks), encoding="utf-8")
            return subprocess.run(
                [sys.executable, "-B", str(ROOT / "docs/examples/run_shown.py"), str(page), folder],
                text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S,
                check=False)

    def passes(self, *blocks: str) -> None:
        done = self.run_page(*blocks)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def fails(self, said: str, *blocks: str) -> None:
        done = self.run_page(*blocks)
        self.assertEqual((done.returncode, done.stderr), (1, ""), done.stdout)
        self.assertIn(said, done.stdout)


class Output(Shown):
    def test_lines_in_their_order_pass(self):
        self.passes(block("$ echo one; echo two", "one", "two"))

    def test_changed_line_is_shown_beside_what_is_printed(self):
        self.fails("page.md:4: echo two\n  shown:   one\n  printed: two",
                   block("$ echo two", "one"))

    def test_line_that_is_missing_fails(self):
        self.fails("is not printed: two", block("$ echo one", "one", "two"))

    def test_line_too_many_fails(self):
        self.fails("is printed, and not shown: two", block("$ echo one; echo two", "one"))

    def test_empty_line_counts(self):
        self.fails("is printed, and not shown:", block("$ echo one; echo", "one"))

    def test_last_line_without_an_end_is_a_line(self):
        self.passes(block("$ printf one", "one"))

    def test_standard_error_is_shown_too(self):
        self.passes(block("$ echo one >&2", "one"))

    def test_two_dots_are_any_lines(self):
        self.passes(block("$ seq 9", "1", "..", "8", "9"), block("$ seq 9", "1", ".."),
                    block("$ seq 1", "..", "1"))

    def test_two_dots_are_not_a_line_that_must_come(self):
        self.fails("is not printed: 10", block("$ seq 9", "..", "10"))

    def test_status_of_a_command_is_left_to_the_next(self):
        self.passes(block("$ (exit 3)", "$ echo $?", "3"))

    def test_lines_of_a_command_go_on(self):
        self.passes(block("$ cat <<'END'", "> one", "> END", "one"))

    def test_page_without_a_block_fails(self):
        self.fails("no block that is marked console", "```\n$ echo one\n```\n")


class Kinds(Shown):
    def test_name_of_a_lease_differs_and_is_typed_as_it_is(self):
        self.passes(block(f"$ printf '%s%s\\n' ca5882f124de0001: 3d5c83fb31d6a119", NAME,
                          f"$ echo {NAME} | tr c x", "xa5882f124de0001:3d5x83fb31d6a119"))

    def test_two_names_are_not_one(self):
        self.fails(f"shown:   {NAME}", block(
            "$ printf '%s%s\\n' ca5882f124de0001: 3d5c83fb31d6a119 1111111111111111: 2222222222222",
            NAME, NAME))

    def test_outcome_beside_a_name_is_compared(self):
        self.fails("printed: ", block(f"$ echo {OTHER} Fenced", f"{NAME} TornDown"))

    def test_time_that_an_answer_took_differs_and_others_do_not(self):
        self.passes(block("$ echo answered after 7 us", "answered after 3982 us"))
        self.fails("shown:   750 us", block("$ echo 751 us", "750 us"))

    def test_port_is_one_that_is_free(self):
        self.passes(block("$ test 7471 != 74''71 && echo 127.0.0.1:7471", "127.0.0.1:7471"))


class Terminals(Shown):
    def test_command_that_goes_on_is_interrupted(self):
        self.passes(block("$ sh -c 'echo up; exec sleep 1000'", "up", terminal="one"),
                    block("$ echo two", "two", terminal="two"),
                    block("^C", "$ echo down", "down", terminal="one"))

    def test_output_that_comes_later_is_waited_for(self):
        self.passes(block("$ until [ -e flag ]; do :; done; echo seen", terminal="one"),
                    block("$ touch flag", terminal="two"), block("seen", terminal="one"))

    def test_line_of_the_background_that_is_never_shown_fails(self):
        self.fails("shown:   two\n  printed: late",
                   block("$ mkfifo pipe; cat pipe &", terminal="one"),
                   block("$ echo late >pipe; wait; echo two", "two", terminal="one"))

    def test_terminals_share_a_home_and_nothing_else(self):
        self.passes(block("$ name=x; touch ~/there", terminal="one"),
                    block("$ ls ~; echo $name.", "there", ".", terminal="two"))


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
