# SPDX-License-Identifier: BSD-3-Clause
#
# Linux's RDMA driver on the model's Ethernet port, and at the other end of the wire an RC stack
# that nobody here wrote: rdma_rxe on an ordinary NIC. What either says of the other's packets is
# read: the kernel's log, both drivers' counters, NAKs on the wire, tshark, and scapy of each ICRC.
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import rdma_log
from scenario import SOURCE, Scenario

ORACLE = SOURCE / "tests/model/transport/roce_oracle.py"
ENDS = {"mlx5_ib": ("192.0.2.1", "2001:db8::1"), "rdma_rxe": ("192.0.2.2", "2001:db8::2")}
# Of a BTH the first three bits of the opcode are the service; what each end sends by IPv4, by IPv6.
SENT = ({"SENDs of RC": 0x04, "WRITEs of RC": 0x0A, "READs": 0x0C, "READ responses": 0x10,
         "ACKs": 0x11, "answers to FETCH_ADDs": 0x12, "FETCH_ADDs": 0x14, "SENDs of UC": 0x20,
         "WRITEs of UC": 0x28, "datagrams": 0x64},
        {"SENDs of RC": 0x04, "WRITEs of RC": 0x0A, "READs": 0x0C, "answers to FETCH_ADDs": 0x12,
         "FETCH_ADDs": 0x14, "datagrams": 0x64})
LARGE = 4096  # bytes of a packet's payload once both ends have room for them
FIELDS = ("frame.number", "frame.len", "frame.protocols", "ip.src", "ipv6.src",
          "infiniband.bth.opcode", "infiniband.aeth.syndrome", "_ws.expert.severity",
          "_ws.expert.message", "icmp.type", "icmpv6.type")
WARNING = 0x600000  # PI_WARN of epan/proto.h; notes are below, of a TTL of 1 for example
UNREACHABLE = ({"3"}, {"1"})  # of ICMP, of ICMPv6

# What rdma_rxe says at the level of debugging whoever it talks to: states, numbers, its netdev. Its
# timer runs on when a request has been answered, and then fires at the next one (rxe_comp.c).
EXPLAINED = r"rxe_qp_from_attr: |rxe_notify: |retransmit_timer: |rxe0: (set active|added nic0)$"
# What the two count when a packet of the other is not the one they wait for. Not what follows from
# a timer, which a busy machine makes run out: requests made again, and taken for the second time.
FAULTS = r"_err(ors?)?(_|$)|out_of_|icrc|exceeded"
TIMERS = ("duplicate_request", "completer_retry_err", "local_ack_timeout_err")


@dataclass
class Packet:
    number: str
    bytes: int
    source: str
    opcode: int | None
    syndrome: int
    complaint: str  # of tshark's
    is_refusal: bool  # by a network stack


def packet_of(line: str) -> Packet:
    words = dict(zip(FIELDS, line.split("\t")))
    opcode, syndrome = (words[f"infiniband.{field}"] for field in ("bth.opcode", "aeth.syndrome"))
    severities = [int(word, 0) for word in words["_ws.expert.severity"].split("|") if word]
    # What it takes a payload for is a guess: two bytes of perftest for an Ethertype.
    is_of_roce = (words["frame.protocols"].endswith(":infiniband") and
                  max(severities, default=0) >= WARNING)
    return Packet(words["frame.number"], int(words["frame.len"]),
                  (words["ip.src"] or words["ipv6.src"]).split("|")[0],
                  int(opcode, 0) if opcode else None, int(syndrome, 0) if syndrome else 0,
                  words["_ws.expert.message"] if is_of_roce else "",
                  words["icmp.type"].split("|")[0] in UNREACHABLE[0] or
                  words["icmpv6.type"].split("|")[0] in UNREACHABLE[1])


def packets_of(wire: Path) -> list[Packet]:
    fields = [word for field in FIELDS for word in ("-e", field)]
    said = subprocess.run(["tshark", "-r", wire, "-o", "udp.ignore_ipv6_zero_checksum:TRUE",
                           "-T", "fields", "-E", "aggregator=|", *fields],
                          capture_output=True, text=True, check=True)
    return [packet_of(line) for line in said.stdout.splitlines()]


def not_sent(packets: list[Packet]) -> list[str]:
    """What one of the ends never sent, of all that is to be judged."""
    seen = {(packet.source, packet.opcode) for packet in packets}
    large = {packet.source for packet in packets
             if packet.opcode is not None and packet.bytes > LARGE}
    return [f"{end} sent no {what} by IPv{version}"
            for end, addresses in ENDS.items()
            for version, address, kinds in zip((4, 6), addresses, SENT)
            for what, opcode in kinds.items() if (address, opcode) not in seen] + \
           [f"{end} sent no packet of {LARGE} bytes" for end, (four, _) in ENDS.items()
            if four not in large]


def wrong_packets(packets: list[Packet]) -> list[str]:
    """Of what is wrong how often, and the first frame of it."""
    kinds = {  # bits 5 and 6 of a syndrome are 0 in an ACK, 1 in an RNR NAK, 3 in a NAK
        "NAKs": [packet for packet in packets if packet.syndrome & 0x60],
        "packets of RoCE that tshark complains of":
            [packet for packet in packets if packet.opcode is not None and packet.complaint],
        "packets that came to a network stack": [packet for packet in packets if packet.is_refusal],
    }
    return [f"{len(found)} {what}, the first one from {found[0].source} is frame "
            f"{found[0].number}{': ' if found[0].complaint else ''}{found[0].complaint}"
            for what, found in kinds.items() if found]


def wrong_sums(wire: Path) -> list[str]:
    """Both ends' ICRCs, as scapy and the rule for IPv6 have them."""
    roce = wire.with_name("roce.pcap")
    subprocess.run(["tshark", "-r", wire, "-Y", "udp.dstport == 4791", "-F", "pcap", "-w", roce],
                   capture_output=True, check=True)
    said = subprocess.run([sys.executable, "-B", ORACLE, roce], capture_output=True, text=True,
                          check=False)
    print(f"   ICRCs: {said.stdout.strip()}")
    return [] if said.returncode == 0 else [f"ICRC: {(said.stdout or said.stderr).strip()}"]


def wrong_counters(device: str, text: str) -> list[str]:
    counts = {name: int(value) for name, value in re.findall(r"^(\S+) (\d+)$", text, re.M)}
    print(f"   {device}, by a timer: { {name: counts.get(name, 0) for name in TIMERS} }")
    # A receive that was posted and not needed is flushed when its queue pair goes.
    for side in ("req", "resp"):
        counts[f"{side}_cqe_error"] = (counts.get(f"{side}_cqe_error", 0) -
                                       counts.pop(f"{side}_cqe_flush_error", 0))
    return [f"{device} counts {value} {name}" for name, value in counts.items()
            if value and name not in TIMERS and re.search(FAULTS, name)]


def said_by_rxe(log: str) -> list[str]:
    said = re.findall(r"^<\d>\[[^\]]*\] (.*\brxe.*)$", log, re.M)
    return [f"rdma_rxe says: {line}" for line in said if not re.search(EXPLAINED, line)]


def judge(build: Path, results: Path) -> list[str]:
    log = (results / "dmesg.txt").read_text(encoding="utf-8", errors="replace")
    wrong = rdma_log.judge(build, results) + said_by_rxe(log)
    for device in ("mlx5_0", "rxe0"):
        text = (results / f"counters_{device}.txt").read_text(encoding="utf-8")
        wrong += wrong_counters(device, text)
    packets = packets_of(results / "wire.pcap")
    return wrong + not_sent(packets) + wrong_packets(packets) + wrong_sums(results / "wire.pcap")


SCENARIO = Scenario(
    summary="Linux mlx5_ib on an Ethernet port against soft-RoCE: perftest and rping both ways",
    script="roce_rxe.sh",
    servers=[["--behaviour", "eth-offloads", "--wire", "stream,listen={results}/wire",
              "--pcap", "{results}/wire.pcap"]],
    qemu_arguments=["-netdev", "stream,id=wire,server=off,addr.type=unix,"
                    "addr.path={results}/wire",
                    "-device", "virtio-net-pci,netdev=wire,mac=02:50:43:00:00:02"],
    judge=judge,
    is_long=True)
