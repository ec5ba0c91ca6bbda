# SPDX-License-Identifier: BSD-3-Clause
#
# Management datagrams between two InfiniBand ports on one wire: the kernel's agents at QP 0 and
# QP 1 of both, and Debian's infiniband-diags to ask them.
from rdma_log import judge
from scenario import Scenario

SCENARIO = Scenario(
    summary="two InfiniBand ports on one wire: ibnetdiscover, smpquery and ibping between them",
    script="mad.sh",
    servers=[["--trace", "{results}/mad.trace", "--port-type", "ib", "--pcap", "{results}/mad.pcap",
              "--wire", "stream,listen={results}/wire"],
             ["--port-type", "ib", "--mac", "02:50:43:00:00:02",
              "--wire", "stream,connect={results}/wire"]],
    judge=judge,
    is_long=True)
