// SPDX-License-Identifier: BSD-3-Clause
//
// A key-value store whose values live in memory that leased grants: a GET is one RDMA READ, a PUT
// one RDMA WRITE behind a line in a log. A revoke under load costs it time and nothing else: it
// stops, asks what became of the requests that had no answer, takes another lease, of this server
// or the next, and puts every value of the log there. At the end it reads every key.
//
//   kv_store --server /run/portcullis/leased.sock --log /var/tmp/kv &
//   leasectl revoke-tenant 0                                           # as often as one likes
//
// It needs the client library and libibverbs: kv_place.hpp is the lease and its queue pair,
// kv_log.hpp the other copy.
//
//   g++ -std=c++20 -o kv_store kv_store.cpp
//       $(pkg-config --cflags --libs portcullis-client libibverbs)
#include <charconv>
#include <iostream>
#include <set>
#include <string_view>

#include "kv_log.hpp"
#include "kv_place.hpp"

namespace kv {
namespace {

constexpr const char* kUsage =
    "usage: kv_store --server SOCKET [--server SOCKET ..] [--device NAME] [--log PREFIX]\n"
    "                [--keys N] [--value-bytes N] [--depth N] [--for-ms N] [--patience-ms N]\n"
    "                [--least-revokes N]\n"
    "status: 0 every key is as its last acknowledged PUT left it, 1 one is not, or fewer leases\n"
    "were taken back than --least-revokes, 2 it could not run\n";

struct Options {
  std::vector<std::string> servers;
  std::string device;
  std::string log = "kv_store.log";
  std::uint64_t keys = 64;  // of each server
  std::uint64_t value_bytes = 256;
  std::uint64_t depth = 4;
  std::uint64_t for_ms = 5'000;
  std::uint64_t patience_ms = 30'000;  // without a lease
  std::uint64_t least_revokes = 0;
};

/// The values of one server's share of the keys, wherever they are now.
class Shard {
 public:
  Shard(const Options& options, const Nic& nic, std::span<const Owned<portcullis_client>> clients,
        std::size_t number, Log log)
      : options_(&options),
        nic_(&nic),
        clients_(clients),
        number_(number),
        at_server_(number),
        log_(std::move(log)),
        record_bytes_(sizeof(Header) + options.value_bytes),
        random_(static_cast<unsigned>(number)),
        logged_(options.keys, 0),
        acknowledged_(options.keys, 0) {}

  /// Load until the time is over, then every key.
  Result<void> run() {
    const auto until = Time::now() + std::chrono::milliseconds(options_->for_ms);
    PORTCULLIS_TRY(begin_log());
    while (Time::now() < until) {
      PORTCULLIS_TRY(settle());
      while (place_->is_open() && Time::now() < until) {
        PORTCULLIS_TRY(step());
        rest();
      }
      PORTCULLIS_TRY(drain());
    }
    bool is_verified = false;
    while (!is_verified) {
      PORTCULLIS_TRY(settle());
      PORTCULLIS_TRY_ASSIGN(is_verified, verify());
    }
    return {};
  }

  std::string report() const {
    return "shard " + std::to_string(number_) + ": " + std::to_string(puts_) + " PUTs, " +
           std::to_string(gets_) + " GETs, " + std::to_string(revokes_) +
           " leases taken back, longest without one " + std::to_string(longest_ms_) + " ms";
  }
  std::uint64_t revokes() const { return revokes_; }
  std::uint64_t puts() const { return puts_; }

 private:
  static tl::unexpected<portcullis::Error> lost(std::uint64_t key, const std::string& what) {
    return fail(Errc::Malformed, "key " + std::to_string(key) + ": " + what);
  }

  /// Others on this host, a responder in software above all, need its cores too.
  static void rest() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

  /// Every key has a value from the first moment on: what the log of an earlier run says, or
  /// version 1.
  Result<void> begin_log() {
    PORTCULLIS_TRY_ASSIGN(const auto newest, log_.replay());
    std::vector<std::byte> record(record_bytes_);
    for (std::uint64_t key = 0; key < options_->keys; ++key) {
      if (const auto known = newest.find(key); known != newest.end()) {
        logged_[key] = header_of(known->second).version;
        continue;
      }
      write_record(record, key, logged_[key] = 1);
      PORTCULLIS_TRY(log_.append(record));
    }
    return {};
  }

  /// A place with every value in it. It may be lost while it is filled; then another one is asked
  /// for, as long as anybody has patience.
  Result<void> settle() {
    const auto began = Time::now();
    const auto until = began + std::chrono::milliseconds(options_->patience_ms);
    std::string why = "no server";
    while (!place_ || !place_->is_open()) {
      if (place_) PORTCULLIS_TRY(leave());
      if (Time::now() > until)
        return fail(Errc::Timeout, "shard " + std::to_string(number_) + " has no lease after " +
                                       std::to_string(options_->patience_ms) + " ms: " + why);
      auto place = Place::open(*nic_, clients_[at_server_ % clients_.size()].get(),
                               options_->keys * record_bytes_, record_bytes_,
                               static_cast<std::uint32_t>(options_->depth));
      if (place) {
        place_ = *std::move(place);
        PORTCULLIS_TRY(restore());
        continue;
      }
      if (place.error().code == Errc::InvalidArgument)
        return tl::unexpected<portcullis::Error>(place.error());
      why = place.error().text;
      ++at_server_;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Time::now() - began);
    if (revokes_ != 0)
      longest_ms_ = std::max(longest_ms_, static_cast<std::uint64_t>(took.count()));
    return {};
  }

  /// From the log to leased memory, from the file itself: what is not there is lost.
  Result<void> restore() {
    PORTCULLIS_TRY_ASSIGN(const auto newest, log_.replay());
    for (std::uint64_t key = 0; key < options_->keys; ++key) {
      const auto known = newest.find(key);
      if (known == newest.end() || header_of(known->second).version < acknowledged_[key])
        return lost(key, "the log does not have its last acknowledged PUT");
      std::ranges::copy(known->second, place_->piece(0).begin());
      PORTCULLIS_TRY_ASSIGN(const bool is_done, finish({.is_put = true, .key = key}));
      if (!is_done) return {};
    }
    // Now each is where a GET finds it, those too that had no answer when the lease ended.
    acknowledged_ = logged_;
    return {};
  }

  /// One request alone, to its end; false when the lease is over.
  Result<bool> finish(const Request& request) {
    if (!place_->is_open()) return false;
    PORTCULLIS_TRY(place_->post(request));
    while (place_->is_open()) {
      if (place_->take()) return true;
      rest();
    }
    return false;
  }

  /// What has been answered, and as many new requests as there is room for.
  Result<void> step() {
    while (const auto done = place_->take()) PORTCULLIS_TRY(answer(*done));
    while (place_->is_open() && place_->under_way() < options_->depth) {
      const std::uint64_t key = random_() % options_->keys;
      if (!busy_keys_.insert(key).second) break;  // one request for a key at a time
      Request request{.is_put = random_() % 2 == 0, .key = key, .buffer = free_buffer()};
      if (request.is_put) {
        request.version = logged_[key] + 1;
        write_record(place_->piece(request.buffer), key, request.version);
        PORTCULLIS_TRY(log_.append(place_->piece(request.buffer)));
        logged_[key] = request.version;
      }
      busy_buffers_.insert(request.buffer);
      PORTCULLIS_TRY(place_->post(request));
    }
    return {};
  }

  std::uint64_t free_buffer() const {
    std::uint64_t buffer = 0;
    while (busy_buffers_.contains(buffer)) ++buffer;
    return buffer;
  }

  Result<void> answer(const Request& done) {
    busy_keys_.erase(done.key);
    busy_buffers_.erase(done.buffer);
    if (done.is_put) {
      acknowledged_[done.key] = done.version;
      ++puts_;
      return {};
    }
    ++gets_;
    return check(done.key, place_->piece(done.buffer));
  }

  /// No other request for the key was under way: it has to be the last acknowledged PUT's.
  Result<void> check(std::uint64_t key, std::span<const std::byte> found) const {
    const auto header = whole(found);
    if (!header || header->key != key) return lost(key, "what was read is not whole");
    if (header->version == acknowledged_[key]) return {};
    return lost(key, "version " + std::to_string(header->version) + " was read, version " +
                         std::to_string(acknowledged_[key]) + " was acknowledged");
  }

  /// Answers to what is under way when the time is over; the end of the lease is one too.
  Result<void> drain() {
    while (place_->is_open() && place_->under_way() != 0) {
      if (const auto done = place_->take()) PORTCULLIS_TRY(answer(*done));
      rest();
    }
    return {};
  }

  /// The lease is over. What had no answer is asked about, and told; it is put into another place
  /// whatever the advice is, for nothing that is still under way reaches that one.
  Result<void> leave() {
    const std::size_t unanswered = place_->under_way();
    portcullis_end end{};
    PORTCULLIS_TRY_ASSIGN(const std::string advice, place_->leave(end));
    std::size_t reposts = 0;
    for (std::size_t at = 0; (at = advice.find("\"advice\": \"repost\"", at)) != std::string::npos;
         ++at)
      ++reposts;
    ++revokes_;
    ++at_server_;  // another server, where there is one
    std::cout << "shard " + std::to_string(number_) + ": its lease has ended, " +
                     (end.is_known == 0                     ? "nobody knows how"
                      : end.outcome == PORTCULLIS_TORN_DOWN ? "TornDown"
                                                            : "Fenced") +
                     "; " + std::to_string(unanswered) + " requests had no answer, " +
                     std::to_string(reposts) + " of them may be posted again\n"
              << std::flush;
    place_.reset();
    busy_keys_.clear();
    busy_buffers_.clear();
    return {};
  }

  /// False when the lease was over before every key was read.
  Result<bool> verify() {
    for (std::uint64_t key = 0; key < options_->keys; ++key) {
      PORTCULLIS_TRY_ASSIGN(const bool is_done, finish({.is_put = false, .key = key}));
      if (!is_done) return false;
      PORTCULLIS_TRY(check(key, place_->piece(0)));
    }
    return true;
  }

  const Options* options_;
  const Nic* nic_;
  std::span<const Owned<portcullis_client>> clients_;
  std::size_t number_;
  std::size_t at_server_;
  Log log_;
  std::uint64_t record_bytes_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> logged_;        // by key: the newest version in the log
  std::vector<std::uint64_t> acknowledged_;  // .. and that a PUT was told to be done
  std::set<std::uint64_t> busy_keys_;
  std::set<std::uint64_t> busy_buffers_;
  std::unique_ptr<Place> place_;
  std::uint64_t puts_ = 0;
  std::uint64_t gets_ = 0;
  std::uint64_t revokes_ = 0;
  std::uint64_t longest_ms_ = 0;
};

Result<std::uint64_t> number(const std::string& option, std::string_view text, std::uint64_t least,
                             std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most)
    return value;
  return fail(Errc::InvalidArgument, option + " " + std::string(text) + ": a number from " +
                                         std::to_string(least) + " to " + std::to_string(most) +
                                         " is accepted");
}

Result<Options> parse(std::span<char*> words) {
  Options options;
  struct Number {
    const char* name;
    std::uint64_t* value;
    std::uint64_t least, most;
  };
  constexpr std::uint64_t kHour = 3'600'000;
  const std::array<Number, 6> numbers{{{"--keys", &options.keys, 1, 100'000},
                                       {"--value-bytes", &options.value_bytes, 1, 65'536},
                                       {"--depth", &options.depth, 1, 64},
                                       {"--for-ms", &options.for_ms, 1, kHour},
                                       {"--patience-ms", &options.patience_ms, 1, kHour},
                                       {"--least-revokes", &options.least_revokes, 0, 1'000}}};
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string option = words[i];
    if (i + 1 == words.size()) return fail(Errc::InvalidArgument, option + ": a value is missing");
    const std::string text = words[i + 1];
    const auto* known =
        std::ranges::find_if(numbers, [&](const Number& one) { return option == one.name; });
    if (option == "--server") {
      options.servers.push_back(text);
    } else if (option == "--device") {
      options.device = text;
    } else if (option == "--log") {
      options.log = text;
    } else if (known != numbers.end()) {
      PORTCULLIS_TRY_ASSIGN(*known->value, number(option, text, known->least, known->most));
    } else {
      return fail(Errc::InvalidArgument, option + " is not known; see kv_store --help");
    }
  }
  if (options.servers.empty())
    return fail(Errc::InvalidArgument, "--server SOCKET is needed; see kv_store --help");
  return options;
}

/// The shards side by side; one line for each that is not as it should be.
Result<bool> run(const Options& options) {
  PORTCULLIS_TRY_ASSIGN(const Nic nic, Nic::open(options.device));
  std::vector<Owned<portcullis_client>> clients;
  std::vector<std::unique_ptr<Shard>> shards;
  for (std::size_t i = 0; i < options.servers.size(); ++i) {
    portcullis_client* client = nullptr;
    portcullis_error why{};
    if (portcullis_client_open(options.servers[i].c_str(), "kv-store", nullptr, nullptr, &client,
                               &why) != PORTCULLIS_OK)
      return fail(Errc::NotFound, why.text);
    clients.emplace_back(client);
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    PORTCULLIS_TRY_ASSIGN(auto log, Log::open(options.log + "." + std::to_string(i),
                                              sizeof(Header) + options.value_bytes));
    shards.push_back(std::make_unique<Shard>(options, nic, clients, i, std::move(log)));
  }
  std::vector<Result<void>> ends(shards.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < shards.size(); ++i)
      threads.emplace_back([&ends, &shards, i] { ends[i] = shards[i]->run(); });
  }
  std::uint64_t revokes = 0;
  bool is_good = true;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    std::cout << shards[i]->report() << '\n';
    revokes += shards[i]->revokes();
    if (!ends[i] && ends[i].error().code != Errc::Malformed)
      return tl::unexpected<portcullis::Error>(ends[i].error());
    if (!ends[i]) std::cout << "WRONG " << ends[i].error().text << '\n';
    is_good = is_good && ends[i];
  }
  if (revokes < options.least_revokes)
    std::cout << "WRONG " << revokes << " leases were taken back, --least-revokes "
              << options.least_revokes << '\n';
  is_good = is_good && revokes >= options.least_revokes;
  if (is_good)
    std::cout << "ok    " << options.keys * shards.size()
              << " keys, each as its last acknowledged PUT left it\n";
  return is_good;
}

}  // namespace
}  // namespace kv

int main(int argc, char** argv) {
  const std::span<char*> words(argv + 1, argv + argc);
  if (words.size() == 1 && std::string_view(words[0]) == "--help") {
    std::cout << kv::kUsage;
    return std::cout.flush() ? 0 : 74;
  }
  const auto options = kv::parse(words);
  const auto is_good =
      options ? kv::run(*options) : kv::Result<bool>(tl::unexpect, options.error());
  if (!is_good) {
    std::cerr << "kv_store: " << is_good.error().text << '\n';
    return 2;
  }
  if (!std::cout.flush()) return 74;  // docs/programs.md: what was printed is not all there
  return *is_good ? 0 : 1;
}
