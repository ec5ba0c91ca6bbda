# SPDX-License-Identifier: BSD-3-Clause
"""Runs the bench programs as users do and reads what they leave.

    smoke_test.py DIRECTORY_OF_THE_PROGRAMS SUITE

No figure of the wall clock is judged here; those of the virtual clock are the same everywhere.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAMS = pathlib.Path()
TIMEOUT_S = 1200  # of a machine with other work to do; alone no run takes a tenth of it

CONTEXT = {"device", "emulated", "timing", "behaviours", "clock", "peer", "lcores",
           "lcore_findings", "portcullis", "dpdk", "firmware", "project_build_type",
           "counters_unit"}
COUNTERS = {"p50", "max", "count"}
LEAST_SAMPLES = {"p90": 10, "p99": 100, "p999": 1000}


def run(program: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAMS / program, *arguments], capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False)


class Run:
    """A quick run into a directory of its own: its JSON, and the other files by name."""

    def __init__(self, program: str, *arguments: str):
        with tempfile.TemporaryDirectory() as folder:
            done = run(program, "--", "--quick", f"--out-dir={folder}", *arguments)
            if done.returncode != 0:
                raise AssertionError(f"{program}: exit {done.returncode}: "
                                     f"{done.stderr}{done.stdout}")
            self.output = done.stdout
            self.files = {path.name: path.read_text(encoding="utf-8")
                          for path in pathlib.Path(folder).iterdir()}
        self.text = self.files.pop(f"{program}.json")
        report = json.loads(self.text)
        self.context = report["context"]
        self.series = {entry["name"].split("/iterations")[0]: entry
                       for entry in report["benchmarks"]}


class Suite(unittest.TestCase):
    program = ""
    arguments: tuple[str, ...] = ()
    result: Run

    @classmethod
    def setUpClass(cls):
        cls.result = Run(cls.program, *cls.arguments)

    def check_common(self):
        self.assertLessEqual(CONTEXT, self.result.context.keys())
        self.assertRegex(self.result.context["device"], r"^model \(timing=.*behaviours=.*\)$")
        self.assertIn("not NIC latency", self.result.context["emulated"])
        for name, series in self.result.series.items():
            self.assertLessEqual(COUNTERS, series.keys(), name)
            self.assertLessEqual(series["p50"], series["max"], name)
            for percentile, least in LEAST_SAMPLES.items():
                self.assertEqual(percentile in series, series["count"] >= least, name)
        self.check_files()

    def check_files(self):
        pictures = [text for name, text in self.result.files.items() if name.endswith(".svg")]
        self.assertTrue(pictures)
        for picture in pictures:
            self.assertIn("emulated, not NIC latency", picture)
            xml.etree.ElementTree.fromstring(picture)
        texts = [text for name, text in self.result.files.items() if name.endswith(".hgrm")]
        self.assertEqual(len(texts), len(self.result.series))
        for text in texts:
            self.assertRegex(text.splitlines()[0],
                             r"^ +Value +Percentile +TotalCount +1/\(1-Percentile\)$")

    def check_one_value(self):
        names = [name for name in self.result.series if "clock:virtual" in name]
        self.assertTrue(names)
        for name in names:
            series = self.result.series[name]
            self.assertEqual(series["p50"], series["max"], name)
            self.assertIn("deterministic, one value", self.result.output)


class Command(Suite):
    program = "command_bench"
    arguments = ("--device=model,timing=cx5-16.35.4506,execution=stepped",)

    def test_report(self):
        self.check_common()
        self.check_one_value()

    def test_fence_commands_come_first(self):
        names = list(self.result.series)
        self.assertEqual(names[0], "command/2ERR_QP/clock:virtual")
        self.assertEqual(names[1], "command/DESTROY_MKEY/clock:virtual")

    def test_virtual_round_trips_are_those_of_the_timing_profile(self):
        pair = sum(self.result.series[f"command/{name}/clock:virtual"]["p50"]
                   for name in ("2ERR_QP", "DESTROY_MKEY"))
        self.assertAlmostEqual(pair, 1.5e6, delta=1e4)
        self.assertIn("assumed", self.result.context["device"])

    def test_both_clocks_have_series_of_their_own(self):
        both = Run("command_bench", "--samples=2", "--benchmark_filter=2RST_QP")
        self.assertEqual(list(both.series),
                         ["command/2RST_QP/clock:virtual", "command/2RST_QP/clock:wall"])
        self.assertIn("command_bench.fence-wall-clock.svg", both.files)


class Dataplane(Suite):
    program = "dataplane_bench"
    arguments = ("--benchmark_filter=bytes:(8|64)/|poll",)

    def test_report(self):
        self.check_common()

    def test_every_opcode_has_a_round_trip_and_rates(self):
        names = self.result.series
        for name in ("write_inline/bytes:64", "write/bytes:64", "write_imm/bytes:64",
                     "send/bytes:64", "read/bytes:64", "fetch_add/bytes:8", "compare_swap/bytes:8"):
            self.assertIn(f"round_trip/op:{name}/clock:wall", names)
            for depth in (1, 16, 64):
                series = names[f"message/op:{name}/depth:{depth}/clock:wall"]
                self.assertGreater(series["messages_per_s"], 0)

    def test_many_queue_pairs_share_the_uar(self):
        for qps in (1, 1024):
            self.assertIn(f"message/op:write_inline/bytes:64/qps:{qps}/clock:wall",
                          self.result.series)

    def test_posting_and_polling_are_measured_alone(self):
        self.assertIn("poll/clock:wall", self.result.series)
        self.assertIn("post/op:write_inline/bytes:64/clock:wall", self.result.series)


class Revoke(Suite):
    program = "revoke_bench"
    arguments = ("--leases=1,3", "--samples=2")

    def test_report(self):
        self.check_common()
        self.check_one_value()

    def test_every_plan_is_run_idle_and_under_traffic(self):
        for plan in ("seed", "nak-first", "legacy", "umr", "access-flags", "drop-only",
                     "indirect"):
            for leases, mode in ((1, "serial"), (3, "serial"), (3, "batched")):
                for load in ("none", "write"):
                    for clock in ("virtual", "wall"):
                        self.assertIn(f"revoke/plan:{plan}/leases:{leases}/mode:{mode}/load:{load}"
                                      f"/clock:{clock}", self.result.series)

    def test_the_entries_of_001_are_approaches(self):
        dropped = Run("revoke_bench", "--device=model,timing=cx5-16.35.4506,execution=stepped",
                      "--drop=all", "--benchmark_filter=approach:(bare|drop)")
        recall = {name.split(":")[1].split("/")[0]: series["p50"]
                  for name, series in dropped.series.items()}
        self.assertEqual(len(recall), 11)
        self.assertAlmostEqual(recall["bare"], 1.5e6, delta=1e5)
        for row in ("bth_dst_qp=qpn", "bth_dst_qp=0", "bth_dst_qp=0xAAAAAA",
                    "bth_opcode=0x0A+one-packet", "bth_opcode=0x0A+several-packets"):
            self.assertAlmostEqual(recall[f"drop,{row},install=mid"], 12e6, delta=1e5)
            self.assertAlmostEqual(recall[f"drop,{row},install=pre"], 1.5e6, delta=1e5)

    def test_underlay_is_measured_on_infiniband_and_refused_on_ethernet(self):
        under = Run("revoke_bench", "--device=model,port=ib,execution=stepped", "--plan=underlay",
                    "--leases=2", "--benchmark_filter=plan:")
        self.assertIn("revoke/plan:underlay/leases:2/mode:batched/load:write/clock:virtual",
                      under.series)
        done = run("revoke_bench", "--", "--device=model,execution=stepped", "--plan=underlay",
                   "--quick", "--benchmark_filter=plan:")
        self.assertEqual(done.returncode, 1)
        self.assertIn("port_type is 1 (Ethernet)", done.stderr.splitlines()[-1])

    def test_nak_first_lingers_only_while_nobody_writes(self):
        series = "revoke/plan:nak-first/leases:1/mode:serial/load:{}/clock:virtual"
        self.assertEqual(self.result.series[series.format("none")]["p50"], 50e6)
        self.assertLess(self.result.series[series.format("write")]["p50"], 1e6)

    def test_split_takes_its_entry_out_in_the_deferred_phase(self):
        card = Run("revoke_bench", "--device=model,execution=stepped,timing=cx5-16.35.4506",
                   "--plan=seed", "--leases=1", "--samples=1")
        series = "revoke/approach:{}/load:write/clock:virtual"
        self.assertEqual(card.series[series.format("bare")]["p50"], 1.5e6)
        self.assertEqual(card.series[series.format("split")]["p50"], 12e6)
        # DELETE_FLOW_TABLE_ENTRY, 2RST_QP, DESTROY_QP and DEALLOC_PD, 750 us each.
        self.assertEqual(card.series[series.format("split,deferred")]["p50"], 3e6)


class Floor(Suite):
    program = "floor_bench"
    arguments = ("--timeout=12", "--retry=3")

    def status(self, plan: str) -> tuple[float, str]:
        series = self.result.series[f"floor/plan:{plan}/timeout:12/retry:3/clock:virtual"]
        return series["status"], series["label"]

    def test_report(self):
        self.check_common()
        self.check_one_value()

    def test_silent_plans_end_in_retry_exceeded(self):
        self.assertEqual(self.status("seed"), (12, "IBV_WC_RETRY_EXC_ERR (12): silence"))
        self.assertEqual(self.status("legacy"), (12, "IBV_WC_RETRY_EXC_ERR (12): silence"))

    def test_nak_first_ends_in_remote_access_error(self):
        self.assertEqual(self.status("nak-first"), (10, "IBV_WC_REM_ACCESS_ERR (10): nak"))

    def test_no_byte_changes_after_the_outcome(self):
        for name, series in self.result.series.items():
            self.assertEqual(series["changed_after_outcome"], 0, name)

    def test_verdicts_and_reference_lines_are_shown(self):
        self.assertIn("sub-second property met, 2000 ms budget met", self.result.output)
        for picture in (t for n, t in self.result.files.items() if n.endswith(".svg")):
            for time in ("12 ms", "1.4 s", "2000 ms"):
                self.assertIn(f"floor document: {time}", picture)

    def test_failure_after_the_deadline_is_censored(self):
        late = Run("floor_bench", "--device=model,execution=stepped", "--plan=seed",
                   "--timeout=12", "--deadline-ms=1")
        series = late.series["floor/plan:seed/timeout:12/retry:7/clock:virtual"]
        self.assertEqual((series["censored"], series["count"]), (3, 0))
        self.assertIn("3 of 3 runs censored", late.output)
        self.assertIn("sub-second property NOT met", late.output)

    def test_series_that_cannot_be_measured_is_named_and_the_others_are_there(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("floor_bench", "--", "--device=model,execution=stepped",
                       "--plan=seed,underlay,nak-first", f"--out-dir={folder}")
            names = {path.name for path in pathlib.Path(folder).iterdir()}
            report = json.loads(pathlib.Path(folder, "floor_bench.json").read_text("utf-8"))
        self.assertEqual(done.returncode, 3, done)
        self.assertRegex(done.stderr.splitlines()[-1], "^floor_bench: not measured: "
                         "floor/plan:underlay/.*: .*port_type is 1")
        self.assertEqual(done.stdout.count("sub-second property met"), 2)
        self.assertEqual(done.stderr.count("CREATE_MKEY accepts a QP number in mkc.qpn"), 1)
        self.assertIn("floor.plan-nak-first.timeout-14.retry-7.clock-virtual.hgrm", names)
        self.assertNotIn("floor.plan-underlay.timeout-14.retry-7.clock-virtual.hgrm", names)
        self.assertLessEqual({"floor_bench.virtual-clock.svg", "floor_bench.runs.csv"}, names)
        self.assertIn("port_type", report["benchmarks"][1]["error_message"])

    def test_client_that_loses_too_much_to_begin_is_named_with_its_status(self):
        done = run("floor_bench", "--", "--device=model,execution=stepped,behaviour=loss=0.6",
                   "--plan=seed")
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stderr.splitlines()[-1], "^floor_bench: not measured: "
                         "floor/plan:seed/.*: before any revoke: .*IBV_WC_RETRY_EXC_ERR")
        self.assertNotIn("met", done.stdout)

    def test_interrupted_run_keeps_what_it_has(self):
        with tempfile.TemporaryDirectory() as folder:
            # A wall-clock sample of these takes half a second, so it is in the middle for minutes.
            with subprocess.Popen([PROGRAMS / "floor_bench", "--",
                                   "--device=model,execution=polled", "--plan=nak-first,seed",
                                   "--samples=400", f"--out-dir={folder}"], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                for line in process.stdout:
                    if line.startswith("floor/plan:nak-first/"):
                        break
                process.send_signal(signal.SIGINT)
                out, error = process.communicate(timeout=TIMEOUT_S)
            names = {path.name for path in pathlib.Path(folder).iterdir()}
        self.assertEqual(process.returncode, 130, error)
        self.assertEqual(error.splitlines()[-1], "floor_bench: interrupted; 1 series not measured")
        self.assertRegex(out, r"floor/plan:nak-first/\S+ .* 400\n")
        self.assertIn("floor.plan-nak-first.timeout-14.retry-7.clock-wall.hgrm", names)
        self.assertIn("floor_bench.json", names)

    def test_long_budget_misses_both_verdicts(self):
        slow = Run("floor_bench", "--device=model,execution=stepped", "--plan=seed",
                   "--timeout=17")
        series = slow.series["floor/plan:seed/timeout:17/retry:7/clock:virtual"]
        self.assertEqual((series["sub_second_met"], series["budget_met"]), (0, 0))

    def test_each_run_is_recorded_and_named(self):
        self.assertIn("with status 12: silence", self.result.output)
        self.assertIn("with status 10: nak", self.result.output)
        runs = self.result.files["floor_bench.runs.csv"].splitlines()
        self.assertTrue(runs[0].startswith(
            "series,run,outcome_ns,last_success_ns,last_change_ns,first_failure_ns,status,seen,"
            "rx_write_requests,"), runs[0])
        self.assertGreater(len(runs), 3)

    def test_counters_say_which_side_gave_up(self):
        series = self.result.series["floor/plan:seed/timeout:12/retry:3/clock:virtual"]
        self.assertEqual(series["q:req_transport_retries_exceeded"], 3)
        self.assertNotIn("q:resp_remote_access_errors", series)
        series = self.result.series["floor/plan:nak-first/timeout:12/retry:3/clock:virtual"]
        self.assertEqual(series["q:resp_remote_access_errors"], 3)
        self.assertNotIn("q:req_transport_retries_exceeded", series)
        self.assertRegex(self.result.output, "Q counters: .*req_transport_retries_exceeded 1")

    def test_sweep_names_the_budget(self):
        swept = Run("floor_bench", "--sweep")
        self.assertIn("plan seed: mechanism: budget ((r + 1) T", swept.output)
        self.assertNotIn("the mechanism was chosen", swept.output)

    def check_chosen(self, behaviour: str, named: str, status: int = 0) -> None:
        for loss in ("", "+loss=0.03"):
            done = run("floor_bench", "--", f"--device=model,behaviour={behaviour}{loss}",
                       "--sweep")
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(f"plan seed: mechanism: {named} (", done.stdout)
            self.assertIn("the mechanism was chosen", done.stdout)

    def test_the_entries_of_001_leave_the_floor_where_it_is(self):
        dropped = Run("floor_bench", "--device=model,timing=cx5-16.35.4506,execution=stepped",
                      "--timeout=12", "--retry=3", "--drop=all", "--plan=seed")
        rows = [series for name, series in dropped.series.items() if "approach:drop," in name]
        self.assertEqual(len(rows), 10)
        for series in rows:
            self.assertEqual(series["status"], 12)
            self.assertEqual(series["censored"], 0)

    def test_least_timeout_is_named(self):
        self.check_chosen("min-ack-timeout=14", "minimum timeout, budget")

    def test_fixed_total_is_named(self):
        self.check_chosen("retx-total=1400", "fixed total")

    def test_budget_without_the_last_timeout_is_named(self):
        self.check_chosen("retry-total=7T", "budget without the last timeout")

    def test_cache_that_looks_at_keys_is_a_nak(self):
        self.check_chosen("dispatch-cache=20", "nak")

    def test_cache_that_looks_at_no_key_is_named_and_is_no_fence(self):
        self.check_chosen("dispatch-cache=20+dispatch-cache-keeps-key", "cache plus budget", 2)

    def test_sweep_of_refusals_names_the_nak(self):
        swept = Run("floor_bench", "--sweep", "--plan=nak-first")
        self.assertIn("plan nak-first: mechanism: nak", swept.output)


class Steering(Suite):
    program = "steering_bench"
    arguments = ("--device=model,timing=cx5-16.35.4506,execution=stepped",)

    def row(self, name: str, install: str) -> str:
        return self.result.series[f"entry/drop,{name},install={install}/clock:virtual"]["label"]

    def test_report(self):
        self.check_common()

    def test_rows_are_as_001_saw_them(self):
        for qpn in ("qpn", "0", "0xAAAAAA"):
            for install in ("pre", "mid"):
                self.assertEqual(self.row(f"bth_dst_qp={qpn}", install), "traffic unchanged")
        self.assertEqual(self.row("bth_opcode=0x0A+one-packet", "pre"), "stopped")
        self.assertEqual(self.row("bth_opcode=0x0A+one-packet", "mid"), "traffic unchanged")
        for install in ("pre", "mid"):
            self.assertEqual(self.row("bth_opcode=0x0A+several-packets", install),
                             "traffic unchanged")

    def test_the_end_says_what_each_entry_did(self):
        self.assertRegex(self.result.output, r"drop,bth_opcode=0x0A\+one-packet,install=pre +"
                         r"stopped, (\d+) of \1 stopped\n")
        self.assertRegex(self.result.output, r"drop,bth_dst_qp=0,install=mid +traffic unchanged, ")

    def test_the_recall_takes_the_entrys_time_too(self):
        recall = "recall/plan:seed/entry:{}/clock:virtual"
        self.assertAlmostEqual(self.result.series[recall.format("none")]["p50"], 1.5e6, delta=1e4)
        self.assertAlmostEqual(self.result.series[recall.format("synchronous")]["p50"], 12e6,
                               delta=1e4)

    def test_each_command_on_an_entry_is_timed(self):
        for command in ("set", "modify", "delete"):
            self.assertGreater(self.result.series[f"command/{command}/clock:virtual"]["p50"], 0)

    def test_a_device_that_steers_is_stopped_by_its_own_number_alone(self):
        steered = Run("steering_bench", "--device=model,behaviour=rdma-rx-in-path,"
                      "execution=stepped", "--benchmark_filter=bth_dst_qp")
        labels = {name: series["label"] for name, series in steered.series.items()}
        for install in ("pre", "mid"):
            for qpn, label in (("qpn", "stopped"), ("0", "traffic unchanged"),
                               ("0xAAAAAA", "traffic unchanged")):
                name = f"entry/drop,bth_dst_qp={qpn},install={install}/clock:virtual"
                self.assertEqual(labels[name], label)


class Service(Suite):
    """Some clients of a real leased, over both transports; how fast is nobody's business here."""

    program = "service_bench"

    def test_nothingIsLost(self):
        report = json.loads(self.result.text)
        self.assertEqual(report["lost"], [])
        for transport in ("AF_UNIX", "QUIC"):
            for what in ("alloc", "revoke"):
                series = self.result.series[f"service/{transport}/load/{what}"]
                self.assertEqual(series["count"], 100)
        self.assertNotIn("LOST", self.result.output)

    def test_report(self):
        self.assertIn("not NIC latency", self.result.context["emulated"])
        self.assertEqual(self.result.context["connections"], "50")
        verdicts = {entry["name"] for entry in json.loads(self.result.text)["verdicts"]}
        for transport in ("AF_UNIX", "QUIC"):
            self.assertLessEqual({f"service/{transport}/{what}" for what in (
                "a revoke over the fence's own time, p50, rested",
                "a revoke over the fence's own time, p50, back to back",
                "a notice reaches its holder, p99",
                "memory per idle connection", "memory per lease, with the model's own part",
                "the slowest revoke")}, verdicts)
        self.assertIn("service/memory per lease beyond its region, its device elsewhere", verdicts)

    def test_emptyMessage_IsTimedOnOneCoreToo(self):
        for pace in ("rested", "back to back"):
            series = self.result.series[f"service/empty SEQPACKET round trip, one core, {pace}"]
            self.assertEqual(series["count"], 50)

    def test_oneCoreAlone_LeavesTheTargetOfTwoUnjudged(self):
        with tempfile.TemporaryDirectory() as folder:
            one = "{:d}".format(min(os.sched_getaffinity(0)))
            done = subprocess.run(
                ["taskset", "-c", one, PROGRAMS / "service_bench", "--quick", "--transport=unix",
                 "--samples=5", "--leases=50", "--rate=10", f"--out-dir={folder}"],
                capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(pathlib.Path(folder, "service_bench.json").read_text("utf-8"))
        judged = {entry["name"]: entry for entry in report["verdicts"]}
        for pace in ("rested", "back to back"):
            verdict = judged[f"service/AF_UNIX/a revoke over the fence's own time, p50, {pace}"]
            self.assertEqual(verdict["verdict"], "not judged")
            self.assertEqual(verdict["found"], "this process may use 1 core")

    def test_fewSamples_NoPercentileOfATailThatIsNotThere(self):
        for name, series in self.result.series.items():
            self.assertNotIn("p999", series, name)

    def test_moreSlotsThanADeviceHas_Refused(self):
        done = run("service_bench", "--leases=60000", "--rate=5000")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "service_bench: --leases 60000 at --rate 5000 take 100256 "
                         "slots; 65000 are accepted\n")

    def test_serverThatIsNotThere_Refused(self):
        done = run("service_bench", "--quick", "--leased=/nowhere/leased")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "service_bench: --leased /nowhere/leased: no such program\n")


class ServicePolls(Suite):
    """A device's thread and a model that never sleep, on however many cores there are."""

    program = "service_bench"
    arguments = ("--polls", "--transport=unix", "--samples=20")

    def test_nothingIsLost(self):
        self.assertEqual(json.loads(self.result.text)["lost"], [])
        for what in ("alloc", "revoke"):
            self.assertEqual(self.result.series[f"service/AF_UNIX/load/{what}"]["count"], 100)

    def test_report_SaysThatTheyPolled(self):
        self.assertEqual(self.result.context["polls"], "yes")
        self.assertEqual(self.result.context["transports"], "unix")
        for pace in ("rested", "back to back"):
            self.assertEqual(self.result.series[f"service/AF_UNIX/revoke, {pace}"]["count"], 20)


class Model(Suite):
    program = "model_bench"

    def test_report(self):
        self.check_common()
        self.assertGreater(self.result.series["model/WRITE/bytes:64/clock:process"]
                           ["writes_per_second"], 0)
        self.assertIn("wall time of this process", self.result.output)


class Summary(unittest.TestCase):
    """The end of ./dev bench, of files that two programs have just written."""

    def test_it_tells_what_the_files_say(self):
        with tempfile.TemporaryDirectory() as folder:
            runs = []
            for program in ("floor_bench", "revoke_bench"):
                done = run(program, "--", "--device=model,timing=cx5-16.35.4506,execution=stepped",
                           "--quick", "--plan=seed,nak-first", f"--out-dir={folder}")
                runs.append(f"{program}:{done.returncode}:{folder}/{program}.json")
            done = run("bench_summary", f"--where={folder}", *runs)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertLessEqual(len(lines), 10)
        self.assertEqual(lines[0], "conclusion: timing=cx5-16.35.4506, emulated, not NIC latency")
        self.assertIn("takes while its client writes: seed, nak-first 1.5 ms; while nobody writes: "
                      "nak-first 51.5 ms", lines[1])
        self.assertRegex(lines[3], "seed 538 ms, status 12; nak-first 750 us, status 10$")
        self.assertIn("met by all 2 plans", lines[4])
        self.assertIn("met by all 2 plans", lines[5])
        self.assertEqual(lines[-1], f"files: {folder}")

    def test_mistakes_and_what_cannot_be_read(self):
        for text in ("floor_bench", "floor_bench:256:x", ":0:x", "floor_bench:-1:x",
                     "floor_bench:0:"):
            done = run("bench_summary", "--where=r", text)
            self.assertEqual(done.returncode, 1, text)
            self.assertEqual(done.stderr, f'bench_summary: run "{text}"; PROGRAM:STATUS:FILE is '
                             "accepted, STATUS from 0 to 255\n")
        for path in ("/dev/null", "/tmp", "/bin/ls", "/nowhere"):
            done = run("bench_summary", "--where=r", f"floor_bench:0:{path}")
            self.assertEqual((done.returncode, done.stderr), (3, ""), path)
            self.assertIn(f"not measured: floor_bench ({path}", done.stdout)


class Mistakes(unittest.TestCase):
    """One line with the value and what is accepted, exit 1, nothing run."""

    def check_refused(self, arguments: tuple[str, ...], *words: str):
        for program in ("command_bench", "revoke_bench", "floor_bench", "model_bench"):
            done = run(program, *arguments)
            lines = [line for line in done.stderr.splitlines() if "lcore" not in line
                     and "CPUs are isolated" not in line]
            self.assertEqual(done.returncode, 1, done)
            self.assertEqual(len(lines), 1, done)
            self.assertTrue(lines[0].startswith(f"{program}: "), done)
            for word in words:
                self.assertIn(word, lines[0])

    def test_unknown_device(self):
        self.check_refused(("--", "--device=simulator"), "simulator", "model", "0000:03:00.0")

    def test_card_that_is_not_there(self):
        done = run("revoke_bench", "-a", "ffff:1f:1f.7", "--", "--device=ffff:1f:1f.7")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("ffff:1f:1f.7", done.stderr)

    def test_unknown_timing(self):
        self.check_refused(("--", "--device=model,timing=warp"), "warp", "instant",
                           "cx5-16.35.4506")

    def test_unknown_behaviour(self):
        self.check_refused(("--", "--device=model,behaviour=rude"), "rude", "page-starved")

    def test_unknown_execution(self):
        self.check_refused(("--", "--device=model,execution=fast"), "fast", "stepped", "polled")

    def test_unknown_option(self):
        self.check_refused(("--", "--speed=9"), "--speed=9", "--help")

    def test_unknown_benchmark_flag(self):
        self.check_refused(("--", "--quick", "--benchmark_colour=red"), "--benchmark_colour=red",
                           "--benchmark_help")

    def test_option_before_the_dashes(self):
        self.check_refused(("--device=model",), "--device=model", "--")

    def test_eal_that_refuses(self):
        self.check_refused(("--no-such-eal-argument", "--", "--quick"), "--no-such-eal-argument")

    def test_filter_that_matches_nothing(self):
        done = run("command_bench", "--", "--benchmark_filter=nothing")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--benchmark_filter", done.stderr)

    def test_unknown_plan(self):
        for program in ("revoke_bench", "floor_bench"):
            done = run(program, "--", "--plan=qp-only")
            self.assertEqual(done.returncode, 1)
            self.assertIn("qp-only", done.stderr)
            self.assertIn("seed, nak-first, legacy", done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_device_that_never_gets_ready(self):
        done = run("revoke_bench", "--", "--device=model,execution=stepped,behaviour=never-ready")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("terminate", done.stderr)

    def test_file_that_cannot_be_opened(self):
        with tempfile.TemporaryDirectory() as folder:
            for program in ("command_bench", "revoke_bench", "floor_bench", "model_bench"):
                os.mkdir(f"{folder}/{program}.json")
            self.check_refused(("--", "--quick", f"--out-dir={folder}"), folder, "directory")

    def test_directory_that_cannot_be_made(self):
        self.check_refused(("--", "--quick", "--out-dir=/proc/nowhere"), "/proc/nowhere")


class Cost(unittest.TestCase):
    """The probes run on their own; callgrind counts them in ./dev cost."""

    def test_every_probe_does_its_work(self):
        for probe in ("command", "post", "poll", "rules", "advice"):
            self.assertEqual(run("cost_probe", probe, "100").returncode, 0)

    def test_table_of_65000_slots_fits_its_limit(self):
        self.assertLessEqual(int(run("cost_probe", "table", "65000").stdout), 16 << 20)

    def test_unknown_probe_is_named(self):
        done = run("cost_probe", "sweep", "3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("sweep", done.stderr)


class MassRevoke(unittest.TestCase):
    """Leases alone, without clients: one table, no files."""

    def test_each_row_counts_its_leases_and_none_is_fenced(self):
        done = run("mass_revoke_bench", "--leases", "1,64", "--plan", "seed,indirect,drain")
        rows = [line.split() for line in done.stdout.splitlines()
                if line.startswith(("seed ", "indirect ", "drain "))]
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([(row[0], row[2], row[-1]) for row in rows],
                         [(plan, leases, "0") for plan in ("seed", "indirect", "drain")
                          for _ in ("parallel", "serial") for leases in ("1", "64")])

    def test_plan_that_is_not_measured_is_named_with_those_that_are(self):
        for plan in ("foo", "legacy", "umr", "drop-only"):
            with self.subTest(plan):
                done = run("mass_revoke_bench", "--plan", plan)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertEqual(done.stderr,
                                 f"mass_revoke_bench: --plan '{plan}'; accepted: "
                                 "seed, nak-first, access-flags, indirect, drain\n")


def main() -> int:
    global PROGRAMS
    PROGRAMS = pathlib.Path(sys.argv[1])
    suite = {"command": Command, "dataplane": Dataplane, "revoke": Revoke, "floor": Floor,
             "steering": Steering, "model": Model, "mistakes": Mistakes, "cost": Cost,
             "service": Service, "service_polls": ServicePolls,
             "summary": Summary, "mass": MassRevoke}[sys.argv[2]]
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(suite)
    return 0 if unittest.TextTestRunner().run(tests).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
