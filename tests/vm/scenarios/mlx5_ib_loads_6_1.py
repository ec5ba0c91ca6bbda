# SPDX-License-Identifier: BSD-3-Clause
#
# Scenario mlx5_ib_loads on the kernel of Debian 12.
from dataclasses import replace

from scenarios import mlx5_ib_loads

SCENARIO = replace(mlx5_ib_loads.SCENARIO, kernel="6.1", is_long=True,
                   summary="Scenario mlx5_ib_loads on Debian 12's kernel")
