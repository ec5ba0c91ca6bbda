# SPDX-License-Identifier: BSD-3-Clause
#
# Scenario mlx5_ib_loads on an Ethernet port: mlx5_core goes each time, and with it the interface,
# which meets an ordinary NIC on the wire when it is back. A recording of that would be a gigabyte;
# of pages that firmware keeps mlx5_core warns itself (mlx5_reclaim_startup_pages of pagealloc.c).
from dataclasses import replace

from scenarios import mlx5_ib_loads

SCENARIO = replace(
    mlx5_ib_loads.SCENARIO,
    summary="Linux mlx5_core, its interface and mlx5_ib on it go and come 100 times",
    variables={"port_type": "eth"},
    servers=[["--behaviour", "eth-offloads", "--wire", "stream,listen={results}/wire"]],
    qemu_arguments=["-netdev", "stream,id=wire,server=off,addr.type=unix,"
                    "addr.path={results}/wire",
                    "-device", "virtio-net-pci,netdev=wire,mac=02:50:43:00:00:02"],
    judge=mlx5_ib_loads.judge_round,
    deadline_s=7200)
