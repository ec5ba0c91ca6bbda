# SPDX-License-Identifier: BSD-3-Clause
#
# Guest memory that QEMU maps without a file: the model asks QEMU for each byte that it reads or
# writes, and QEMU answers none while one of its threads waits for the model.
from scenario import Scenario

SCENARIO = Scenario(
    summary="every DMA by message: Linux mlx5_core and our driver, traffic included",
    script="dma_messages.sh",
    servers=[[], []],
    memory_has_file=False,
    programs=["tests/device/device_test"])
