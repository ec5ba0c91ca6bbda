// SPDX-License-Identifier: BSD-3-Clause
#include "tests/fleet/simulation/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace portcullis::fleet::simulation {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;

/// Stacks of fibers that have ended: thousands of histories use the same few.
std::vector<std::unique_ptr<std::byte[]>>& spare_stacks() {
  static std::vector<std::unique_ptr<std::byte[]>> stacks;
  return stacks;
}

std::unique_ptr<std::byte[]> take_stack() {
  auto& spare = spare_stacks();
  if (spare.empty()) return std::make_unique<std::byte[]>(kStackBytes);
  auto stack = std::move(spare.back());
  spare.pop_back();
  return stack;
}

}  // namespace

void World::at(std::uint64_t ns, Act act) {
  events_.push_back({.ns = std::max(ns, now_ns_), .number = numbers_++, .act = std::move(act)});
  std::push_heap(events_.begin(), events_.end());
}

void World::after(const std::shared_ptr<Life>& life, std::uint64_t ns, Act act) {
  at(now_ns_ + ns, [this, life, act = std::move(act)] {
    if (life->is_over) return;
    if (life->is_stopped) return life->waiting.push_back(act);
    act();
  });
}

void World::go_on(const std::shared_ptr<Life>& life) {
  life->is_stopped = false;
  for (Act& each : std::exchange(life->waiting, {})) after(life, 0, std::move(each));
}

void World::run_until(std::uint64_t ns) {
  while (!events_.empty() && events_.front().ns <= ns) {
    std::pop_heap(events_.begin(), events_.end());
    const Event next = std::move(events_.back());
    events_.pop_back();
    now_ns_ = next.ns;
    next.act();
  }
  now_ns_ = ns;
}

std::uint64_t World::draw(std::uint64_t least, std::uint64_t most) {
  return least + chance_() % (most - least + 1);  // the same with every library
}

void World::say(const std::string& line) {
  said_.push_back(fmt::format("{:>12.6f} {}", static_cast<double>(now_ns_) / 1e9, line));
  for (const char each : said_.back())
    digest_ = (digest_ ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
}

void World::violation(const std::string& what) {
  violations_.push_back(what);
  say("WRONG: " + what);
}

Fiber::Fiber(World& world, std::shared_ptr<Life> life, std::function<void()> body)
    : world_(world), life_(std::move(life)), body_(std::move(body)), stack_(take_stack()) {
  (void)getcontext(&here_);
  here_.uc_stack.ss_sp = stack_.get();
  here_.uc_stack.ss_size = kStackBytes;
  here_.uc_link = &back_;
  makecontext(&here_, &Fiber::run, 0);  // which hands on no pointer
  wake();
}

Fiber* Fiber::running_ = nullptr;

Fiber::~Fiber() {
  is_killed_ = true;
  while (!has_ended_) go_on();
  spare_stacks().push_back(std::move(stack_));
}

void Fiber::run() {
  Fiber* self = running_;
  try {
    if (!self->is_killed_) self->body_();
  } catch (const Killed&) {  // that is how a process ends that is killed
  }
  self->has_ended_ = true;
}

void Fiber::go_on() {
  if (has_ended_) return;
  running_ = this;
  (void)swapcontext(&back_, &here_);
}

void Fiber::wake() {
  world_.after(life_, 0, [this, turn = turn_] {
    if (turn == turn_) go_on();
  });
}

void Fiber::wait_until(std::uint64_t ns) {
  const std::uint64_t turn = ++turn_;
  const std::uint64_t now = world_.now_ns();
  world_.after(life_, ns > now ? ns - now : 0, [this, turn] {
    if (turn == turn_) go_on();
  });
  (void)swapcontext(&here_, &back_);
  ++turn_;
  if (is_killed_) throw Killed{};
}

}  // namespace portcullis::fleet::simulation
