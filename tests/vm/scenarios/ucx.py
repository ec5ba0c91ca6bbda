# SPDX-License-Identifier: BSD-3-Clause
#
# What MPI libraries stand on, unmodified, over two RoCE ports: UCX by its verbs transports and by
# those that drive a ConnectX directly (rc_mlx5, ud_mlx5), libfabric by its verbs provider.
import rdma_log
from scenario import Scenario

SCENARIO = Scenario(
    summary="UCX and libfabric of Debian 12 over Linux mlx5_ib: ucx_perftest, fi_pingpong",
    script="ucx.sh",
    servers=[["--behaviour", "eth-offloads", "--trace", "{results}/one.trace",
              "--wire", "stream,listen={results}/wire"],
             ["--behaviour", "eth-offloads", "--trace", "{results}/two.trace",
              "--wire", "stream,connect={results}/wire", "--mac", "02:50:43:00:00:02"]],
    judge=rdma_log.judge,
    is_long=True)
