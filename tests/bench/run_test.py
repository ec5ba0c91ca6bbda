# SPDX-License-Identifier: BSD-3-Clause
"""A run of programs that are written here, the report and the comparison of runs that are.

    run_test.py DIRECTORY_OF_THE_SCRIPTS

Hands the page's script to no browser: what it would draw is read from the page's data.
"""

import html.parser
import json
import os
import pathlib
import pty
import random
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path()
HEAD = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"


def entry(name: str, **values) -> dict:
    return {"name": f"{name}/iterations:3/manual_time", "run_type": "iteration",
            "real_time": 1.0, **values}


def repeated(name: str, medians: list[float]) -> list[dict]:
    return [entry(name, repetition_index=index, p50=value, max=value * 2, count=20)
            for index, value in enumerate(medians)]


class Page(html.parser.HTMLParser):
    """Its text, its data, and that every element is closed."""

    VOID = {"meta", "br"}

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.scripts: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)
        if self.open:
            raise AssertionError(f"not closed: {self.open}")
        self.groups = json.loads(self.scripts[0])["groups"]

    def handle_starttag(self, tag, attrs):
        self.addresses += [value for key, value in attrs if key in ("src", "href")]
        if tag == "script":
            self.scripts.append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            raise AssertionError(f"closed in the wrong order: {tag}")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        else:
            self.text += data


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def run_of(self, path: str, *entries: dict, **context: str) -> None:
        self.write(path, json.dumps({
            "context": {"date": "2026-01-02", "emulated": "yes: not NIC latency",
                        "device": "model", **context},
            "benchmarks": list(entries)}))

    def curve(self, path: str, *lines: tuple[float, float]) -> None:
        self.write(path, HEAD + "".join(f" {us:11.3f} {quantile:14.12f}          3\n"
                                        for quantile, us in lines) + "#[Mean = 1]\n")

    def call(self, script: str, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "-B", SCRIPTS / script, *arguments], cwd=self.root,
                              capture_output=True, text=True, timeout=300, check=False)


class Report(Runs):
    def page(self) -> Page:
        self.write("said.txt", "conclusion: <so> it is\nfiles: here\n")
        self.write("chart.js", "var Chart;")
        done = self.call("report.py", "run", "--conclusion=said.txt", "--chart-js=chart.js")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return Page((self.root / "run/report.html").read_text(encoding="utf-8"))

    def test_plans_are_drawn_together_and_the_conclusion_stands_in_front(self):
        names = [f"revoke/plan:{plan}/leases:1/clock:wall" for plan in ("seed", "legacy")]
        self.run_of("run/driver/revoke_bench.json",
                    *(entry(name, p50=1500.0, max=2e6, count=3) for name in names))
        for name in ("seed", "legacy"):
            self.curve(f"run/driver/revoke.plan-{name}.leases-1.clock-wall.hgrm", (0, 1.5),
                       (0.5, 1.5), (1, 2000))
        page = self.page()
        self.assertLess(page.text.index("<so> it is"), page.text.index("Pictures"))
        self.assertEqual([group["name"] for group in page.groups],
                         ["revoke_bench, the driver's own share: revoke, leases 1, wall clock"])
        self.assertEqual(page.groups[0]["series"],
                         [{"label": label, "curve": [[0, 1500], [0.5, 1500], [1, 2e6]]}
                          for label in ("seed", "legacy")])
        self.assertIn("no figure here is the latency of a NIC", page.text)

    def test_every_series_is_in_one_picture_and_no_picture_has_more_than_eight(self):
        names = [f"command/C{index}/clock:wall" for index in range(37)]
        self.run_of("run/command_bench.json", *(entry(name, p50=1, max=2, count=3)
                                                for name in names))
        for index in range(37):
            self.curve(f"run/command.C{index}.clock-wall.hgrm", (0, 1), (1, 2))
        groups = self.page().groups
        self.assertEqual([one["label"] for group in groups for one in group["series"]], names)
        self.assertEqual([len(group["series"]) for group in groups], [8, 8, 8, 8, 5])

    def test_page_needs_no_network_and_no_name_can_end_it(self):
        name = "x/plan:</script><b>/clock:wall"
        self.run_of("run/floor_bench.json", entry(name, p50=1, max=2, count=3),
                    device="</script><script>alert(1)</script>")
        self.curve("run/x.plan-.script-b-.clock-wall.hgrm", (0, 1), (1, 2))
        page = self.page()
        self.assertEqual(page.addresses, [])
        self.assertEqual(len(page.scripts), 3)

    def test_percentile_without_samples_enough_is_a_dash_and_a_failed_series_says_why(self):
        self.run_of("run/floor_bench.json", entry("a/clock:wall", p50=1000, max=2000, count=3),
                    entry("b/clock:wall", error_occurred=True, error_message="no <WRITE> came"))
        text = self.page().text
        self.assertIn("a/clock:wall1 us---2 us3", text.replace("\n", ""))
        self.assertIn("b/clock:wallnot measured: no <WRITE> came", text)

    def test_mistakes_are_one_line(self):
        self.write("said.txt", "")
        self.write("chart.js", "")
        self.write("bad/floor_bench.json", "[]")
        self.run_of("odd/floor_bench.json", entry("a", p50=1, max=1, count=1))
        self.write("odd/a.hgrm", HEAD + "nan 0.5 1\n")
        self.run_of("good/floor_bench.json")
        for arguments, said in (
                (("none",), "none: no such directory; a run of ./dev bench is accepted"),
                (("bad",), "bad/floor_bench.json: not what a bench program writes: "),
                (("odd",), "odd/a.hgrm: no percentile line: 'nan 0.5 1'"),
                (("good", "--chart-js=none.js"), "none.js: ")):
            done = self.call("report.py", "--conclusion=said.txt", "--chart-js=chart.js",
                             *arguments)
            self.assertEqual(done.returncode, 1, done)
            self.assertTrue(done.stderr.startswith(f"report: {said}"), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(sorted(self.root.glob("*/*.html")), [])


PROGRAM = r"""#!/bin/sh
case "$*" in *--benchmark_list_tests*) printf 'a/x\na/y\nno series\n'; exit 0;; esac
for word; do case $word in --out-dir=*) folder=${word#*=};; esac; done
echo "$0 $*" >>"$folder/asked"
echo "Running"
echo "NAME: careful" >&2
echo "***WARNING*** of another's library" >&2
echo "a/x  1 ns"
BODY
"""
SUMMARY = """#!/bin/sh
printf 'conclusion: '; echo "$@"
exit STATUS
"""


class Run(Runs):
    def program(self, name: str, body: str = "") -> None:
        self.write(f"bin/{name}", PROGRAM.replace("NAME", name).replace("BODY", body))
        (self.root / "bin" / name).chmod(0o755)

    def setUp(self):
        super().setUp()
        self.write("bin/bench_summary", SUMMARY.replace("STATUS", "3"))
        (self.root / "bin/bench_summary").chmod(0o755)

    def command(self, *arguments: str) -> list:
        return [sys.executable, "-B", SCRIPTS / "run.py", "out", "--commit=c0ffee",
                "--programs=bin", *arguments]

    def go(self, plan: str, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(self.command(*arguments), cwd=self.root, input=plan, text=True,
                              capture_output=True, timeout=300, check=False)

    def test_what_programs_print_is_kept_and_the_conclusion_shown(self):
        self.program("floor_bench")
        self.program("command_bench")
        done = self.go("floor_bench\tcard-timing\t--device=model\ncommand_bench\tdriver\n",
                       "--quick", "--", "-l", "2", "--", "--samples=9")
        self.assertEqual(done.returncode, 3, done)
        said = [line for line in done.stdout.splitlines() if line]
        self.assertRegex(said[0], r"^== floor_bench, the card's timing \(0 of 2 done, about 0:16 ")
        self.assertRegex(said[1], r"^== command_bench, the driver's own share \(1 of 2 done, ")
        self.assertEqual(said[2], "conclusion: --where=out, report.html first "
                                  "floor_bench:0:out/card-timing/floor_bench.json "
                                  "command_bench:0:out/driver/command_bench.json")
        self.assertEqual(len(said), 3)
        self.assertIn("bench: careful\n", done.stderr)
        self.assertEqual(done.stderr.count("careful"), 1)
        self.assertNotIn("WARNING", done.stderr)
        log = (self.root / "out/card-timing/floor_bench.log").read_text(encoding="utf-8")
        for line in ("a/x  1 ns\n", "floor_bench: careful\n", "WARNING"):
            self.assertIn(line, log)
        asked = (self.root / "out/card-timing/asked").read_text(encoding="utf-8")
        self.assertRegex(asked, r"floor_bench -l 2 -- --out-dir=out/card-timing --quick "
                                r"--benchmark_context=commit=c0ffee --device=model --samples=9\n$")

    def test_verbose_shows_it_and_keeps_none(self):
        self.program("floor_bench")
        done = self.go("floor_bench\t.\n", "--verbose")
        self.assertIn("a/x  1 ns\n", done.stdout)
        self.assertFalse((self.root / "out/floor_bench.log").exists())

    def test_program_that_fails_is_named_with_its_last_word_and_ends_no_other(self):
        self.program("floor_bench", "echo 'floor_bench: no <device>' >&2; exit 1")
        self.program("command_bench", "kill -SEGV $$")
        done = self.go("floor_bench\t.\ncommand_bench\t.\n")
        self.assertIn("bench: floor_bench: status 1: no <device>; all it said is in "
                      "out/floor_bench.log\n", done.stderr)
        self.assertIn("floor_bench:1:out/floor_bench.json command_bench:139:", done.stdout)

    def test_interrupted_program_is_the_last_one(self):
        self.program("floor_bench", "exit 130")
        self.program("command_bench")
        done = self.go("floor_bench\t.\ncommand_bench\t.\n")
        self.assertEqual(done.returncode, 130)
        self.assertNotIn("command_bench", done.stdout)
        self.assertIn("floor_bench:130:", done.stdout)

    def test_log_that_cannot_be_kept_is_told_and_keeps_nobody_waiting(self):
        self.program("floor_bench", "head -c 400000 /dev/zero | tr '\\0' '\\n'")
        (self.root / "out/driver").mkdir(parents=True)
        (self.root / "out/driver/floor_bench.log").symlink_to("/dev/full")
        done = self.go("floor_bench\tdriver\n")
        self.assertIn("bench: out/driver/floor_bench.log: No space left on device\n", done.stderr)
        self.assertIn("floor_bench:0:out/driver/floor_bench.json", done.stdout)

    def test_interrupt_while_series_are_listed_begins_none(self):
        self.program("floor_bench")
        listing = (self.root / "bin/floor_bench").read_text(encoding="utf-8").replace(
            "printf 'a/x", "kill -INT $PPID; printf 'a/x")
        (self.root / "bin/floor_bench").write_text(listing, encoding="utf-8")
        done = self.go("floor_bench\t.\n")
        self.assertEqual(done.returncode, 130)
        self.assertFalse((self.root / "out/asked").exists())

    def test_terminal_has_one_line_that_is_written_over(self):
        self.program("floor_bench", "sleep 1")
        ours, its = pty.openpty()
        with subprocess.Popen(self.command(), cwd=self.root, stdin=subprocess.PIPE, stdout=its,
                              stderr=subprocess.PIPE, text=True) as running:
            os.close(its)
            running.communicate("floor_bench\t.\n", timeout=300)
        with os.fdopen(ours, "rb", buffering=0) as shown:
            text = shown.read(65536).decode()
        self.assertIn("\rfloor_bench: 1 of 2 series; 0:0", text)
        self.assertNotIn("==", text)
        self.assertRegex(text, r"\r\x1b\[K\r\nconclusion: ")

    def test_what_cannot_be_written_is_one_line(self):
        self.program("floor_bench")
        self.write("out", "a file")
        done = self.go("floor_bench\tdriver\n")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "bench: out/driver: Not a directory\n"))


class Compare(Runs):
    def compare(self, before: list[dict], after: list[dict], *arguments: str):
        self.run_of("a/driver/revoke_bench.json", *before)
        self.run_of("b/driver/revoke_bench.json", *after)
        return self.call("compare.py", "a", "b", *arguments)

    def test_deterministic_series_differ_by_any_difference(self):
        same = self.compare([entry("a/clock:virtual", p50=5, max=5, count=3)],
                            [entry("a/clock:virtual", p50=5, max=5, count=3)])
        self.assertEqual(same.returncode, 0, same)
        self.assertIn("1 deterministic series are the same on both sides", same.stdout)
        other = self.compare([entry("a/clock:virtual", p50=5, max=5, count=3)],
                             [entry("a/clock:virtual", p50=6, max=6, count=3)])
        self.assertEqual(other.returncode, 3)
        self.assertIn("differs, deterministic", other.stdout)

    def test_one_repetition_is_never_told_from_noise(self):
        done = self.compare(repeated("a/clock:wall", [1000]), repeated("a/clock:wall", [9000]))
        self.assertEqual(done.returncode, 0)
        self.assertIn("not told from noise: 1 and 1 repetitions, 5 wanted", done.stdout)

    def test_difference_beyond_the_spread_is_one_and_one_within_it_is_noise(self):
        source = random.Random(3)
        before = [1000 + source.random() * 100 for _ in range(10)]
        slower = self.compare(repeated("a/clock:wall", before),
                              repeated("a/clock:wall", [1.5 * each for each in before]))
        self.assertEqual(slower.returncode, 3)
        self.assertRegex(slower.stdout, r"p50 +1.0\d us +1.5\d us +1.5 .*: slower\n")
        noise = self.compare(repeated("a/clock:wall", before),
                             repeated("a/clock:wall", before[::-1]))
        self.assertEqual(noise.returncode, 0)
        self.assertIn(": noise\n", noise.stdout)

    def test_series_of_one_side_only_and_one_that_failed_are_named(self):
        done = self.compare([entry("a", p50=1, max=1, count=1)],
                            [entry("b", p50=1, max=1, count=1)])
        self.assertEqual(done.returncode, 3)
        self.assertIn("driver/revoke_bench/a\n      only in the first run", done.stdout)
        self.assertIn("driver/revoke_bench/b\n      only in the second run", done.stdout)
        failed = self.compare([entry("a", p50=1, max=1, count=1)],
                              [entry("a", error_occurred=True, error_message="why")])
        self.assertEqual(failed.returncode, 3)
        self.assertIn("not measured: why", failed.stdout)

    def test_other_conditions_are_told(self):
        self.run_of("a/floor_bench.json", device="model")
        self.run_of("b/floor_bench.json", device="vfio")
        self.run_of("a/driver/revoke_bench.json", entry("x", p50=1, max=1, count=1))
        self.run_of("b/driver/revoke_bench.json", entry("x", p50=1, max=1, count=1))
        self.assertIn("not under the same conditions: floor_bench: device: model | vfio\n",
                      self.call("compare.py", "a", "b").stdout)

    def test_mistakes_are_one_line(self):
        self.run_of("a/floor_bench.json", entry("x", p50=1, max=1, count=1))
        for arguments, said in ((("a",), "the following arguments are required: AFTER"),
                                (("a", "c"), "c: no such directory; a run of ./dev bench"),
                                (("a", "a", "--filter=("), "--filter '(': missing )"),
                                (("a", "a", "--filter=y"), "--filter 'y': no series has such"),
                                (("a", "a", "--fly"), "unrecognized arguments: --fly")):
            done = self.call("compare.py", *arguments)
            self.assertEqual(done.returncode, 1, done)
            self.assertTrue(done.stderr.startswith(f"compare: {said}"), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
