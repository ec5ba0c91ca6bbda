// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/daemon.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>
#include <utility>

#include "attach/open_device.hpp"
#include "base/entropy.hpp"
#include "prm/enums.hpp"
#include "program/leased_socket.hpp"
#include "service/daemon/host_identity.hpp"
#include "service/daemon/patience.hpp"

namespace portcullis::service::daemon {
namespace {

std::uint64_t unix_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

/// The folder of `file`, with that mode unless it is there already; then nobody but root and the
/// server's own user may put something else in the file's place.
Result<void> make_folder(const std::filesystem::path& file, unsigned mode) {
  const auto folder = folder_of(file);
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    std::filesystem::create_directories(folder, error);
    if (!error) std::filesystem::permissions(folder, std::filesystem::perms(mode), error);
    if (error) return fail(Errc::System, fmt::format("{}: {}", folder.string(), error.message()));
  }
  return program::check_folder(folder);
}

prm::QpcMtu mtu_of(std::uint32_t bytes) {
  for (const auto mtu :
       {prm::QpcMtu::MTU_256, prm::QpcMtu::MTU_512, prm::QpcMtu::MTU_2048, prm::QpcMtu::MTU_4096})
    if (prm::bytes_of(mtu) == bytes) return mtu;
  return prm::QpcMtu::MTU_1024;
}

/// As configured, or all that the host has.
std::uint64_t memory_bytes_of(const Config& config) {
  if (!config.fleet) return 0;
  if (config.fleet->memory_bytes != 0) return config.fleet->memory_bytes;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page_bytes <= 0) return 0;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
}

/// A model on a clock of its own would let a second of a client's pass in a microsecond: it runs
/// beside the server, in the world's time.
Result<attach::DeviceSpec> parse_device(const std::string& name) {
  PORTCULLIS_TRY_ASSIGN(auto spec, attach::parse_device(name));
  auto* model = std::get_if<model::Options>(&spec.kind);
  if (model == nullptr) return spec;
  if (name.find("execution=stepped") != std::string::npos)
    return fail(Errc::InvalidArgument,
                fmt::format("device {}: a stepped model has a time of its own, and clients have "
                            "the world's; execution=polled is accepted",
                            name));
  model->execution = model::Execution::Polled;
  return spec;
}

/// A model in this process has no wire: no lease on it would outlive its challenge.
Result<void> check_challenge(const Limits& limits, const attach::DeviceSpec& device) {
  if (limits.challenge_ms == 0 || !device.is_in_process()) return {};
  return fail(Errc::InvalidArgument,
              fmt::format("challenge_ms = {}: nobody can write to a model in this process; 0 is "
                          "accepted, or a device with a wire",
                          limits.challenge_ms));
}

std::string_view name_of(const Event& event) noexcept {
  constexpr std::array<std::string_view, 5> kNames{"granted", "not-granted", "renewed", "ended",
                                                   "challenge-met"};
  static_assert(std::variant_size_v<Event> == kNames.size());
  static_assert(std::is_same_v<std::variant_alternative_t<3, Event>, Ended>);
  return kNames.at(event.index());
}

/// Of a frame to a client.
std::string name_of(const wire::FrameBytes& bytes) {
  const auto frame = wire::read_frame(bytes);
  if (!frame) return "unknown";
  const std::uint16_t op = frame->header.op;
  if (op == wire::kRefused) return "REFUSED";
  if ((op & wire::kAnswerBit) == 0) return std::string(wire::name(static_cast<wire::Notice>(op)));
  return std::string(wire::name(static_cast<wire::Op>(op & ~wire::kAnswerBit)));
}

/// An end during which no lease ends for so long is over, and any end after so long in all.
constexpr std::uint64_t kStillNs = 10 * kNsPerSecond;
constexpr std::uint64_t kMostEndNs = 900 * kNsPerSecond;
/// Connections over QUIC are numbered from here on, those over the socket from 1.
constexpr ConnectionId kFirstOverQuic = ConnectionId{1} << 62;

}  // namespace

Result<void> Daemon::check_places(const Config& config) {
  std::vector<std::filesystem::path> files{config.socket};
  if (config.journal) files.push_back(*config.journal);
  for (const auto& file : files) {
    const auto folder = folder_of(file);
    std::error_code none;  // what is not there the start makes
    if (std::filesystem::is_directory(folder, none)) PORTCULLIS_TRY(program::check_folder(folder));
  }
  return {};
}

Result<void> Daemon::check(const Config& config) {
  PORTCULLIS_TRY_ASSIGN(const auto device, parse_device(config.device.name));
  PORTCULLIS_TRY(check_challenge(config.limits, device));
  if (config.quic) PORTCULLIS_TRY(quic::Credentials::load(config.quic->files));
  PORTCULLIS_TRY(check_fleet(config));
  // What its kernel driver keeps is not reset by a server's end.
  if (device.is_kept() && config.fleet && config.fleet->isolation &&
      config.fleet->isolation->stall_s != 0)
    return fail(Errc::InvalidArgument,
                fmt::format("[etcd] stall_s on {}, which its kernel driver keeps: a server's end "
                            "proves nothing there; without stall_s it is accepted",
                            config.device.name));
  return UnixPort::check(config.socket);
}

Result<std::unique_ptr<Daemon>> Daemon::start(const Config& config, const LogSink& log,
                                              AtPoint at) {
  std::unique_ptr<Daemon> daemon(new Daemon(config, std::move(at)));
  if (!daemon->news_.is_open()) return fail(Errc::System, "eventfd: no descriptor is left");
  std::optional<Journal> journal;
  PORTCULLIS_TRY(daemon->open_journal(journal));
  if (journal) PORTCULLIS_TRY(daemon->check_function(*journal));
  PORTCULLIS_TRY(daemon->attach(log));
  PORTCULLIS_TRY(daemon->begin(std::move(journal), log));
  return daemon;
}

Daemon::~Daemon() {
  fleet_.reset();  // says nothing any more
  quic_.reset();   // nobody connects any more
  socket_.reset();
  device_.reset();  // tells its last outcomes
  recorder_.reset();
}

Result<void> Daemon::open_journal(std::optional<Journal>& journal) const {
  if (!config_.journal) return {};
  PORTCULLIS_TRY(make_folder(*config_.journal, 0700));
  PORTCULLIS_TRY_ASSIGN(journal, Journal::open(*config_.journal));
  journal->tell_points(at_);
  return {};
}

/// A model in this process is on no other host either way: it goes with its server.
std::string Daemon::function_name(const attach::DeviceSpec& spec) {
  return spec.is_in_process() ? spec.function_name()
                              : function_on_host(spec.function_name(), host_identity());
}

Result<void> Daemon::check_function(Journal& journal) const {
  PORTCULLIS_TRY_ASSIGN(const auto spec, parse_device(config_.device.name));
  const std::string own = function_name(spec);
  PORTCULLIS_TRY_ASSIGN(const auto held, journal.held_elsewhere(own));
  const std::string& left = config_.left_function;
  if (!held || held->function == left || function_alone(held->function) == left) return {};
  return fail(
      Errc::Busy,
      fmt::format("journal {}: {} leases without an outcome are on {}, and device {} is {}, "
                  "whose reset does not end them; a start on {} is accepted, or "
                  "--leave {}, which makes them Fenced, with nothing to prove their memory",
                  config_.journal->string(), held->leases, held->function, config_.device.name, own,
                  held->function, held->function));
}

/// A PCI function needs one; of any other device it is for the EAL's telemetry, if that is wanted.
Result<void> Daemon::start_eal(const attach::DeviceSpec& spec) {
  const bool is_needed = !spec.is_emulated() && !spec.is_kept();
  if (!is_needed && config_.device.eal.empty()) return {};
  cpu_set_t own;
  const bool is_known = ::sched_getaffinity(0, sizeof own, &own) == 0;
  std::vector<std::string> arguments{"leased"};
  arguments.insert(arguments.end(), config_.device.eal.begin(), config_.device.eal.end());
  PORTCULLIS_TRY_ASSIGN(auto eal, spec.start_eal(std::move(arguments)));
  eal_.emplace(std::move(eal));
  // It has bound this thread to its main lcore, and threads are bound as who makes them is.
  if (!is_needed && is_known) (void)::sched_setaffinity(0, sizeof own, &own);
  return {};
}

Result<void> Daemon::attach(const LogSink& log) {
  PORTCULLIS_TRY_ASSIGN(const auto spec, parse_device(config_.device.name));
  PORTCULLIS_TRY(spec.check_ready());
  PORTCULLIS_TRY(start_eal(spec));
  reach("device.open.before");
  PORTCULLIS_TRY_ASSIGN(auto opened, attach::OpenDevice::open(spec));
  reach("device.open.after");
  // The kernel tries a reset when VFIO opens a function (vfio_pci_core_enable), and tells nobody
  // whether it came to one. A model of this process is new; a NIC that its kernel driver keeps is
  // reset by nobody.
  if (!spec.is_in_process() && !spec.is_kept()) PORTCULLIS_TRY(opened.device().function->reset());
  reach("device.reset.after");
  served_ = {.name = function_name(spec),
             .was_reset = !spec.is_kept(),
             .ends_with_server = spec.is_in_process()};
  PORTCULLIS_TRY_ASSIGN(function_, attach::Function::bring_up(
                                       std::move(opened), {.bring_up = {.log = log},
                                                           .model_naps = !config_.device.polls}));
  reach("device.up.after");
  if (function_->context().caps.port_type == prm::number(prm::PortType::IB))
    return fail(Errc::Unsupported,
                "the port is InfiniBand; a port of type Ethernet is accepted, for leases are "
                "addressed by RoCE");
  PORTCULLIS_TRY_ASSIGN(
      port_, attach::Port::create(function_->context(), {.gid = config_.device.address}));
  responder_ = neighbour::Responder::set_up_or_say(function_->context(), port_->address(), log);
  return {};
}

/// What the journal says was held has ended, one way or the other.
Result<void> Daemon::begin(std::optional<Journal> journal, const LogSink& log) {
  Beginning beginning;
  if (journal) {
    PORTCULLIS_TRY_ASSIGN(beginning, journal->begin(unix_ms(), served_));
  } else {
    PORTCULLIS_TRY_ASSIGN(beginning.incarnation, random_number());
  }
  restarted_ = beginning.restarted;
  left_unproved_ = beginning.unproved;
  PORTCULLIS_TRY(serve_metrics());
  if (metrics_) metrics_->restarted(restarted_ - left_unproved_, true);
  if (metrics_) metrics_->restarted(left_unproved_, false);
  recorder_ = std::make_unique<Recorder>(
      std::move(journal),
      Recorder::Options{.tell = [this](Recorded done) { news_.put(std::move(done)); },
                        .found = [this](Looked looked) { news_.put(std::move(looked)); },
                        .unix_ms = unix_ms,
                        .keep_ms = config_.journal_keep_ms,
                        .wrote =
                            [this](std::uint64_t ns) {
                              if (metrics_) metrics_->journal_wrote(ns);
                            },
                        .log = log});
  const DeviceConfig& device = config_.device;
  PORTCULLIS_TRY_ASSIGN(auto engine,
                        Engine::create(
                            function_->driver(),
                            {.slots = device.slots,
                             .plan = device.plan,
                             .grace_ms = device.grace_ms,
                             .residence_ms = device.residence_ms,
                             .mtu = mtu_of(device.mtu),
                             .source_address_index = port_->address_index(),
                             .first_epoch = beginning.first_epoch,
                             .log = log,
                             .on_command = command_timer(),
                             .at = at_,
                             .idle =
                                 [this] {
                                   if (responder_) responder_->poll();
                                 },
                             .connection = [this] { return function_->connection(); }},
                            [this](Event event) { route(std::move(event)); }, unix_ms));
  PORTCULLIS_TRY(listen(beginning, log));
  device_ = std::make_unique<DeviceThread>(std::move(engine), device.polls);
  return join_fleet(beginning.incarnation, log);
}

/// etcd is not waited for: until it has been heard of, nothing is granted.
Result<void> Daemon::join_fleet(std::uint64_t incarnation, const LogSink& log) {
  if (!config_.fleet) return {};
  fleet::Registration about{.incarnation = incarnation,
                            .device = function_->context().device.description,
                            .address = port_->address().gid.text(),
                            .socket = config_.socket.string(),
                            .quic = quic_ ? quic_->address().text() : std::string(),
                            .slots = config_.device.slots,
                            .version = PORTCULLIS_VERSION,
                            .labels = config_.fleet->labels,
                            .memory_bytes = memory_bytes_of(config_),
                            .residence_ms = config_.device.residence_ms};
  if (quic_ && !config_.fleet->quic_address.empty()) about.quic = config_.fleet->quic_address;
  PORTCULLIS_TRY_ASSIGN(fleet_, FleetThread::start(
                                    config_, std::move(about),
                                    [this](FleetNews news) { news_.put(std::move(news)); }, log));
  return {};
}

Result<void> Daemon::listen(const Beginning& beginning, const LogSink& log) {
  // Whom the socket's mode lets in has to reach it.
  PORTCULLIS_TRY(make_folder(config_.socket, (config_.socket_mode & 077) == 0 ? 0700 : 0755));
  const Facts facts{.gid = port_->address().gid,
                    .mac = port_->address().mac,
                    .description = function_->context().device.description + " fw " +
                                   function_->driver().firmware_version(),
                    .is_emulated = function_->driver().is_emulated(),
                    .rest = {config_.device.grace_ms, config_.device.residence_ms},
                    .isolation = config_.fleet ? config_.fleet->isolation : std::nullopt,
                    .memory_bytes = memory_bytes_of(config_)};
  SessionPorts ports{
      .ask = [this](Request request) { device_->ask(std::move(request)); },
      .look_up = [this](LookUp wanted) { recorder_->look_up(wanted); },
      .send = [this](ConnectionId to, wire::FrameBytes frame) { send(to, std::move(frame)); },
      .hang_up = [this](ConnectionId which) { port_of(which).hang_up(which); },
      .log = log,
      .observer = observer()};
  if (config_.fleet) {
    ports.fenced = [this](TenantFenced fenced) { fleet_->tell(fenced); };
    ports.want_share = [this](const fleet::ShareWanted& wanted) { fleet_->tell(wanted); };
  }
  sessions_ = std::make_unique<Sessions>(beginning, config_.limits, facts, std::move(ports));
  PORTCULLIS_TRY_ASSIGN(socket_, UnixPort::listen({.path = config_.socket,
                                                   .mode = config_.socket_mode,
                                                   .users = config_.users,
                                                   .limits = config_.limits,
                                                   .log = log},
                                                  listener()));
  return listen_to_others(log);
}

Result<void> Daemon::listen_to_others(const LogSink& log) {
  if (!config_.quic) return {};
  PORTCULLIS_TRY_ASSIGN(quic_, QuicPort::listen({.address = config_.quic->address,
                                                 .files = config_.quic->files,
                                                 .timeouts = config_.quic->timeouts,
                                                 .certificates = config_.certificates,
                                                 .limits = config_.limits,
                                                 .first = kFirstOverQuic,
                                                 .log = log},
                                                listener()));
  return {};
}

Result<void> Daemon::serve_metrics() {
  if (!config_.metrics && !eal_) return {};
  metrics_ = std::make_unique<Metrics>();
  metrics_->describe({.device = function_->context().device.description,
                      .version = PORTCULLIS_VERSION,
                      .is_emulated = function_->driver().is_emulated()});
  if (eal_) {
    PORTCULLIS_TRY_ASSIGN(telemetry_, Telemetry::answer(*metrics_));
  }
  if (!config_.metrics) return {};
  return metrics_->serve(*config_.metrics);
}

TellCommand Daemon::command_timer() {
  if (!metrics_) return {};
  return [this](const CommandTime& took) { metrics_->command(took); };
}

Observer Daemon::observer() {
  if (!metrics_) return {};
  return {
      .granted = [this] { metrics_->granted(); },
      .refused = [this](wire::Code code) { metrics_->refused(code); },
      .challenge_met = [this] { metrics_->challenge_met(); },
      .ended =
          [this](const Ending& ending, wire::Plan plan, std::optional<std::uint64_t> revoke_ns) {
            metrics_->ended(ending,
                            plan == wire::Plan::Default ? config_.device.plan.full_name()
                                                        : std::string(wire::name(plan)),
                            revoke_ns);
          }};
}

void Daemon::measure() {
  constexpr std::uint64_t kEveryNs = kNsPerSecond;
  const std::uint64_t now_ns = Clock::wall().now_ns();
  if (!metrics_ || now_ns - measured_ns_ < kEveryNs) return;
  measured_ns_ = now_ns;
  metrics_->set({.slots = device_->counts(),
                 .leases = sessions_->tally(),
                 .socket_connections = socket_->connections(),
                 .quic_connections = quic_ ? quic_->connections() : 0,
                 .is_journal_lost = recorder_->is_lost()});
}

Port::Listener Daemon::listener() {
  return {
      .opened = [this](ConnectionId id, Identity who) { sessions_->opened(id, std::move(who)); },
      .received = [this](ConnectionId id,
                         std::span<const std::byte> bytes) { sessions_->received(id, bytes); },
      .closed = [this](ConnectionId id) { sessions_->closed(id); },
      .finished = [this](ConnectionId id) { sessions_->finished(id); }};
}

Port& Daemon::port_of(ConnectionId connection) {
  if (connection >= kFirstOverQuic) return *quic_;
  return *socket_;
}

std::vector<Port*> Daemon::ports() {
  std::vector<Port*> all{socket_.get()};
  if (quic_) all.push_back(quic_.get());
  return all;
}

/// In the device's thread. A grant is told of by the journal, when it is in the file. An ending is
/// told of at once, and the journal's thread is left asleep until it has been: on few cores that
/// would run before whoever waits for the outcome.
void Daemon::route(Event event) {
  const std::string_view of = name_of(event);
  const auto reach_of = [&](const char* when) {
    if (at_) at_(fmt::format("event.{}.{}", of, when));
  };
  reach_of("before");
  if (const auto* ended = std::get_if<Ended>(&event))  // first: who hears of it says write_soon()
    recorder_->record_later({.entry = ended->ending});
  std::optional<ToRecord> record;
  if (const auto* granted = std::get_if<Granted>(&event))
    record = ToRecord{.ticket = granted->ticket, .entry = granted->record};
  news_.put(std::move(event));  // before the journal can say anything of it
  reach_of("told");
  if (record) recorder_->record(*record);
  reach_of("after");
}

void Daemon::send(ConnectionId to, wire::FrameBytes frame) {
  const std::string point = at_ ? "frame." + name_of(frame) : std::string();
  reach(point + ".before");
  port_of(to).send(to, std::move(frame));
  reach(point + ".after");
}

std::string Daemon::restarted_text() const {
  std::string text;
  if (const std::size_t proved = restarted_ - left_unproved_; proved != 0)
    text = fmt::format("; {} leases of the server before were ended by the reset", proved);
  if (left_unproved_ == 0) return text;
  return text + fmt::format(
                    "; {} leases of the server before are Fenced: {}, and nothing proves "
                    "their memory",
                    left_unproved_,
                    served_.was_reset ? "they were not on this function as far as the "
                                        "journal says"
                                      : "the kernel keeps the NIC");
}

std::string Daemon::description() const {
  std::string text = fmt::format("serves {} at {} on {}", function_->context().device.description,
                                 port_->address().gid.text(), config_.socket.string());
  if (quic_) text += " and QUIC " + quic_->address().text();
  if (config_.metrics) text += "; metrics at http://" + metrics_->address() + "/metrics";
  text += restarted_text();
  if (config_.fleet)
    text += fmt::format("; node {} of the fleet at {}", node_name(*config_.fleet),
                        fmt::join(config_.fleet->etcd.endpoints, ","));
  if (!config_.journal) text += "; no journal: names and outcomes are forgotten at its end";
  return text;
}

std::optional<UdpAddress> Daemon::quic_address() const {
  return quic_ ? std::optional(quic_->address()) : std::nullopt;
}

void Daemon::take_news(bool is_woken) {
  news_.heard(is_woken);
  while (const auto next = news_.take())
    std::visit([this](const auto& each) { sessions_->hear(each); }, *next);
  sessions_->set_counts(device_->counts());
  sessions_->set_journal_lost(recorder_->is_lost());
}

void Daemon::serve(int most_ms) {
  std::array<pollfd, 3> waited{{{.fd = news_.fd(), .events = POLLIN, .revents = 0},
                                {.fd = socket_->fd(), .events = POLLIN, .revents = 0},
                                {.fd = quic_ ? quic_->fd() : -1, .events = POLLIN, .revents = 0}}};
  const bool may_wait = news_.may_wait() && !has_untold_;
  (void)::poll(waited.data(), waited.size(), may_wait ? most_ms : 0);
  take_news(waited[0].revents != 0);
  has_untold_ = sessions_->tell_watchers();
  const auto serve = [](Port& port, const pollfd& its) {
    if (its.revents != 0)
      port.serve();
    else
      port.flush();
  };
  serve(*socket_, waited[1]);
  if (quic_) serve(*quic_, waited[2]);  // last: it sends what the socket's gave rise to
  recorder_->write_soon();
}

/// What a new configuration would have to do with what runs.
Result<void> Daemon::check_again(const Config& config) const {
  PORTCULLIS_TRY_ASSIGN(const auto device, parse_device(config_.device.name));
  PORTCULLIS_TRY(check_challenge(config.limits, device));
  if (quic_ && config.quic) PORTCULLIS_TRY(quic::Credentials::load(config.quic->files));
  return {};
}

/// All of it or nothing: half of a file is nobody's wish.
void Daemon::take_config(const Config& config, const LogSink& log) {
  const auto say = [&log](const std::string& line) {
    if (log) log(line);
  };
  if (const auto checked = check_again(config); !checked)
    return say(checked.error().text + "; the configuration stays as it was");
  say("the configuration was read again: limits and users count from now on");
  config_.limits = config.limits;
  config_.users = config.users;
  sessions_->set_limits(config_.limits);
  for (Port* port : ports()) port->set_limits(config_.limits);
  socket_->set_users(config.users);
  for (const std::string& each : counts_from_a_restart(config_, config))
    say(each + " counts from a restart on");
  if ((quic_ != nullptr) != config.quic.has_value())
    say("[quic] comes and goes with a restart alone");
  if (!quic_ || !config.quic) return;
  config_.certificates = config.certificates;
  const auto trusted = quic_->set_trust(config.quic->files, config.certificates);
  if (!trusted) say(trusted.error().text + "; the files of [quic] stay as they were");
}

/// Every lease has its outcome, and who is connected has read of it; or their time is over.
bool Daemon::end(const World& world, const std::function<void()>& goes_on) {
  const Clock clock = Clock::wall();
  const std::uint64_t began_ns = clock.now_ns();
  Patience patience({.still_ns = kStillNs, .most_ns = kMostEndNs}, clock);
  for (Port* port : ports()) port->stop_listening();
  sessions_->end();
  std::uint64_t told_ns = 0;
  while (!sessions_->has_ended() && !patience.is_over(sessions_->unended())) {
    serve(10);
    look_after(world);
    if (clock.now_ns() < told_ns + kNsPerSecond) continue;
    told_ns = clock.now_ns();
    goes_on();
  }
  const std::uint64_t read_until_ns = clock.now_ns() + kNsPerSecond;
  const auto all = ports();
  const auto has_unread = [&] {
    return has_untold_ || std::any_of(all.begin(), all.end(),
                                      [](const Port* port) { return !port->is_drained(); });
  };
  while (has_unread() && clock.now_ns() < read_until_ns) serve(10);
  for (Port* port : all) port->hang_up_on_all();
  serve(0);  // says goodbye
  if (!sessions_->has_ended() && world.log)
    world.log(fmt::format(
        "{} leases and grants have no outcome after {} s, and are not waited for any longer; the "
        "function's reset ends them",
        sessions_->unended(), (clock.now_ns() - began_ns) / kNsPerSecond));
  return sessions_->has_ended();
}

void Daemon::offer() {
  if (!fleet_) return;
  const fleet::Amount left = sessions_->left();
  if (offered_ == left) return;
  offered_ = left;
  fleet_->tell(left);
}

void Daemon::look_after(const World& world) {
  measure();
  offer();
  sessions_->look_at_time();
  if (sessions_->is_overdue() && world.give_up) world.give_up();
  const std::uint64_t rounds = device_->rounds();
  if (rounds != std::exchange(seen_rounds_, rounds) && world.is_well) world.is_well();
}

bool Daemon::run(const World& world) {
  constexpr int kLookAgainMs = 100;  // a signal wakes it at once
  while (!world.stop()) {
    if (const auto config = world.reload()) take_config(*config, world.log);
    serve(kLookAgainMs);
    look_after(world);
  }
  // Not for ever: while it ends systemd has no watchdog on it (service_set_state in its service.c),
  // so an end that hangs is its TimeoutStopSec's.
  const std::uint64_t until_ns = Clock::wall().now_ns() + kMostEndNs;
  const auto goes_on = [&world, until_ns] {
    if (world.takes_longer && Clock::wall().now_ns() < until_ns) world.takes_longer(2 * kStillNs);
  };
  const bool has_ended = end(world, goes_on);
  const auto down = device_->stop(goes_on);
  take_news(true);
  const bool is_good = has_ended && sessions_->fenced() == 0;
  if (fleet_) fleet_->stop(has_ended && down.has_value() && sessions_->has_proved_all());
  // Leases of which every outcome stands: their slots were not swept in the time that an end has.
  if (!down && is_good && world.log)
    world.log("every lease was TornDown; what was not swept goes with this process: " +
              down.error().text);
  return is_good;
}

}  // namespace portcullis::service::daemon
