// SPDX-License-Identifier: BSD-3-Clause
//
// Commands by DevX: the system call waits for the device, so every slot has a thread of its own
// that makes it, and the caller waits for the thread, with a deadline. A command that did not
// return in time keeps its slot until it does.
//
// While the kernel driver takes the NIC for broken it answers "ok" to 2ERR_QP, 2RST_QP, every
// DESTROY_* and SET_FLOW_TABLE_ENTRY without asking the device (mlx5_internal_err_ret_value of
// mlx5_core). So after such an "ok" the channel asks QUERY_ISSI, which the kernel does not fake;
// the state of a NIC that is broken does not pass while this process's context lives, since
// recovery unloads mlx5_ib first and takes the context away (mlx5_unload_one,
// ib_uverbs_disassociate_ucontext). Only then is it ok.
#pragma once

#include <array>
#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "devx/command_table.hpp"
#include "devx/flow_rules.hpp"
#include "devx/memory_space.hpp"
#include "devx/provider.hpp"
#include "pmd/command_channel.hpp"
#include "pmd/uar_map.hpp"

namespace portcullis::devx {

class Channel final : public pmd::CommandChannel, public pmd::UarMap {
 public:
  /// More than a fence of many leaves unawaited (kMostInFlight of lease/), so that a grant finds
  /// one.
  static constexpr std::size_t kCommonSlots = 24;
  /// As pmd::CommandQueue::kFenceSlots.
  static constexpr std::size_t kFenceSlots = 3;
  /// MLX5_CMD_TIMEOUT_MSEC of mlx5_core: the kernel gives up then.
  static constexpr std::uint64_t kDeadlineMs = 60'000;

  /// Both must outlive it. System when no thread can be had.
  [[nodiscard]] static Result<std::unique_ptr<Channel>> create(Provider& provider,
                                                               const MemorySpace& space,
                                                               Clock clock);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  /// Waits for the calls that have not returned, then takes back every object that is left, newest
  /// first; where a device does not answer, or every command is refused, the kernel does when the
  /// device is closed.
  ~Channel() override;

  [[nodiscard]] Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                           pmd::SlotClass slot_class) override;
  [[nodiscard]] Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override;
  [[nodiscard]] bool is_done(pmd::Ticket ticket) const noexcept override;
  [[nodiscard]] std::uint64_t default_deadline_ns() const override;
  [[nodiscard]] std::span<std::byte> page(std::uint32_t index) const noexcept override;
  /// From now on every command is refused at once with DeviceFailed and `why`; calls under way end
  /// as they would.
  void refuse_all(std::string why);
  /// Fence slots whose last call has returned.
  [[nodiscard]] std::uint32_t fence_slots_available() const noexcept;

 private:
  enum class State : std::uint8_t { Free, Asked, Done };
  struct Slot {
    State state = State::Free;
    bool abandoned = false;  // nobody waits for it any more
    std::vector<std::byte> in;
    std::vector<std::byte> out;
    int error = 0;
    std::thread thread;
  };
  struct ObjectName {
    Kind kind{};
    std::uint32_t table = 0;  // of what is in a flow table
    std::uint32_t id = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes <=> for a 0
    auto operator<=>(const ObjectName&) const = default;
  };
  struct Made {
    std::uint64_t order = 0;
    std::shared_ptr<Object> object;  // null: it is being made, under a name that is known before
    bool is_busy = false;            // a call is under way, and an object takes one at a time
  };

  Channel(Provider& provider, const MemorySpace& space, Clock clock) noexcept
      : provider_(&provider), rules_(provider), space_(&space), clock_(clock) {}
  [[nodiscard]] Result<void> start();
  void serve(Slot& slot);
  [[nodiscard]] std::optional<std::uint32_t> free_slot(pmd::SlotClass slot_class) const noexcept;

  // In the slot's thread, without the lock.
  [[nodiscard]] int perform(std::span<const std::byte> in, std::span<std::byte> out);
  [[nodiscard]] int perform_on_flows_or_object(const Handling& how, std::span<const std::byte> in,
                                               std::span<std::byte> out);
  [[nodiscard]] int perform_on_object(const Handling& how, std::span<const std::byte> in,
                                      std::span<std::byte> out);
  [[nodiscard]] int confirm();
  [[nodiscard]] static int subscribe(Kind kind, Object& object);
  [[nodiscard]] static ObjectName named(const Handling& how,
                                        std::span<const std::byte> in) noexcept;
  [[nodiscard]] int make(const Handling& how, std::span<const std::byte> in,
                         std::span<std::byte> out);
  /// An entry has its name from whoever asks. It is taken while the call is under way, so that who
  /// gave up waiting cannot take away what may yet be made.
  [[nodiscard]] int make_entry(const ObjectName& name, std::span<const std::byte> in,
                               std::span<std::byte> out);
  [[nodiscard]] int allocate_uar(std::span<std::byte> out);
  [[nodiscard]] int free_uar(std::uint32_t index);
  /// Null and an errno when there is none, or when a call about it has not returned.
  [[nodiscard]] std::shared_ptr<Object> take(const ObjectName& name, int& error);

  Provider* provider_;
  FlowRules rules_;
  const MemorySpace* space_;
  Clock clock_;
  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  bool stop_ = false;
  std::string refused_;  // why, once every command is
  std::map<ObjectName, Made> objects_;
  std::uint64_t made_ = 0;
  std::map<std::uint32_t, std::unique_ptr<UarPage>> uars_;
  std::array<Slot, kCommonSlots + kFenceSlots> slots_;  // the last ones are for fences
};

}  // namespace portcullis::devx
