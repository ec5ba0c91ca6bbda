# SPDX-License-Identifier: BSD-3-Clause
#
# Scenario dcb on the kernel of Debian 12, which sizes a priority's buffer whenever its flow control
# is switched.
from dataclasses import replace

from scenarios import dcb

SCENARIO = replace(dcb.SCENARIO, kernel="6.1",
                   summary="Scenario dcb on Debian 12's kernel")
