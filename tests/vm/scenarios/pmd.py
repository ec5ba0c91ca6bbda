# SPDX-License-Identifier: BSD-3-Clause
#
# Our driver on Linux VFIO, the model behind a PCI slot and a virtual IOMMU.
from scenario import Scenario

SCENARIO = Scenario(
    summary="our driver over the guest's VFIO: tests, revokes, faults, kill -9",
    script="pmd.sh",
    servers=[["--trace", "{results}/pmd.trace"]],
    programs=["bench/revoke_bench", "tests/device/device_test"])
