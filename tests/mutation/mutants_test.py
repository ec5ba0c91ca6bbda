# SPDX-License-Identifier: BSD-3-Clause
"""Holds the mutation script against small texts and against a tree of three files, whose mutants
are built and run for real."""

import contextlib
import io
import json
import os
import pathlib
import shutil
import sys
import tempfile
import textwrap
import unittest
import unittest.mock

import mutants
import operators
from workbench import Program, Stopped, Workbench, copy_tree


def found(operator: str, body: str, head: str = "void f()") -> list[str]:
    """What becomes of `body` under one operator, one text a mutant."""
    text = f"{head} {{\n{textwrap.indent(body, '  ')}\n}}\n"
    return [" ".join(m.applied(text).split("{", 1)[1].rsplit("}", 1)[0].split())
            for m in operators.mutants_of("lease/a.cpp", text) if m.operator == operator]


class Operators(unittest.TestCase):
    def test_call_is_dropped(self):
        self.assertEqual(found("drop", "close(a);"), [";"])

    def test_early_return_is_dropped(self):
        self.assertEqual(found("drop", "if (a)\n  return b;"), [";"])

    def test_declaration_is_not_dropped(self):
        for line in ("const int a = 1;", "auto b = c();", "std::string d;", "Holding& e = f();",
                     "Queue* const g = h();",
                     "PORTCULLIS_TRY_ASSIGN(auto a, b());", "static_assert(a(1));", "return a;"):
            self.assertEqual(found("drop", line), [], line)

    def test_statements_in_blocks_are_found(self):
        self.assertEqual(found("drop", "for (int i = 0; i < 3; ++i) {\n  g();\n}"),
                         ["for (int i = 0; i < 3; ++i) { ; }"])

    def test_steps_change_places(self):
        self.assertEqual(found("swap", "first();\nPORTCULLIS_TRY(second());"),
                         ["PORTCULLIS_TRY(second()); first();"])

    def test_assignments_and_fields_keep_their_places(self):
        self.assertEqual(found("swap", "a = 1;\nb = 2;"), [])
        self.assertEqual(found("swap", 'in.set<"a">(1);\nin.set<"b">(2);'), [])
        self.assertEqual(found("swap", "static_assert(a(1));\nb();"), [])

    def test_status_is_ignored(self):
        self.assertEqual(found("ignore", "PORTCULLIS_TRY(a.b(c));"), ["(void)(a.b(c));"])

    def test_comparison_of_times_moves_by_one(self):
        self.assertEqual(found("time", "return now_ns() >= due_ns();"),
                         ["return now_ns() > due_ns();"])
        self.assertEqual(found("time", "return a < b;"), [])

    def test_time_that_is_handed_on_is_over_or_has_no_end(self):
        self.assertEqual(found("time", "wait(until_ns);"),
                         ["wait(std::uint64_t{0});", "wait(~std::uint64_t{0});"])

    def test_constant_of_time_becomes_none(self):
        self.assertEqual(found("time", "wait(5 * kNsPerMs);"), ["wait(5 * 0 * kNsPerMs);"])

    def test_condition_is_negated(self):
        self.assertEqual(found("negate", "if (a) b();"), ["if (!(a)) b();"])
        self.assertEqual(found("negate", "return a == b;"), ["return a != b;"])

    def test_member_is_left_uninitialised(self):
        self.assertEqual(found("init", "return A{.b = c(1, 2), .d = 3};"),
                         ["return A{ .d = 3};", "return A{.b = c(1, 2), };"])

    def test_member_that_is_given_its_default_stays(self):
        self.assertEqual(found("init", "return A{.b = {}, .c = std::nullopt};"), [])

    def test_comments_and_literals_are_never_broken(self):
        body = '// if (a) return;\n/* close(b); */\nreturn "if (c) d();";'
        self.assertEqual(operators.mutants_of("a.cpp", f"int f() {{\n{body}\n}}\n"), [])

    def test_text_outside_functions_is_never_broken(self):
        text = "int a = b();\nstruct A { int b = 1; };"
        self.assertEqual(operators.mutants_of("a.cpp", text), [])


class Drawing(unittest.TestCase):
    TEXT = "void f() {\n  if (a) b();\n  c();\n  d();\n  e();\n  PORTCULLIS_TRY(g());\n}\n"

    def test_same_seed_same_mutants(self):
        all_of_them = operators.mutants_of("lease/a.cpp", self.TEXT)
        self.assertEqual(mutants.drawn(all_of_them, 3, 4), mutants.drawn(all_of_them, 3, 4))

    def test_every_operator_has_its_turn(self):
        all_of_them = operators.mutants_of("lease/a.cpp", self.TEXT)
        chosen = {m.operator for m in mutants.drawn(all_of_them, 1, 4)}
        self.assertEqual(chosen, {"drop", "swap", "ignore", "negate"})

    def test_more_than_there_are_is_all(self):
        all_of_them = operators.mutants_of("lease/a.cpp", self.TEXT)
        self.assertCountEqual(mutants.drawn(all_of_them, 1, 1000), all_of_them)


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        (self.root / "lease").mkdir()
        (self.root / "lease/a.cpp").write_text("void f() {\n  g();\n}\n", encoding="utf-8")

    def write(self, entries: list[dict]) -> pathlib.Path:
        path = self.root / "file.json"
        path.write_text(json.dumps(entries), encoding="utf-8")
        return path

    def named(self, old: str) -> list[dict]:
        return [{"name": "n", "file": "lease/a.cpp", "old": old, "new": "", "what": "w",
                 "killed_by": "fence_proof"}]

    def test_named_text_that_is_gone_is_told_by_name_and_file(self):
        with self.assertRaisesRegex(mutants.BadInput, r"n: lease/a.cpp has this 0 times.*: h\(\);"):
            mutants.read_named(self.root, self.write(self.named("h();")))

    def test_named_text_that_stands_is_taken(self):
        self.assertEqual(len(mutants.read_named(self.root, self.write(self.named("g();")))), 1)

    def test_equivalent_mutant_that_is_no_more_is_told(self):
        file = self.write([{"file": "lease/a.cpp", "operator": "drop", "old": "h();", "new": ";",
                            "why": "w"}])
        known = operators.mutants_of("lease/a.cpp", "void f() {\n  g();\n}\n")
        with self.assertRaisesRegex(mutants.BadInput, r"no such mutant any more: drop: h\(\);"):
            mutants.read_equivalent(file, known)

    def test_table_in_the_document_is_that_of_the_file(self):
        entries = json.loads((mutants.HERE / "named.json").read_text(encoding="utf-8"))
        page = (mutants.HERE.parent.parent / "docs/mutants.md").read_text(encoding="utf-8")
        self.assertIn(mutants.table_of(entries), page)

    def test_every_name_is_given_once(self):
        entries = json.loads((mutants.HERE / "named.json").read_text(encoding="utf-8"))
        names = [e["name"] for e in entries]
        self.assertEqual(len(names), len(set(names)))


class CommandLine(unittest.TestCase):
    def run_main(self, *arguments: str) -> tuple[int, str]:
        error = io.StringIO()
        with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
            try:
                return mutants.main(list(arguments)), error.getvalue()
            except SystemExit as ended:
                return ended.code, error.getvalue()

    def test_count_that_is_none_is_refused(self):
        status, text = self.run_main("--count", "many")
        self.assertEqual(status, 2)
        self.assertIn("'many': 0 to 1000000 expected", text)

    def test_file_without_mutants_is_refused(self):
        with unittest.mock.patch.object(mutants, "read_named", return_value=[]), \
                unittest.mock.patch.object(mutants, "read_equivalent", return_value={}):
            status, text = self.run_main("--only", "lease/none.cpp", "--list")
        self.assertEqual(status, 2)
        self.assertIn("--only lease/none.cpp: no mutant of it; accepted: lease/", text)


LIBRARY = """\
#include "lease/a.hpp"
int unused() {
  int a = 1;
  if (a == 2) return 3;
  return a;
}
int doubled(int a) {
  int b = a;
  b += a;
  while (b < a) {
    b = b + 1;
  }
  return b;
}
"""
TEST = '#include "lease/a.hpp"\nint main() { return doubled(2) == 4 ? 0 : 1; }\n'
BUILD = """\
cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES CXX)
include_directories(${PROJECT_SOURCE_DIR})
add_library(lease STATIC lease/a.cpp)
add_executable(tiny_test test.cpp)
target_link_libraries(tiny_test lease)
"""


class TinyTree(unittest.TestCase):
    """One build for all cases; each case is one mutant in it."""

    PROGRAM = Program("tiny_test", "tiny_test", ("tiny_test",))
    AREAS = (mutants.Area(("lease/*.cpp",), (PROGRAM,)),)

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(cls.folder.name)
        source = root / "source"
        for path, text in {"lease/a.cpp": LIBRARY, "test.cpp": TEST, "CMakeLists.txt": BUILD,
                           "lease/a.hpp": "int doubled(int a);\nint unused();\n"}.items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_text(text, encoding="utf-8")
        copy_tree(source, root / "tree")
        cls.source = source
        launcher = root / "launch.sh"
        shutil.copy(mutants.HERE / "launch.sh", launcher)
        cls.bench = Workbench(root / "tree", root / "tree/build", os.cpu_count() or 1,
                              ("-G", "Ninja", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"))
        cls.bench.least_cpu_s = 1
        cls.bench.prepare([cls.PROGRAM])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def verdict(self, old: str, new: str) -> str:
        self.assertEqual(LIBRARY.count(old), 1)
        return self.bench.try_out("lease/a.cpp", LIBRARY.replace(old, new), [self.PROGRAM])[0]

    def test_mutant_that_changes_the_answer_is_found(self):
        self.assertEqual(self.verdict("  b += a;", "  ;"), "tiny_test")

    def test_mutant_that_hangs_is_found(self):
        self.assertEqual(self.verdict("while (b < a)", "while (b >= a)"), "tiny_test")

    def test_mutant_that_nobody_asks_about_survives(self):
        self.assertEqual(self.verdict("a == 2", "!(a == 2)"), "survived")

    def test_mutant_that_does_not_compile_is_not_counted(self):
        self.assertEqual(self.verdict("return b;", "return c;"), "does not compile")

    def test_source_is_as_it_was_after_each(self):
        self.verdict("  b += a;", "  ;")
        self.assertEqual((self.bench.tree / "lease/a.cpp").read_text(encoding="utf-8"), LIBRARY)

    def test_seeded_run_counts_each_verdict_and_names_the_survivor(self):
        chosen = [m for m in operators.mutants_of("lease/a.cpp", LIBRARY)
                  if m.operator in ("drop", "negate") and m.line in (4, 9)]
        with contextlib.redirect_stdout(io.StringIO()):
            tally = mutants.run_seeded(self.bench, chosen, {}, self.AREAS)
        total = tally.total()
        self.assertEqual((total["by test"], total["survived"]), (1, 2))
        self.assertIn("survived: lease/a.cpp:4: negate", tally.text())
        self.assertLess(tally.rate(), mutants.LEAST_RATE)

    def test_equivalent_mutant_is_not_run_and_not_counted(self):
        chosen = [m for m in operators.mutants_of("lease/a.cpp", LIBRARY)
                  if m.operator == "negate" and m.line == 4]
        equivalent = {mutants._key(m): "nobody calls it" for m in chosen}
        with contextlib.redirect_stdout(io.StringIO()):
            tally = mutants.run_seeded(self.bench, chosen, equivalent, self.AREAS)
        self.assertEqual(tally.total()["equivalent"], 1)
        self.assertIsNone(tally.rate())

    def test_named_mutant_that_survives_is_a_miss(self):
        entries = [{"name": "kept", "file": "lease/a.cpp", "old": "a == 2", "new": "a != 2",
                    "what": "", "killed_by": "tiny_test"},
                   {"name": "found", "file": "lease/a.cpp", "old": "  b += a;", "new": "",
                    "what": "", "killed_by": "tiny_test"}]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            missed = mutants.replay(self.bench, entries, self.AREAS)
        self.assertEqual(missed, 1)
        self.assertRegex(out.getvalue(), r"NOT FOUND +kept")
        self.assertRegex(out.getvalue(), r"found +found")

    def test_slow_suites_run_behind_the_others(self):
        test = self.bench.build / "suites.sh"
        test.write_text("""#!/bin/sh
echo '{"testsuites": [{"name": "Quick", "time": "0.1s"}, {"name": "Slow", "time": "2s"}]}' \
  > $(echo "$*" | sed 's/.*json://')
""", encoding="utf-8")
        test.chmod(0o755)
        program = Program("suites", "tiny_test", ("suites.sh", "--gtest_fail_fast"))
        self.bench.prepare([program])
        self.assertEqual([part.command[-1] for part in self.bench._parts[program.command]],
                         ["--gtest_filter=-Slow.*", "--gtest_filter=Slow.*"])

    def test_tree_that_fails_unbroken_is_refused(self):
        failing = Program("failing", "tiny_test", ("/bin/false",))
        with self.assertRaisesRegex(Stopped, "failing fails without any mutant"):
            self.bench.prepare([failing])


if __name__ == "__main__":
    sys.exit(unittest.main())
