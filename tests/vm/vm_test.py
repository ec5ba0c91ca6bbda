# SPDX-License-Identifier: BSD-3-Clause
#
# What the scenarios' own machinery makes of bad machines and bad recordings; boots nothing.
import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import scenario
import vm_tree
from scenarios import mlx5_core, mlx5_ib_loads, rdma_core_tests, roce_rxe, storage, trace


class VmTree(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def qemu(self, version: str, devices: str) -> list[str]:
        program = self.root / "qemu"
        program.write_text(
            f'#!/bin/sh\ncase $1 in --version) echo "QEMU emulator version {version}";; '
            f"*) echo '{devices}';; esac\n", encoding="utf-8")
        program.chmod(0o755)
        return [str(program)]

    def test_version_is_read_where_the_device_is_there(self):
        self.assertEqual(vm_tree.qemu_version(self.qemu("11.1.2", 'name "vfio-user-pci"')), (11, 1))

    def test_qemu_without_the_device_is_none(self):
        self.assertIsNone(vm_tree.qemu_version(self.qemu("7.2.0", 'name "vfio-pci"')))

    def test_no_qemu_is_none(self):
        self.assertIsNone(vm_tree.qemu_version([str(self.root / "absent")]))

    def test_archives_come_from_both_formats_without_the_security_one(self):
        (self.root / "sources.list").write_text(
            "deb [arch=amd64] http://one.example/debian bookworm main\n"
            "deb http://one.example/debian-security bookworm-security main\n", encoding="utf-8")
        parts = self.root / "sources.list.d"
        parts.mkdir()
        (parts / "two.sources").write_text("Types: deb\nURIs: http://two.example/debian/\n",
                                           encoding="utf-8")
        self.assertEqual(vm_tree.mirrors(self.root),
                         ["http://one.example/debian", "http://two.example/debian/"])

    def test_no_archive_is_one_line_with_the_reason(self):
        with self.assertRaisesRegex(vm_tree.VmError, "^no Debian archive in [^\n]*$"):
            vm_tree.build(self.root / "tree", archive=[])

    def test_without_mmdebstrap_says_what_to_install(self):
        with unittest.mock.patch.dict("os.environ", PATH=str(self.root)), \
                self.assertRaisesRegex(vm_tree.VmError, "^mmdebstrap is missing: apt-get install"):
            vm_tree.build(self.root / "tree", archive=["http://one.example/debian"])

    def test_unreachable_archive_fails_with_apts_reason_and_leaves_no_tree(self):
        program = self.root / "mmdebstrap"
        program.write_text("#!/bin/sh\necho I: running apt-get update\n"
                           "echo E: Failed to fetch InRelease >&2\necho I: cleaning up\nexit 25\n",
                           encoding="utf-8")
        program.chmod(0o755)
        with unittest.mock.patch.dict("os.environ", PATH=f"{self.root}:/usr/bin:/bin"), \
                self.assertRaisesRegex(vm_tree.VmError,
                                       r"^making the tree failed \(E: Failed to fetch InRelease\)"):
            vm_tree.build(self.root / "tree", archive=["http://one.example/debian"])
        self.assertFalse((self.root / "tree").exists())

    def test_what_takes_long_is_seen_to_be_at_work(self):
        told = io.StringIO()
        flag = self.root / "flag"
        # It ends when a line of it has been told, however long that takes.
        command = ["sh", "-c", f"echo I: unpacking; until [ -e {flag} ]; do sleep 0.05; done"]
        with contextlib.redirect_stdout(told), \
                unittest.mock.patch.object(told, "flush", flag.touch):
            self.assertEqual(vm_tree.run_patiently(command, self.root / "log", every_s=0.2), 0)
        self.assertRegex(told.getvalue(), r"^vm: \d+ s: (I: unpacking|nothing said yet)\n")

    def test_what_never_ends_is_ended(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertIsNone(vm_tree.run_patiently(["sleep", "3600"], self.root / "log",
                                                    limit_s=0.01, every_s=0.05))

    def test_what_runs_unasked_leaves_out_what_is_long_and_nothing_else(self):
        left_out = set(scenario.names()) - set(scenario.short_names())
        self.assertEqual(left_out, {"dcb", "dcb_6_1", "devlink_reset", "devlink_reset_6_1",
                                    "devx_drop_6_1", "devx_eth", "devx_lost_eth", "first_light",
                                    "ipoib", "latency", "leased_rxe", "mad", "mlx5_core_6_1",
                                    "mlx5_ib_6_1", "mlx5_ib_loads", "mlx5_ib_loads_6_1",
                                    "mlx5_ib_loads_eth", "mlx5_ib_qps", "netdev", "netdev_6_1",
                                    "nic_tx", "nvme", "nvme_pi", "post_cost", "post_cost_eth",
                                    "rdma_core_tests", "rdma_core_tests_eth", "roce",
                                    "roce_rxe", "soft-roce", "storage", "testpmd", "ucx",
                                    "ucx_tags"})

    def test_kernel_is_the_newest_of_the_series_that_is_asked_for(self):
        for release in ("6.1.0-9-amd64", "6.12.9+deb13-amd64"):
            (self.root / "lib/modules" / release).mkdir(parents=True)
        self.assertEqual(vm_tree.Tree(self.root, "6.1").kernel_release, "6.1.0-9-amd64")
        self.assertEqual(vm_tree.Tree(self.root, "6.12").kernel_release, "6.12.9+deb13-amd64")

    def test_kernel_that_the_tree_has_not_is_one_line(self):
        (self.root / "lib/modules").mkdir(parents=True)
        with self.assertRaisesRegex(vm_tree.VmError, "no modules of kernel 6.1; remove"):
            self.assertEqual(vm_tree.Tree(self.root, "6.1").kernel_release, "")

    def test_unknown_kernel_names_those_that_are_known(self):
        with self.assertRaisesRegex(vm_tree.VmError, "kernel '5.10'; accepted: 6.1, 6.12"):
            vm_tree.tree("5.10")

    def test_unknown_scenario_names_those_that_are_known(self):
        with self.assertRaisesRegex(vm_tree.VmError, 'no scenario "nosuch"; accepted: .*pmd'):
            scenario.load("nosuch")


class Programs(unittest.TestCase):
    def test_a_scenario_that_runs_none_of_its_own_needs_the_server_alone(self):
        self.assertEqual(scenario.programs(["mlx5_core"]), ["tools/hca-server"])

    def test_what_two_scenarios_run_is_named_once(self):
        self.assertEqual(scenario.programs(["pmd", "dma_messages"]),
                         ["tools/hca-server", "bench/revoke_bench", "tests/device/device_test"])

    def test_every_program_that_a_script_names_is_declared(self):
        for name in scenario.names():
            script = (scenario.FOLDER / "scenarios" / scenario.load(name).script).read_text("utf-8")
            named = re.findall(
                r"[ \"=/]((?:\.\./probes/)?(?:bench|tools|tests)/[\w/-]+)(?![\w/.-])", script)
            for program in named:
                with self.subTest(scenario=name, program=program):
                    self.assertIn(program, scenario.programs([name]))


class Servers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.results = Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def of(self, script: str) -> list[str]:
        """The complaints about a server that is this script; its $2 is the socket."""
        program = self.results / "server"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        with scenario.Servers(program, [[]], self.results) as servers:
            pass
        return servers.complaints()

    def test_one_that_ends_when_told_is_none(self):
        self.assertEqual(self.of("echo client gone; touch $2; exec sleep 60"), [])

    def test_client_that_was_hung_up_on_is_one(self):
        self.assertEqual(self.of("echo client hung up on: bytes; touch $2; exec sleep 60"),
                         ["hca-server 0: client hung up on: bytes"])

    def test_one_that_does_not_end_is_one(self):
        with unittest.mock.patch.object(scenario, "SERVER_END_S", 0.2):
            self.assertEqual(self.of("trap '' TERM; touch $2; while :; do sleep 0.05; done"),
                             ["hca-server 0 did not end within 0.2 s"])


    def test_what_each_has_of_its_own_is_noted_after_each_check_and_no_other_line(self):
        program = self.results / "server"
        program.write_text("#!/bin/sh\ntouch $2\nexec sleep 60\n", encoding="utf-8")
        program.chmod(0o755)
        with scenario.Servers(program, [[], []], self.results) as servers:
            for line in ("PASS ping\n", "[ 1.0] PASS\n", "FAIL ping, again\n"):
                servers.note(line)
        text = (self.results / "memory.txt").read_text(encoding="utf-8")
        self.assertRegex(text, r"\A[1-9]\d* [1-9]\d* ping\n[1-9]\d* [1-9]\d* ping, again\n\Z")

    def test_one_that_has_ended_has_no_memory(self):
        with subprocess.Popen(["true"]) as ended:
            pass
        self.assertEqual(scenario.own_memory_kib(ended.pid), 0)


class FailedChecks(unittest.TestCase):
    def of(self, console: str) -> str:
        with tempfile.TemporaryDirectory() as results:
            (Path(results) / "console.log").write_text(console, encoding="utf-8")
            return scenario.failed_checks(Path(results))

    def test_are_named_from_the_console(self):
        self.assertEqual(self.of("PASS one\r\nFAIL the other two\r\nwhat FAIL says\nFAIL four\n"),
                         ', "the other two", "four"')

    def test_a_guest_that_never_came_so_far_names_none(self):
        self.assertEqual(self.of("Kernel panic - not syncing\n"), "")


class Judges(unittest.TestCase):
    def test_one_that_finds_nothing_to_read_is_a_line_and_ends_nothing(self):
        of = scenario.Scenario("", "", [], judge=lambda build, results: [results["p50"]])
        self.assertEqual(scenario.judged(of, {}, {}),
                         ["the judge of its results failed: KeyError: 'p50'"])

    def test_driver_lines_are_those_at_the_level_of_a_warning(self):
        log = ("<4>[    1.5] mlx5_core 0000:01:00.0: mlx5_pci_vsc_init:66:(pid 9): Failed\n"
               "<6>[    1.6] mlx5_core 0000:01:00.0: firmware version: 16.35.4506\n")
        self.assertEqual(mlx5_core.lines_of_the_driver(log), ["mlx5_pci_vsc_init: Failed"])

    def test_pages_are_given_less_returned(self):
        give = ("\ncommand 1 MANAGE_PAGES 0x108 op_mod 0x1\nstatus OK 0x0\n"
                "in.input_num_entries 0x40\n")
        take = ("\ncommand 2 MANAGE_PAGES 0x108 op_mod 0x2\nstatus OK 0x0\n"
                "in.input_num_entries 0x300\nout.output_num_entries 0x3f\n")
        self.assertEqual(mlx5_core.firmware_pages(give + take), 1)

    def test_refused_pages_were_not_given(self):
        refused = ("\ncommand 1 MANAGE_PAGES 0x108 op_mod 0x1\nstatus BAD_PARAM_ERR 0x3\n"
                   "in.input_num_entries 0x40\n")
        self.assertEqual(mlx5_core.firmware_pages(refused), 0)

    def test_differences_and_rows_of_the_document_have_the_same_names(self):
        comparison = {"differences": [
            {"command": "CREATE_EQ 0x301 op_mod 0x0 with events",
             "fields": [{"field": "in_length"}, {"field": "in.pas.count"}]},
            {"command": "ALLOC_UAR 0x802 op_mod 0x0", "a": 3}]}
        text = ("| CREATE_EQ op_mod 0x0 | in_length | 1, 2 | so |\n"
                "| CREATE_EQ op_mod 0x0 | in.pas.count | 1, 2 | so |\n"
                "| ALLOC_UAR op_mod 0x0 | | only Linux's | so |\n")
        self.assertEqual(trace.found(comparison), trace.documented(text))


class Storage(unittest.TestCase):
    def test_a_command_that_is_not_ok_is_refused(self):
        fine = "command 1 CREATE_QP 0x500 op_mod 0x0\nstatus OK 0x0\nin.opcode 0x500\n"
        bad = "command 2 CREATE_MKEY 0x200 op_mod 0x0\nslot 3\nstatus BAD_PARAM_ERR 0x3\n"
        self.assertEqual(storage.refused("\n".join([fine, bad, fine])),
                         ["CREATE_MKEY BAD_PARAM_ERR"])

    def test_a_command_without_an_answer_takes_nothing_from_the_next(self):
        none = "command 1 CREATE_QP 0x500 op_mod 0x0\nin.opcode 0x500\n"
        bad = "command 2 CREATE_MKEY 0x200 op_mod 0x0\nstatus BAD_PARAM_ERR 0x3\n"
        self.assertEqual(storage.refused(none + "\n" + bad), ["CREATE_MKEY BAD_PARAM_ERR"])

    def test_what_a_connection_that_is_lost_says_is_trouble(self):
        for line in ("scsi host0: ib_srp: failed RECV status WR flushed (5) for CQE 1",
                     "rpcrdma: connection to 192.0.2.2:20049 closed: error -103",
                     "iser: iser_err_comp: command failure: local protection error (4)"):
            with self.subTest(line=line):
                self.assertRegex(line, storage.TROUBLE)


class Loads(unittest.TestCase):
    @staticmethod
    def notes(sizes: list[int]) -> str:
        rounds = [f"{size} mlx5_core and mlx5_ib go and come, {number}0\n{size + 900} ping\n"
                  for number, size in enumerate(sizes, start=1)]
        return "5000 mlx5_core binds the function\n" + "".join(rounds)

    def of(self, sizes: list[int]) -> list[str]:
        with contextlib.redirect_stdout(io.StringIO()):
            return mlx5_ib_loads.wrong_memory(self.notes(sizes))

    def test_memory_that_stays_is_not_wrong(self):
        self.assertEqual(self.of([9000] * 9 + [9000 + mlx5_ib_loads.GROWTH_KIB]), [])

    def test_memory_that_grows_is_wrong(self):
        grown = mlx5_ib_loads.GROWTH_KIB + 1
        self.assertRegex(self.of([9000] * 9 + [9000 + grown])[0],
                         f"^the server's own memory grew by {grown} KiB in 90 rounds, at most")

    def test_a_round_that_was_not_seen_is_wrong(self):
        self.assertEqual(self.of([9000] * 9), ["the server's memory was seen 9 times, after each "
                                               "10 rounds expected"])


class RoceRxe(unittest.TestCase):
    @staticmethod
    def packet(**words) -> roce_rxe.Packet:
        return roce_rxe.Packet(**{"number": "7", "bytes": 90, "source": "192.0.2.1", "opcode": 0x11,
                                  "syndrome": 0x1F, "complaint": "", "is_refusal": False, **words})

    @staticmethod
    def counted(text: str) -> list[str]:
        with contextlib.redirect_stdout(io.StringIO()):
            return roce_rxe.wrong_counters("rxe0", text)

    def test_fields_of_tshark_are_a_packet(self):
        line = "7\t62\tip:udp:infiniband\t192.0.2.1\t\t17\t31\t{}\tNo such\t\t"
        self.assertEqual(roce_rxe.packet_of(line.format("4194304|6291456")),
                         self.packet(bytes=62, complaint="No such"))
        self.assertEqual(roce_rxe.packet_of(line.format("4194304")), self.packet(bytes=62))

    def test_what_tshark_takes_a_payload_for_is_not_complained_of(self):
        line = "7\t62\tip:udp:infiniband:ethertype\t192.0.2.1\t\t17\t31\t8388608\tMalformed\t\t"
        self.assertEqual(roce_rxe.packet_of(line), self.packet(bytes=62))

    def test_of_what_is_no_roce_there_is_no_opcode(self):
        line = "7\t98\tipv6:icmpv6\t\t2001:db8::1\t\t\t\t\t\t1"
        self.assertEqual(roce_rxe.packet_of(line),
                         self.packet(bytes=98, source="2001:db8::1", opcode=None, syndrome=0,
                                     is_refusal=True))

    def test_a_nak_and_a_complaint_are_wrong_and_an_ack_is_not(self):
        packets = [self.packet(), self.packet(number="8", syndrome=0x60),
                   self.packet(number="9", complaint="Malformed Packet")]
        self.assertEqual(roce_rxe.wrong_packets(packets),
                         ["1 NAKs, the first one from 192.0.2.1 is frame 8",
                          "1 packets of RoCE that tshark complains of, the first one from "
                          "192.0.2.1 is frame 9: Malformed Packet"])

    def test_what_one_end_did_not_send_is_named(self):
        packets = [self.packet(source=addresses[way], opcode=opcode, bytes=5000)
                   for addresses in roce_rxe.ENDS.values()
                   for way, kinds in enumerate(roce_rxe.SENT) for opcode in kinds.values()]
        self.assertEqual(roce_rxe.not_sent(packets), [])
        self.assertEqual(roce_rxe.not_sent(packets[1:]), ["mlx5_ib sent no SENDs of RC by IPv4"])

    def test_a_counted_fault_is_wrong(self):
        self.assertEqual(self.counted("rcvd_pkts 9\nrcvd_seq_err 2\n"),
                         ["rxe0 counts 2 rcvd_seq_err"])

    def test_receives_that_were_flushed_and_what_a_timer_did_are_not_wrong(self):
        self.assertEqual(self.counted("resp_cqe_error 6\nresp_cqe_flush_error 6\n"
                                      "completer_retry_err 3\n"), [])

    def test_a_packet_that_rxe_drops_is_wrong_and_its_states_are_not(self):
        log = ("<7>[  1.0] rxe0: qp#17 rxe_qp_from_attr: state -> RTR\n"
               "<7>[  1.1] rxe0: rxe_icrc_check: bad ICRC from 192.0.2.1\n")
        self.assertEqual(roce_rxe.said_by_rxe(log),
                         ["rdma_rxe says: rxe0: rxe_icrc_check: bad ICRC from 192.0.2.1"])


class RdmaCoreTests(unittest.TestCase):
    LISTED = rdma_core_tests.expected(
        '{"both": {"failed": {"needs UD": ["test_cq.A.b"]}},'
        ' "ib": {"skipped": {"of Ethernet": ["test_cq.A.a"]}}}', "eth")

    @staticmethod
    def line(test: str, outcome: str, why: str = "") -> dict:
        return {"test": f"tests.{test}", "outcome": outcome, "why": why}

    def test_what_the_list_says_is_not_wrong(self):
        found = [self.line("test_cq.A.a", "passed"), self.line("test_cq.A.b", "failed", "no QP")]
        self.assertEqual(rdma_core_tests.compare(found, self.LISTED), [])

    def test_a_failure_that_is_not_listed_is_wrong(self):
        found = [self.line("test_cq.A.a", "failed", "no CQ\nat all"),
                 self.line("test_cq.A.b", "failed")]
        self.assertEqual(rdma_core_tests.compare(found, self.LISTED),
                         ["tests.test_cq.A.a failed (no CQ), expected: passed"])

    def test_a_listed_test_that_passes_is_wrong(self):
        self.assertEqual(
            rdma_core_tests.compare([self.line("test_cq.A.b", "passed")], self.LISTED),
            ["tests.test_cq.A.b passed, expected: failed, because needs UD"])

    def test_a_listed_test_that_is_skipped_is_wrong(self):
        found = [self.line("test_cq.A.b", "skipped", "no")]
        self.assertEqual(rdma_core_tests.compare(found, self.LISTED),
                         ["tests.test_cq.A.b skipped (no), expected: failed, because needs UD"])

    def test_a_listed_test_that_did_not_run_is_wrong(self):
        self.assertEqual(rdma_core_tests.compare([], self.LISTED),
                         ["tests.test_cq.A.b is listed and did not run"])

    def test_the_table_counts_by_module_and_in_all(self):
        found = [self.line("test_cq.A.a", "passed"), self.line("test_cq.A.b", "failed", "no QP"),
                 self.line("test_mr.B.c", "skipped", "no DM")]
        rows = [line.split() for line in rdma_core_tests.table(found).splitlines()]
        self.assertEqual(rows[1:], [["test_cq", "1", "0", "1"], ["test_mr", "0", "1", "0"],
                                    ["all", "1", "1", "1"], [], ["1", "failed:", "no", "QP"],
                                    ["1", "skipped:", "no", "DM"]])

    def test_the_list_of_the_tree_names_each_test_once(self):
        text = rdma_core_tests.EXPECTED.read_text(encoding="utf-8")
        for port_type in ("ib", "eth"):
            parts = {ports: json.loads(text)[ports] for ports in ("both", port_type)}
            named = re.findall(r'"(test_[^"]*)"', json.dumps(parts))
            with self.subTest(port_type=port_type):
                self.assertEqual(sorted(named), sorted(set(named)))
                self.assertEqual(len(rdma_core_tests.expected(text, port_type)), len(named))

    def test_of_each_port_type_what_is_listed_for_the_other_passes(self):
        text = '{"both": {}, "ib": {"skipped": {"of Ethernet": ["test_qp.A.a"]}}, "eth": {}}'
        self.assertEqual(rdma_core_tests.expected(text, "eth"), {})
        self.assertEqual(rdma_core_tests.expected(text, "ib"),
                         {"tests.test_qp.A.a": ("skipped", "of Ethernet")})


if __name__ == "__main__":
    unittest.main()
