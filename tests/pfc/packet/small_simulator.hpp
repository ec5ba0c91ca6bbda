// SPDX-License-Identifier: BSD-3-Clause
//
// A second packet simulator, as plain as it can be and slow: one agenda of closures, everything
// looked up by name of what it is. It shares the rules of docs/pfc-packet.md with pfc/packet and no
// code. One priority, sources that are greedy, explicit paths.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "pfc/packet/simulator.hpp"

namespace portcullis::pfc::packet {

class SmallSimulator {
 public:
  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t delivered = 0;
    std::uint64_t overflowed = 0;
    std::uint64_t discarded = 0;
    Picoseconds latest = 0;
    [[nodiscard]] bool operator==(const Counts&) const = default;
  };

  SmallSimulator(const Topology& topology, const RunOptions& options)
      : topology_(topology), options_(options), links_(topology.links.size()) {
    for (std::size_t i = 0; i < links_.size(); ++i)
      for (std::size_t k = 0; k < links_.size(); ++k)
        if (topology.links[i].from == topology.links[k].to &&
            topology.links[i].to == topology.links[k].from)
          links_[i].back = k;
    counts_.resize(topology.flows.size());
    used_.resize(topology.nodes.size());
  }

  void run() {
    for (std::size_t flow = 0; flow < topology_.flows.size(); ++flow) {
      const auto start =
          static_cast<Picoseconds>(std::ceil(topology_.flows[flow].source.start * ps_per_time()));
      const std::size_t first = topology_.flows[flow].path.front();
      links_[first].sources.push_back({flow, start});
      at(start, [this, first] { send(first); });
    }
    if (options_.watchdog.poll > 0) at(options_.watchdog.poll, [this] { poll(); });
    while (!agenda_.empty() && agenda_.begin()->first.first <= options_.until) {
      const auto next = agenda_.begin();
      now_ = next->first.first;
      const std::function<void()> what = std::move(next->second);
      agenda_.erase(next);
      what();
    }
  }

  [[nodiscard]] const std::vector<Counts>& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t storms() const { return storms_; }
  [[nodiscard]] std::uint64_t run_out() const { return run_out_; }
  [[nodiscard]] std::uint64_t closings(std::size_t link) const { return links_[link].closings; }
  [[nodiscard]] Picoseconds closed(std::size_t link) const {
    const LinkState& one = links_[link];
    return one.closed + (one.is_closed ? options_.until - one.closed_at : 0);
  }

 private:
  struct Parcel {
    std::size_t flow = 0;
    std::size_t hop = 0;
    std::int64_t size = 0;
    std::size_t counted = kNowhere;
    Picoseconds born = 0;
  };
  struct Source {
    std::size_t flow = 0;
    Picoseconds start = 0;
  };
  struct LinkState {
    std::size_t back = kNowhere;
    std::vector<Source> sources;
    std::size_t source_turn = 0;
    std::deque<Parcel> queue;
    std::deque<bool> frames;  // of the gate behind `back`: whether each only repeats
    bool is_sending = false;
    // Near end.
    bool is_stopped = false;
    bool hears_pause = false;
    Picoseconds holds_until = 0;
    std::uint64_t spell = 0;  // counts changes that a watchdog's clock does not survive
    bool is_stuck = false;
    // Far end.
    std::int64_t held = 0;
    bool is_closed = false;
    std::uint64_t closings = 0;
    Picoseconds closed = 0;
    Picoseconds closed_at = 0;
    // Of polls.
    std::uint64_t pauses = 0, pauses_seen = 0, resumes = 0, resumes_seen = 0;
    bool was_paused = false;
    Picoseconds left = -1;
  };
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  [[nodiscard]] double ps_per_time() const { return topology_.units.time_s * 1e12; }
  [[nodiscard]] Picoseconds time_of(std::size_t link, double bytes) const {
    return std::llround(ps_per_time() /
                        (topology_.links[link].capacity * topology_.units.data_bytes) * bytes);
  }
  [[nodiscard]] std::int64_t bytes_of(double data) const {
    return std::isfinite(data) ? std::llround(data * topology_.units.data_bytes) : INT64_MAX / 4;
  }
  [[nodiscard]] Picoseconds delay_of(std::size_t link) const {
    return std::llround(topology_.links[link].delay * ps_per_time());
  }
  [[nodiscard]] std::int64_t size_of(std::size_t flow) const {
    for (const PacketSize& size : options_.sizes)
      if (size.flow == flow) return size.bytes;
    return options_.packet_bytes;
  }
  [[nodiscard]] bool is_watched(std::size_t link) const {
    return options_.watchdog.action != WatchdogAction::None && links_[link].sources.empty();
  }
  void at(Picoseconds time, std::function<void()> what) {
    agenda_.emplace(std::pair(time, order_++), std::move(what));
  }
  void after(Picoseconds delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  void send(std::size_t link) {
    LinkState& one = links_[link];
    if (one.is_sending) return;
    if (!one.frames.empty()) {
      one.is_sending = true;
      return after(time_of(link, 84), [this, link] {
        const bool is_repeat = links_[link].frames.front();
        links_[link].frames.pop_front();
        links_[link].is_sending = false;
        tell(links_[link].back, is_repeat);
        send(link);
      });
    }
    if (one.is_stopped) return;
    Parcel parcel;
    if (!one.queue.empty()) {
      parcel = one.queue.front();
      one.queue.pop_front();
    } else {
      const std::size_t source = next_source(one);
      if (source == kNowhere) return;
      one.source_turn = source + 1;
      const std::size_t flow = one.sources[source].flow;
      parcel = {flow, 0, size_of(flow), kNowhere, now_};
      ++counts_[flow].sent;
    }
    one.is_sending = true;
    after(time_of(link, static_cast<double>(parcel.size)), [this, link, parcel] {
      links_[link].is_sending = false;
      if (parcel.counted != kNowhere) leave(parcel.counted, parcel.size);
      after(delay_of(link), [this, link, parcel] { arrive(link, parcel); });
      send(link);
    });
  }

  [[nodiscard]] std::size_t next_source(const LinkState& one) const {
    for (std::size_t i = 0; i < one.sources.size(); ++i) {
      const std::size_t turn = (one.source_turn + i) % one.sources.size();
      if (one.sources[turn].start <= now_) return turn;
    }
    return kNowhere;
  }

  void arrive(std::size_t link, Parcel parcel) {
    const std::vector<LinkId>& path = topology_.flows[parcel.flow].path;
    Counts& count = counts_[parcel.flow];
    if (++parcel.hop == path.size()) {
      ++count.delivered;
      count.latest = std::max(count.latest, now_ - parcel.born);
      return;
    }
    const std::size_t next = path[parcel.hop];
    if (links_[next].is_stuck && options_.watchdog.action == WatchdogAction::Drop) {
      ++count.discarded;
      return;
    }
    const NodeId node = topology_.links[link].to;
    LinkState& one = links_[link];
    if (one.held + parcel.size > bytes_of(topology_.links[link].buffer) ||
        used_[node] + parcel.size > bytes_of(topology_.nodes[node].shared_buffer)) {
      ++count.overflowed;
      return;
    }
    one.held += parcel.size;
    used_[node] += parcel.size;
    if (!one.is_closed && one.held >= level(link, topology_.links[link].xoff)) set(link, true);
    parcel.counted = link;
    links_[next].queue.push_back(parcel);
    send(next);
  }

  [[nodiscard]] std::int64_t level(std::size_t link, double data) const {
    const Node& node = topology_.nodes[topology_.links[link].to];
    if (node.alpha <= 0) return bytes_of(data);
    const std::int64_t free =
        std::max<std::int64_t>(0, bytes_of(node.shared_buffer) - used_[topology_.links[link].to]);
    return std::min(bytes_of(data),
                    static_cast<std::int64_t>(node.alpha * static_cast<double>(free)));
  }

  void leave(std::size_t link, std::int64_t size) {
    const NodeId node = topology_.links[link].to;
    links_[link].held -= size;
    used_[node] -= size;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const bool is_asked =
          i == link || (topology_.links[i].to == node && topology_.nodes[node].alpha > 0);
      if (is_asked && links_[i].is_closed &&
          (links_[i].held < level(i, topology_.links[i].xon) || links_[i].held == 0))
        set(i, false);
    }
  }

  void set(std::size_t link, bool is_closed) {
    LinkState& one = links_[link];
    one.is_closed = is_closed;
    if (is_closed) {
      ++one.closings;
      one.closed_at = now_;
      if (options_.pause_timer.quanta > 0) repeat(link, one.closings);
    } else {
      one.closed += now_ - one.closed_at;
    }
    say(link, false);
  }

  [[nodiscard]] Picoseconds quanta_of(std::size_t link, double quanta) const {
    return time_of(link, 64 * quanta);
  }

  void repeat(std::size_t link, std::uint64_t closing) {
    const PauseTimer& timer = options_.pause_timer;
    after(quanta_of(link, timer.refresh > 0 ? timer.refresh : timer.quanta / 2.0),
          [this, link, closing] {
            LinkState& one = links_[link];
            if (!one.is_closed || one.closings != closing) return;
            const bool is_waiting =
                options_.pause_in_band && one.back != kNowhere && !links_[one.back].frames.empty();
            if (!is_waiting) say(link, true);
            repeat(link, closing);
          });
  }

  void say(std::size_t link, bool is_repeat) {
    const std::size_t back = links_[link].back;
    if (!options_.pause_in_band || back == kNowhere) return tell(link, is_repeat);
    links_[back].frames.push_back(is_repeat);
    send(back);
  }

  void tell(std::size_t link, bool) {
    const bool is_closed = links_[link].is_closed;
    after(delay_of(link) + options_.response, [this, link, is_closed] {
      if (is_closed)
        stop(link);
      else
        go(link, true);
    });
  }

  void stop(std::size_t link) {
    LinkState& one = links_[link];
    ++one.pauses;
    one.hears_pause = true;
    if (options_.pause_timer.quanta > 0) {
      one.holds_until = now_ + quanta_of(link, options_.pause_timer.quanta);
      at(one.holds_until, [this, link] {
        if (!links_[link].hears_pause || links_[link].holds_until != now_) return;
        ++run_out_;
        go(link, false);
      });
    }
    if (one.is_stopped) return;
    if (one.is_stuck) {
      ++one.spell;
      return;
    }
    one.is_stopped = true;
    if (is_watched(link) && options_.watchdog.poll == 0) suspect(link, ++one.spell);
  }

  void go(std::size_t link, bool is_told) {
    LinkState& one = links_[link];
    one.hears_pause = false;
    if (is_told) ++one.resumes;
    const std::uint64_t spell = ++one.spell;
    if (one.is_stuck && options_.watchdog.poll == 0)
      after(options_.watchdog.restore, [this, link, spell] {
        if (links_[link].spell == spell) links_[link].is_stuck = false;
      });
    one.is_stopped = false;
    send(link);
  }

  void suspect(std::size_t link, std::uint64_t spell) {
    after(options_.watchdog.detect, [this, link, spell] {
      LinkState& one = links_[link];
      if (one.spell != spell) return;
      if (one.queue.empty()) return suspect(link, ++one.spell);
      stuck(link);
    });
  }

  void stuck(std::size_t link) {
    LinkState& one = links_[link];
    ++storms_;
    ++one.spell;
    one.is_stuck = true;
    one.is_stopped = false;
    std::deque<Parcel> dropped;
    if (options_.watchdog.action == WatchdogAction::Drop) dropped.swap(one.queue);
    for (const Parcel& parcel : dropped) {
      ++counts_[parcel.flow].discarded;
      leave(parcel.counted, parcel.size);
    }
    send(link);
  }

  void poll() {
    const Watchdog& watchdog = options_.watchdog;
    after(watchdog.poll, [this] { poll(); });
    for (std::size_t link = 0; link < links_.size(); ++link) {
      LinkState& one = links_[link];
      if (!is_watched(link)) continue;
      if (one.left < 0) one.left = watchdog.detect;
      const bool has_heard = one.pauses > one.pauses_seen;
      const bool is_stuck = one.was_paused && one.hears_pause && one.resumes == one.resumes_seen &&
                            (has_heard || options_.pause_timer.quanta == 0);
      const bool is_quiet = !has_heard && !one.hears_pause;
      one.was_paused = one.hears_pause;
      one.pauses_seen = one.pauses;
      one.resumes_seen = one.resumes;
      if (one.is_stuck) {
        one.left = is_quiet ? one.left - watchdog.poll : watchdog.restore;
        if (one.left > 0) continue;
        one.is_stuck = false;
        one.left = watchdog.detect;
      } else if (!is_stuck) {
        one.left = watchdog.detect;
      } else {
        one.left -= std::min(watchdog.poll, watchdog.detect - 1);
        if (one.left > 0) continue;
        one.left = watchdog.restore;
        stuck(link);
      }
    }
  }

  const Topology& topology_;
  const RunOptions& options_;
  std::map<std::pair<Picoseconds, std::uint64_t>, std::function<void()>> agenda_;
  std::uint64_t order_ = 0;
  Picoseconds now_ = 0;
  std::vector<LinkState> links_;
  std::vector<std::int64_t> used_;  // by node
  std::vector<Counts> counts_;      // by flow
  std::uint64_t storms_ = 0;
  std::uint64_t run_out_ = 0;
};

}  // namespace portcullis::pfc::packet
