# SPDX-License-Identifier: BSD-3-Clause
"""Seeds of ethernet_fuzz.cpp: steps as data_path_seeds.py packs them."""

import struct

from data_path_seeds import step

SEND, RING, RECEIVE, FRAME, OWN, RESTART, DATAGRAM = range(7)
SEND_OPCODE, LSO, NOP = 0x0A, 0x0E, 0x00
ANY_KEY = 0xFFFFFFFF
MAC = bytes.fromhex("025043000001025043000002")
TCP = (MAC + bytes.fromhex("08004500") + struct.pack(">H", 40 + 64) + bytes(4)
       + bytes.fromhex("40060000c0000202c0000201") + struct.pack(">HHII", 1, 2, 5, 6)
       + bytes.fromhex("50180000") + bytes(4))
UDP = (MAC + bytes.fromhex("08004500") + struct.pack(">H", 36) + bytes(4)
       + bytes.fromhex("40110000c0000202c0000201") + struct.pack(">HHHH", 1, 2, 16, 0) + bytes(8))
TAGGED = UDP[:12] + bytes.fromhex("81000005") + UDP[12:]
IPV6 = (MAC + bytes.fromhex("86dd60000000") + struct.pack(">H", 16) + bytes.fromhex("1140")
        + bytes(32) + struct.pack(">HHHH", 1, 2, 16, 0) + bytes(8))


def data(size, address=0, key=ANY_KEY):
    return struct.pack(">IIQ", size, key, address)


def wqe(index, header=b"", pieces=b"", opcode=SEND_OPCODE, flags=0xC0, mss=0, size=None, sqn=1,
        address=b""):
    size = len(header) if size is None else size
    ethernet = bytes([0, 0, 0, 0, flags, 0]) + struct.pack(">HIH", mss, 0, size)
    behind = header[2:] + bytes(-max(len(header) - 2, 0) % 16)
    segments = address + ethernet[:14] + (header[:2] + bytes(2))[:2] + behind + pieces
    count = 1 + len(segments) // 16
    control = struct.pack(">IIII", index << 8 | opcode, sqn << 8 | count, 8, 0)
    whole = control + segments
    return whole + bytes(-len(whole) % 64)


def of_underlay(steps):
    """The same input for a queue that sends IP over InfiniBand."""
    return bytes([steps[0] | 0x80]) + steps[1:]


def ipoib(frame):
    return frame[12:14] + bytes(2) + frame[14:]


# struct mlx5i_tx_wqe: the address of a datagram, to QP 0x43, and 16 bytes of nothing.
ADDRESS = struct.pack(">QI", 0xB1B << 32, 0x80000043) + bytes(52)


def ring(sent, received=0):
    records = bytearray(132)
    records[4:8] = struct.pack(">I", sent)
    records[128:132] = struct.pack(">I", received)
    return step(RING, bytes(records))


RECEIVES = step(RECEIVE, (data(2048) + data(0, 0, 0x100) + bytes(32)) * 16)

SEEDS = {
    "inline_frame": step(SEND, wqe(0, UDP)) + ring(2),
    "two_pieces": step(RESTART, UDP) + step(SEND, wqe(0, UDP[:18], data(16, 18) + data(16, 34)))
    + ring(2),
    "vlan_inserted": step(RESTART, UDP) + step(SEND, wqe(0, b"", data(50), size=0x8000)) + ring(1),
    "large_send": step(RESTART, TCP + bytes(3000))
    + step(SEND, wqe(0, TCP, data(3000, 54), LSO, mss=1000)) + ring(2),
    "nop": step(SEND, wqe(0, opcode=NOP)) + ring(1),
    "key_of_nobody": step(SEND, wqe(0, UDP[:18], data(32, 0, 0x4200))) + ring(1),
    "producer_of_nowhere": step(SEND, wqe(0, UDP)) + ring(0xFFFF),
    "received": RECEIVES + ring(0, 4) + step(FRAME, UDP) + step(FRAME, TCP + bytes(64))
    + step(FRAME, IPV6) + step(OWN, TAGGED),
    "tag_cut_short": RECEIVES + ring(0, 4) + step(FRAME, TAGGED[:15]) + step(FRAME, TAGGED[:17]),
    "no_receive": step(FRAME, UDP),
    "receive_of_nobodys_key": step(RECEIVE, data(2048, 0, 0x4200) * 16) + ring(0, 4)
    + step(FRAME, UDP),
    "datagram_sent": of_underlay(
        step(RESTART, ipoib(UDP)) + step(SEND, wqe(0, b"", data(40), address=ADDRESS)) + ring(2)),
    "large_datagram": of_underlay(
        step(RESTART, TCP + bytes(3000))
        + step(SEND, wqe(0, ipoib(TCP), data(3000, 54), LSO, mss=1000, address=ADDRESS)) + ring(3)),
    "datagrams_received": RECEIVES + ring(0, 4) + step(DATAGRAM, ipoib(UDP))
    + step(DATAGRAM, ipoib(IPV6)) + step(DATAGRAM, ipoib(TAGGED)) + step(DATAGRAM, b"abc"),
    "error_and_again": step(SEND, wqe(0, UDP, opcode=0x33)) + ring(2) + step(RESTART)
    + step(SEND, wqe(0, UDP)) + ring(2),
}
