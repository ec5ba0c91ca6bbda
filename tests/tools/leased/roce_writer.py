# SPDX-License-Identifier: BSD-3-Clause
"""A host of its own on the wire of `hca-server --wire stream,listen=PATH`: RDMA WRITEs over RoCEv2
(IPv4) that scapy puts together, ICRC and all, and their acknowledgements. No driver, no NIC."""

import socket
import struct
import time

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

ROCE_PORT = 4791
WRITE_ONLY, ACKNOWLEDGE = 0x0A, 0x11  # of RC, as scapy.contrib.roce numbers them
IS_NAK = 0x60                         # of an AETH's syndrome


class RoceWriter:
    """At `address` and `mac`."""

    def __init__(self, path, address, mac, deadline_s):
        self.address, self.mac, self.deadline_s = address, mac, deadline_s
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.received = b""

    def close(self):
        self.socket.close()

    def write(self, lease, data, *, psn=0, rkey=None, source=None):
        """One WRITE to the region's first bytes, not waited for."""
        reth = struct.pack(">QII", lease.address, rkey or lease.rkey, len(data))
        server = socket.inet_ntop(socket.AF_INET, lease.gid[12:])
        frame = bytes(Ether(src=self.mac, dst=lease.mac.hex(":"))
                      / IP(src=source or self.address, dst=server, flags="DF")
                      / UDP(sport=0xC000, dport=ROCE_PORT, chksum=0)
                      / BTH(opcode=WRITE_ONLY, dqpn=lease.qpn, psn=psn, ackreq=1)
                      / Raw(reth + data))
        self.socket.sendall(struct.pack(">I", len(frame)) + frame)

    def frame(self, until):
        """The next that comes, or None when it is too late."""
        while len(self.received) < 4 or \
                len(self.received) < 4 + struct.unpack_from(">I", self.received)[0]:
            self.socket.settimeout(max(until - time.monotonic(), 0.001))
            try:
                self.received += self.socket.recv(65536)
            except TimeoutError:
                return None
        length = struct.unpack_from(">I", self.received)[0]
        frame, self.received = self.received[4:4 + length], self.received[4 + length:]
        return Ether(frame)

    def is_acknowledged(self, psn=0, wait_s=None):
        """False for a NAK, None where nothing comes."""
        until = time.monotonic() + (self.deadline_s if wait_s is None else wait_s)
        while (frame := self.frame(until)) is not None:
            if BTH in frame and frame[BTH].opcode == ACKNOWLEDGE and frame[BTH].psn == psn:
                return bytes(frame[BTH].payload)[0] & IS_NAK != IS_NAK
        return None
