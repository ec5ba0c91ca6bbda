# SPDX-License-Identifier: BSD-3-Clause
#
# Scenario post_cost on an Ethernet port: whatever the link, a WRITE of an RC queue pair is the same
# request.
from dataclasses import replace

from scenarios import post_cost

SCENARIO = replace(
    post_cost.SCENARIO,
    summary="instructions of a WRITE and its poll on an Ethernet port: ours beside libmlx5",
    variables={"port_type": "eth"},
    servers=[["--timing", "instant", "--behaviour", "eth-offloads"]])
