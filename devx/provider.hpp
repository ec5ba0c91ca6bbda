// SPDX-License-Identifier: BSD-3-Clause
//
// DevX as its user sees it: a kernel driver keeps the NIC, and takes commands about objects of a
// process's own. libmlx5 is one provider (devx/libmlx5.hpp); a test brings another.
//
// Every call returns 0 or an errno, as mlx5dv_devx_obj_create and its like of rdma-core do (the
// kernel: drivers/infiniband/hw/mlx5/devx.c). After an error `out` may hold the status that the
// device answered, if the kernel copies it; status 0 means that the kernel refused by itself, or
// that it kept the answer for itself (kernels before mlx5_cmd_do). Calls may come from several
// threads at a time, for one object from one alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"
#include "prm/eqe.hpp"

namespace portcullis::devx {

/// Registered memory (mlx5dv_devx_umem.umem_id).
enum class UmemId : std::uint32_t {};

/// What CREATE_* or ALLOC_* made. The kernel keeps the command that takes it back, and sends it
/// when the process ends.
class Object {
 public:
  virtual ~Object() = default;
  [[nodiscard]] virtual int modify(std::span<const std::byte> in, std::span<std::byte> out) = 0;
  [[nodiscard]] virtual int query(std::span<const std::byte> in, std::span<std::byte> out) = 0;
  /// From now on the device's events of these types about it come by Provider::next_event()
  /// (mlx5dv_devx_subscribe_devx_event); prm::EventType.
  [[nodiscard]] virtual int subscribe(std::span<const std::uint16_t> event_types) = 0;
  /// Once it has returned 0 the object is gone and takes no further call.
  [[nodiscard]] virtual int destroy() = 0;
  /// From now on it is for the kernel to destroy, when the device is closed.
  virtual void leave() noexcept = 0;
};

/// Which packets: mask and value of fte_match_param, and match_criteria_enable, as
/// CREATE_FLOW_GROUP and SET_FLOW_TABLE_ENTRY have them.
struct Match {
  std::uint8_t criteria = 0;
  std::span<const std::byte> mask;
  std::span<const std::byte> value;
};

/// A rule of the kernel's that leads packets into a flow table of DevX. The kernel keeps it, and
/// takes it back when the process ends.
class Rule {
 public:
  virtual ~Rule() = default;
  /// Once it has returned 0 the rule is gone and takes no further call.
  [[nodiscard]] virtual int destroy() = 0;
  /// As Object::leave().
  virtual void leave() noexcept = 0;
};

/// A page of doorbells; freed on destruction.
class UarPage {
 public:
  virtual ~UarPage() = default;
  [[nodiscard]] virtual std::uint32_t index() const noexcept = 0;
  /// 4 KiB, as prm/doorbell.hpp lays them out.
  [[nodiscard]] virtual std::span<std::byte> bytes() const noexcept = 0;
};

class Provider {
 public:
  virtual ~Provider() = default;
  /// "16.35.4506", as the kernel has it.
  [[nodiscard]] virtual std::string firmware_version() const = 0;
  /// `object` is set when 0 is returned.
  [[nodiscard]] virtual int create(std::span<const std::byte> in, std::span<std::byte> out,
                                   std::unique_ptr<Object>& object) = 0;
  /// A command about no object: queries of the function (devx_is_general_cmd).
  [[nodiscard]] virtual int general(std::span<const std::byte> in, std::span<std::byte> out) = 0;
  /// Makes a rule in the kernel's first table of RDMA_RX (mlx5dv_create_flow with
  /// MLX5DV_FLOW_ACTION_DEST_DEVX); `table` is one that create() made, `rule` is set when 0 is
  /// returned.
  [[nodiscard]] virtual int lead(const Match& match, Object& table,
                                 std::unique_ptr<Rule>& rule) = 0;
  /// Pins `memory` for the device to read and write.
  [[nodiscard]] virtual Result<UmemId> register_memory(std::span<std::byte> memory) = 0;
  /// Fails, and nothing is unpinned, while a queue or a key lies in it. Called from a thread of its
  /// own, beside every other call.
  [[nodiscard]] virtual Result<void> deregister_memory(UmemId umem) = 0;
  /// Ok when no DMA comes through a mapping once its umem is gone, whatever the device holds: its
  /// IOMMU domain translates and is strict. Unsupported with what it is instead.
  [[nodiscard]] virtual Result<void> check_unmap_is_final() = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<UarPage>> allocate_uar() = 0;
  /// The kernel's event queue of completion vector 0 (mlx5dv_devx_query_eqn).
  [[nodiscard]] virtual Result<std::uint8_t> eqn() = 0;

  // By one thread at a time. Neither waits.
  /// Writes the oldest event of an object that subscribed, as the device wrote it; false: none.
  [[nodiscard]] virtual bool next_event(std::span<std::byte, prm::kEqeBytes> eqe) = 0;
  /// The kernel has told that the device is broken or that it took it away (IBV_EVENT_DEVICE_FATAL
  /// of ibv_get_async_event); true ever after.
  [[nodiscard]] virtual bool is_lost() = 0;
};

}  // namespace portcullis::devx
