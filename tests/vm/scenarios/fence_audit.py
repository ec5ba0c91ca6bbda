# SPDX-License-Identifier: BSD-3-Clause
#
# fence-audit over Linux VFIO: one function whose DMA waits behind its key check, and one that
# breaks the promise every plan rests on.
from scenario import Scenario

SLOW = "data-path-ns=2000000"  # longer than the commands of a fence take in a guest

SCENARIO = Scenario(
    summary="fence-audit over VFIO: plans hold under load, and a broken promise is found",
    script="fence_audit.sh",
    servers=[["--behaviour", SLOW], ["--behaviour", SLOW + "+a1-off"]],
    programs=["tools/fence_audit/fence-audit"])
