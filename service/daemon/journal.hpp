// SPDX-License-Identifier: BSD-3-Clause
//
// What leased has granted and how it ended, in a file that outlives it: SQLite, write-ahead log,
// synchronous=FULL, so that what write() has answered survives a loss of power. A lease is on
// record before its holder hears of it; an outcome is told first and recorded after, for a revoke
// never waits for a disk. So a lease without an outcome here is one that was held, or whose outcome
// nobody may have heard of, when the server went. No key is ever written.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "service/daemon/points.hpp"
#include "service/daemon/requests.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace portcullis::service::daemon {

using Entry = std::variant<Record, Ending>;

/// An ending as it stands in the file.
struct PastEnding {
  std::uint64_t incarnation = 0;  // of the server that had granted the lease
  Ending ending;
  /// Its function is known, and has been reset by a later server, or went with its own.
  bool is_proved_since = false;
};

/// The function that a server's leases are on.
struct Served {
  std::string name = {};          // with the host that it is of (service/daemon/host_identity.hpp)
  bool was_reset = false;         // since the last server went
  bool ends_with_server = false;  // a model in its process
};

/// Leases without an outcome on a function that goes on by itself.
struct Elsewhere {
  std::string function;
  std::uint64_t leases = 0;
};

/// What becomes of a lease that was held when its server went: the reset proves its memory, or
/// nothing does.
[[nodiscard]] Ending ending_by_restart(bool is_proved) noexcept;

/// What a server begins with.
struct Beginning {
  std::uint64_t incarnation = 0;  // no other server of this journal had it; not 0
  /// The lowest epoch of this server's leases: above or apart from all that are on record.
  std::uint64_t first_epoch = 0;
  std::size_t restarted = 0;     // leases that were held when the last server went
  std::size_t unproved = 0;      // and of these, whose memory nothing proves
  std::vector<PastEnding> past;  // the newest, at most kMostPast, oldest first
};

class Journal {
 public:
  static constexpr std::size_t kMostPast = 65'536;

  /// Makes the file, 0600, where there is none. Busy when another process has it, System for a file
  /// that cannot be written, Malformed for one that is no journal of ours; each names the file.
  [[nodiscard]] static Result<Journal> open(const std::filesystem::path& path);

  /// Around each change of the file from now on, and before it is made durable.
  void tell_points(AtPoint at) { at_ = std::move(at); }
  /// Leases that the reset of `function` proves nothing about. Those of a server that did not write
  /// down its function are none of them: where they are is not known. One that wrote it down
  /// without a host is taken for one of this host.
  [[nodiscard]] Result<std::optional<Elsewhere>> held_elsewhere(std::string_view function);
  /// Every lease without an outcome ends: TornDown where its function has been reset since, or went
  /// with its server, proved by that; Fenced where it is another, is not known or was not reset,
  /// for nothing proves its memory. `on` is on record before anything is granted.
  [[nodiscard]] Result<Beginning> begin(std::uint64_t unix_ms, const Served& on);
  /// All of them or none; durable when it answers. An ending of a lease that is not on record is
  /// passed over: its grant was never told. System, and nothing is written, while the file or its
  /// log is not where the next server will look for it: removed, moved, or another's.
  [[nodiscard]] Result<void> write(std::span<const Entry> entries);
  /// As the protocol asks, at most a frame's rows. `keep_ms`: what ended longer ago than that may
  /// be forgotten; 0: nothing is.
  [[nodiscard]] Result<wire::History> look_up(const wire::HistoryRequest& wanted,
                                              std::uint64_t unix_ms, std::uint64_t keep_ms);
  /// Writes something that changes nothing, durably: whether it can be written.
  [[nodiscard]] Result<void> probe();
  /// Leases that ended before `unix_ms` are forgotten, `most` of them at a time; how many were.
  [[nodiscard]] Result<std::size_t> forget(std::uint64_t unix_ms, std::size_t most);

 private:
  struct Close {
    void operator()(sqlite3* database) const noexcept;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;
  /// Of a file, whatever it is called (stat(2)); zeros: of none. What this user may not look at has
  /// no number.
  struct FileNumber {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    bool operator==(const FileNumber&) const = default;
    [[nodiscard]] static std::optional<FileNumber> of(const std::filesystem::path& path) noexcept;
  };

  Journal(std::filesystem::path path, sqlite3* database) : path_(std::move(path)), db_(database) {}
  [[nodiscard]] Result<void> set_up();
  [[nodiscard]] Result<void> check_format();
  [[nodiscard]] Result<void> execute(const char* sql);
  [[nodiscard]] Result<Statement> prepare(const char* sql);
  [[nodiscard]] Result<void> insert(const Record& record);
  [[nodiscard]] Result<void> insert(const Ending& ending);
  [[nodiscard]] Result<void> write_all(std::span<const Entry> entries);
  [[nodiscard]] Result<std::uint64_t> number(const char* sql);
  [[nodiscard]] Result<void> draw(Beginning& beginning);
  [[nodiscard]] Result<void> end_all(Beginning& beginning, std::uint64_t unix_ms, const Served& on);
  [[nodiscard]] Result<void> enter(const Beginning& beginning, std::uint64_t unix_ms,
                                   const Served& on);
  [[nodiscard]] Result<std::vector<PastEnding>> past();
  /// Steps a statement that gives no rows, and makes it ready for the next time.
  [[nodiscard]] Result<void> run(const Statement& statement);
  [[nodiscard]] tl::unexpected<Error> failure(const char* doing) const;
  [[nodiscard]] std::array<std::filesystem::path, 2> files() const;
  [[nodiscard]] Result<void> check_place() const;
  void reach(const char* point) const {
    if (at_) at_(point);
  }

  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> db_;
  Statement insert_lease_;
  Statement end_lease_;
  std::uint64_t incarnation_ = 0;
  std::array<std::optional<FileNumber>, 2> numbers_{};  // of files(), since begin()
  AtPoint at_;
};

}  // namespace portcullis::service::daemon
