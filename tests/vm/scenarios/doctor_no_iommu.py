# SPDX-License-Identifier: BSD-3-Clause
#
# What doctor says in a guest whose kernel leaves the IOMMU off.
from scenario import Scenario

SCENARIO = Scenario(
    summary="doctor without an IOMMU",
    script="doctor_no_iommu.sh",
    servers=[[]],
    kernel_arguments="intel_iommu=off intremap=off isolcpus=1 nohz_full=1",
    programs=["bench/revoke_bench", "tools/doctor/doctor"])
