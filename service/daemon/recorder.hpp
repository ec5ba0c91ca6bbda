// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that writes the journal: what it is given while it writes goes into the file together,
// with one wait for the disk. Where the file cannot be written no grant is, and endings are kept
// until it can.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/log_sink.hpp"
#include "service/daemon/journal.hpp"
#include "service/daemon/mailbox.hpp"
#include "service/daemon/requests.hpp"

namespace portcullis::service::daemon {

/// What is to be recorded; a grant has the ticket that waits for it.
struct ToRecord {
  Ticket ticket = 0;
  Entry entry;
};

class Recorder {
 public:
  struct Options {
    std::function<void(Recorded)> tell;      // from the recorder's own thread
    std::function<void(Looked)> found = {};  // likewise
    std::function<std::uint64_t()> unix_ms;  // now
    std::uint64_t keep_ms = 0;               // what ended longer ago is forgotten; 0: nothing is
    std::function<void(std::uint64_t ns)> wrote = {};  // how long each write took; may be empty
    LogSink log;
  };
  /// `journal` is none where nothing is kept: then every grant is answered at once.
  Recorder(std::optional<Journal> journal, Options options);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  /// Writes what it was given, if that is possible, and ends.
  ~Recorder();

  void record(const ToRecord& entry) { inbox_.put(entry); }
  /// An ending, whose file nobody waits for: with what is written next, at write_soon() at latest.
  void record_later(const ToRecord& entry) { inbox_.leave(entry); }
  void write_soon() noexcept { inbox_.nudge(); }
  /// What was recorded before is found.
  void look_up(const LookUp& wanted);
  /// The file could not be written when that was tried last.
  [[nodiscard]] bool is_lost() const noexcept { return is_lost_.load(); }

 private:
  void run();
  void write_waiting();
  void answer_waiting();
  [[nodiscard]] Result<wire::History> found(const wire::HistoryRequest& wanted);
  void write_batch(const std::vector<ToRecord>& batch);
  [[nodiscard]] Result<void> timed_write(const std::vector<Entry>& entries);
  void try_again();
  void forget_old();
  void note(const Result<void>& written);

  std::optional<Journal> journal_;
  Options options_;
  Mailbox<ToRecord> inbox_;
  Mailbox<LookUp> questions_;
  std::vector<Entry> kept_;         // endings that are not in the file yet
  std::uint64_t try_again_ns_ = 0;  // not before then, whatever comes meanwhile
  int rounds_ = 0;                  // since something was forgotten last
  std::atomic<bool> is_lost_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace portcullis::service::daemon
