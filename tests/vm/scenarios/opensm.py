# SPDX-License-Identifier: BSD-3-Clause
#
# Two InfiniBand ports that wait for a subnet manager, and opensm of Debian 13 on one of them: it
# finds both by directed routes, numbers them, makes them ACTIVE and answers for their paths.
from rdma_log import judge
from scenario import Scenario

WAITS = ["--port-type", "ib", "--behaviour", "outside-sm"]
SCENARIO = Scenario(
    summary="opensm numbers two InfiniBand ports on one wire and answers for their paths",
    script="opensm.sh",
    servers=[[*WAITS, "--trace", "{results}/opensm.trace", "--pcap", "{results}/opensm.pcap",
              "--wire", "stream,listen={results}/wire"],
             [*WAITS, "--mac", "02:50:43:00:00:02", "--wire", "stream,connect={results}/wire"]],
    judge=judge)
