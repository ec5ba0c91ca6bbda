# SPDX-License-Identifier: BSD-3-Clause
#
# Scenario devx_drop on the kernel of Debian 12.
from dataclasses import replace

from scenarios import devx_drop

SCENARIO = replace(devx_drop.SCENARIO, kernel="6.1", is_long=True,
                   summary="Scenario devx_drop on Debian 12's kernel")
