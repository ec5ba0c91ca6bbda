# SPDX-License-Identifier: BSD-3-Clause
#
# Scenario devx_lost on Ethernet ports: with the driver or the device the interface goes as well.
from dataclasses import replace

from scenarios import devx_lost

SCENARIO = replace(
    devx_lost.SCENARIO,
    summary="leases by DevX on Ethernet ports whose owner, driver or device goes",
    variables={"port_type": "eth"},
    servers=[["--behaviour", "eth-offloads", "--trace", "{results}/healthy.trace"],
             ["--behaviour", "eth-offloads+internal-error=7", "--mac", "02:50:43:00:00:02"]],
    is_long=True)
