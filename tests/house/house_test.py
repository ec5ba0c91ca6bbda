# SPDX-License-Identifier: BSD-3-Clause
"""Holds every rule of house.py against a tree that breaks it and against one that does not."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import house

SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"


class HouseTest(unittest.TestCase):
    def findings(self, rule: str, files: dict[str, str]) -> list[tuple[str, int]]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            return [(f.path, f.line) for f in house.RULES[rule](house.Tree(root))]

    def assertBroken(self, rule: str, files: dict[str, str], *expected: tuple[str, int]):
        self.assertEqual(self.findings(rule, files), list(expected))

    def assertKept(self, rule: str, files: dict[str, str]):
        self.assertEqual(self.findings(rule, files), [])


class Arrows(HouseTest):
    def include(self, folder: str, target: str) -> dict[str, str]:
        return {f"{folder}/a.cpp": f'\n#include "{target}/b.hpp"\n', f"{target}/b.hpp": ""}

    def test_driver_includes_model_is_found(self):
        self.assertBroken("arrows", self.include("pmd", "model"), ("pmd/a.cpp", 2))

    def test_model_includes_driver_is_found(self):
        self.assertBroken("arrows", self.include("model", "pmd"), ("model/a.cpp", 2))

    def test_arrow_backwards_is_found(self):
        self.assertBroken("arrows", self.include("base", "prm"), ("base/a.cpp", 2))

    def test_analysis_includes_driver_is_found(self):
        self.assertBroken("arrows", self.include("pfc", "prm"), ("pfc/a.cpp", 2))

    def test_library_includes_tools_is_found(self):
        self.assertBroken("arrows", self.include("lease", "tools"), ("lease/a.cpp", 2))

    def test_driver_includes_recordings_is_found(self):
        self.assertBroken("arrows", self.include("pmd", "trace"), ("pmd/a.cpp", 2))

    def test_recordings_include_model_is_found(self):
        self.assertBroken("arrows", self.include("trace", "model"), ("trace/a.cpp", 2))

    def test_model_records(self):
        self.assertKept("arrows", self.include("model", "trace"))

    def test_driver_includes_attach_is_found(self):
        self.assertBroken("arrows", self.include("pmd", "attach"), ("pmd/a.cpp", 2))

    def test_attach_includes_leases_is_found(self):
        self.assertBroken("arrows", self.include("attach", "lease"), ("attach/a.cpp", 2))

    def test_attach_knows_driver_and_model(self):
        self.assertKept("arrows", self.include("attach", "pmd"))
        self.assertKept("arrows", self.include("attach", "model"))

    def test_path_from_elsewhere_is_found(self):
        files = {"pmd/a.cpp": '#include "b.hpp"\n', "pmd/b.hpp": ""}
        self.assertBroken("arrows", files, ("pmd/a.cpp", 1))

    def test_unknown_folder_is_found(self):
        self.assertBroken("arrows", {"utils/a.cpp": ""}, ("utils/a.cpp", 1))

    def test_library_linked_against_the_arrow_is_found(self):
        text = "\nportcullis_library(pmd a.cpp\n  LINKS portcullis_prm portcullis_model)\n"
        self.assertBroken("arrows", {"pmd/CMakeLists.txt": text}, ("pmd/CMakeLists.txt", 2))

    def test_program_with_a_folder_in_its_name_is_no_library(self):
        text = "target_link_libraries(prm-dump PRIVATE portcullis_prm portcullis_program)\n"
        self.assertKept("arrows", {"tools/CMakeLists.txt": text})

    def test_examples_include_what_lies_beside_them_and_nobody_else_does(self):
        for folder, findings in (("docs/examples", []), ("pmd", [("pmd/a.cpp", 1)])):
            files = {f"{folder}/a.cpp": '#include "b.hpp"\n', f"{folder}/b.hpp": ""}
            self.assertEqual(self.findings("arrows", files), findings)

    def test_arrow_over_several_folders_is_kept(self):
        self.assertKept("arrows", self.include("lease", "prm"))

    def test_programs_know_what_their_rooms_know(self):
        for target in ("model", "trace", "lease", "proof", "service", "failover", "program"):
            self.assertKept("arrows", self.include("tools", target))
            self.assertKept("arrows", self.include("bench", target))

    def test_bench_and_tools_include_each_other_is_found(self):
        self.assertBroken("arrows", self.include("bench", "tools"), ("bench/a.cpp", 2))
        self.assertBroken("arrows", self.include("tools", "bench"), ("tools/a.cpp", 2))

    def test_programs_include_tests_is_found(self):
        self.assertBroken("arrows", self.include("tools", "tests"), ("tools/a.cpp", 2))

    def test_tests_include_everything(self):
        for target in ("bench", "tools", "proof", "model"):
            self.assertKept("arrows", self.include("tests", target))

    def test_proof_and_service_know_leases_on_a_port(self):
        for room in ("proof", "service"):
            for target in ("attach", "lease", "model"):
                self.assertKept("arrows", self.include(room, target))

    def test_proof_and_service_include_each_other_is_found(self):
        self.assertBroken("arrows", self.include("proof", "service"), ("proof/a.cpp", 2))
        self.assertBroken("arrows", self.include("service", "proof"), ("service/a.cpp", 2))

    def test_library_includes_what_a_main_has_is_found(self):
        for room in ("proof", "lease", "pfc", "attach"):
            self.assertBroken("arrows", self.include(room, "program"), (f"{room}/a.cpp", 2))

    def test_what_a_main_has_includes_driver_is_found(self):
        self.assertBroken("arrows", self.include("program", "pmd"), ("program/a.cpp", 2))

    def test_tool_linked_against_bench_is_found(self):
        text = "portcullis_library(fence_audit a.cpp\n  LINKS portcullis_bench)\n"
        self.assertBroken("arrows", {"tools/fence_audit/CMakeLists.txt": text},
                          ("tools/fence_audit/CMakeLists.txt", 1))

    def test_include_in_a_comment_is_no_include(self):
        self.assertKept("arrows", {"pmd/a.cpp": '// like\n/*\n#include "model/b.hpp"\n*/\n'})


class FrontDoor(HouseTest):
    def header(self, include: str) -> dict[str, str]:
        return {"include/portcullis/a.hpp": f"#pragma once\n#include {include}\n"}

    def test_private_include_is_found(self):
        for include in ('"lease/b.hpp"', "<lease/b.hpp>", "<fmt/format.h>", '"b.hpp"'):
            self.assertBroken("front_door", self.header(include),
                              ("include/portcullis/a.hpp", 2))

    def test_public_include_is_kept(self):
        for include in ("<portcullis/b.hpp>", "<tl/expected.hpp>", "<string_view>", "<stdint.h>"):
            self.assertKept("front_door", self.header(include))

    def test_library_that_leans_on_the_door_is_found(self):
        text = "\n#include <portcullis/lease.hpp>\n"
        self.assertBroken("front_door", {"lease/a.hpp": text}, ("lease/a.hpp", 2))
        self.assertKept("front_door", {"front/a.cpp": text, "base/result.hpp": text})

    def test_header_beside_the_door_is_found(self):
        self.assertBroken("front_door", {"include/b.hpp": ""}, ("include/b.hpp", 1))

    def test_public_header_that_nobody_includes_is_an_orphan(self):
        self.assertBroken("orphans", self.header("<string>"), ("include/portcullis/a.hpp", 1))


class Orphans(HouseTest):
    def test_source_that_no_target_builds_is_found(self):
        files = {"pmd/CMakeLists.txt": "portcullis_library(pmd b.cpp)", "pmd/a.cpp": ""}
        self.assertBroken("orphans", files, ("pmd/a.cpp", 1))

    def test_header_that_an_example_beside_it_includes_is_none(self):
        files = {"docs/examples/a.cpp": '#include "b.hpp"\n', "docs/examples/b.hpp": "",
                 "docs/examples/CMakeLists.txt": "a.cpp"}
        self.assertKept("orphans", files)

    def test_header_that_nobody_includes_is_found(self):
        self.assertBroken("orphans", {"pmd/a.hpp": ""}, ("pmd/a.hpp", 1))

    def test_header_that_is_precompiled_is_none(self):
        cmake = "portcullis_library(pmd READS <pmd/a.hpp>)"
        self.assertKept("orphans", {"pmd/CMakeLists.txt": cmake, "pmd/a.hpp": ""})

    def test_source_beside_a_loop_that_does_not_name_it_is_found(self):
        text = "foreach(program b)\n  add_executable(${program} ${program}.cpp)\nendforeach()"
        self.assertBroken("orphans", {"bench/CMakeLists.txt": text, "bench/a.cpp": ""},
                          ("bench/a.cpp", 1))
        self.assertKept("orphans", {"bench/CMakeLists.txt": text, "bench/b.cpp": ""})

    def test_source_built_from_the_folder_above_is_kept(self):
        files = {"pmd/CMakeLists.txt": "portcullis_library(pmd rc/a.cpp)", "pmd/rc/a.cpp": ""}
        self.assertKept("orphans", files)


class Spdx(HouseTest):
    def test_file_without_the_line_is_found(self):
        self.assertBroken("spdx", {"pmd/a.cpp": "\n" + SPDX}, ("pmd/a.cpp", 1))

    def test_empty_file_is_found(self):
        self.assertBroken("spdx", {"pmd/a.hpp": ""}, ("pmd/a.hpp", 1))

    def test_script_without_the_line_is_found(self):
        self.assertBroken("spdx", {"dev": "#!/bin/sh\ntrue\n"}, ("dev", 2))

    def test_first_line_is_kept(self):
        self.assertKept("spdx", {"pmd/a.cpp": SPDX})


class Width(HouseTest):
    def test_line_of_101_columns_is_found(self):
        self.assertBroken("width", {"pmd/a.cpp": "/" * 101 + "\n"}, ("pmd/a.cpp", 1))

    def test_tab_is_found(self):
        self.assertBroken("width", {"pmd/a.cpp": "\n\tint a;\n"}, ("pmd/a.cpp", 2))

    def test_blank_at_the_end_is_found(self):
        self.assertBroken("width", {"CMakeLists.txt": "project(a) \n"}, ("CMakeLists.txt", 1))

    def test_100_columns_are_kept(self):
        self.assertKept("width", {"pmd/a.cpp": "/" * 100 + "\n"})


class FileLength(HouseTest):
    def test_801_lines_are_found(self):
        self.assertBroken("file_length", {"pmd/a.cpp": "\n" * 801}, ("pmd/a.cpp", 801))

    def test_800_lines_are_kept(self):
        self.assertKept("file_length", {"pmd/a.cpp": "\n" * 800})


class FunctionLength(HouseTest):
    def body(self, head: str, lines: int) -> dict[str, str]:
        """`head` and a body that together take `lines` lines."""
        return {"pmd/a.cpp": head + " {\n" + "  f();\n" * (lines - 2) + "}\n"}

    def long(self, head: str) -> dict[str, str]:
        return self.body(head, 71)

    def test_71_lines_are_found(self):
        self.assertBroken("function_length", self.long("int f(int a) const"), ("pmd/a.cpp", 1))

    def test_70_lines_are_kept(self):
        self.assertKept("function_length", self.body("int f(int a) const", 70))

    def test_function_in_namespace_and_class_is_found(self):
        files = self.long("namespace a {\nclass B final : public C<int> {\n  void f()")
        files["pmd/a.cpp"] += "};\n}\n"
        self.assertEqual(len(self.findings("function_length", files)), 1)

    def test_constructor_with_initialisers_is_found(self):
        self.assertBroken("function_length", self.long("A::A(int b) : b_{b}, c_{b}"),
                          ("pmd/a.cpp", 1))

    def test_template_with_trailing_type_is_found(self):
        self.assertBroken("function_length",
                          self.long("template <class T>\nauto f(T t) -> std::vector<T>"),
                          ("pmd/a.cpp", 1))

    def test_test_case_is_found(self):
        self.assertBroken("function_length", self.long("TEST(Suite, Case)"), ("pmd/a.cpp", 1))

    def test_blocks_and_lambdas_count_with_their_function(self):
        text = "void f() {\n" + "  if (a) { [] { b(); }(); }\n" * 69 + "}\n"
        self.assertBroken("function_length", {"pmd/a.cpp": text}, ("pmd/a.cpp", 1))

    def test_table_type_and_namespace_are_no_functions(self):
        for head in ("constexpr Row kRows[] =", "std::map<int, void (*)(int)> k", "namespace a",
                     "class [[nodiscard]] A", "struct alignas(64) B : Base<f(1)>",
                     "enum class E : std::uint8_t"):
            self.assertKept("function_length", self.long(head))


class Hazards(HouseTest):
    def test_each_barrier_is_found(self):
        for token in ("volatile int a;", "std::atomic_thread_fence(x);", 'asm("" ::: "memory");',
                      "_mm_sfence();", "rte_wmb();", "rte_io_rmb();", "rte_write32(1, a);",
                      "__sync_synchronize();"):
            self.assertBroken("hazards", {"pmd/a.cpp": token}, ("pmd/a.cpp", 1))

    def test_reinterpret_cast_is_found(self):
        text = "\nauto* a = reinterpret_cast<Cqe*>(b);\n"
        self.assertBroken("hazards", {"model/a.cpp": text}, ("model/a.cpp", 2))

    def test_the_files_that_may_are_kept(self):
        text = "auto* a = reinterpret_cast<volatile int*>(b);\n"
        self.assertKept("hazards", {"base/cells.hpp": text, "base/dma_bytes.cpp": text})

    def test_words_in_comments_and_literals_are_kept(self):
        text = '// volatile\n/* asm\n volatile */ auto a = "volatile"; auto b = R"(asm)";\n'
        self.assertKept("hazards", {"pmd/a.cpp": text})

    def test_address_as_a_number_is_kept(self):
        text = "auto a = reinterpret_cast<std::uintptr_t>(b);\n"
        self.assertKept("hazards", {"pmd/a.cpp": text})

    def test_digit_separators_hide_nothing(self):
        text = "int a = 1'000; volatile int b = 2'000;\n"
        self.assertBroken("hazards", {"pmd/a.cpp": text}, ("pmd/a.cpp", 1))


class Errors(HouseTest):
    def test_each_way_out_is_found(self):
        for token in ("throw Error();", "throw;", "abort();", "std::abort();", "std::terminate();",
                      "exit(1);", "assert(a);", 'rte_exit(1, "no");'):
            self.assertBroken("errors", {"lease/a.cpp": token}, ("lease/a.cpp", 1))

    def test_programs_and_static_assert_are_kept(self):
        self.assertKept("errors", {"tools/a.cpp": "exit(1);", "pmd/a.cpp": "static_assert(a);"})


class Unfinished(HouseTest):
    def test_mark_is_found(self):
        self.assertBroken("unfinished", {"README.md": "\nTO" "DO: more\n"}, ("README.md", 2))

    def test_what_a_merge_left_is_found(self):
        for mark in ("<" * 7 + " HEAD", ">" * 7 + " other"):
            self.assertBroken("unfinished", {"docs/a.md": f"text\n{mark}\n"}, ("docs/a.md", 2))

    def test_code_switched_off_is_found(self):
        self.assertBroken("unfinished", {"pmd/a.cpp": "#if 0\n#endif\n"}, ("pmd/a.cpp", 1))

    def test_bare_nolint_is_found(self):
        for mark in ("NOLINT", "NOLINTNEXTLINE", "NOLINT: because"):
            self.assertBroken("unfinished", {"pmd/a.cpp": f"f();  // {mark}\n"}, ("pmd/a.cpp", 1))

    def test_nolint_that_names_its_check_is_kept(self):
        self.assertKept("unfinished", {"pmd/a.cpp": "f();  // NOLINT(bugprone-a): why\n"})


class TestHabits(HouseTest):
    def test_each_habit_is_found(self):
        for text in ("TEST(A, DISABLED_B) {}", "GTEST_SKIP();", "FRIEND_TEST(A, B);",
                     "std::this_thread::sleep_for(1ms);", '#include "pmd/a.cpp"'):
            self.assertBroken("test_habits", {"tests/pmd/a.cpp": text}, ("tests/pmd/a.cpp", 1))

    def test_code_outside_tests_is_not_judged(self):
        self.assertKept("test_habits", {"tools/a.cpp": "std::this_thread::sleep_for(1ms);"})


class Links(HouseTest):
    def test_link_to_a_missing_file_is_found(self):
        self.assertBroken("links", {"docs/a.md": "\n[b](b.md#part)\n"}, ("docs/a.md", 2))

    def test_link_to_a_file_and_to_the_web_is_kept(self):
        text = "[a](docs/a.md) [b](https://example.org/b) [c](#part)"
        self.assertKept("links", {"README.md": text, "docs/a.md": ""})


class Citations(HouseTest):
    def test_number_of_a_document_is_found(self):
        for text in ("// 00" "1 s3.1 tried it", "int a;  // as 00" "2 has it", '"floor (00' '1)"',
                     "// 00" "0's name", "// of 00" "1, section 2.3"):
            self.assertBroken("citations", {"pmd/a.cpp": text + "\n"}, ("pmd/a.cpp", 1))

    def test_number_in_a_document_and_in_a_proof_is_found(self):
        for path in ("docs/a.md", "failover/proofs/A.v", "tests/vm/a.py"):
            self.assertBroken("citations", {path: "\nas 00" "1 saw it\n"}, (path, 2))

    def test_name_of_the_page_is_kept(self):
        self.assertKept("citations", {"pmd/a.cpp": "// the floor document, section 3.1\n"})

    def test_numbers_that_cite_nothing_are_kept(self):
        text = '1\'001; 0.001; 0x001; "cmd: 000: 07000000"; a_002; 00123; 10:00:01 1,001\n'
        self.assertKept("citations", {"pmd/a.cpp": text})


class Program(unittest.TestCase):
    def run_main(self, *arguments: str) -> int:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return house.main(list(arguments))

    def test_finding_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "pmd").mkdir()
            (pathlib.Path(folder) / "pmd/a.cpp").write_text("int a;\n", encoding="utf-8")
            self.assertEqual(self.run_main(folder, "spdx"), 1)
            self.assertEqual(self.run_main(folder, "width"), 0)

    def test_empty_tree_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.run_main(folder), 2)

    def test_unknown_rule_fails(self):
        self.assertEqual(self.run_main(".", "colour"), 2)

    def test_build_and_results_are_not_the_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in ("build/a.cpp", "results/a.cpp", ".git/a.cpp", "pmd/a.cpp"):
                (pathlib.Path(folder) / path).parent.mkdir()
                (pathlib.Path(folder) / path).write_text(SPDX, encoding="utf-8")
            tree = house.Tree(pathlib.Path(folder))
            self.assertEqual([source.path for source in tree.sources], ["pmd/a.cpp"])

    def test_every_rule_is_held_against_a_tree_that_breaks_it(self):
        broken = {cls.__name__.lower() for cls in HouseTest.__subclasses__()}
        self.assertEqual(broken, {rule.replace("_", "") for rule in house.RULES})


if __name__ == "__main__":
    unittest.main()
