// SPDX-License-Identifier: BSD-3-Clause
//
// A kernel driver that keeps a NIC, in a process: it brings up the model, takes DevX's calls and
// sends them on, as drivers/infiniband/hw/mlx5/devx.c does. The command that takes an object back
// is its own, and an answer that is no success is EREMOTEIO with the status in the output.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/dma_memory.hpp"
#include "devx/provider.hpp"
#include "model/model.hpp"
#include "pmd/hca.hpp"
#include "prm/opcodes.hpp"
#include "tests/devx/kernel_rules.hpp"
#include "tests/pmd/polled_loopback.hpp"

namespace portcullis::testing {

class KernelFake {
 public:
  explicit KernelFake(std::vector<std::string> behaviours = {});

  /// What a process opens. Must not outlive the kernel.
  [[nodiscard]] std::unique_ptr<devx::Provider> open();
  [[nodiscard]] pmd::Hca& hca() noexcept { return *hca_; }
  /// Umems that are registered now.
  [[nodiscard]] std::size_t umems() const;
  /// Opcodes of all commands that came by DevX, in order.
  [[nodiscard]] std::vector<prm::Opcode> seen() const;

  /// From now on the kernel takes the NIC for broken, as in MLX5_DEVICE_STATE_INTERNAL_ERROR.
  void break_down();

  /// Rules that lead into tables of processes, now.
  [[nodiscard]] std::size_t rules() const;
  /// How often it has made its own table of RDMA_RX.
  [[nodiscard]] std::size_t tables_made() const;
  /// What the next rules are answered with, without asking the device; 0 at first. EPERM is a
  /// process without CAP_NET_RAW (UVERBS_HANDLER(MLX5_IB_METHOD_CREATE_FLOW) of mlx5_ib/fs.c).
  void answer_rules_with(int error);
  /// What a subscription is answered with; 0 at first.
  void answer_subscriptions_with(int error);
  /// Before a command is sent, and SET_FLOW_TABLE_ENTRY of a rule of the kernel's: a non-zero value
  /// is returned to the process, and nothing is sent.
  void set_gate(std::function<int(prm::Opcode)> gate);
  /// After the device has answered, before the process hears of it.
  void set_late_gate(std::function<void(prm::Opcode)> gate);
  /// What its IOMMU makes of an unmap; translating and strict at first.
  void set_unmap_is_final(bool is_final);

 private:
  class Process;
  class Made;
  class Led;
  friend class Process;
  /// Takes what the function has to tell and keeps what somebody subscribed to, as EQEs.
  void sort_events();
  [[nodiscard]] pmd::CommandChannel& commands() { return *hca_->context().commands; }
  int run(std::uint32_t uid, std::span<const std::byte> command, std::span<std::byte> out);
  int lead(const devx::Match& match, const devx::Object& table, std::unique_ptr<devx::Rule>& rule);
  static int answer_by_itself(prm::Opcode opcode, std::span<std::byte> out);

  std::unique_ptr<model::Model> model_;
  ModelCore core_;
  std::unique_ptr<pmd::Hca> hca_;
  KernelRules rules_;
  DmaMemory eq_memory_;
  std::uint8_t eqn_;
  mutable std::mutex mutex_;  // one command queue for all threads
  std::function<int(prm::Opcode)> gate_;
  std::function<void(prm::Opcode)> late_gate_;
  bool unmap_is_final_ = true;
  bool broken_ = false;
  std::unordered_map<std::uint32_t, std::pair<Iova, std::size_t>> umems_;
  std::vector<prm::Opcode> seen_;
  int subscription_error_ = 0;
  int rule_error_ = 0;
  std::set<std::pair<std::uint32_t, std::uint16_t>> subscribed_;  // QP number, event type
  std::deque<std::array<std::byte, prm::kEqeBytes>> eqes_;
};

}  // namespace portcullis::testing
