# SPDX-License-Identifier: BSD-3-Clause
#
# What doctor says while things are taken from a guest, and whether its commands bring them back.
from scenario import Scenario

SCENARIO = Scenario(
    summary="doctor with each thing taken away, and its own commands run to mend it",
    script="doctor.sh",
    servers=[[]],
    programs=["bench/revoke_bench", "tools/doctor/doctor"])
