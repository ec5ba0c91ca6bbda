# SPDX-License-Identifier: BSD-3-Clause
#
# Linux's own driver, unmodified, on the model.
from scenario import Scenario

SCENARIO = Scenario(
    summary="Linux mlx5_core binds, stays healthy for a minute, unbinds, binds again",
    script="mlx5_core.sh",
    servers=[["--trace", "{results}/mlx5_core.trace"]])
