// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_serve/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/dma_bytes.hpp"
#include "lease/number_rest.hpp"
#include "pmd/eal.hpp"
#include "pmd/vfio_function.hpp"
#include "program/output_file.hpp"
#include "service/client_desk.hpp"
#include "service/single_lease.hpp"
#include "tools/own_port.hpp"

namespace portcullis::tools::lease_serve {
namespace {

using service::exchange::LineChannel;
using service::exchange::Request;

constexpr std::uint64_t kLookAgainNs = kNsPerMs;

double ms(std::uint64_t ns) { return static_cast<double>(ns) / static_cast<double>(kNsPerMs); }

/// The life of one lease.
class Serving {
 public:
  Serving(const Options& options, const World& world, service::ServedPort& port,
          LineChannel& channel)
      : options_(&options),
        world_(&world),
        port_(&port),
        desk_(port, channel,
              [this](std::string_view what, const std::string& text) { say(what, text); }) {}
  Serving(const Serving&) = delete;

  Result<Served> run() {
    PORTCULLIS_TRY(set_up());
    for (bool granted = false; !granted;) {
      PORTCULLIS_TRY_ASSIGN(const auto request, desk_.await_request(world_->stop));
      if (!request) return Served{.counts = false};
      granted = grant(*request);
    }
    // From here on there is a lease: whatever happens, it is revoked and its outcome is printed.
    watch_.emplace(lease_->manager().memory(grant_.lease), port_->clock());
    port_->watch(&*watch_);
    const Result<bool> told = desk_.tell(grant_, options_->terms);
    const Result<std::string> why =
        !told   ? tl::unexpected<Error>(told.error())
        : *told ? hold()
                : Result<std::string>("the client has hung up before it was told");
    auto seen = revoke_and_watch(why ? *why : why.error().text);
    port_->watch(nullptr);
    auto down = lease_->manager().tear_down();
    desk_.drop_client();
    PORTCULLIS_TRY(why);
    PORTCULLIS_TRY(std::move(seen));
    if (!down) {
      if (answer_.outcome == lease::Outcome::TornDown) return forward_error(std::move(down));
      say("log", down.error().text);  // the lease was Fenced, and its outcome is printed
    }
    return Served{is_good(), json(), *told};
  }

 private:
  [[nodiscard]] std::uint64_t now() const { return port_->clock().now_ns(); }
  void say(std::string_view what, const std::string& text) const {
    world_->print(fmt::format("{:10} {}", what, text));
  }

  /// False when it was refused, and the client told so: the next may have better luck.
  bool grant(const Request& request) {
    const auto granted = lease_->grant(request);
    if (!granted) {
      desk_.refuse(granted.error().text);
      return false;
    }
    grant_ = *granted;
    const auto contents = std::as_bytes(std::span(options_->contents));
    dma_copy(lease_->manager().memory(grant_.lease).data(), contents.data(), contents.size());
    const auto& client = request.client;
    say("granted",
        fmt::format("lease {:#x} epoch {}: {} bytes, {}, QP {:#x} to QP {:#x} at {} ({}), MTU {}, "
                    "timeout {}, retry {}",
                    grant_.lease.id, grant_.lease.epoch, grant_.bytes,
                    service::exchange::access_text(options_->terms.access), prm::number(grant_.qpn),
                    client.qpn, client.gid.text(), client.mac.text(), prm::bytes_of(grant_.mtu),
                    grant_.ack_timeout, grant_.retry_count));
    return true;
  }

  Result<void> set_up() {
    PORTCULLIS_TRY_ASSIGN(lease_,
                          service::SingleLease::create(
                              *port_,
                              {.plan = options_->plan,
                               .terms = options_->terms,
                               .dscp = options_->dscp,
                               .priority = options_->priority,
                               .steering = options_->steering,
                               .allow_function_drop = options_->allow_function_drop,
                               .residence_ms = options_->residence_ms},
                              [this](std::string_view line) { say("log", std::string(line)); }));
    return {};
  }

  /// Why the lease is taken back.
  Result<std::string> hold() {
    const std::uint64_t start_ns = now();
    while (true) {
      if (world_->stop()) return std::string("told to stop");
      if (world_->revoke_asked()) return std::string("on command");
      if (desk_.is_client_gone()) return std::string("the client has hung up");
      const std::uint64_t after_ns = options_->revoke_after_ms * kNsPerMs;
      if (after_ns != 0 && now() - start_ns >= after_ns)
        return fmt::format("after {} ms", options_->revoke_after_ms);
      PORTCULLIS_TRY(port_->idle(kLookAgainNs));
    }
  }

  Result<void> revoke_and_watch(const std::string& why) {
    revoke_ns_ = now();
    answer_ = lease_->manager().revoke(grant_.lease.id, grant_.lease.epoch);
    outcome_ns_ = now();
    is_watched_ = !lease_->manager().memory(grant_.lease).empty();
    if (is_watched_)
      watch_->freeze();
    else
      port_->watch(nullptr);
    say("revoke", fmt::format("{}, plan {}: {}", why, options_->plan.full_name(),
                              lease::describe(answer_.verdict)));
    say("outcome",
        fmt::format("{:.3f} ms after the revoke was asked for", ms(outcome_ns_ - revoke_ns_)));
    // The deferred phase waits until then: it gives the region back, to be scrubbed, and the queue
    // pair with it. Where the fabric holds packets back that is as long as one may still come.
    const std::uint64_t watch_ms = std::max(options_->watch_ms, late_ms());
    const std::uint64_t until_ns = outcome_ns_ + watch_ms * kNsPerMs;
    Result<void> idle;
    while (idle && now() < until_ns && !world_->stop()) idle = port_->idle(kLookAgainNs);
    watched_ms_ = (std::min(now(), until_ns) - outcome_ns_) / kNsPerMs;
    difference_ = watch_->first_difference();
    report();
    PORTCULLIS_TRY(std::move(idle));
    dump();
    return {};
  }

  /// As long as the number must rest; 0 where nobody says what the fabric does.
  [[nodiscard]] std::uint64_t late_ms() const {
    if (options_->residence_ms == 0) return 0;
    const std::uint64_t rest_ns = lease::number_rest_ns({.residence_ms = options_->residence_ms},
                                                        grant_.ack_timeout, grant_.retry_count);
    return (rest_ns + kNsPerMs - 1) / kNsPerMs;
  }

  void report() const {
    const std::uint64_t last_ns = watch_->last_change_ns();
    if (watch_->changes() == 0) {
      say("before", "the first word never changed");
    } else {
      const bool late = last_ns > revoke_ns_;
      say("before", fmt::format("the first word was seen to change {} times, to {}, last {:.3f} ms "
                                "{} the revoke was asked for",
                                watch_->changes(), watch_->last_word(),
                                ms(late ? last_ns - revoke_ns_ : revoke_ns_ - last_ns),
                                late ? "after" : "before"));
    }
    say("after", what_came_after());
  }

  [[nodiscard]] std::string what_came_after() const {
    if (!is_watched_) return "not watched: the plan gave the region back with its outcome";
    if (!difference_)
      return fmt::format("no byte of {} changed in {} ms", grant_.bytes, watched_ms_);
    return fmt::format("CHANGED: byte {:#x} was {:#04x} when the outcome stood and is {:#04x}",
                       difference_->offset, std::to_integer<unsigned>(difference_->was),
                       std::to_integer<unsigned>(difference_->is));
  }

  void dump() const {
    if (options_->dump_file.empty()) return;
    const auto bytes = watch_->frozen();
    std::string text(bytes.size(), '\0');
    std::memcpy(text.data(), bytes.data(), bytes.size());
    program::keep_output("--dump", options_->dump_file, text, program::kOnlyOwner);
  }

  [[nodiscard]] bool is_good() const {
    return answer_.outcome == lease::Outcome::TornDown && !difference_;
  }

  [[nodiscard]] std::string json() const {
    return nlohmann::ordered_json{{"program", "lease-serve"},
                                  {"device", port_->description()},
                                  {"plan", options_->plan.full_name()},
                                  {"outcome", lease::name(answer_.outcome)},
                                  {"verdict", lease::describe(answer_.verdict)},
                                  {"revoke_ns", revoke_ns_},
                                  {"outcome_ns", outcome_ns_},
                                  {"last_change_ns", watch_->last_change_ns()},
                                  {"changes", watch_->changes()},
                                  {"last_word", watch_->last_word()},
                                  {"watched_after_outcome", is_watched_},
                                  {"watched_ms", watched_ms_},
                                  {"changed_after_outcome", difference_.has_value()}}
        .dump();
  }

  const Options* options_;
  const World* world_;
  service::ServedPort* port_;
  service::ClientDesk desk_;
  std::unique_ptr<service::SingleLease> lease_;
  lease::Grant grant_;
  std::optional<service::RegionWatch> watch_;
  lease::RevokeAnswer answer_;
  std::uint64_t revoke_ns_ = 0;
  std::uint64_t outcome_ns_ = 0;
  std::uint64_t watched_ms_ = 0;  // less than asked for when told to stop
  bool is_watched_ = false;       // false: the region was given back with the outcome
  std::optional<service::RegionWatch::Difference> difference_;
};

Result<std::unique_ptr<LineChannel>> open_channel(const Options& options) {
  if (!options.listen.empty()) return service::exchange::listen_tcp(options.listen);
  return service::exchange::open_files(options.request_file, options.grant_file,
                                       program::kOnlyOwner);
}

/// An array of what became of each lease, as a whole after each.
void write_json(const std::string& path, const std::vector<std::string>& served) {
  if (path.empty()) return;
  program::keep_output("--json", path, fmt::format("[{}]\n", fmt::join(served, ",\n")));
}

}  // namespace

Result<Served> serve(const Options& options, const World& world, service::ServedPort& port,
                     LineChannel& channel) {
  return Serving(options, world, port, channel).run();
}

std::string path_text(const Options& options) {
  return fmt::format(
      "DSCP {}, priority {}, {}; PFC: not supported, the port keeps what was set "
      "before it was bound to VFIO (mlnx_qos, dcb)",
      options.dscp, options.priority,
      options.vlan ? fmt::format("VLAN {}", *options.vlan) : "no VLAN");
}

Result<bool> run(const Options& given, const World& world) {
  Options options = given;
  options.fabric.own_priority = options.priority;
  PORTCULLIS_TRY_ASSIGN(const auto residence, residence_of(options.fabric));
  options.residence_ms = residence.ms;
  if (residence.ms > 0 && options.plan.name == lease::legacy_plan().name)
    return fail(Errc::InvalidArgument,
                fmt::format("--plan {}: its queue pair ends at once and its number does not rest "
                            "while the fabric may hold a packet back for {} ms; another plan is "
                            "accepted",
                            options.plan.name, residence.ms));
  PORTCULLIS_TRY_ASSIGN(const auto spec, attach::parse_device(options.device));
  PORTCULLIS_TRY(spec.check_ready());
  if (spec.is_kept()) PORTCULLIS_TRY(lease::check_for_kept_nic(options.plan));
  PORTCULLIS_TRY(
      program::check_outputs(with_device_files({{"--json", options.json_file},
                                                {"--dump", options.dump_file},
                                                {"--grant-file", options.grant_file},
                                                {"--request-file", options.request_file}},
                                               spec),
                             {}));
  if (!options.json_file.empty())
    PORTCULLIS_TRY(program::named("--json", program::check_output(options.json_file)));
  if (!options.dump_file.empty())
    PORTCULLIS_TRY(program::named("--dump", program::check_output(options.dump_file)));
  PORTCULLIS_TRY_ASSIGN(const auto channel, open_channel(options));
  PORTCULLIS_TRY_ASSIGN(const auto eal, spec.start_eal(options.eal));
  PORTCULLIS_TRY_ASSIGN(const auto port, open_port(spec, options.address, options.vlan));
  const pmd::RoceAddress& address = port->address();
  world.print(fmt::format("{:10} {}", "device", port->description()));
  world.print(fmt::format("{:10} {} at {}", "address", address.gid.text(), address.mac.text()));
  world.print(fmt::format("{:10} {}", "neighbour", port->neighbour_advice()));
  world.print(fmt::format("{:10} {}", "path", path_text(options)));
  world.print(fmt::format("{:10} {}", "residence", residence.text));
  world.print(fmt::format("{:10} {}", "clients", channel->who_may_ask()));
  std::vector<std::string> served;
  bool good = true;
  for (std::uint32_t told = 0; told < options.leases && !world.stop();) {
    world.print(fmt::format("{:10} {}", "awaiting", channel->peer()));
    PORTCULLIS_TRY_ASSIGN(Served one, serve(options, world, *port, *channel));
    good = good && one.good;
    if (one.counts) ++told;
    if (!one.json.empty()) served.push_back(std::move(one.json));
    write_json(options.json_file, served);
  }
  return good;
}

}  // namespace portcullis::tools::lease_serve
