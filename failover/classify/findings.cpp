// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/findings.hpp"

#include <type_traits>
#include <utility>

namespace portcullis::failover {
namespace {

class KeyText {
 public:
  template <class T>
  KeyText& operator<<(const T& value) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    auto rest = static_cast<std::uint64_t>(value);
    for (; rest > 0x7f; rest >>= 7) text_ += static_cast<char>(rest | 0x80);
    text_ += static_cast<char>(rest);
    return *this;
  }
  template <class T>
  KeyText& operator<<(const std::optional<T>& value) {
    *this << value.has_value();
    return value ? *this << *value : *this;
  }
  KeyText& operator<<(const std::string& name) {
    *this << name.size();
    text_ += name;
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string Findings::key_of(const Story& story) {
  KeyText key;
  const Contract& c = story.contract;
  key << c.environment << c.consumer << c.is_fenced << c.has_unique_tags << c.is_nothing_later
      << c.are_queues_fenced << story.cells;
  for (const StoryRequest& part : story.requests) {
    const OutstandingRequest& r = part.request;
    const Evidence& e = r.evidence;
    key << r.index << part.cell << part.cells << part.queue << part.is_message << r.opcode
        << r.outcome << may_run_on(r) << r.length << e.least << e.most << e.is_queue_fenced
        << e.word << e.word_before << e.holds_source;
    if (!r.opcode) key << r.opcode_name << r.side_effect;
    if (r.opcode && is_atomic(*r.opcode)) key << r.compare_add << r.swap;
  }
  return key.take();
}

const std::vector<Classification>* Findings::of(const std::string& key) const {
  const auto found = kept_.find(key);
  return found == kept_.end() ? nullptr : &found->second;
}

void Findings::keep(std::string key, std::vector<Classification> advice) {
  for (Classification& one : advice) {
    one.machine.reset();
    one.trace.reset();
  }
  kept_[std::move(key)] = std::move(advice);
}

}  // namespace portcullis::failover
