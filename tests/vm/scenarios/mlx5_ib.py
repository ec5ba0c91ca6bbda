# SPDX-License-Identifier: BSD-3-Clause
#
# Linux's RDMA driver, unmodified, on a port of type ib, and what Debian ships to judge one: the
# examples of rdma-core and perftest, over the kernel's verbs. Reliable connections; mlx5_ib_qps has
# the other services.
from rdma_log import judge
from scenario import Scenario

SCENARIO = Scenario(
    summary="Linux mlx5_ib on an InfiniBand port: rdma-core's examples and perftest, 3 loads",
    script="mlx5_ib.sh",
    servers=[["--trace", "{results}/mlx5_ib.trace", "--port-type", "ib"]],
    judge=judge)
