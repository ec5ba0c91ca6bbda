# SPDX-License-Identifier: BSD-3-Clause
#
# fence-audit over Linux VFIO: one function whose DMA waits behind its key check, and one that
# breaks the promise every plan rests on.
from scenario import Scenario

# Longer than a fence's first command takes in a guest whose other streams keep the function busy.
SLOW = "data-path-ns=8000000"

SCENARIO = Scenario(
    summary="fence-audit over VFIO: plans hold under load, and a broken promise is found",
    script="fence_audit.sh",
    servers=[["--behaviour", SLOW], ["--behaviour", SLOW + "+a1-off"]],
    programs=["tools/fence_audit/fence-audit"])
