# SPDX-License-Identifier: BSD-3-Clause
#
# Scenario devlink_reset on the kernel of Debian 12.
from dataclasses import replace

from scenarios import devlink_reset

SCENARIO = replace(devlink_reset.SCENARIO, kernel="6.1",
                   summary="Scenario devlink_reset on Debian 12's kernel")
