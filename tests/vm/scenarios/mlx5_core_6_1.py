# SPDX-License-Identifier: BSD-3-Clause
#
# Scenario mlx5_core on the kernel of Debian 12.
from dataclasses import replace

from scenarios import mlx5_core

SCENARIO = replace(mlx5_core.SCENARIO, kernel="6.1", is_long=True,
                   summary="Scenario mlx5_core on Debian 12's kernel")
