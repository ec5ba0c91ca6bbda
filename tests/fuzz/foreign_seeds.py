# SPDX-License-Identifier: BSD-3-Clause
"""Seeds of the targets bundle, recording, fabric and model_command: files that somebody sends, with
mistakes in them, and commands as a driver gives them. Facts have the members of light/facts.hpp,
recordings the lines of docs/trace-format.md and of Linux's dump_command(), fabrics are the samples
of docs/pfc/import, fields of commands are at the offsets of linux/mlx5/mlx5_ifc.h."""

import io
import json
import pathlib
import struct
import subprocess
import tarfile

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs/pfc/import"


# ---- Bundles ------------------------------------------------------------------------------------

ARCHIVE, FACTS, PROFILE = b"\0", b"\1", b"\2"


def command(name, answered=3):
    return {"command": name, "answered": answered, "refused": 0, "unanswered": 0,
            "least_ns": 100, "median_ns": 200, "p99_ns": 0, "most_ns": 300}


def plan(name, status=12):
    return {"plan": name, "revokes": 2, "torn_down": 2, "as_promised": 2, "median_ns": 7,
            "most_ns": 9, "failed_clients": 2, "status": status, "client_median_ns": 17000000,
            "client_uncertainty_ns": 0, "watched": 2, "served_late": 0}


def floor(mechanism="budget"):
    return {"is_run": True, "points": 28, "other_endings": 0, "mechanism": mechanism,
            "explanation": "budget", "value": 0, "budget_fits": True, "fits": 1,
            "why": "(r + 1) T + 12 us"}


def facts(**changes):
    whole = {
        "version": 4,
        "device": {"kind": "model", "is_emulated": True, "clock": "virtual",
                   "firmware": "16.35.4506", "board": "MT_0000000008", "is_ethernet": True,
                   "is_virtual_function": False, "link_up": True, "frame_bytes": 1522,
                   "relaxed_ordering": "on", "keys_may_be_relaxed": True},
        "steps": [{"name": "bring-up", "state": "done", "why": "", "took_ms": 12},
                  {"name": "audit", "state": "not run", "why": "stopped", "took_ms": 0}],
        "commands": [command("2ERR_QP"), command("MANAGE_PAGES", 0)],
        "loopback": {"is_run": True, "short_write": True, "long_write": False, "met": "silence",
                     "writes": 4, "median_ns": 5, "most_ns": 6},
        "reach": [{"way": "forced, MTU 1024", "met": "IBV_WC_SUCCESS"}],
        "key": {"is_run": True, "takes_qpn": True, "refusal": "", "own_qp_served": True,
                "other_qp_served": False, "other_qp_refused": True},
        "entries": [{"shape": "dst-qp", "is_offered": True, "is_installed": True, "refusal": "",
                     "stops_new": True, "stops_running": False, "recovers": True}],
        "probes": [{"probe": "nic-rx-drop", "observed": "it went on", "verdict": "bypassed",
                    "as_seen": True}],
        "plans": [plan("seed"), plan("nak-first", 10)],
        "floor": floor(),
        "audits": [{"plan": "umr", "verdict": "held", "fences": 9, "under_load": 8, "watched": 9,
                    "late_writes": 0, "late_reads": 0, "foreign": 0, "executed": 0, "counted": 0,
                    "fell_back": 0, "look_median_ns": 4, "look_most_ns": 5}],
        "peer": {"is_run": True, "vendor": 713, "part": 4119, "firmware": "16.1", "leases": 40,
                 "reached": 40, "unreached_status": 0, "round_trip_ns": 3, "ended": 5,
                 "clock_uncertainty_ns": 9, "posted_late": 0, "perhaps_late": 1,
                 "plans": [plan("seed")], "floor": floor("undecided")},
        "end": {"is_run": True, "comes_up_again": True, "health": "good",
                "registers": ["assert_var[0] 0x0"]},
        "crash_dumps": [{"step": "end", "state": "none", "why": "held", "space_bytes": 0,
                         "words": 0}],
    }
    return json.dumps(whole | changes, separators=(",", ":")).encode()


def archive(*files):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return subprocess.run(["zstd", "-c", "--no-check"], input=plain.getvalue(),
                          stdout=subprocess.PIPE, check=True).stdout


PROFILE_TEXT = json.dumps({
    "format": "portcullis-profile", "version": 1, "source": "first-light, model", "firmware": "",
    "port": "eth", "virtual_function": False, "behaviours": ["a1-off"],
    "commands": [{"command": "INIT_HCA", "opcode": 258, "least_ns": 0, "most_ns": 9,
                  "times": [0, 0, 10, 4, 9, 1]}],
    "capabilities": [], "refusals": []}, separators=(",", ":")).encode()

BUNDLES = {
    "whole": ARCHIVE + archive(("facts.json", facts()), ("profile.json", PROFILE_TEXT)),
    "folder_in_it": ARCHIVE + archive(("../facts.json", facts())),
    "twice": ARCHIVE + archive(("facts.json", b"{}"), ("facts.json", facts())),
    "cut": ARCHIVE + archive(("facts.json", facts()))[:-9],
    "no_archive": ARCHIVE + b"\x28\xb5\x2f\xfd" + bytes(9),
    "facts": FACTS + facts(),
    "facts_that_contradict": FACTS + facts(plans=[plan("seed") | {"torn_down": 3}]),
    "facts_with_escapes": FACTS + facts(steps=[
        {"name": "end<script>", "state": "failed", "why": "\033[2J\nconfirmed A1", "took_ms": 1}]),
    "facts_of_first_version": FACTS + facts(version=1),
    "facts_without": FACTS + b'{"version":4}',
    "facts_too_large": FACTS + facts(floor=floor() | {"value": 2**64 - 1}),
    "nested": FACTS + b'{"version":4,"plans":' + b"[" * 40 + b"]" * 40 + b"}",
    "profile": PROFILE + PROFILE_TEXT,
    "profile_of_other_types": PROFILE + PROFILE_TEXT.replace(b"258", b'"x"'),
}


# ---- Recordings ---------------------------------------------------------------------------------

RECORDED = b"""portcullis-trace 1
source model (timing=instant; behaviours=none)

command 5 MANAGE_PAGES 0x108 op_mod 0x1
slot 31
time_ns 10043000
delivery OK 0x0
status OK 0x0
syndrome 0x0
in_length 64
in.input_num_entries 0x6
in_hex 0x000: 01080000 00000001 00000000 00000006 00000007 ab0f0000 00000007 ab0f1000
in_unknown 0x020 32
out_length 16
end
command 6 QUERY_HCA_CAP 0x100 op_mod 0x1
delivery none
note the device never answered
in_length 16
in_hex 0x000: 01000000 00000001
end
"""


def dumped(rows):
    return b"".join(b"[  +0.000004] %03x: %s\n" % (16 * i, row) for i, row in enumerate(rows))


def logged(text):
    return b"[  +0.000002] mlx5_core 0000:02:00.0: 0000:02:00.0:" + text + b"\n"


ZEROS = b"00000000 00000000 00000000 00000000"
ENABLE = dumped([b"07000000 00000010 00000000 00000000", b"01040000 00000000 00000000 00000000",
                 ZEROS, b"00000000 00000000 00000010 01fd0001"])
KERNEL_LOG = (
    logged(b"dump_command:587:(pid 87): dump command MLX5_CMD_OP_ENABLE_HCA(0x104) INPUT")
    + ENABLE + b"\n"
    + logged(b"cmd_work_handler:665:(pid 87): writing 0x1 to command doorbell")
    + logged(b"dump_command:587:(pid 87): dump command MLX5_CMD_OP_ENABLE_HCA(0x104) OUTPUT")
    + ENABLE + b"\n"
    + logged(b"mlx5_cmd_comp_handler:1286:(pid 87): command completed. ret 0x0, delivery status "
             b"no errors(0x0)"))

RECORDINGS = {
    "recorded": RECORDED,
    "recorded_cut": RECORDED[:-30],
    "recorded_much_announced": RECORDED.replace(b"in_length 64", b"in_length 2097153"),
    "recorded_beyond_its_length": RECORDED.replace(b"0x000: 0108", b"0x7f0: 0108"),
    "recorded_twice": RECORDED + RECORDED,
    "kernel_log": KERNEL_LOG,
    "kernel_log_rows_lost": KERNEL_LOG.replace(b"010: ", b"030: ", 1),
    "kernel_log_of_two": KERNEL_LOG + KERNEL_LOG.replace(b"02:00.0", b"81:00.1"),
    "neither": b"\xff\xfe\0\n" * 9,
}


# ---- Fabrics ------------------------------------------------------------------------------------

OURS, EDGES, GRAPHML, FRR, BATFISH, SONIC, INFINIBAND, MESSAGES, SIZES = (
    bytes([i]) for i in range(9))


def sample(*names):
    return b"\0".join((SAMPLES / name).read_bytes() for name in names)


RING = {
    "name": "ring",
    "nodes": [{"name": name, "kind": "host"} for name in "abc"]
    + [{"name": name} for name in "ABC"],
    "links": [{"from": low, "to": low.upper(), "both_ways": True} for low in "abc"]
    + [{"from": one, "to": other, "both_ways": True} for one, other in ("AB", "BC", "CA")],
    "flows": [{"name": "f", "path": list("aABCc")}, {"name": "g", "path": list("bBCAa")},
              {"name": "h", "path": list("cCABb")}],
}

FABRICS = {
    "ring": OURS + json.dumps(RING).encode(),
    "ring_with_routes": OURS + json.dumps(
        RING | {"routes": {"A": {"b": ["B"], "c": ["B"]}, "B": {"c": ["C"], "*": ["C"]},
                           "C": {"a": ["A"], "b": ["A"], "c": ["c"]}}, "flows": []}).encode(),
    "ring_unlimited": OURS + json.dumps(
        RING | {"defaults": {"xoff": "unlimited", "delay": 0.5}}).encode(),
    "huge_numbers": OURS + json.dumps(RING | {"units": {"time_s": 1e300}}).encode(),
    "no_fabric": OURS + b"[" * 50,
    "cables": EDGES + sample("cables.csv"),
    "graphml": GRAPHML + sample("nordu1997.graphml"),
    "frr": FRR + sample("cables.csv", "leaf1.json"),
    "batfish": BATFISH + sample("batfish-edges.csv", "batfish-routes.csv"),
    "sonic": SONIC + sample("sonic-leaf1.json", "sonic-spine1.json"),
    "infiniband": INFINIBAND + sample("subnet.ibnetdiscover", "subnet.fts"),
    "messages": MESSAGES + b"from,to,bytes,start_us,priority\nh1,h2,4096,1.5,3\nh2,h1,1,0\n",
    "sizes": SIZES + b"0 0\n1000 50\n1000000 100\n",
}


# ---- Commands -----------------------------------------------------------------------------------

VALUE, NUMBER, ADDRESS, OBJECT = range(4)
# Places in PORTCULLIS_PRM_OPCODES: the order of mlx5_ifc.h's enum, which is by value.
OPCODES = [int(line.split("0x")[1].split(",")[0], 16)
           for line in (pathlib.Path(__file__).resolve().parents[2] / "prm/opcodes.hpp")
           .read_text(encoding="utf-8").split("#define PORTCULLIS_PRM_OPCODES")[1]
           .split("\n\n")[0].splitlines() if line.startswith("  X(")]


def given(opcode, *patches, op_mod=0, length=16):
    head = bytes([OPCODES.index(opcode), op_mod, (length - 16) // 8, len(patches)])
    return head + b"".join(struct.pack(">BBI", at // 4, kind, value)
                           for at, kind, value in patches)


# Numbers: 0 is a UAR, 1 a PD, and from 2 on what these made, in the order of CREATE_EQ, CREATE_CQ,
# CREATE_QP, or of TABLE and GROUP, or CREATE_MKEY alone.
CREATE_EQ = given(0x301, (0x1c, NUMBER, 7 << 24), (0x28, VALUE, 1 << 24),
                  (0x5c, VALUE, 0x30abe), (0x110, ADDRESS, 0), length=280)
CREATE_CQ = given(0x400, (0x1c, NUMBER, 6 << 24), (0x24, NUMBER, 2), (0x48, ADDRESS, 2),
                  (0x110, ADDRESS, 3), length=280)
CREATE_QP = given(0x500, (0x18, VALUE, 0x1800), (0x1c, NUMBER, 1), (0x20, VALUE, 0x3000),
                  (0x24, NUMBER, 0), (0x94, NUMBER, 3), (0xb4, NUMBER, 3), (0xb8, ADDRESS, 4),
                  (0xc4, VALUE, 3 << 24), (0x110, ADDRESS, 5), length=280)
QPC = (0x18, VALUE, 0x1800), (0x1c, NUMBER, 1), (0x94, NUMBER, 3), (0xb4, NUMBER, 3)
TO_INIT = given(0x502, (8, NUMBER, 4), *QPC, (0x54, VALUE, 1 << 16), (0x88, VALUE, 1 << 31),
                (0xa8, VALUE, 0x4000), length=272)
TO_RTR = given(0x503, (8, NUMBER, 4), (0x10, VALUE, 6), *QPC, (0x20, VALUE, 0x7e << 24),
               (0x2c, VALUE, 0x41), (0x38, VALUE, 0x40), (0x48, VALUE, 0xffff),
               (0x4c, VALUE, 0xc0000201), (0x50, VALUE, 0xd040), (0x54, VALUE, 0x10250),
               (0x58, VALUE, 0x43000001), (0x88, VALUE, 1 << 31), (0xa8, VALUE, 0x404000),
               (0xac, VALUE, 0x0c000000), length=272)
TO_RTS = given(0x504, (8, NUMBER, 4), *QPC, (0x38, VALUE, 0x70000000), (0x88, VALUE, 0x8047e000),
               length=272)
CREATE_MKEY = given(0x200, (0x10, VALUE, 0xad00), (0x14, VALUE, 0xffffff00), (0x1c, NUMBER, 1),
                    (0x2c, VALUE, 0x2000), (0x44, VALUE, 1), (0x48, VALUE, 12), (0x60, VALUE, 1),
                    (0x110, ADDRESS, 6), (0x118, ADDRESS, 7), length=288)
RDMA_RX = (0x10, VALUE, 7 << 24)
TABLE = given(0x930, RDMA_RX, length=64)
GROUP = given(0x933, RDMA_RX, (0x14, NUMBER, 2), (0x3c, VALUE, 2), (0xa8, VALUE, 0xffffff),
              length=1024)
ROOT = given(0x92f, RDMA_RX, (0x14, NUMBER, 2), length=64)
ENTRY = given(0x936, RDMA_RX, (0x14, NUMBER, 2), (0x44, NUMBER, 3), (0x4c, VALUE, 2),
              (0xe8, VALUE, 0x41), length=832)
QUEUES = CREATE_EQ + CREATE_CQ + CREATE_QP

COMMANDS = {
    "queues": QUEUES + given(0x50b, (8, NUMBER, 4)),
    "states": QUEUES + TO_INIT + TO_RTR + TO_RTS + given(0x507, (8, NUMBER, 4), length=272)
    + given(0x501, (8, NUMBER, 4)) + given(0x401, (8, NUMBER, 3)) + given(0x302, (8, NUMBER, 2)),
    "objects_in_use": QUEUES + given(0x302, (8, NUMBER, 2)) + given(0x401, (8, NUMBER, 3))
    + given(0x801, (8, NUMBER, 1)) + given(0x803, (8, NUMBER, 0)),
    "key": CREATE_MKEY + given(0x201, (8, NUMBER, 2)) + given(0x202, (8, NUMBER, 2)) * 2,
    "flow_tables": TABLE + GROUP + ROOT + ENTRY
    + given(0x938, RDMA_RX, (0x14, NUMBER, 2), length=64)
    + given(0x934, RDMA_RX, (0x14, NUMBER, 2), (0x18, NUMBER, 3), length=64)
    + given(0x931, RDMA_RX, (0x14, NUMBER, 2), length=64),
    "pages": given(0x107, op_mod=2) + given(0x108, (12, VALUE, 2), (16, ADDRESS, 0),
                                            (24, ADDRESS, 1), op_mod=1, length=32)
    + given(0x108, (12, VALUE, 2), op_mod=2),
    "ends": given(0x103) + given(0x105) + given(0x104) + given(0x400, length=280),
    "registers": b"".join(given(0x805, (8, VALUE, number), (16, VALUE, 1 << 16), op_mod=1,
                                length=16 + size)
                          for number, size in ((0x5002, 16), (0x5003, 16), (0x5004, 64),
                                               (0x5006, 16), (0x7004, 16), (0x5008, 256))),
    "ports": given(0x750) + given(0x754, length=16) + given(0x755, length=272)
    + given(0x761, (0xc, VALUE, 1 << 16), length=64),
    "all_once": b"".join(given(opcode, length=64) for opcode in OPCODES[:64]),
}
