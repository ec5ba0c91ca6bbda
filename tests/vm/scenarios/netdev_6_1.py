# SPDX-License-Identifier: BSD-3-Clause
#
# Scenario netdev on the kernel of Debian 12.
from dataclasses import replace

from scenarios import netdev

SCENARIO = replace(netdev.SCENARIO, kernel="6.1",
                   summary="Scenario netdev on Debian 12's kernel")
