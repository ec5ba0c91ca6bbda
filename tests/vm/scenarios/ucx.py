# SPDX-License-Identifier: BSD-3-Clause
#
# What MPI libraries stand on, unmodified, over two RoCE ports: UCX by its verbs transports and by
# those that drive a ConnectX directly (rc_mlx5, ud_mlx5), libfabric by its verbs provider.
import rdma_log
from scenario import Scenario
from scenarios import netdev

SCENARIO = Scenario(
    summary="UCX and libfabric of Debian 12 over Linux mlx5_ib: ucx_perftest, fi_pingpong",
    script="ucx.sh",
    servers=[netdev.ONE, netdev.TWO],
    judge=rdma_log.judge,
    is_long=True)
