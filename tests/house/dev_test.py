# SPDX-License-Identifier: BSD-3-Clause
"""./dev on machines that are not this one: packages, systems, builds and bench programs are scripts
in a folder of their own, so neither root nor network is needed.

    dev_test.py ROOT_OF_THE_TREE
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path()
TIMEOUT_S = 600

DEBIAN_12 = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n'
DEBIAN_13 = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\nVERSION_ID="13"\n'
UBUNTU = 'PRETTY_NAME="Ubuntu 24.04.1 LTS"\nID=ubuntu\nVERSION_ID="24.04"\n'

# What is in the files of the machine: installed, known and unknown packages; each call goes to log.
FAKES = {
    "dpkg-query": 'grep -qxF "${@: -1}" "$MACHINE/installed" && printf installed',
    "sudo": '[ "$1" = -n ] && shift; exec "$@"',
    "apt-get": 'echo "apt-get $*" >>"$MACHINE/log"; . "$MACHINE/apt-get"',
    "apt-cache": 'case $1 in policy) shift; for name; do '
                 'grep -qxF "$name" "$MACHINE/unknown" || '
                 'printf "%s:\\n  Installed: (none)\\n  Candidate: 1.0\\n" "$name"; done;; '
                 'pkgnames) cat "$MACHINE/headers";; esac',
    "doxygen": "exit 0",
    "cmake": 'echo "cmake $*" >>"$MACHINE/log"',
}
BENCHES = ("floor_bench", "revoke_bench", "command_bench", "steering_bench", "dataplane_bench",
           "model_bench", "bench_summary")


class Dev(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copy(ROOT / "dev", self.root)
        for name, body in FAKES.items():
            self.script(f"bin/{name}", body)
        for name in BENCHES:
            self.script(f"build/release/bench/{name}",
                        f'echo "{name} $*" >>"$MACHINE/log"; cat "$MACHINE/{name}.says" '
                        f'2>/dev/null; exit $(cat "$MACHINE/{name}.status" 2>/dev/null || echo 0)')
        self.write("bench/run/run.py", (ROOT / "bench/run/run.py").read_text(encoding="utf-8"))
        self.write("bench/run/report.py", "import os, pathlib, sys\n"
                   "with open(os.environ['MACHINE'] + '/log', 'a') as log:\n"
                   "    print('report', *sys.argv[1:], file=log)\n"
                   "path = pathlib.Path(os.environ['MACHINE'], 'report.status')\n"
                   "sys.exit(int(path.read_text()) if path.exists() else 0)\n")
        for name in ("installed", "unknown", "headers", "apt-get", "log"):
            self.write(name, "")
        self.write("src/linux-headers-6.1.0-1-common/include/linux/mlx5/mlx5_ifc.h", "")
        self.is_a(DEBIAN_12)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def script(self, name: str, body: str) -> None:
        self.write(name, f"#!/bin/bash\n{body}\n")
        (self.root / name).chmod(0o755)

    def is_a(self, release: str) -> None:
        self.write("os-release", release)

    def without_headers(self, known: str) -> None:
        shutil.rmtree(self.root / "src")
        self.write("headers", known)

    def dev(self, *arguments: str, cwd: pathlib.Path | None = None):
        environment = {**os.environ, "MACHINE": str(self.root),
                       "PATH": f"{self.root}/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                       "PORTCULLIS_OS_RELEASE": str(self.root / "os-release"),
                       "PORTCULLIS_USR_SRC": str(self.root / "src")}
        return subprocess.run([str(self.root / "dev"), *arguments], cwd=cwd or self.root, text=True,
                              env=environment, capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=TIMEOUT_S, check=False)

    def log(self, word: str = "") -> list[str]:
        lines = (self.root / "log").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if word in line]


class Systems(Dev):
    """Where a package cannot be had the last line says which, and what this system is."""

    def check_refused(self, system: str, packages: str, *arguments: str):
        done = self.dev(*arguments)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.splitlines()[-1],
                         f"dev: apt does not know: {packages}; this is {system}; "
                         "Debian 12 is what is supported (docs/install.md, Systems)")
        self.assertEqual(self.log("apt-get -q -y -o DPkg::Lock::Timeout=300 install"), [])
        self.assertEqual(self.log("cmake --"), [])

    def test_ubuntu_has_no_such_headers(self):
        self.is_a(UBUNTU)
        self.without_headers("linux-headers-6.11.0-40\n")
        self.write("unknown", "etcd-server\n")
        self.check_refused("Ubuntu 24.04.1 LTS", "etcd-server linux-headers-6.8.0-*[0-9]", "test")

    def test_headers_alone_are_missed_by_name(self):
        self.without_headers("")
        self.check_refused("Debian GNU/Linux 12 (bookworm)", "linux-headers-6.1*-common", "build")

    def test_system_that_says_nothing_of_itself(self):
        (self.root / "os-release").unlink()
        self.write("unknown", "g++\n")
        done = self.dev("bench")
        self.assertRegex(done.stderr.splitlines()[-1],
                         r"apt does not know: g\+\+; this is an unknown system \(.*os-release says")

    def test_other_system_with_every_package_is_told_and_goes_on(self):
        self.is_a(UBUNTU)
        done = self.dev("build")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stderr, "dev: this is Ubuntu 24.04.1 LTS; "
                                      "Debian 12 is what is supported (docs/install.md, Systems)\n")

    def check_newest_headers(self, newest: str, *others: str) -> str:
        self.without_headers("".join(f"{name}\n" for name in (newest, *others)))
        done = self.dev("build")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(f" {newest} ", f"{self.log(' install ')[0]} ")
        return done.stderr

    def test_debian_12_installs_the_newest_headers_without_a_word_of_systems(self):
        told = self.check_newest_headers(
            "linux-headers-6.1.0-31-common", "linux-headers-6.1.0-9-common",
            "linux-headers-6.1.0-31-common-rt", "linux-headers-6.12.9+deb12-common",
            "linux-headers-6.1.0-31-amd64")
        self.assertEqual(told, "")

    def test_debian_13_installs_the_newest_headers_and_is_told_what_it_is(self):
        self.is_a(DEBIAN_13)
        told = self.check_newest_headers(
            "linux-headers-6.12.117+deb13-common", "linux-headers-6.12.41+deb13-common",
            "linux-headers-6.12.117+deb13-common-rt", "linux-headers-6.12.117+deb13-amd64")
        self.assertEqual(told, "dev: this is Debian GNU/Linux 13 (trixie); "
                               "Debian 12 is what is supported (docs/install.md, Systems)\n")

    def test_ubuntu_installs_the_newest_headers_of_its_own(self):
        self.is_a(UBUNTU)
        self.check_newest_headers(
            "linux-headers-6.8.0-151", "linux-headers-6.8.0-40", "linux-headers-6.8.0-151-generic",
            "linux-headers-6.11.0-29", "linux-headers-6.8.0-1009-aws")

    def test_headers_that_ubuntu_has_unpacked_are_asked_of_nobody(self):
        self.is_a(UBUNTU)
        shutil.rmtree(self.root / "src")
        self.write("src/linux-headers-6.8.0-151/include/linux/mlx5/mlx5_ifc.h", "")
        done = self.dev("build")
        self.assertEqual(done.returncode, 0, done)
        self.assertNotIn("linux-headers", self.log(" install ")[0])

    def test_ubuntu_is_told_what_its_deps_leave_out(self):
        self.is_a(UBUNTU)
        self.write("unknown", "chromium\n")
        done = self.dev("deps")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("what ./dev browser needs is left out", done.stderr)
        self.assertIn(" mmdebstrap ", self.log(" install ")[0])

    def test_debian_has_everything_in_its_deps(self):
        self.dev("deps")
        self.assertIn(" chromium ", self.log(" install ")[0])

    def test_network_that_is_down_is_told_with_apts_last_word(self):
        self.write("apt-get", "echo Reading; echo; echo 'E: no route to host'; exit 100\n")
        done = self.dev("build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("dev: apt-get update failed: E: no route to host", done.stderr)

    def test_apt_that_takes_long_is_seen_to_be_at_work(self):
        # It goes on until a second pause begins, so a line was printed after the first.
        self.write("apt-get", 'echo "Get:1 cmake"; '
                   'until grep -qs ... "$MACHINE/pauses"; do :; done\n')
        self.script("bin/sleep", 'printf . >>"$MACHINE/pauses"; exec /bin/sleep 0.1')
        done = self.dev("build")
        self.assertRegex(done.stdout, r"dev: apt-get update, \d+ s: Get:1 cmake\n")


class Builds(Dev):
    def test_bench_asks_for_nothing_that_only_tests_need(self):
        self.without_headers("")
        done = self.dev("bench")
        self.assertEqual(done.returncode, 0, done)
        asked = self.log(" install ")[0].split()
        self.assertIn("libbenchmark-dev", asked)
        for package in ("spin", "python3-scapy", "tshark", "libgtest-dev"):
            self.assertNotIn(package, asked)
        self.assertIn("-DPORTCULLIS_TESTS=OFF", self.log("--preset release --log-level")[0])

    def test_bench_leaves_tests_in_a_tree_that_has_them(self):
        self.write("build/release/CMakeCache.txt", "PORTCULLIS_TESTS:BOOL=ON\n")
        self.dev("bench")
        self.assertIn("-DPORTCULLIS_TESTS=ON", self.log("--preset release --log-level")[0])

    def test_docs_builds_the_pages_of_programs_and_then_the_site(self):
        self.write("docs/site/build.py", "import sys\nprint(sys.argv[1:])\nsys.exit(3)\n")
        done = self.dev("docs")
        self.assertEqual(done.returncode, 3, done)
        asked = self.log(" install ")[0].split()
        self.assertIn("python3-sphinx", asked)
        self.assertNotIn("libgtest-dev", asked)
        self.assertIn("--target pages", self.log("--build")[0])
        self.assertEqual(done.stdout.splitlines()[-1],
                         "['--pages', 'build/release/docs/man', '--out', 'build/docs']")

    def test_docs_that_is_told_something_builds_nothing(self):
        done = self.dev("docs", "--html")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "dev: docs: unknown argument '--html'; none is accepted\n"))
        self.assertEqual(self.log(), [])

    def test_vm_builds_what_its_scenarios_run(self):
        self.write("tests/vm/vm.py", "import sys\nprint('tools/hca-server\\n../probes/tools/flow"
                   "' if '--programs' in sys.argv else sys.argv[1:])\n")
        done = self.dev("vm", "flow_probe")
        self.assertEqual(done.returncode, 0, done)
        built = [line.split("--target ")[1] for line in self.log("--build")]
        self.assertEqual(built, ["tools/hca-server", "tools/flow"])
        self.assertEqual(done.stdout.splitlines()[-1], "['flow_probe']")

    def test_vm_that_knows_no_such_scenario_builds_nothing(self):
        self.write("tests/vm/vm.py", "import sys\nsys.exit('vm: no scenario \"x\"')\n")
        done = self.dev("vm", "x")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.splitlines()[-1], 'vm: no scenario "x"')
        self.assertEqual(self.log("cmake --"), [])


class Failures(Dev):
    # As ctest prints: one test that failed between two that passed, and one that took too long.
    CTEST = """\
      Start 1: a.b
1/4 Test #1: a.b .......................   Passed    0.01 sec
      Start 2: a.c
2/4 Test #2: a.c .......................***Failed    0.33 sec
[ RUN      ] a.c

c.cpp:3: Failure
      Start 3: a.d
3/4 Test #3: a.d .......................   Passed    0.01 sec
      Start 4: a.e
4/4 Test #4: a.e .......................***Timeout 900.01 sec

50% tests passed, 2 tests failed out of 4
"""

    NAMED = ("a.c ***Failed    0.33 sec\n  [ RUN      ] a.c\n  c.cpp:3: Failure\n",
             "a.e ***Timeout 900.01 sec\n")

    def test_tests_that_failed_are_named_at_the_end(self):
        self.write("ctest.says", self.CTEST)
        self.script("bin/ctest", 'while [[ $# -gt 0 && $1 != --output-log ]]; do shift; done; '
                    'mkdir -p "${2%/*}"; cp "$MACHINE/ctest.says" "$2"; exit 8')
        done = self.dev("test")
        self.assertEqual(done.returncode, 1, done)
        end = done.stdout[done.stdout.index("== tests that failed"):]
        self.assertIn("".join("release: " + each for each in self.NAMED), end)
        self.assertNotIn("a.d", end)

    def test_tests_that_failed_are_named_before_the_table(self):
        self.write("ctest.says", self.CTEST)
        self.script("bin/ctest", 'while [[ $# -gt 0 && $1 != --output-log ]]; do shift; done; '
                    '[[ $2 != *asan* ]] && exit; cp "$MACHINE/ctest.says" "$2"; exit 8')
        for preset in ("probes", "asan", "tsan"):
            self.write(f"build/{preset}/compile_commands.json", "")
        done = self.dev("check")
        self.assertEqual(done.returncode, 1, done)
        end = done.stdout[done.stdout.index("== tests that failed"):]
        self.assertIn("".join("asan: " + each for each in self.NAMED), end)
        self.assertNotIn("a.d", end)
        self.assertIn("9 steps passed, 1 failed", end)


class Bench(Dev):
    def runs(self) -> list[str]:
        return self.log(" -- --out-dir=")

    def summary(self) -> str:
        return self.log("bench_summary")[-1]

    def test_floor_comes_first_and_the_cards_timing_before_the_driver(self):
        self.assertEqual(self.dev("bench", "--quick").returncode, 0)
        self.assertEqual([line.split()[0] for line in self.runs()],
                         ["floor_bench", "revoke_bench", "command_bench", "steering_bench",
                          "revoke_bench", "command_bench", "steering_bench", "dataplane_bench"])
        for line in self.runs()[:4]:
            self.assertRegex(line, " -- --out-dir=results/[^ ]*/card-timing --quick "
                             "--benchmark_context=commit=unknown "
                             "--device=model,timing=cx5-16.35.4506")
        for line in self.runs()[4:]:
            self.assertRegex(line, " -- --out-dir=results/[^ ]*/driver --quick")

    def test_full_takes_what_is_left_out_else(self):
        self.dev("bench", "--out-dir=a", "revoke_bench")
        self.dev("bench", "--out-dir=b", "--full", "revoke_bench")
        some, full = (line.split("--benchmark_filter=")[1] for line in self.runs()
                      if "/driver " in line)
        plain, slots = "revoke/leases:64/load:none/x", "revoke/leases:1024/load:slots/x"
        self.assertTrue(re.search(some, plain) and re.search(full, plain))
        self.assertTrue(re.search(full, slots) and not re.search(some, slots))

    def test_run_has_a_directory_and_a_report_of_its_own(self):
        self.write("bench_summary.says", "conclusion: so it is\n")
        self.dev("bench", "floor_bench")
        where = re.search(r"--where=(results/\d{4}-\d\d-\d\d-\d{6}-unknown), report.html first "
                          r"floor_bench:0:(\S*)/card-timing/floor_bench.json$", self.summary())
        self.assertIsNotNone(where, self.summary())
        self.assertEqual(where[1], where[2])
        self.assertEqual((self.root / where[1] / "conclusion.txt").read_text(encoding="utf-8"),
                         "conclusion: so it is\n")
        self.assertEqual(self.log("report ")[-1],
                         f"report {where[1]} --conclusion {where[1]}/conclusion.txt")

    def test_report_that_cannot_be_written_is_a_run_that_is_not_whole(self):
        self.write("report.status", "1")
        self.assertEqual(self.dev("bench", "floor_bench").returncode, 3)

    def test_directory_that_holds_a_run_is_refused(self):
        self.write("b/driver/model_bench.json", "{}")
        done = self.dev("bench", "--out-dir=b")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "dev: bench: --out-dir 'b' holds a run (b/driver/model_bench.json); a "
                          "directory without one is accepted\n"))
        self.assertEqual(self.log(), [])

    def test_program_that_fails_ends_none_of_the_others(self):
        self.write("floor_bench.status", "139")
        self.write("bench_summary.status", "3")
        self.write("bench_summary.says", "conclusion: so it is\n")
        done = self.dev("bench", "floor_bench", "command_bench")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(len(self.runs()), 3)
        self.assertRegex(done.stderr, r"bench: floor_bench, the card's timing: status 139; all it "
                                      r"said is in results/\S*/card-timing/floor_bench.log\n")
        self.assertRegex(self.summary(), r" floor_bench:139:\S*/card-timing/floor_bench.json")
        self.assertEqual(done.stdout.splitlines()[-1], "conclusion: so it is")

    def test_interrupted_program_is_the_last_and_is_concluded_from(self):
        self.write("revoke_bench.status", "130")
        done = self.dev("bench")
        self.assertEqual(done.returncode, 130)
        self.assertEqual(len(self.runs()), 2)
        self.assertRegex(self.summary(), " revoke_bench:130:[^ ]*/card-timing/revoke_bench.json$")

    def test_own_device_is_the_only_one_and_eal_arguments_stand_before_the_dashes(self):
        self.dev("bench", "revoke_bench", "-l", "2-3", "--", "--device=0000:03:00.0", "--quick")
        self.assertEqual(len(self.runs()), 1)
        self.assertRegex(self.runs()[0], "^revoke_bench -l 2-3 -- --out-dir=results/[^ /]* --quick "
                         "--benchmark_context=commit=unknown --device=0000:03:00.0$")

    def test_directory_may_stand_anywhere(self):
        for arguments in (("--out-dir=b", "model_bench"), ("model_bench", "--out-dir", "b"),
                          ("model_bench", "--samples=3", "--out-dir=b")):
            self.write("log", "")
            self.assertEqual(self.dev("bench", *arguments).returncode, 0)
            self.assertIn(" --out-dir=b/driver", self.runs()[0])
            self.assertIn("--where=b, report", self.summary())

    def test_help_is_given_and_nothing_run(self):
        done = self.dev("bench", "--help")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("--out-dir=DIR", done.stdout)
        self.assertEqual(self.log(), [])

    def test_directory_with_a_space_is_one(self):
        self.dev("bench", "model_bench", "--out-dir=a b")
        self.assertIn(" --out-dir=a b/driver", self.runs()[0])

    def test_directory_is_below_where_it_was_called(self):
        there = self.root / "there"
        there.mkdir()
        self.dev("bench", "model_bench", "--out-dir=b", cwd=there)
        self.assertIn(f" --out-dir={there}/b/driver", self.runs()[0])

    def test_mistakes_are_one_line_and_run_nothing(self):
        for arguments, said in ((("--out-dir",), "dev: bench: --out-dir needs a directory"),
                                (("--out-dir=",), "dev: bench: --out-dir needs a directory"),
                                (("flour_bench",), "dev: bench: unknown suite 'flour_bench'; "
                                 "accepted: floor_bench revoke_bench command_bench steering_bench "
                                 "dataplane_bench model_bench")):
            done = self.dev("bench", *arguments)
            self.assertEqual((done.returncode, done.stderr), (1, said + "\n"))
        self.assertEqual(self.log(), [])


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1))
    unittest.main()
