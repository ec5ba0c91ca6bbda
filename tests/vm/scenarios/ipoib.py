# SPDX-License-Identifier: BSD-3-Clause
#
# Linux's IP over InfiniBand on two ports that opensm numbers: groups that it makes and queue pairs
# join, ping and TCP, datagram and connected mode, a second partition, the RDMA CM by IP addresses,
# multicast of it.
import rdma_log
from scenario import Scenario

WAITS = ["--port-type", "ib", "--behaviour", "outside-sm"]
SCENARIO = Scenario(
    summary="IPoIB between two InfiniBand ports under opensm, the RDMA CM and multicast on it",
    script="ipoib.sh",
    servers=[[*WAITS, "--trace", "{results}/one.trace", "--pcap", "{results}/one.pcap",
              "--wire", "stream,listen={results}/wire"],
             [*WAITS, "--mac", "02:50:43:00:00:02", "--trace", "{results}/two.trace",
              "--wire", "stream,connect={results}/wire"]],
    judge=rdma_log.judge,
    is_long=True)
