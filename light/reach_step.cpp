// SPDX-License-Identifier: BSD-3-Clause
#include "light/reach_step.hpp"

#include <fmt/format.h>

#include <array>

#include "base/clock.hpp"
#include "pmd/port.hpp"
#include "steering/loopback_pair.hpp"

namespace portcullis::light {
namespace {

using prm::QpcMtu;
using steering::LoopbackPair;

/// What a WRITE takes at most that meets silence: 67 ms and seven retries, with room.
constexpr std::uint64_t kAnswerNs = 3 * kNsPerSecond;
constexpr std::uint32_t kSeveralPackets = 8192;  // of any MTU
constexpr std::array kMtus{QpcMtu::MTU_256, QpcMtu::MTU_512, QpcMtu::MTU_1024, QpcMtu::MTU_2048,
                           QpcMtu::MTU_4096};

struct Way {
  bool is_forced = false;
  QpcMtu mtu = QpcMtu::MTU_1024;
  bool key_names_qp = false;
  bool is_link_down = false;
};

/// "forced, MTU 1024, link down".
std::string text_of(const Way& way) {
  return fmt::format("{}, MTU {}{}{}", way.is_forced ? "forced" : "plain", prm::bytes_of(way.mtu),
                     way.key_names_qp ? ", key of its QP" : "",
                     way.is_link_down ? ", link down" : "");
}

/// "IBV_WC_SUCCESS", "silence", another status, or why there was no WRITE.
Result<std::string> met_by(const pmd::Context& context, pmd::RocePath path, const Way& way) {
  if (const auto fits = pmd::check_path_mtu(context, way.mtu); !fits)
    return "not sent: " + fits.error().text;
  path.is_forced_back = way.is_forced;
  const auto pair =
      LoopbackPair::create(context, path, {.mtu = way.mtu, .key_names_qp = way.key_names_qp});
  if (!pair) {
    if (pmd::may_have_happened(pair.error())) return tl::unexpected(pair.error());
    return "refused: " + pair.error().text;
  }
  // A key that names the responder is none of the requester's, and what is inline needs none.
  PORTCULLIS_TRY(way.key_names_qp ? (*pair)->post(1) : (*pair)->post_bytes(kSeveralPackets));
  PORTCULLIS_TRY_ASSIGN(const auto status, (*pair)->outcome(kAnswerNs));
  return status ? std::string(prm::name(*status)) : "silence";
}

class Asking {
 public:
  Asking(const pmd::Context& context, const pmd::RocePath& path, const ReachOptions& options,
         std::vector<ReachFact>& to)
      : context_(&context), path_(&path), options_(&options), to_(&to) {}

  Result<void> ask(const Way& way) {
    if (options_->check_time) PORTCULLIS_TRY(options_->check_time());
    PORTCULLIS_TRY_ASSIGN(std::string met, met_by(*context_, *path_, way));
    to_->push_back({.way = text_of(way), .met = std::move(met)});
    return {};
  }

  Result<void> ask_without_link() {
    pmd::CommandChannel& commands = *context_->commands;
    PORTCULLIS_TRY(pmd::set_port_admin(commands, false));
    Result<void> asked = wait_for_no_link();
    for (const bool is_forced : {false, true})
      if (asked) asked = ask({.is_forced = is_forced, .is_link_down = true});
    // Whatever was met, the link comes back.
    PORTCULLIS_TRY(pmd::set_port_admin(commands, true));
    const Device& device = context_->device;
    PORTCULLIS_TRY_ASSIGN(
        const auto port,
        pmd::wait_for_link(device, commands,
                           device.clock.now_ns() + options_->link_wait_ms * kNsPerMs));
    if (asked && !port.link_up)
      return fail(Errc::Timeout, fmt::format("the link, taken down and up again, is down after "
                                             "{} ms",
                                             options_->link_wait_ms));
    return asked;
  }

 private:
  [[nodiscard]] Result<void> wait_for_no_link() const {
    constexpr std::uint64_t kPatienceNs = 2 * kNsPerSecond;
    constexpr std::uint64_t kBetweenLooksNs = kNsPerMs;
    const Device& device = context_->device;
    const std::uint64_t until_ns = device.clock.now_ns() + kPatienceNs;
    for (;;) {
      PORTCULLIS_TRY_ASSIGN(const auto port, pmd::query_port_state(*context_->commands));
      if (!port.link_up) return {};
      const std::uint64_t now_ns = device.clock.now_ns();
      if (now_ns >= until_ns)
        return fail(Errc::Unsupported, "the link stays up though the port was switched off");
      static_cast<void>(wait_until(device, now_ns + kBetweenLooksNs, [] { return false; }));
    }
  }

  const pmd::Context* context_;
  const pmd::RocePath* path_;
  const ReachOptions* options_;
  std::vector<ReachFact>* to_;
};

}  // namespace

Result<void> ask_of_ways(const pmd::Context& context, const pmd::RocePath& path,
                         const ReachOptions& options, std::vector<ReachFact>& to) {
  Asking asking(context, path, options, to);
  for (const bool is_forced : {false, true}) {
    for (const QpcMtu mtu : kMtus) PORTCULLIS_TRY(asking.ask({.is_forced = is_forced, .mtu = mtu}));
    PORTCULLIS_TRY(asking.ask({.is_forced = is_forced, .key_names_qp = true}));
  }
  return options.may_take_link_down ? asking.ask_without_link() : Result<void>();
}

}  // namespace portcullis::light
