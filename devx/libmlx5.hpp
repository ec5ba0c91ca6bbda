// SPDX-License-Identifier: BSD-3-Clause
//
// DevX through rdma-core's libmlx5: a device by the name that the kernel gave it. Needs a kernel
// and firmware that offer DevX (mlx5_ib_devx_create of drivers/infiniband/hw/mlx5, whose first
// versions refused a process without CAP_NET_RAW).
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "devx/provider.hpp"

namespace portcullis::devx {

/// `name` is such as "mlx5_0". NotFound with the names that there are; Unsupported for a device
/// that is no mlx5, or has no DevX; System with what the kernel said. Several may be open.
[[nodiscard]] Result<std::unique_ptr<Provider>> open_libmlx5(const std::string& name);

}  // namespace portcullis::devx
