# SPDX-License-Identifier: BSD-3-Clause
#
# As mlx5_ib, with queue pairs of the services that are not RC.
from rdma_log import judge
from scenario import Scenario

SCENARIO = Scenario(
    summary="Linux mlx5_ib on an InfiniBand port: UC, UD, XRC by rdma-core and perftest",
    script="mlx5_ib_qps.sh",
    servers=[["--trace", "{results}/mlx5_ib_qps.trace", "--port-type", "ib"]],
    judge=judge,
    is_long=True)
