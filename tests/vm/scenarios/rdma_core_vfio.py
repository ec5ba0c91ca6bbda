# SPDX-License-Identifier: BSD-3-Clause
#
# The VFIO provider of rdma-core (Debian's libmlx5) on the model: a program of raw DevX commands,
# and rdma-core's own tests of that provider, which want an InfiniBand port.
from scenario import Scenario

SCENARIO = Scenario(
    summary="rdma-core's VFIO provider: a pair fenced in both orders, rdma-core's own tests",
    script="rdma_core_vfio.sh",
    servers=[["--trace", "{results}/rdma_core_vfio.trace"],
             ["--trace", "{results}/rdma_core_vfio_ib.trace", "--port-type", "ib"]],
    programs=["tools/vfio_peer/vfio-peer"])
