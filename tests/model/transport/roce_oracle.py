# SPDX-License-Identifier: BSD-3-Clause
"""Recomputes the ICRC of every frame of a capture and says which are wrong.

    roce_oracle.py CAPTURE      prints "frames N wrong M", exit 1 when M is not 0 or N is 0

IPv4 frames are scapy's to judge (scapy.contrib.roce). It has no rule for IPv6, so
those are summed here by the same definition: CRC-32 over eight bytes of ones, then the
packet with traffic class, flow label, hop limit, UDP checksum and the first byte of the BTH's
third dword set to ones.
"""

import struct
import sys
import zlib

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapReader

ETHERNET_BYTES = 14
IPV6_BYTES = 40
ICRC_BYTES = 4


def icrc_by_scapy(frame: bytes) -> bytes:
    packet = Ether(frame)
    assert packet.haslayer(IP) and packet.haslayer(UDP) and packet.haslayer(BTH)
    return packet[BTH].compute_icrc(b"")


def icrc_of_ipv6(frame: bytes) -> bytes:
    packet = bytearray(frame[ETHERNET_BYTES:-ICRC_BYTES])
    packet[0] |= 0x0F
    packet[1:4] = b"\xff\xff\xff"
    packet[7] = 0xFF
    packet[IPV6_BYTES + 6 : IPV6_BYTES + 8] = b"\xff\xff"
    packet[IPV6_BYTES + 8 + 4] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + packet))


def main() -> int:
    frames = wrong = 0
    for frame, _ in RawPcapReader(sys.argv[1]):
        ipv6 = frame[12:14] == b"\x86\xdd"
        expected = icrc_of_ipv6(frame) if ipv6 else icrc_by_scapy(frame)
        frames += 1
        wrong += frame[-ICRC_BYTES:] != expected
    print(f"frames {frames} wrong {wrong}")
    return 0 if frames and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
