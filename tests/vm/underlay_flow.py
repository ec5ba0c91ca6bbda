# SPDX-License-Identifier: BSD-3-Clause
#
# Run in a guest: a queue pair of verbs beside the network interface of IP over InfiniBand whose
# queue pair it names (IBV_QP_CREATE_SOURCE_QPN), with a flow on it.
"""Takes what comes to one UDP port of an IPoIB interface, and sends each datagram back.

    underlay_flow.py DEVICE INTERFACE PORT MESSAGES

Status 0: that many datagrams came, they say "0", "1", .. in this order, and all went back."""

import struct
import sys
import time

from pyverbs.addr import AH, AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.enums import (IBV_ACCESS_LOCAL_WRITE, IBV_FLOW_SPEC_UDP, IBV_QP_CREATE_SOURCE_QPN,
                           IBV_QP_INIT_ATTR_CREATE_FLAGS, IBV_QP_INIT_ATTR_PD, IBV_QP_STATE,
                           IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_UD, IBV_SEND_SIGNALED,
                           IBV_WR_SEND)
from pyverbs.flow import Flow, FlowAttr
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttrEx
from pyverbs.spec import Ipv4ExtSpec, TcpUdpSpec
from pyverbs.wr import RecvWR, SendWR, SGE

WAIT_S = 60
RECEIVE_BYTES = 4096
GRH_BYTES = 40
IPOIB_BYTES = 4
IN_FRONT = GRH_BYTES + IPOIB_BYTES + 20 + 8  # .., IPv4, UDP
PROTOCOL_UDP = 17
IPOIB_Q_KEY = 0xb1b


def number_of(interface: str) -> int:
    """The interface's address: a byte, its queue pair, its GID (RFC 4391, section 9.1.1)."""
    with open(f"/sys/class/net/{interface}/address", encoding="ascii") as file:
        return int(file.read().replace(":", "")[2:8], 16)


def completions_of(cq: CQ, count: int) -> list:
    """So many completions, or fewer where nothing more came."""
    until = time.monotonic() + WAIT_S
    seen = []
    while len(seen) < count and time.monotonic() < until:
        _, completions = cq.poll(count - len(seen))
        for completion in completions:
            if completion.status != 0:
                raise SystemExit(f"underlay_flow: a request ended with status {completion.status}")
        seen += completions
    return seen


def turned_round(packet: bytes) -> bytes:
    """IPoIB header, IPv4 and UDP with the ends exchanged. UDP may go without a checksum on IPv4,
    and exchanging addresses leaves that of IPv4 as it is."""
    header, ip = packet[:IPOIB_BYTES], packet[IPOIB_BYTES:]
    udp = ip[20:struct.unpack(">H", ip[2:4])[0]]
    return (header + ip[:12] + ip[16:20] + ip[12:16]
            + udp[2:4] + udp[:2] + udp[4:6] + bytes(2) + udp[8:])


def main() -> int:
    device, interface, port, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    context = Context(name=device)
    pd = PD(context)
    cq = CQ(context, count)
    memory = MR(pd, RECEIVE_BYTES * count, IBV_ACCESS_LOCAL_WRITE)
    qp = QP(context, QPInitAttrEx(
        qp_type=IBV_QPT_UD, scq=cq, rcq=cq, pd=pd, cap=QPCap(max_send_wr=1, max_recv_wr=count),
        create_flags=IBV_QP_CREATE_SOURCE_QPN, source_qpn=number_of(interface),
        comp_mask=IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS))
    for state in (IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS):
        qp.modify(QPAttr(qp_state=state), IBV_QP_STATE)
    for number in range(count):
        qp.post_recv(RecvWR(number, 1, [SGE(memory.buf + number * RECEIVE_BYTES, RECEIVE_BYTES,
                                            memory.lkey)]))
    attributes = FlowAttr(num_of_specs=2)
    attributes.specs.append(Ipv4ExtSpec(proto=PROTOCOL_UDP))
    attributes.specs.append(TcpUdpSpec(IBV_FLOW_SPEC_UDP, dst_port=port))
    flow = Flow(qp, attributes)
    print("ready", flush=True)
    said, sent = [], 0
    for number, completion in enumerate(completions_of(cq, count)):
        datagram = memory.read(RECEIVE_BYTES, number * RECEIVE_BYTES)
        said.append(datagram[IN_FRONT:].split(b"\0")[0].decode())
        answer = turned_round(datagram[GRH_BYTES:])
        memory.write(answer, len(answer), number * RECEIVE_BYTES)
        request = SendWR(num_sge=1, opcode=IBV_WR_SEND, send_flags=IBV_SEND_SIGNALED,
                         sg=[SGE(memory.buf + number * RECEIVE_BYTES, len(answer), memory.lkey)])
        to = AH(pd, attr=AHAttr(port_num=1, dlid=completion.slid, sl=completion.sl))
        request.set_wr_ud(to, completion.src_qp, IPOIB_Q_KEY)
        qp.post_send(request)
        sent += len(completions_of(cq, 1))
    flow.close()
    print(f"{len(said)} of {count} datagrams, {sent} sent back: {' '.join(said)}")
    return 0 if said == [str(number) for number in range(count)] and sent == count else 1


if __name__ == "__main__":
    sys.exit(main())
