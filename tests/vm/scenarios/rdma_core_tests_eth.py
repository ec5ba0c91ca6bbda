# SPDX-License-Identifier: BSD-3-Clause
#
# Scenario rdma_core_tests on an Ethernet port with its network interface. Those of raw packets send
# to themselves, by the function's own loopback.
from dataclasses import replace
from functools import partial

from scenarios import rdma_core_tests

SCENARIO = replace(
    rdma_core_tests.SCENARIO,
    summary="rdma-core's own tests over Linux mlx5_ib on an Ethernet port",
    variables={"port_type": "eth"},
    servers=[["--behaviour", "eth-offloads", "--trace", "{results}/mlx5_ib.trace"]],
    judge=partial(rdma_core_tests.judge, port_type="eth"))
