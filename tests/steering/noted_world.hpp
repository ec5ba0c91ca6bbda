// SPDX-License-Identifier: BSD-3-Clause
//
// The steering world with a channel between it and the model that notes what is sent, and that lets
// a test change what the function says it can do.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pmd/fence_commands.hpp"
#include "prm/flow_cap.hpp"
#include "prm/flow_commands.hpp"
#include "prm/flow_enums.hpp"
#include "prm/hca_cap.hpp"
#include "prm/hca_commands.hpp"
#include "prm/status.hpp"
#include "tests/steering/noted_channel.hpp"
#include "tests/steering/steering_world.hpp"

namespace portcullis::testing {

class NotedSteering : public SteeringWorld {
 protected:
  /// From here on what goes through `context` is noted.
  void note() {
    channel.emplace(*hca->context().commands);
    context.emplace(hca->context());
    context->commands = &*channel;
  }
  /// A model anew, on Ethernet, and noted.
  void start_noted(std::vector<std::string> behaviours) {
    start(std::move(behaviours));
    note();
  }
  /// Some instant that nobody else asks for.
  std::uint64_t odd_ns() const { return deadline_ns() + 7; }
  std::uint64_t now_ns() const { return model->device().clock.now_ns(); }
  /// The next command of that opcode is answered with a refusal, and nothing is done.
  void refuse(prm::Opcode opcode) {
    model->inject(
        {.opcode = prm::number(opcode), .status = prm::number(prm::CommandStatus::INT_ERR)});
  }
  /// The next one is never answered.
  void swallow(prm::Opcode opcode) {
    model->inject(
        {.opcode = prm::number(opcode), .kind = model::CommandFaultRule::Kind::NeverReturns});
  }
  /// When the `nth` command of that opcode has been answered the QP that the last entry named dies.
  void kill_qp_at(prm::Opcode opcode, std::size_t nth) {
    channel->on_answer = [this, opcode, nth](const NotedChannel::Sent& command,
                                             std::span<std::byte>) {
      if (command.opcode != opcode || channel->count(opcode) != nth) return;
      const auto entry = channel->told<prm::set_fte_in>(prm::Opcode::SET_FLOW_TABLE_ENTRY);
      const prm::QpNumber qpn{entry.get<"flow_context.match_value.misc_parameters.bth_dst_qp">()};
      ASSERT_TRUE(pmd::error_qp_command(qpn).run(*hca->context().commands));
    };
  }
  using Page = prm::View<prm::flow_table_nic_cap>;
  using Domain = prm::View<prm::flow_table_prop_layout>;
  /// The page of flow table capabilities, as the test has it.
  void let_page(const std::function<void(Page)>& edit) {
    channel->on_answer = [edit](const NotedChannel::Sent& command, std::span<std::byte> out) {
      const auto in = prm::ConstView<prm::query_hca_cap_in>::at(command.in);
      const bool is_page =
          command.opcode == prm::Opcode::QUERY_HCA_CAP &&
          in.get<"op_mod">() == prm::cap_op_mod(prm::CapType::FLOW_TABLE, prm::CapMode::GET_CUR);
      const auto answer = prm::View<prm::query_hca_cap_out>::at(out);
      if (is_page) edit(Page::at(answer.bytes<"capability">()));
    };
  }
  /// The capabilities of NIC_RX, or of RDMA_RX, in it.
  void let_nic_rx(const std::function<void(Domain)>& edit) {
    let_page(
        [edit](Page page) { edit(Domain(page.bytes<"flow_table_properties_nic_receive">())); });
  }
  void let_rdma_rx(const std::function<void(Domain)>& edit) {
    let_page([edit](Page page) {
      edit(Domain(page.bytes<"flow_table_properties_nic_receive_rdma">()));
    });
  }

  std::optional<NotedChannel> channel;
  std::optional<pmd::Context> context;
};

}  // namespace portcullis::testing
