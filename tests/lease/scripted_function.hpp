// SPDX-License-Identifier: BSD-3-Clause
//
// A function without a device: a command channel that notes every command and answers from a
// script, a clock that only moves when somebody waits, and a PCI function that notes what was done
// to it. For tests of what a lease sends, in which order, slot and time; what the commands do is
// for tests with the model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/device.hpp"
#include "base/dma_memory.hpp"
#include "lease/fence_step.hpp"
#include "pmd/command_channel.hpp"
#include "pmd/context.hpp"
#include "pmd/uar.hpp"
#include "prm/cmd_interface.hpp"
#include "prm/enums.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/qp_commands.hpp"
#include "prm/status.hpp"
#include "tests/base/fake_dma_space.hpp"

namespace portcullis::testing {

/// How a command is answered.
struct Answer {
  prm::CommandStatus status = prm::CommandStatus::OK;
  std::uint8_t delivery_status = 0;
  bool never = false;
  std::uint64_t takes_ns = 0;
};
inline constexpr Answer kRefused{.status = prm::CommandStatus::BAD_PARAM_ERR};
inline constexpr Answer kNever{.never = true};

/// What was sent.
struct Sent {
  prm::Opcode opcode{};
  std::uint32_t id = 0;  // the 24 bits at the place where every object command has its number
  pmd::SlotClass slot_class{};
  std::uint64_t at_ns = 0;
  std::uint64_t deadline_ns = 0;
  bool succeeded = false;  // and it was waited for
  std::vector<std::byte> in = {};
};

class ScriptedChannel final : public pmd::CommandChannel {
 public:
  explicit ScriptedChannel(std::uint64_t& now_ns) : now_ns_(&now_ns) {}

  Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t,
                             pmd::SlotClass slot_class) override {
    if (gone) return fail(Errc::DeviceGone, "the device is gone");
    if (busy || (slot_class == pmd::SlotClass::Fence && fences_in_flight == fence_slots))
      return fail(Errc::Busy, "no slot");
    if (slot_class == pmd::SlotClass::Common && commons_in_flight == common_slots)
      return fail(Errc::Busy, "no slot");
    if (slot_class == pmd::SlotClass::Fence)
      most_fences_in_flight = std::max(most_fences_in_flight, ++fences_in_flight);
    else
      ++commons_in_flight;
    const auto header = prm::ConstView<prm::destroy_qp_in>::at(in);
    sent.push_back({static_cast<prm::Opcode>(header.get<"opcode">()),
                    header.get<"qpn">(),
                    slot_class,
                    *now_ns_,
                    0,
                    false,
                    {in.begin(), in.end()}});
    if (on_submit) on_submit(sent.back());
    return pmd::Ticket{static_cast<std::uint32_t>(sent.size() - 1)};
  }

  Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                     std::uint64_t deadline_ns) override {
    Sent& command = sent[ticket.slot];
    command.deadline_ns = deadline_ns;
    const Answer answer = take_answer(command);
    const std::uint64_t ready_ns = command.at_ns + answer.takes_ns;
    const bool is_lost = answer.never || ready_ns > deadline_ns;
    if (command.slot_class == pmd::SlotClass::Fence)
      --fences_in_flight;
    else if (!is_lost)
      --commons_in_flight;
    if (is_lost) {
      *now_ns_ = std::max(*now_ns_, deadline_ns);
      return fail(Errc::Timeout, "no answer");
    }
    *now_ns_ = std::max(*now_ns_, ready_ns);
    if (answer.status == prm::CommandStatus::OK && answer.delivery_status == 0) {
      prm::Buffer<prm::create_qp_out> reply;
      reply.put<"qpn">(next_id++);
      std::memcpy(out.data(), reply.all().data(), std::min(out.size(), reply.all().size()));
      command.succeeded = true;
      return {};
    }
    Error error{Errc::CommandFailed, "refused", CommandFault{}};
    error.command->opcode = prm::number(command.opcode);
    error.command->status = prm::number(answer.status);
    error.command->delivery_status = answer.delivery_status;
    return tl::unexpected<Error>(error);
  }

  bool is_done(pmd::Ticket ticket) const noexcept override {
    const Sent& command = sent[ticket.slot];
    const auto key = key_of(command);
    if (!key) return true;
    const Answer& answer = answers.at(*key).front();
    return !answer.never && *now_ns_ >= command.at_ns + answer.takes_ns;
  }

  std::uint64_t default_deadline_ns() const override { return *now_ns_ + 60 * kNsPerSecond; }

  /// The next `times` commands of that opcode are answered so.
  void answer(prm::Opcode opcode, Answer with, std::size_t times = 1) {
    answer_on(opcode, kAnyObject, with, times);
  }
  /// Those on one object, whatever is said of the opcode.
  void answer_on(prm::Opcode opcode, std::uint32_t id, Answer with, std::size_t times = 1) {
    auto& script = answers[{opcode, id}];
    script.insert(script.end(), times, with);
  }
  /// The opcodes sent so far, in order.
  std::vector<prm::Opcode> opcodes() const {
    std::vector<prm::Opcode> list;
    for (const Sent& command : sent) list.push_back(command.opcode);
    return list;
  }

  std::vector<Sent> sent;
  std::map<std::pair<prm::Opcode, std::uint32_t>, std::vector<Answer>> answers;
  std::function<void(const Sent&)> on_submit;  // may be empty
  std::uint32_t next_id = 1;
  std::uint32_t fence_slots = 3;  // how many fence commands may be in flight
  std::uint32_t fences_in_flight = 0;
  std::uint32_t most_fences_in_flight = 0;
  std::uint32_t common_slots = ~std::uint32_t{0};  // and how many others
  std::uint32_t commons_in_flight = 0;
  bool busy = false;
  bool gone = false;  // nothing can be sent any more

 private:
  static constexpr std::uint32_t kAnyObject = ~std::uint32_t{0};

  /// Of the script that has an answer for the command; none: success.
  std::optional<std::pair<prm::Opcode, std::uint32_t>> key_of(const Sent& command) const {
    for (const std::uint32_t id : {command.id, kAnyObject}) {
      const auto script = answers.find({command.opcode, id});
      if (script != answers.end() && !script->second.empty()) return script->first;
    }
    return std::nullopt;
  }
  Answer take_answer(const Sent& command) {
    const auto key = key_of(command);
    if (!key) return {};
    auto& script = answers[*key];
    const Answer answer = script.front();
    script.erase(script.begin());
    return answer;
  }

  std::uint64_t* now_ns_;
};

class NotedPciFunction final : public PciFunction {
 public:
  std::uint16_t vendor_id() const override { return 0x15b3; }
  std::uint16_t device_id() const override { return 0x1017; }
  Result<void> set_bus_master(bool on) override {
    done.push_back(on ? "bus master on" : "bus master off");
    if (refuse_bus_master) return fail(Errc::System, "refused");
    return {};
  }
  Result<void> reset() override {
    done.push_back("reset");
    if (refuse_reset) return fail(Errc::System, "refused");
    return {};
  }

  std::vector<std::string> done;
  bool refuse_bus_master = false;
  bool refuse_reset = false;
};

/// All of it, and the Context that objects are made from.
class ScriptedFunction {
 public:
  static constexpr std::uint64_t kStartNs = 1'000 * kNsPerSecond;

  ScriptedFunction() {
    context.device = device;
    context.commands = &channel;
    context.arena = &arena;
    context.caps.port_type = prm::number(prm::PortType::ETH);
    context.caps.num_ports = 1;
    context.caps.roce = 1;
    context.caps.log_max_msg = 30;
    context.caps.max_indirection = 1;
    context.caps.log_max_klm_list_size = 16;
    context.caps.log_max_cq_sz = 22;
    context.caps.log_max_qp_sz = 15;
    context.caps.log_max_ra_req_qp = 4;
    context.caps.log_max_ra_res_qp = 4;
    context.uar = &uar;
    forget();
  }
  ScriptedFunction(const ScriptedFunction&) = delete;

  /// Forgets the commands sent so far.
  void forget() { channel.sent.clear(); }

  std::uint64_t now_ns = kStartNs;
  std::vector<std::byte> bar = std::vector<std::byte>(16 * kPageBytes);
  FakeDmaSpace dma;
  NotedPciFunction function;
  ScriptedChannel channel{now_ns};
  Device device{
      .bar = bar,
      .dma = &dma,
      .function = &function,
      .clock = Clock::simulated(
          [](const void* at) noexcept { return *static_cast<const std::uint64_t*>(at); }, &now_ns),
      .relax = Relax(
          [](void* at, std::uint64_t until_ns) noexcept {
            auto& now = *static_cast<std::uint64_t*>(at);
            now = std::max(now, until_ns);
          },
          &now_ns),
      .description = "scripted"};
  DmaArena arena{dma};
  pmd::Context first{.device = device, .commands = &channel, .arena = &arena, .caps = {}};
  pmd::Uar uar = pmd::Uar::create(first).value();
  pmd::Context context{.device = device, .commands = &channel, .arena = &arena, .caps = {}};
};

}  // namespace portcullis::testing
