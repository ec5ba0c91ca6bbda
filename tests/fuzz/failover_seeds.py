# SPDX-License-Identifier: BSD-3-Clause
"""Seeds of the targets capture and failover_text: files as Wireshark and libraries write them, and
mistakes in them. Layouts are those of the pcap and pcapng drafts and of RoCEv2."""

import json
import struct

SENDER, RESPONDER = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
AT_SENDER, ELSEWHERE, ASKED = b"\1", b"\0", b"\3"


def datagram(opcode: int, qpn: int, psn: int, behind: bytes) -> bytes:
    bth = struct.pack(">BBHII", opcode, 0x40, 0xFFFF, qpn, psn) + behind + bytes(4)
    return struct.pack(">HHHH", 50000, 4791, len(bth) + 8, 0) + bth


def frame(opcode: int, psn: int, behind: bytes = b"", back: bool = False, qpn: int = 0x11) -> bytes:
    udp = datagram(opcode, 0x22 if back else qpn, psn, behind)
    ends = RESPONDER + SENDER if back else SENDER + RESPONDER
    ip = struct.pack(">HHIHH", 0x4500, len(udp) + 20, 0, 0x4011, 0) + ends
    return bytes(12) + b"\x08\x00" + ip + udp


def ipv6_frame(opcode: int, psn: int, behind: bytes) -> bytes:
    udp = datagram(opcode, 0x11, psn, behind)
    ends = bytes(15) + b"\1" + bytes(15) + b"\2"
    return bytes(12) + b"\x81\x00\0\1\x86\xdd" + struct.pack(">IHBB", 6 << 28, len(udp), 17, 64) + \
        ends + udp


def reth(address: int, length: int = 8) -> bytes:
    return struct.pack(">QII", address, 0x1000, length)


def write(psn: int, address: int = 64) -> bytes:
    return frame(0x0A, psn, reth(address) + bytes(8))


def ack(psn: int, syndrome: int = 0x1F) -> bytes:
    return frame(0x11, psn, bytes([syndrome, 0, 0, 0]), back=True)


def atomic(opcode: int, psn: int) -> bytes:
    return frame(opcode, psn, struct.pack(">QIQQ", 64, 0x1000, 7, 5))


def response(opcode: int, psn: int, size: int) -> bytes:
    head = b"" if opcode == 0x0E else b"\x1f\0\0\0"
    return frame(opcode, psn, head + bytes(size), back=True)


LONG_WRITE = [frame(0x06, 1, reth(64, 1000) + bytes(256)), frame(0x07, 2, bytes(256)),
              frame(0x07, 3, bytes(256)), frame(0x09, 4, bytes(236))]  # the last with immediate
READ = [frame(0x0C, 1, reth(64, 600)), response(0x0D, 1, 256), response(0x0E, 2, 256),
        response(0x0F, 3, 88), write(4)]
LIFE = [write(1), ack(1), atomic(0x13, 2), atomic(0x14, 3),
        frame(0x12, 2, b"\x1f\0\0\0" + bytes(8), back=True), frame(0x04, 4, bytes(8)), write(3),
        ack(3, 0x60), ack(4, 0x20)]


def pcap(frames: list[bytes], order: str = "<", magic: int = 0xA1B2C3D4, link: int = 1) -> bytes:
    head = struct.pack(order + "IHHQII", magic, 2, 4, 0, 65535, link)
    return head + b"".join(struct.pack(order + "QII", i, len(f), len(f)) + f
                           for i, f in enumerate(frames))


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(order: str = "<", link: int = 1, options: bytes = b"") -> bytes:
    return block(1, struct.pack(order + "HHI", link, 0, 0) + options, order)


def packet(f: bytes, time: int, order: str = "<", number: int = 0) -> bytes:
    return block(6, struct.pack(order + "IIIII", number, 0, time, len(f), len(f)) + f, order)


def pcapng(frames: list[bytes], order: str = "<") -> bytes:
    return section(order) + interface(order) + b"".join(packet(f, i, order)
                                                        for i, f in enumerate(frames))


LOG = {"program": "lease-verify", "succeeded": 4, "operation": "FETCH_ADD",
       "status_name": "IBV_WC_RETRY_EXC_ERR",
       "outstanding": {"requests": 3, "qp_num": 5, "psn": 0xFFFFFF, "rkey": 1, "remote_addr": 8,
                       "length": 8}}
STATISTICS = block(5, struct.pack("<IQ", 0, 0) + struct.pack("<HHQHH", 5, 8, 3, 0, 0))
CUT = struct.pack("<QII", 0, 64, 500) + LIFE[0][:64]

CAPTURES = {
    "life": AT_SENDER + pcap(LIFE),
    "life_elsewhere": ELSEWHERE + pcap(LIFE, ">"),
    "life_in_nanoseconds": ASKED + pcap(LIFE, "<", 0xA1B23C4D),
    "long_write": AT_SENDER + pcap(LONG_WRITE),
    "long_write_from_its_middle": AT_SENDER + pcap(LONG_WRITE[1:]),
    # Found by libFuzzer: the end of a WRITE was taken for that of the SEND.
    "write_in_the_middle_of_a_send": AT_SENDER
    + pcap([frame(0x00, 1, bytes(256)), *LONG_WRITE[1:]]),
    "read_in_parts": AT_SENDER + pcap(READ),
    "read_without_its_end": AT_SENDER + pcap(READ[:3] + [write(9)]),
    "psns_that_wrap": AT_SENDER + pcap([write(0xFFFFFF), write(0), ack(0)]),
    "another_connection": AT_SENDER + pcap([write(5), ack(5), write(0x800000)]),
    "ipv6_under_a_tag": AT_SENDER + pcap([ipv6_frame(0x0A, 1, reth(8) + bytes(8))]),
    "cooked": AT_SENDER + pcap([bytes(14) + LIFE[0][12:]], link=113),
    "raw": AT_SENDER + pcap([LIFE[0][14:]], link=101),
    "cut_by_its_snapshot_length": AT_SENDER + pcap([]) + CUT,
    "cut_in_a_frame": AT_SENDER + pcap(LIFE)[:-20],
    "pcapng": AT_SENDER + pcapng(LIFE),
    "pcapng_of_the_other_order": AT_SENDER + pcapng(LIFE, ">"),
    "pcapng_of_two_sections": AT_SENDER + pcapng(LIFE[:2]) + pcapng(LIFE[2:], ">"),
    "pcapng_of_two_interfaces": AT_SENDER + section() + interface() + interface(link=101)
    + packet(LIFE[0], 9) + packet(LIFE[1][14:], 3, number=1),
    "pcapng_with_drops": AT_SENDER + pcapng(LIFE[:2]) + STATISTICS,
    "pcapng_simple": AT_SENDER + section() + interface()
    + block(3, struct.pack("<I", len(LIFE[0])) + LIFE[0]),
    "pcapng_finer_than_seconds": AT_SENDER + section()
    + interface(options=struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)) + packet(LIFE[0], 1),
    "log": AT_SENDER + json.dumps(LOG).encode(),
    "log_of_nothing": AT_SENDER + json.dumps({"program": "lease-verify", "succeeded": 0,
                                              "operation": "RDMA WRITE"}).encode(),
    "nothing": AT_SENDER,
}


def dump(*requests: dict, **more) -> bytes:
    regions = [{"rkey": "0x10", "environment": "reuse", "consumer": "notified", "fenced": True},
               {"rkey": 2, "environment": "quiet", "nothing_later": True, "unique_tags": True}]
    numbered = [{"wr_id": i, **one} for i, one in enumerate(requests)]
    return json.dumps({"regions": regions, "work_requests": numbered, **more}).encode()


def asked(opcode: str, **more) -> dict:
    return {"opcode": "IBV_WR_" + opcode, "rkey": 16, "remote_addr": 64, "length": 8, "qp_num": 3,
            "status": "IBV_WC_RETRY_EXC_ERR", **more}


ADD = asked("ATOMIC_FETCH_AND_ADD", compare_add=1, psn=9)
PLACE = {"cell": {"own": 0}, "operand": 1}
STEPS = [{"post": "w"}, {"await": "w", "then": "told", "on_timeout": "fence"},
         {"label": "fence", "fence": 0}, {"await_fence": 0}, {"post": "again"},
         {"await": "again", "then": "told", "on_timeout": "over"},
         {"label": "told", "report": "done", "operation": 0, "then": "end"},
         {"label": "over", "report": "unknown", "operation": 0}, {"label": "end", "end": True}]
PROTOCOL = {"protocol": "flag", "own_cells": 1, "judge": {"counts": "effects"},
            "work_requests": [{"name": "w", "opcode": "WRITE", "operation": 0, "qp": 0, **PLACE},
                              {"name": "again", "opcode": "WRITE", "operation": 0, "qp": 1,
                               **PLACE}],
            "steps": STEPS,
            "environments": {"reuse": {"receiver": [{"await_word": 1, "cell": 0},
                                                    {"consume": 1, "cell": 0},
                                                    {"reuse": 2, "cell": 0}]}}}
ASKING = [{"post": "c"}, {"await": "c", "is": 0, "keep": True, "then": "t", "else": "t",
                          "on_timeout": "p"},
          {"label": "t", "test": 0, "then": "e", "else": "e"},
          {"label": "p", "probe": {"shared": 0}, "is": 5, "then": "q", "else": "q"},
          {"label": "q", "query_psn": "c", "then": "e", "else": "e"}, {"label": "e", "end": True}]
SWAP = {"name": "c", "opcode": "CAS", "operation": 0, "qp": 0, "cell": {"shared": 0}, "operand": 5,
        "compare": 0}

TEXTS = {
    "write": dump(asked("RDMA_WRITE", sg_list=[{"addr": 4096, "length": 8, "lkey": 1}])),
    "shared_buffer": dump(asked("RDMA_READ", sg_list=[{"addr": 4096, "length": 8}], status=None),
                          asked("SEND", sg_list=[{"addr": "0x1004", "length": 8}],
                                send_flags=["IBV_SEND_INLINE"])).replace(b', "status": null', b""),
    "two_on_one_word": dump(ADD, asked("ATOMIC_CMP_AND_SWP", compare_add=0, swap=1)),
    "evidence": dump({**ADD, "evidence": {"word": 6, "word_before": 5}},
                     queue_pairs=[{"qp_num": 3, "fenced": True, "expected_psn": 10,
                                   "path_mtu": 1024}]),
    "receives": dump(asked("SEND"), asked("RDMA_WRITE_WITH_IMM"),
                     queue_pairs=[{"qp_num": 3, "receives": 1}]),
    "holds_source": dump(asked("RDMA_WRITE", rkey=2, length=600,
                               evidence={"holds_source": False, "applied": False})),
    "not_modelled": dump(asked("LOCAL_INV"), asked("SEND_WITH_INV", status="IBV_WC_FATAL_ERR"),
                         asked("DRIVER1"), asked("RDMA_READ", status="IBV_WC_SUCCESS")),
    "beyond_memory": dump(asked("RDMA_WRITE", remote_addr="0xffffffffffffffff")),
    "no_requests": dump(),
    "protocol": json.dumps(PROTOCOL, indent=1).encode(),
    "protocol_that_asks": json.dumps({"protocol": "asks", "shared_cells": 1, "clients": 2,
                                      "bounds": {"late": 0}, "work_requests": [SWAP],
                                      "steps": ASKING,
                                      "judge": {"placement_order": True}}).encode(),
    "protocol_without_end": json.dumps({**PROTOCOL, "steps": STEPS[:1]}).encode(),
    "nested": b"[" * 2000,
}
