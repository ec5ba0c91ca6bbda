# SPDX-License-Identifier: BSD-3-Clause
"""pages_test.py SOURCE: what docs/man makes of a --help."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv[1])
import help as helps  # noqa: E402
import pages  # noqa: E402

BY_CLI11 = """\
Counts what there is.
Usage: counter [EAL arguments --] [OPTIONS] [SUBCOMMAND]

Options:
  -h,--help                   Print this help message and exit
  --retry 0-7:UINT in [0 - 7] how often; it begins
                              where another's text does
  --delay-ms MS:UINT in [0 - 20000] Needs: --retry
                              how long
  --format TEXT:{text,json}=text
                              of what is printed
  --json FILE                 the same as a file


EXAMPLES
  counter --retry 3           thrice
Ctrl-C ends it.
EXIT STATUS  0 counted, 1 it
could not
"""
BY_HAND = """\
usage: counter COMMAND [OPTION]..
       counter --help

Counts. Units, such as:
  kilo   1000
are taken.

commands (COMMAND --help lists more):
  up     one more
  down   one less; -1 is .5 of 'nothing'

  --root=DIR       examines DIR
  -n, --dry        does nothing

exit status: 0 counted
"""
COUNTER = """\
#!/bin/sh
case $* in
  --help) echo "Usage: counter [OPTIONS] SUBCOMMAND"; echo; echo "Subcommands:"
    echo "  up                          one more" ;;
  "up --help") echo "Usage: counter up [OPTIONS]"; echo; echo "Options:"
    echo "  --by N                      so many"
    echo "  --in TEXT:{units,tens}      of what"
    echo "  --to FILE                   where to" ;;
  *) exit 2 ;;
esac
"""


def parse(text):
    return helps.parse(text, ["counter"])


def shell_words(path, *line):
    """What bash offers behind `line`, whose last word is being written."""
    script = (f"source {path}; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); "
              f"_portcullis_counter; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "-c", script, "bash", *line], capture_output=True, text=True,
                          timeout=300, check=True)
    return done.stdout.split()


class OfAHelp(unittest.TestCase):
    def test_options_have_their_terms_and_texts(self):
        found = [(option.term, option.text) for option in parse(BY_CLI11).options()]
        self.assertEqual(found, [
            ("-h,--help", "Print this help message and exit"),
            ("--retry 0-7:UINT in [0 - 7]", "how often; it begins where another's text does"),
            ("--delay-ms MS:UINT in [0 - 20000] Needs: --retry", "how long"),
            ("--format TEXT:{text,json}=text", "of what is printed"),
            ("--json FILE", "the same as a file")])

    def test_sections_are_those_of_the_help(self):
        self.assertEqual([section.title for section in parse(BY_CLI11).sections],
                         ["DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS"])
        self.assertEqual([section.title for section in parse(BY_HAND).sections],
                         ["DESCRIPTION", "COMMANDS", "EXIT STATUS"])

    def test_usage_is_all_of_its_lines(self):
        self.assertEqual(parse(BY_HAND).usage, ["counter COMMAND [OPTION]..", "counter --help"])

    def test_commands_are_the_words_that_may_follow(self):
        self.assertEqual([word.term for word in parse(BY_HAND).next_words()], ["up", "down"])

    def test_page_says_what_is_typed_as_it_is_typed(self):
        page = pages.manual_page(parse(BY_HAND), "counts", "1.2")
        self.assertIn(r"one less; \-1 is .5 of \(aqnothing\(aq", page)
        self.assertIn(r"\fB\-\-root=DIR\fR", page)
        self.assertIn(r"counter \- counts", page)
        self.assertNotRegex(page, r"(?m)^[.'](?!(\\\"|TH|SH|SS|PP|TP|RS|RE|nf|fi|nh|ad)\b|\\\")")

    def test_status_is_a_section_of_the_page(self):
        self.assertIn('.SH "EXIT STATUS"\n.PP\n0 counted, 1 it could not\n',
                      pages.manual_page(parse(BY_CLI11), "counts", "1.2"))

    def test_values_are_known_where_the_help_lists_them(self):
        options = {option.term.split()[0]: option for option in parse(BY_CLI11).options()}
        self.assertEqual(pages.choices(pages.value_of(options["--format"])), ["text", "json"])
        self.assertTrue(pages.is_path(pages.value_of(options["--json"]), options["--json"]))
        self.assertIsNone(pages.value_of(options["-h,--help"]))


class OfAProgram(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "counter"
        self.program.write_text(COUNTER, encoding="utf-8")
        self.program.chmod(0o755)

    def make(self):
        return pages.main(["--summary", "counts", "--version", "1.2", "--out",
                           str(self.folder / "out"), str(self.program)])

    def test_page_has_its_commands(self):
        self.assertEqual(self.make(), 0)
        page = (self.folder / "out/counter.1").read_text(encoding="utf-8")
        self.assertIn('.SH "COUNTER UP"', page)
        self.assertIn(r"\fB\-\-by N\fR", page)

    def test_bash_offers_what_stands_where_the_line_is(self):
        self.make()
        script = self.folder / "out/counter.bash"
        self.assertEqual(shell_words(script, "counter", ""), ["up"])
        self.assertEqual(shell_words(script, "counter", "up", "--"), ["--by", "--in", "--to"])
        self.assertEqual(shell_words(script, "counter", "up", "--in", "t"), ["tens"])
        self.assertEqual(shell_words(script, "counter", "up", "--in", "=", "u"), ["units"])
        self.assertEqual(shell_words(script, "counter", "up", "--to", f"{self.folder}/cou"),
                         [str(self.program)])

    def test_program_without_a_help_ends_the_build(self):
        self.program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        self.assertEqual(self.make(), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
