# SPDX-License-Identifier: BSD-3-Clause
#
# Run in a guest: lets tools that bring their own TCP exchange meet a port that a program of ours
# owns. ibv_rc_pingpong and perftest tell each other QP number, PSN, address and key before they
# talk; here these go on to lease-serve or roce-peer, in their exchange, and the answers back. No
# data passes through: that is between the two RC stacks.
"""Translates between the exchange of an RDMA tool and ours, or grants memory of a verbs device."""

import argparse
import ipaddress
import os
import socket
import sys
import time

WAIT_S = 300
# ibv_rc_pingpong: "%04x:%06x:%06x:%s" and a NUL (rdma-core, libibverbs/examples/rc_pingpong.c).
PING_PONG_BYTES = 4 + 1 + 6 + 1 + 6 + 1 + 32 + 1
# perftest 4.5: KEY_MSG_SIZE_GID, MAX_VERSION, the sizes of a page and a cache line since its
# version 5.32 (check_sys_data), and the two characters of an MTU since 5.31 (check_mtu).
KEYS_BYTES = 108
VERSION_BYTES = 16
INT_BYTES = 4
MTU_BYTES = 2
MTU_1024 = b"3\0"


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    until = time.monotonic() + WAIT_S
    while True:
        try:
            return socket.create_connection((host, int(port)), timeout=WAIT_S)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def accept(port: int) -> socket.socket:
    with socket.create_server(("127.0.0.1", port)) as server:
        server.settimeout(WAIT_S)
        peer, _ = server.accept()
    peer.settimeout(WAIT_S)
    return peer


def read_exactly(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = peer.recv(size - len(data))
        if not part:
            raise EOFError(f"the tool hung up after {len(data)} of {size} bytes")
        data += part
    return data


def read_line(peer: socket.socket) -> dict[str, str]:
    """The words of a line of ours; a refusal ends the program."""
    text = b""
    while not text.endswith(b"\n"):
        part = peer.recv(1)
        if not part:
            raise EOFError(f"no whole line: {text!r}")
        text += part
    kind, *words = text.decode().split()
    if kind not in ("lease-request", "lease-grant"):
        raise ValueError(text.decode().strip())
    return dict(word.split("=", 1) for word in words)


def endpoint(qpn: int, psn: int, gid: bytes, mac: str) -> str:
    address = ipaddress.IPv6Address(gid)
    return f"version=1 qpn={qpn:#x} psn={psn:#x} gid={address.ipv4_mapped or address} mac={mac}"


def gid_of(words: dict[str, str]) -> bytes:
    address = ipaddress.ip_address(words["gid"])
    return address.packed if address.version == 6 else b"\0" * 10 + b"\xff\xff" + address.packed


def grant_without_memory(qpn: int, psn: int, gid: bytes, mac: str) -> bytes:
    return (f"lease-grant {endpoint(qpn, psn, gid, mac)} mtu=1024 rkey=0 address=0 length=8 "
            "timeout=14 retry=6 access=write\n").encode()


class PingPong:
    """What ibv_rc_pingpong says of a QP."""

    def __init__(self, message: bytes):
        _lid, qpn, psn, gid = message.rstrip(b"\0").decode().split(":")
        self.qpn, self.psn, self.gid = int(qpn, 16), int(psn, 16), bytes.fromhex(gid)

    @staticmethod
    def message(words: dict[str, str]) -> bytes:
        return (f"0000:{int(words['qpn'], 0):06x}:{int(words['psn'], 0):06x}:"
                f"{gid_of(words).hex()}\0").encode()


def ping_pong_client(options) -> None:
    """The tool is the client and sends first; roce-peer asks us as it would a server."""
    ours = accept(options.ours)
    asked = read_line(ours)
    tool = accept(options.tool)
    theirs = PingPong(read_exactly(tool, PING_PONG_BYTES))
    ours.sendall(grant_without_memory(theirs.qpn, theirs.psn, theirs.gid, options.mac))
    tool.sendall(PingPong.message(asked))
    read_exactly(tool, len(b"done\0"))
    ours.recv(1)  # until roce-peer has ended


def ping_pong_server(options) -> None:
    """The tool listens; roce-peer sends first."""
    ours = accept(options.ours)
    asked = read_line(ours)
    tool = connect(f"127.0.0.1:{options.tool}")
    tool.sendall(PingPong.message(asked))
    theirs = PingPong(read_exactly(tool, PING_PONG_BYTES))
    tool.sendall(b"done\0")
    ours.sendall(grant_without_memory(theirs.qpn, theirs.psn, theirs.gid, options.mac))
    ours.recv(1)


def perftest_client(options) -> None:
    """ib_write_bw, ib_read_bw or ib_atomic_bw is the client of a lease: as its server, which sends
    nothing in these tests, answers (write_bw.c of perftest v4.5-0.17)."""
    tool = accept(options.tool)
    for size in (VERSION_BYTES, INT_BYTES, INT_BYTES):
        tool.sendall(read_exactly(tool, size))
    read_exactly(tool, MTU_BYTES)
    tool.sendall(MTU_1024)
    words = read_exactly(tool, KEYS_BYTES).rstrip(b"\0").decode().split(":")
    gid = bytes(int(byte, 16) for byte in words[6:22])
    lease = connect(f"127.0.0.1:{options.ours}")
    client = endpoint(int(words[2], 16), int(words[3], 16), gid, options.mac)
    lease.sendall(f"lease-request {client} mtu=1024\n".encode())
    grant = read_line(lease)
    print(f"qpn={grant['qpn']} psn={int(words[3], 16):#x} client={int(words[2], 16):#x}",
          flush=True)
    keys = (f"0000:0004:{int(grant['qpn'], 0):06x}:{int(grant['psn'], 0):06x}:"
            f"{int(grant['rkey'], 0):08x}:{int(grant['address'], 0):016x}:"
            f"{gid_of(grant).hex(':')}:00000000:\0").encode()
    tool.sendall(keys)
    for _ in range(3):  # connected, ready, done
        read_exactly(tool, KEYS_BYTES)
        tool.sendall(keys)
    for _ in range(5):  # size, iterations, peak, average, rate
        tool.sendall(read_exactly(tool, 8))
    read_exactly(tool, KEYS_BYTES)
    tool.sendall(keys)
    tool.recv(1)


def grant_memory(options) -> None:
    """A QP and 64 KiB of a verbs device for whoever asks; ends when the asker has."""
    from pyverbs.addr import AHAttr, GID, GlobalRoute
    from pyverbs.cq import CQ
    from pyverbs.device import Context
    from pyverbs.enums import (IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_ATOMIC,
                               IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE, IBV_MTU_1024,
                               IBV_QPT_RC)
    from pyverbs.mr import MR
    from pyverbs.pd import PD
    from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

    ours = accept(options.ours)
    asked = read_line(ours)
    rights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC
    context = Context(name=options.device)
    pd = PD(context)
    memory = MR(pd, 65536, IBV_ACCESS_LOCAL_WRITE | rights)
    cq = CQ(context, 16)
    attributes = QPAttr(port_num=1)
    attributes.qp_access_flags = rights
    qp = QP(pd, QPInitAttr(qp_type=IBV_QPT_RC, scq=cq, rcq=cq,
                           cap=QPCap(max_send_wr=1, max_recv_wr=1)), attributes)  # to INIT
    gid = bytes.fromhex(context.query_gid(1, options.gid_index).gid.replace(":", ""))
    to = GID(ipaddress.IPv6Address(gid_of(asked)).exploded)
    attributes.path_mtu = IBV_MTU_1024
    attributes.max_dest_rd_atomic = 4
    attributes.min_rnr_timer = 12
    attributes.dest_qp_num = int(asked["qpn"], 0)
    attributes.rq_psn = int(asked["psn"], 0)
    attributes.sq_psn = int.from_bytes(os.urandom(3), "big")
    attributes.timeout = 14
    attributes.retry_cnt = 6
    attributes.rnr_retry = 6
    attributes.max_rd_atomic = 1
    attributes.ah_attr = AHAttr(port_num=1, is_global=1,
                                gr=GlobalRoute(dgid=to, sgid_index=options.gid_index))
    qp.to_rts(attributes)
    ours.sendall((f"lease-grant {endpoint(qp.qp_num, attributes.sq_psn, gid, options.mac)} "
                  f"mtu=1024 rkey={memory.rkey:#x} address={memory.buf:#x} length=65536 timeout=14 "
                  "retry=6 access=write+read+atomic\n").encode())
    ours.recv(1)


MODES = {"ping-pong-client": ping_pong_client, "ping-pong-server": ping_pong_server,
         "perftest-client": perftest_client, "grant": grant_memory}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--ours", type=int, required=True, help="port of our program's exchange")
    parser.add_argument("--tool", type=int, default=0, help="port of the tool's exchange")
    parser.add_argument("--mac", required=True, help="of the verbs device")
    parser.add_argument("--device", default="rxe0", help="grant: the verbs device")
    parser.add_argument("--gid-index", type=int, default=1, help="grant: its address")
    options = parser.parse_args()
    try:
        MODES[options.mode](options)
    except (OSError, EOFError, ValueError, KeyError) as error:
        print(f"rdma_exchange: {options.mode}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
