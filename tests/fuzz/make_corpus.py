# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of every fuzz target: one file for each kind of input and mistake.

    make_corpus.py FOLDER

Messages are built from docs/interop/vfio-user.rst of QEMU, those of the data path in
data_path_seeds.py, those of leased in lease_session_seeds.py and leased_wire_seeds.py, those of
failover-check in failover_seeds.py, files that somebody sends and commands in foreign_seeds.py,
frames and their queues in ethernet_seeds.py. Those of neighbour are scapy's and written by
tests/neighbour/frames.py. The files are kept in the repository, so that a corpus may also grow by
what libFuzzer finds.
"""

import pathlib
import struct
import sys

import data_path_seeds
import ethernet_seeds
import failover_seeds
import foreign_seeds
import lease_session_seeds
import leased_wire_seeds

VERSION, DMA_MAP, DMA_UNMAP, INFO, REGION, IO_FDS, IRQ, SET_IRQS = 1, 2, 3, 4, 5, 6, 7, 8
READ, WRITE, DMA_READ, DMA_WRITE, RESET = 9, 10, 11, 12, 13
BAR0, CONFIG = 0, 7
GUEST = 0x100000


def message(command, payload=b"", fds=0, flags=0, length=None, ident=1):
    size = 16 + len(payload) if length is None else length
    raw = struct.pack("<HHIII", ident, command, size, flags, 0) + payload
    return struct.pack("<BH", fds, len(raw)) + raw


def hello(json=b'{"capabilities":{"max_msg_fds":8,"max_data_xfer_size":65536}}\0'):
    return message(VERSION, struct.pack("<HH", 0, 1) + json)


def dma_map(flags=3, offset=0, address=GUEST, size=0x10000, fds=1):
    return message(DMA_MAP, struct.pack("<IIQQQ", 32, flags, offset, address, size), fds)


def dma_unmap(address=GUEST, size=0x10000, flags=0):
    return message(DMA_UNMAP, struct.pack("<IIQQ", 24, flags, address, size))


def write(region, offset, data, flags=0):
    return message(WRITE, struct.pack("<QII", offset, region, len(data)) + data, flags=flags)


def read(region, offset, count):
    return message(READ, struct.pack("<QII", offset, region, count))


def irqs(flags=0x24, index=2, start=0, count=2, fds=2):
    return message(SET_IRQS, struct.pack("<IIIII", 20, flags, index, start, count), fds)


MASTER = write(CONFIG, 4, b"\x06\x00")
QUEUE = write(BAR0, 0x10, bytes(4)) + write(BAR0, 0x14, struct.pack(">I", GUEST))
DOORBELL = write(BAR0, 0x18, b"\x00\x00\x00\x01")
# From here on the server waits for the answer to a message of its own, the first one.
ASKED = hello() + dma_map(fds=0) + MASTER + QUEUE + DOORBELL
REFUSED = message(DMA_READ, flags=0x21)


# The tools' command interface behind the vendor specific capability: numbers of iPXE's mlx_pci_gw.h
# and mlx_icmd.c, headers of mlxsw/emad.h.
GATEWAY, ICMD_SPACE, ICMD_BUSY, ICMD_MAILBOX = 0xC0, 3, 1, 0x100000
ACCESS_REGISTER = 0x9001
PTYS, PAOS, MFRL = 0x5004, 0x5006, 0x9028
QUERY, CHANGE = 1, 2


def gateway_store(address, value):
    """One dword of the space that was chosen."""
    return write(CONFIG, GATEWAY + 0x14, struct.pack("<I", value)) + write(
        CONFIG, GATEWAY + 0x10, struct.pack("<I", address | 1 << 31)
    )


def tools_register(register, method, words, opcode=ACCESS_REGISTER):
    """A register of so many words, read or written by a command of the tools."""
    operation = [1 << 27 | 4 << 16, register << 16 | method << 8 | 1, 0, 0]
    mailbox = operation + [3 << 27 | (len(words) + 1) << 16] + words
    stores = [gateway_store(ICMD_MAILBOX + 4 * at, word) for at, word in enumerate(mailbox)]
    return (
        write(CONFIG, GATEWAY + 4, struct.pack("<H", ICMD_SPACE))
        + b"".join(stores)
        + gateway_store(0, opcode << 16 | ICMD_BUSY)
        + write(CONFIG, GATEWAY + 0x10, bytes(4))
        + read(CONFIG, GATEWAY + 0x14, 4)
    )


SEEDS = {
    "tools_read_a_register": hello() + tools_register(PTYS, QUERY, [1 << 16 | 4] + 15 * [0]),
    "tools_write_registers": hello()
    + tools_register(PAOS, CHANGE, [1 << 16 | 1 << 8, 1 << 31, 0, 0])
    + tools_register(MFRL, CHANGE, [0, 3])
    + tools_register(PTYS, CHANGE, [1 << 16 | 1, 0, 0, 0]),
    "tools_command_of_no_kind": hello() + tools_register(0xFFFF, 9, 100 * [7], opcode=0xFFFF),
    "hello": hello(),
    "hello_twice": hello() + hello(),
    "hello_other_major": message(VERSION, struct.pack("<HH", 7, 0)),
    "hello_bad_json": hello(b"{{{{\0"),
    "hello_json_of_other_types": hello(b'{"capabilities":{"max_data_xfer_size":"x"}}\0'),
    "nothing_negotiated": dma_map() + message(RESET),
    "infos": hello()
    + message(INFO, struct.pack("<IIII", 16, 0, 0, 0))
    + b"".join(message(REGION, struct.pack("<IIIIQQ", 32, 0, i, 0, 0, 0)) for i in range(10))
    + b"".join(message(IRQ, struct.pack("<IIII", 16, 0, i, 0)) for i in range(6)),
    "map_and_unmap": hello() + dma_map() + dma_unmap() + dma_unmap(0, 0, 2),
    "map_overlap_and_cut": hello() + dma_map() + dma_map() + dma_unmap(GUEST, 0x1000),
    "map_too_long": hello() + dma_map(size=0x20000) + dma_map(offset=0xF000, size=0x2000),
    "map_that_wraps": hello() + dma_map(address=0xFFFFFFFFFFFFF000, size=0x2000, fds=0),
    "map_unaligned": hello() + dma_map(offset=1) + dma_map(address=5) + dma_map(size=7),
    "irqs": hello() + irqs() + irqs(flags=0x21, count=0, fds=0) + irqs(start=60, count=8),
    "irqs_without_fds": hello() + irqs(count=2, fds=0) + irqs(count=2, fds=1),
    "regions": hello() + read(BAR0, 0, 16) + read(CONFIG, 0, 256) + read(BAR0, 0x1FFFFFC, 8),
    "region_that_wraps": hello() + read(BAR0, 0xFFFFFFFFFFFFFFFC, 8) + read(8, 0, 0x1000000),
    "write_shorter": hello() + message(WRITE, struct.pack("<QII", 0, BAR0, 64) + b"abc"),
    "queue_in_memory": hello() + dma_map() + MASTER + QUEUE + DOORBELL,
    "queue_by_messages": ASKED,
    "stores_during_a_dma": ASKED + 2 * DOORBELL + QUEUE + read(BAR0, 0x10, 16) + REFUSED,
    "unmap_during_a_dma": ASKED + dma_unmap() + dma_map() + REFUSED + DOORBELL,
    "reset_during_a_dma": ASKED + DOORBELL + message(RESET) + QUEUE + REFUSED + read(BAR0, 0x10, 8),
    "function_reset_during_a_dma": ASKED + write(CONFIG, 0x68, b"\x00\x80") + MASTER + REFUSED,
    "queue_read_only": hello() + dma_map(flags=1) + MASTER + QUEUE + DOORBELL,
    "reset": hello() + dma_map() + MASTER + message(RESET) + write(CONFIG, 0x68, b"\x00\x80"),
    "no_reply": hello() + write(BAR0, 0x18, b"\0\0\0\1", flags=0x10) + message(RESET, flags=0x10),
    "reply_to_nothing": hello() + message(DMA_READ, bytes(16), flags=1),
    "commands_that_are_ours": hello()
    + message(DMA_READ, bytes(16))
    + message(DMA_WRITE, bytes(16)),
    "unknown_command": hello() + message(999) + message(0) + message(IO_FDS, bytes(16)),
    "too_short": message(VERSION, length=15),
    "too_long": message(WRITE, length=0xFFFFFFFF),
    "cut": hello() + message(RESET)[:-5],
    "descriptors_nobody_wants": hello() + message(RESET, fds=3) + message(INFO, fds=2),
}


CORPORA = {
    "vfio_user_message": SEEDS,
    "frame": data_path_seeds.FRAMES,
    "wqe": data_path_seeds.WQES,
    "queue_entry": data_path_seeds.QUEUE_ENTRIES,
    "lease_session": lease_session_seeds.SEEDS,
    "capture": failover_seeds.CAPTURES,
    "failover_text": failover_seeds.TEXTS,
    "bundle": foreign_seeds.BUNDLES,
    "recording": foreign_seeds.RECORDINGS,
    "fabric": foreign_seeds.FABRICS,
    "model_command": foreign_seeds.COMMANDS,
    "ethernet": ethernet_seeds.SEEDS,
    "quic_datagram": leased_wire_seeds.QUIC_DATAGRAM,
    "wire_message": leased_wire_seeds.WIRE_MESSAGE,
}


def main() -> int:
    for target, seeds in CORPORA.items():
        folder = pathlib.Path(sys.argv[1], target)
        folder.mkdir(parents=True, exist_ok=True)
        for name, seed in seeds.items():
            (folder / name).write_bytes(seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
