// SPDX-License-Identifier: BSD-3-Clause
#include "neighbour/responder.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "pmd/port.hpp"
#include "prm/enums.hpp"
#include "steering/flow_caps.hpp"

namespace portcullis::neighbour {
namespace {

/// As long as a port's frames can be where it does not say (max_mtu of register PMTU, 10 KB).
constexpr std::uint32_t kMostFrameBytes = 10'240;

Result<void> check_offer(const pmd::Context& context) {
  if (context.caps.eth_net_offloads == 0)
    return fail(Errc::Unsupported, "the capability eth_net_offloads is 0");
  PORTCULLIS_TRY_ASSIGN(const auto offered,
                        steering::query_domain(context, prm::FlowTableType::NIC_RX));
  if (!offered.ft_support)
    return fail(Errc::Unsupported, "the capability ft_support of NIC_RX is 0");
  return {};
}

}  // namespace

Result<std::unique_ptr<Responder>> Responder::set_up(const pmd::Context& context,
                                                     const pmd::RoceAddress& address, LogSink log) {
  PORTCULLIS_TRY(check_offer(context));
  std::unique_ptr<Responder> responder(new Responder(
      context, {.mac = address.mac, .addresses = {address.gid}, .vlan_id = address.vlan_id},
      std::move(log)));
  PORTCULLIS_TRY(responder->start());
  responder->announce();
  return responder;
}

std::unique_ptr<Responder> Responder::set_up_or_say(const pmd::Context& context,
                                                    const pmd::RoceAddress& address,
                                                    const LogSink& log) {
  if (!context.answers_neighbours || context.is_kept ||
      context.caps.port_type != prm::number(prm::PortType::ETH))
    return nullptr;
  auto made = set_up(context, address, log);
  if (made) return *std::move(made);
  if (log)
    log("nobody answers ARP, neighbour solicitation or ping for " + address.gid.text() +
        ", so a peer needs a static neighbour entry: " + made.error().text);
  return nullptr;
}

Result<void> Responder::start() {
  const Identity& who = answerer_.identity();
  const std::uint32_t longest =
      context_->frame_bytes != 0 ? context_->frame_bytes : kMostFrameBytes;
  PORTCULLIS_TRY_ASSIGN(queues_, pmd::FrameQueues::create(*context_, longest));
  frame_.resize(queues_->frame_bytes());
  reply_.resize(queues_->frame_bytes());
  PORTCULLIS_TRY(pmd::listen_to_groups(*context_->commands, answerer_.groups()));
  listens_ = true;
  PORTCULLIS_TRY_ASSIGN(switch_entry_, pmd::L2TableEntry::create(*context_, 0, who.mac));
  PORTCULLIS_TRY_ASSIGN(auto rules, FrameRules::create(*context_, who.addresses, queues_->tirn()));
  rules_.emplace(std::move(rules));
  return {};
}

Responder::~Responder() {
  if (listens_) (void)pmd::listen_to_groups(*context_->commands, {});
}

/// Nobody waits for it: who does not hear it asks.
void Responder::announce() {
  for (const auto& frame : answerer_.announcements())
    if (!queues_->send(frame)) ++unsent_;
}

void Responder::poll() {
  for (int i = 0; i < kMostAtOnce && !has_ended_; ++i) {
    const auto received = queues_->receive(frame_);
    if (!received) {
      has_ended_ = true;
      if (log_)
        log_("the port answers its neighbours no more, so a peer needs a static neighbour entry: " +
             received.error().text);
      return;
    }
    if (!*received) return;
    const std::span<const std::byte> frame = std::span(frame_).first(**received);
    const std::size_t bytes = answerer_.answer(frame, reply_);
    if (bytes != 0 && !queues_->send(std::span(reply_).first(bytes))) ++unsent_;
  }
}

}  // namespace portcullis::neighbour
