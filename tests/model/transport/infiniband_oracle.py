# SPDX-License-Identifier: BSD-3-Clause
"""Recomputes lengths, ICRC and VCRC of every frame of an InfiniBand capture.

    infiniband_oracle.py CAPTURE     prints "frames N wrong M", exit 1 when M is not 0 or N is 0

Both CRCs by their definition. ICRC: CRC-32; without a GRH the LRH with VL replaced by ones, with
one eight bytes of ones, then traffic class, flow label and hop limit of the GRH and the reserved
byte of the BTH replaced by ones. VCRC: polynomial x^16 + x^12 + x^3 + x + 1, bits in the order of
the wire (least significant first), begun with ones, inverted, divided bit by bit.
"""

import struct
import sys
import zlib

from scapy.utils import RawPcapReader

LRH, GRH, LNH_BTH, LNH_GRH = 8, 40, 2, 3
LINKTYPE_ERF, ERF, ERF_INFINIBAND = 197, 16, 21


def vcrc(data: bytes) -> bytes:
    remainder = 0xFFFF
    for byte in data:
        for bit in range(8):
            carry = (remainder >> 15) ^ (byte >> bit & 1)
            remainder = (remainder << 1 & 0xFFFF) ^ (0x100B if carry else 0)
    remainder ^= 0xFFFF
    # The first bit on the wire is the remainder's highest, and a byte's first bit its lowest.
    in_wire_order = int(f"{remainder:016b}"[::-1], 2)
    return struct.pack("<H", in_wire_order)


def icrc(data: bytes, has_grh: bool) -> bytes:
    masked = bytearray(data)
    bth = LRH
    if has_grh:
        masked[:LRH] = b"\xff" * LRH
        masked[LRH] |= 0x0F
        masked[LRH + 1 : LRH + 4] = b"\xff\xff\xff"
        masked[LRH + 7] = 0xFF
        bth += GRH
    else:
        masked[0] |= 0xF0
    masked[bth + 4] = 0xFF
    return struct.pack("<I", zlib.crc32(masked))


def is_right(frame: bytes) -> bool:
    next_header = frame[1] & 3
    if next_header not in (LNH_BTH, LNH_GRH):
        return False
    has_grh = next_header == LNH_GRH
    if (struct.unpack(">H", frame[4:6])[0] & 0x7FF) * 4 != len(frame) - 2:
        return False
    if has_grh and struct.unpack(">H", frame[12:14])[0] != len(frame) - 2 - LRH - GRH:
        return False
    return frame[-2:] == vcrc(frame[:-2]) and frame[-6:-2] == icrc(frame[:-6], has_grh)


def main() -> int:
    frames = wrong = 0
    reader = RawPcapReader(sys.argv[1])
    for record, _ in reader:
        frames += 1
        wrong += record[8] != ERF_INFINIBAND or not is_right(record[ERF:])
    if reader.linktype != LINKTYPE_ERF:
        print(f"link type {reader.linktype}")
        return 1
    print(f"frames {frames} wrong {wrong}")
    return 0 if frames and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
