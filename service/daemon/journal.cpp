// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/entropy.hpp"
#include "base/unique_fd.hpp"
#include "service/daemon/host_identity.hpp"

namespace portcullis::service::daemon {
namespace {

/// In the file's header (PRAGMA application_id): "PoLe".
constexpr int kApplicationId = 0x506f4c65;
constexpr int kFormat = 1;

// SQLite has no unsigned 64-bit numbers: names are kept with their bits as they are.
sqlite3_int64 signed_bits(std::uint64_t value) noexcept {
  return std::bit_cast<sqlite3_int64>(value);
}
std::uint64_t unsigned_bits(sqlite3_int64 value) noexcept {
  return std::bit_cast<std::uint64_t>(value);
}

constexpr const char* kTables = R"(
CREATE TABLE server(
  incarnation INTEGER PRIMARY KEY, first_epoch INTEGER NOT NULL, started_unix_ms INTEGER NOT NULL);
CREATE TABLE lease(
  id INTEGER NOT NULL, epoch INTEGER NOT NULL, tenant INTEGER NOT NULL, bytes INTEGER NOT NULL,
  incarnation INTEGER NOT NULL, granted_unix_ms INTEGER NOT NULL,
  ended_unix_ms INTEGER, outcome INTEGER, memory INTEGER, cause INTEGER, origin INTEGER,
  failed_mask INTEGER,
  PRIMARY KEY(id, epoch)) WITHOUT ROWID;
CREATE INDEX held ON lease(granted_unix_ms) WHERE ended_unix_ms IS NULL;
CREATE INDEX ended ON lease(ended_unix_ms) WHERE ended_unix_ms IS NOT NULL;
)";
// So that no question reads far more than it answers: a grant waits for the journal's thread. Of
// Fenced there are few. Beside the tables since format 1 does not have them: a file of before gets
// them when it is opened.
constexpr const char* kIndexes = R"(
CREATE INDEX IF NOT EXISTS ended_of ON lease(tenant, ended_unix_ms) WHERE ended_unix_ms IS NOT NULL;
CREATE INDEX IF NOT EXISTS fenced ON lease(ended_unix_ms) WHERE outcome=1;
)";
/// Which function a server's leases are on, in the order of starts: beside the tables as well, so a
/// server of a file of before has no row, and where its leases are is not known.
constexpr const char* kServed = R"(
CREATE TABLE IF NOT EXISTS served(
  start INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL UNIQUE, function TEXT NOT NULL,
  was_reset INTEGER NOT NULL, ends_with_server INTEGER NOT NULL);
)";

/// The text must outlive the statement's steps.
void bind_text(sqlite3_stmt* statement, int index, std::string_view text) noexcept {
  sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

std::string text_at(sqlite3_stmt* row, int column) {
  const void* text = sqlite3_column_blob(row, column);  // whose bytes are counted next
  const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
  return text == nullptr ? std::string() : std::string(static_cast<const char*>(text), bytes);
}

/// In the order in which look_up() asks for them.
wire::HistoryRow history_row(sqlite3_stmt* row) {
  const auto at = [row](int column) { return unsigned_bits(sqlite3_column_int64(row, column)); };
  wire::HistoryRow ended{.id = at(0), .epoch = at(1), .tenant = at(2), .bytes = at(3)};
  ended.granted_unix_ms = at(4);
  ended.ended_unix_ms = at(5);
  ended.failed_mask = static_cast<std::uint32_t>(at(6));
  ended.outcome = static_cast<wire::Outcome>(at(7));
  ended.memory = static_cast<wire::Memory>(at(8));
  ended.cause = static_cast<wire::Cause>(at(9));
  return ended;
}

/// Made as nobody else may read it, before SQLite writes the first byte. One that is there is
/// believed, names and outcomes, as far as its folder is (program::check_folder).
Result<void> make_file(const std::filesystem::path& path) {
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat found {};
  if (!file.is_open() || ::fstat(file.get(), &found) != 0)
    return fail(Errc::System, fmt::format("journal {}: {}", path.string(), std::strerror(errno)));
  const bool is_trusted = found.st_uid == 0 || found.st_uid == ::geteuid();
  if (is_trusted && S_ISREG(found.st_mode) && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return fail(Errc::System, fmt::format("journal {}: somebody else may change it; a file of one's "
                                        "own or root's, which no other may write, is accepted",
                                        path.string()));
}

}  // namespace

Ending ending_by_restart(bool is_proved) noexcept {
  return {.name = {},
          .outcome = is_proved ? wire::Outcome::TornDown : wire::Outcome::Fenced,
          .memory = is_proved ? wire::Memory::FunctionReset : wire::Memory::Unproved,
          .cause = wire::Cause::Restart};
}

void Journal::Close::operator()(sqlite3* database) const noexcept { sqlite3_close(database); }
void Journal::Finalize::operator()(sqlite3_stmt* statement) const noexcept {
  sqlite3_finalize(statement);
}

tl::unexpected<Error> Journal::failure(const char* doing) const {
  const int code = sqlite3_errcode(db_.get()) & 0xff;
  const auto text =
      fmt::format("journal {}: {}: {}", path_.string(), doing, sqlite3_errmsg(db_.get()));
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
    return fail(Errc::Busy, fmt::format("journal {}: another process has it open", path_.string()));
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) return fail(Errc::Malformed, text);
  return fail(Errc::System, text);
}

std::optional<Journal::FileNumber> Journal::FileNumber::of(
    const std::filesystem::path& path) noexcept {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0)
    return FileNumber{.device = found.st_dev, .inode = found.st_ino};
  if (errno == ENOENT || errno == ENOTDIR) return FileNumber{};
  return std::nullopt;
}

/// The write-ahead log is there as long as this process has the journal, and has what is newest.
std::array<std::filesystem::path, 2> Journal::files() const {
  return {path_, path_.string() + "-wal"};
}

/// SQLite would go on writing into a file that has no name any more.
Result<void> Journal::check_place() const {
  const auto all = files();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto number = FileNumber::of(all[i]);
    if (!number || !numbers_[i] || *number == *numbers_[i]) continue;
    return fail(Errc::System,
                fmt::format("journal {}: {} was removed or replaced while it is written; put it "
                            "back, or start again without",
                            path_.string(), all[i].string()));
  }
  return {};
}

Result<Journal> Journal::open(const std::filesystem::path& path) {
  PORTCULLIS_TRY(make_file(path));
  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &database,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Journal journal(path, database);
  if (opened != SQLITE_OK) return journal.failure("open");
  PORTCULLIS_TRY(journal.set_up());
  return journal;
}

Result<void> Journal::set_up() {
  // Exclusive: another server on the same file would repeat names.
  PORTCULLIS_TRY(execute("PRAGMA locking_mode=EXCLUSIVE"));
  PORTCULLIS_TRY(execute("PRAGMA journal_mode=WAL"));
  PORTCULLIS_TRY(execute("PRAGMA synchronous=FULL"));
  // In KiB, as it is below 0. Rows are written at the end and looked up by number: more pages serve
  // nobody, and two megabytes of them, which is the default, are 200 bytes for each of 10,000
  // leases.
  PORTCULLIS_TRY(execute("PRAGMA cache_size=-256"));
  PORTCULLIS_TRY(execute("BEGIN IMMEDIATE"));
  PORTCULLIS_TRY(check_format());
  PORTCULLIS_TRY(execute(kIndexes));
  PORTCULLIS_TRY(execute(kServed));
  PORTCULLIS_TRY(execute("COMMIT"));
  PORTCULLIS_TRY_ASSIGN(insert_lease_,
                        prepare("INSERT INTO lease(id, epoch, tenant, bytes, incarnation, "
                                "granted_unix_ms) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"));
  PORTCULLIS_TRY_ASSIGN(
      end_lease_, prepare("UPDATE lease SET ended_unix_ms=?3, outcome=?4, memory=?5, cause=?6, "
                          "origin=?7, failed_mask=?8 WHERE id=?1 AND epoch=?2"));
  return {};
}

Result<void> Journal::check_format() {
  PORTCULLIS_TRY_ASSIGN(const auto application, number("PRAGMA application_id"));
  PORTCULLIS_TRY_ASSIGN(const auto tables, number("SELECT count(*) FROM sqlite_schema"));
  if (application == 0 && tables == 0) {
    PORTCULLIS_TRY(execute(fmt::format("PRAGMA application_id={}", kApplicationId).c_str()));
    PORTCULLIS_TRY(execute(fmt::format("PRAGMA user_version={}", kFormat).c_str()));
    return execute(kTables);
  }
  PORTCULLIS_TRY_ASSIGN(const auto format, number("PRAGMA user_version"));
  if (application == static_cast<std::uint64_t>(kApplicationId) &&
      format == static_cast<std::uint64_t>(kFormat))
    return {};
  return fail(Errc::Malformed,
              fmt::format("journal {}: a database of somebody else's (application {:#x}, format "
                          "{}); one that leased has made is accepted, format {}",
                          path_.string(), application, format, kFormat));
}

Result<void> Journal::execute(const char* sql) {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return failure("write");
}

Result<Journal::Statement> Journal::prepare(const char* sql) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(db_.get(), sql, -1, &made, nullptr) != SQLITE_OK) return failure("read");
  return Statement(made);
}

Result<std::uint64_t> Journal::number(const char* sql) {
  PORTCULLIS_TRY_ASSIGN(const Statement statement, prepare(sql));
  if (sqlite3_step(statement.get()) != SQLITE_ROW) return failure("read");
  return unsigned_bits(sqlite3_column_int64(statement.get(), 0));
}

Result<void> Journal::run(const Statement& statement) {
  const int done = sqlite3_step(statement.get());
  if (done == SQLITE_DONE) {
    sqlite3_reset(statement.get());
    return {};
  }
  auto failed = failure("write");  // before the reset, which forgets the reason
  sqlite3_reset(statement.get());
  return failed;
}

/// Numbers that no server of this journal had: its incarnation, and epochs of its own.
Result<void> Journal::draw(Beginning& beginning) {
  constexpr int kTries = 16;
  for (int i = 0; i < kTries; ++i) {
    PORTCULLIS_TRY_ASSIGN(beginning.incarnation, random_number());
    PORTCULLIS_TRY_ASSIGN(const auto drawn, random_number());
    // 62 bits, so that a server's epochs, a slot's grants above the first, never reach the end.
    beginning.first_epoch = (drawn >> 2) + 1;
    const auto sql = fmt::format(
        "SELECT count(*) FROM server WHERE incarnation={} OR abs(first_epoch-{}) < 4294967296",
        signed_bits(beginning.incarnation), signed_bits(beginning.first_epoch));
    PORTCULLIS_TRY_ASSIGN(const auto taken, number(sql.c_str()));
    if (taken == 0 && beginning.incarnation != 0) return {};
  }
  return fail(Errc::System, fmt::format("journal {}: no number is left", path_.string()));
}

Result<std::optional<Elsewhere>> Journal::held_elsewhere(std::string_view function) {
  PORTCULLIS_TRY_ASSIGN(
      const Statement statement,
      prepare("SELECT function, count(*) FROM lease JOIN served USING(incarnation) WHERE "
              "ended_unix_ms IS NULL AND ends_with_server=0 AND function NOT IN (?1, ?2) "
              "GROUP BY function"));
  sqlite3_stmt* row = statement.get();
  bind_text(row, 1, function);
  bind_text(row, 2, function_alone(function));
  const int got = sqlite3_step(row);
  if (got == SQLITE_DONE) return std::nullopt;
  if (got != SQLITE_ROW) return failure("read");
  return Elsewhere{.function = text_at(row, 0),
                   .leases = unsigned_bits(sqlite3_column_int64(row, 1))};
}

Result<void> Journal::end_all(Beginning& beginning, std::uint64_t unix_ms, const Served& on) {
  const auto end = [&](bool is_proved, const char* which) {
    const Ending how = ending_by_restart(is_proved);
    return fmt::format(
        "UPDATE lease SET ended_unix_ms={}, outcome={}, memory={}, cause={}, origin=0, "
        "failed_mask=0 WHERE ended_unix_ms IS NULL{}",
        signed_bits(unix_ms), static_cast<int>(how.outcome), static_cast<int>(how.memory),
        static_cast<int>(how.cause), which);
  };
  PORTCULLIS_TRY_ASSIGN(const Statement proved,
                        prepare(end(true,
                                    " AND incarnation IN (SELECT incarnation FROM served WHERE "
                                    "ends_with_server=1 OR (?1 AND function IN (?2, ?3)))")
                                    .c_str()));
  sqlite3_bind_int(proved.get(), 1, on.was_reset ? 1 : 0);
  bind_text(proved.get(), 2, on.name);
  bind_text(proved.get(), 3, function_alone(on.name));
  PORTCULLIS_TRY(run(proved));
  beginning.restarted = static_cast<std::size_t>(sqlite3_changes(db_.get()));
  PORTCULLIS_TRY(execute(end(false, "").c_str()));
  beginning.unproved = static_cast<std::size_t>(sqlite3_changes(db_.get()));
  beginning.restarted += beginning.unproved;
  return {};
}

Result<void> Journal::enter(const Beginning& beginning, std::uint64_t unix_ms, const Served& on) {
  const auto server =
      fmt::format("INSERT INTO server VALUES({}, {}, {})", signed_bits(beginning.incarnation),
                  signed_bits(beginning.first_epoch), signed_bits(unix_ms));
  PORTCULLIS_TRY(execute(server.c_str()));
  PORTCULLIS_TRY_ASSIGN(
      const Statement served,
      prepare("INSERT INTO served(incarnation, function, was_reset, ends_with_server) "
              "VALUES(?1, ?2, ?3, ?4)"));
  sqlite3_bind_int64(served.get(), 1, signed_bits(beginning.incarnation));
  bind_text(served.get(), 2, on.name);
  sqlite3_bind_int(served.get(), 3, on.was_reset ? 1 : 0);
  sqlite3_bind_int(served.get(), 4, on.ends_with_server ? 1 : 0);
  return run(served);
}

Result<Beginning> Journal::begin(std::uint64_t unix_ms, const Served& on) {
  Beginning beginning;
  PORTCULLIS_TRY(draw(beginning));
  PORTCULLIS_TRY(execute("BEGIN IMMEDIATE"));
  reach("journal.begin.before");
  auto done = end_all(beginning, unix_ms, on);
  if (done) done = enter(beginning, unix_ms, on);
  reach("journal.begin.commit");
  if (done) done = execute("COMMIT");
  reach("journal.begin.after");
  if (!done) {
    (void)execute("ROLLBACK");
    return forward_error(std::move(done));
  }
  incarnation_ = beginning.incarnation;
  const auto all = files();
  std::transform(all.begin(), all.end(), numbers_.begin(), &FileNumber::of);
  PORTCULLIS_TRY_ASSIGN(beginning.past, past());
  return beginning;
}

Result<std::vector<PastEnding>> Journal::past() {
  const auto sql = fmt::format(
      "SELECT past.*, own.ends_with_server OR latest > own.start FROM (SELECT id, epoch, tenant, "
      "ended_unix_ms, failed_mask, outcome, memory, cause, origin, incarnation FROM lease WHERE "
      "ended_unix_ms IS NOT NULL ORDER BY ended_unix_ms DESC LIMIT {}) AS past "
      "LEFT JOIN served AS own USING(incarnation) "
      "LEFT JOIN (SELECT function, max(start) AS latest FROM served WHERE was_reset=1 "
      "GROUP BY function) USING(function) ORDER BY ended_unix_ms",
      kMostPast);
  PORTCULLIS_TRY_ASSIGN(const Statement statement, prepare(sql.c_str()));
  std::vector<PastEnding> endings;
  sqlite3_stmt* row = statement.get();
  int got = SQLITE_ROW;
  while ((got = sqlite3_step(row)) == SQLITE_ROW) {
    const auto at = [row](int column) { return unsigned_bits(sqlite3_column_int64(row, column)); };
    Ending ending{.name = {.id = at(0), .epoch = at(1)}, .tenant = at(2), .unix_ms = at(3)};
    ending.failed_mask = static_cast<std::uint32_t>(at(4));
    ending.outcome = static_cast<wire::Outcome>(at(5));
    ending.memory = static_cast<wire::Memory>(at(6));
    ending.cause = static_cast<wire::Cause>(at(7));
    ending.origin = static_cast<lease::Origin>(at(8));
    endings.push_back(  // NULL, where a function is not known, reads as 0
        {.incarnation = at(9), .ending = ending, .is_proved_since = at(10) != 0});
  }
  if (got != SQLITE_DONE) return failure("read");
  return endings;
}

Result<wire::History> Journal::look_up(const wire::HistoryRequest& wanted, std::uint64_t unix_ms,
                                       std::uint64_t keep_ms) {
  constexpr std::uint64_t kLatest = ~std::uint64_t{0} >> 1;  // of SQLite's numbers
  // Said, for without it SQLite takes ended_of for the Fenced of a tenant: all that it ever had.
  const char* index = wanted.tenant == wire::kEveryTenant ? "ended" : "ended_of";
  if (wanted.fenced_only != 0) index = "fenced";
  std::string sql = fmt::format(
      "SELECT id, epoch, tenant, bytes, granted_unix_ms, ended_unix_ms, failed_mask, outcome, "
      "memory, cause FROM lease INDEXED BY {} WHERE ended_unix_ms IS NOT NULL AND "
      "ended_unix_ms >= ?1 AND ended_unix_ms <= ?2 AND (ended_unix_ms, id, epoch) < (?2, ?3, ?4)",
      index);
  if (wanted.tenant != wire::kEveryTenant) sql += " AND tenant=?5";
  if (wanted.fenced_only != 0) sql += " AND outcome=1";
  sql += fmt::format(" ORDER BY ended_unix_ms DESC, id DESC, epoch DESC LIMIT {}",
                     wire::kMostRows + 1);
  PORTCULLIS_TRY_ASSIGN(const Statement statement, prepare(sql.c_str()));
  sqlite3_stmt* row = statement.get();
  const bool from_newest = wanted.before_unix_ms == 0;
  sqlite3_bind_int64(row, 1, signed_bits(std::min(wanted.since_unix_ms, kLatest)));
  sqlite3_bind_int64(row, 2,
                     signed_bits(from_newest ? kLatest : std::min(wanted.before_unix_ms, kLatest)));
  sqlite3_bind_int64(row, 3, signed_bits(from_newest ? kLatest : wanted.before_id));
  sqlite3_bind_int64(row, 4, signed_bits(from_newest ? kLatest : wanted.before_epoch));
  if (wanted.tenant != wire::kEveryTenant) sqlite3_bind_int64(row, 5, signed_bits(wanted.tenant));
  wire::History history;
  PORTCULLIS_TRY_ASSIGN(history.from_unix_ms,
                        number("SELECT ifnull(min(started_unix_ms), 0) FROM server"));
  if (keep_ms != 0 && keep_ms < unix_ms)
    history.from_unix_ms = std::max(history.from_unix_ms, unix_ms - keep_ms);
  int got = SQLITE_ROW;
  while ((got = sqlite3_step(row)) == SQLITE_ROW) {
    if (history.rows.size() == wire::kMostRows) {
      history.has_more = true;
      return history;
    }
    history.rows.push_back(history_row(row));
  }
  if (got != SQLITE_DONE) return failure("read");
  return history;
}

Result<void> Journal::insert(const Record& record) {
  sqlite3_stmt* to = insert_lease_.get();
  sqlite3_bind_int64(to, 1, signed_bits(record.name.id));
  sqlite3_bind_int64(to, 2, signed_bits(record.name.epoch));
  sqlite3_bind_int64(to, 3, signed_bits(record.tenant));
  sqlite3_bind_int64(to, 4, signed_bits(record.bytes));
  sqlite3_bind_int64(to, 5, signed_bits(incarnation_));
  sqlite3_bind_int64(to, 6, signed_bits(record.granted_unix_ms));
  return run(insert_lease_);
}

Result<void> Journal::insert(const Ending& ending) {
  sqlite3_stmt* to = end_lease_.get();
  sqlite3_bind_int64(to, 1, signed_bits(ending.name.id));
  sqlite3_bind_int64(to, 2, signed_bits(ending.name.epoch));
  sqlite3_bind_int64(to, 3, signed_bits(ending.unix_ms));
  sqlite3_bind_int(to, 4, static_cast<int>(ending.outcome));
  sqlite3_bind_int(to, 5, static_cast<int>(ending.memory));
  sqlite3_bind_int(to, 6, static_cast<int>(ending.cause));
  sqlite3_bind_int(to, 7, static_cast<int>(ending.origin));
  sqlite3_bind_int64(to, 8, ending.failed_mask);
  return run(end_lease_);
}

Result<void> Journal::write_all(std::span<const Entry> entries) {
  PORTCULLIS_TRY(check_place());
  PORTCULLIS_TRY(execute("BEGIN IMMEDIATE"));
  for (const Entry& entry : entries)
    PORTCULLIS_TRY(std::visit([this](const auto& each) { return insert(each); }, entry));
  reach("journal.write.commit");
  return execute("COMMIT");
}

Result<void> Journal::write(std::span<const Entry> entries) {
  reach("journal.write.before");
  auto written = write_all(entries);
  reach("journal.write.after");
  // Where the failure itself has rolled back, this fails and changes nothing.
  if (!written) (void)execute("ROLLBACK");
  return written;
}

Result<void> Journal::probe() {
  PORTCULLIS_TRY(check_place());
  return execute(fmt::format("UPDATE server SET started_unix_ms=started_unix_ms "
                             "WHERE incarnation={}",
                             signed_bits(incarnation_))
                     .c_str());
}

Result<std::size_t> Journal::forget(std::uint64_t unix_ms, std::size_t most) {
  PORTCULLIS_TRY(execute(fmt::format("DELETE FROM lease WHERE (id, epoch) IN (SELECT id, epoch "
                                     "FROM lease WHERE ended_unix_ms < {} LIMIT {})",
                                     signed_bits(unix_ms), most)
                             .c_str()));
  return static_cast<std::size_t>(sqlite3_changes(db_.get()));
}

}  // namespace portcullis::service::daemon
