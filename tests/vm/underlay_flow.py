# SPDX-License-Identifier: BSD-3-Clause
#
# Run in a guest: a queue pair of verbs beside the network interface of IP over InfiniBand whose
# queue pair it names (IBV_QP_CREATE_SOURCE_QPN), with a flow on it.
"""Takes what comes to one UDP port of an IPoIB interface away from the kernel.

    underlay_flow.py DEVICE INTERFACE PORT MESSAGES

Status 0: that many datagrams came, and they say "0", "1", .. in this order."""

import sys
import time

from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.enums import (IBV_ACCESS_LOCAL_WRITE, IBV_FLOW_SPEC_UDP, IBV_QP_CREATE_SOURCE_QPN,
                           IBV_QP_INIT_ATTR_CREATE_FLAGS, IBV_QP_INIT_ATTR_PD, IBV_QP_STATE,
                           IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_UD)
from pyverbs.flow import Flow, FlowAttr
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttrEx
from pyverbs.spec import Ipv4ExtSpec, TcpUdpSpec
from pyverbs.wr import RecvWR, SGE

WAIT_S = 60
RECEIVE_BYTES = 4096
IN_FRONT = 40 + 4 + 20 + 8  # GRH, IPoIB header, IPv4, UDP
PROTOCOL_UDP = 17


def number_of(interface: str) -> int:
    """The interface's address: a byte, its queue pair, its GID (RFC 4391, section 9.1.1)."""
    with open(f"/sys/class/net/{interface}/address", encoding="ascii") as file:
        return int(file.read().replace(":", "")[2:8], 16)


def received(cq: CQ, count: int) -> int:
    """How many completions there are when there are `count`, or nothing more came."""
    until = time.monotonic() + WAIT_S
    seen = 0
    while seen < count and time.monotonic() < until:
        got, completions = cq.poll(count - seen)
        for completion in completions:
            if completion.status != 0:
                raise SystemExit(f"underlay_flow: a receive ended with status {completion.status}")
        seen += got
    return seen


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
    seen = received(cq, count)
    said = [memory.read(RECEIVE_BYTES, number * RECEIVE_BYTES)[IN_FRONT:].split(b"\0")[0].decode()
            for number in range(seen)]
    flow.close()
    print(f"{seen} of {count} datagrams: {' '.join(said)}")
    return 0 if said == [str(number) for number in range(count)] else 1


if __name__ == "__main__":
    sys.exit(main())
