# SPDX-License-Identifier: BSD-3-Clause
#
# Scenario devx on an Ethernet port, where the same objects speak RoCEv2 and the kernel has the
# interface.
from dataclasses import replace

from scenarios import devx

SCENARIO = replace(
    devx.SCENARIO,
    summary="our objects by DevX on an Ethernet port that Linux mlx5_ib and mlx5e keep",
    variables={"port_type": "eth"},
    servers=[["--behaviour", "eth-offloads", "--trace", "{results}/devx.trace"]],
    is_long=True)
