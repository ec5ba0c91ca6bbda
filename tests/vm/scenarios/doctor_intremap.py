# SPDX-License-Identifier: BSD-3-Clause
#
# What doctor says in a guest whose IOMMU remaps no interrupts.
from scenario import Scenario

SCENARIO = Scenario(
    summary="doctor without interrupt remapping",
    script="doctor_intremap.sh",
    servers=[[]],
    kernel_arguments="intremap=off isolcpus=1 nohz_full=1",
    programs=["bench/revoke_bench", "tools/doctor/doctor"])
