// SPDX-License-Identifier: BSD-3-Clause
//
// What the headers about lossless fabrics show: a ring that can lock, and a Clos that cannot.
#include <portcullis/buffer_cycles.hpp>
#include <portcullis/fabric_runs.hpp>
#include <portcullis/residence.hpp>

#include <array>
#include <iostream>
#include <string>

namespace {

using namespace portcullis;

Result<void> ask(const std::string& what) {
  PORTCULLIS_TRY_ASSIGN(const auto made, Fabric::make(what));
  PORTCULLIS_TRY_ASSIGN(const auto fabric, made.with(std::array<std::string, 1>{"d=0.5"}));
  std::cout << fabric.name() << ": " << fabric.links().size() << " links\n";

  PORTCULLIS_TRY_ASSIGN(const auto found, find_buffer_cycles(fabric));
  for (const PriorityCycles& priority : found)
    for (const Knot& knot : priority.knots)
      std::cout << knot.shortest.size() << " links wait for each other in a circle\n";

  PORTCULLIS_TRY_ASSIGN(const auto bound, bound_residence(fabric));
  if (bound.most_us) std::cout << "at most " << *bound.most_us << " us\n";
  if (!bound.most_us) std::cout << "no bound: " << bound.reason << '\n';

  if (fabric.flows().empty()) return {};
  PORTCULLIS_TRY_ASSIGN(const auto run, run_packets(fabric, {.until_us = 1'000}));
  if (run.deadlock) std::cout << "locks at " << run.deadlock->at_us << " us\n";
  if (!run.deadlock) std::cout << "no deadlock until " << run.end_us << " us\n";
  return {};
}

}  // namespace

int main() {
  for (const char* what : {"ring:3,2", "leaf-spine:4,2,2"}) {
    const auto done = ask(what);
    if (done) continue;
    std::cerr << "fabrics: " << done.error().text << '\n';
    return 1;
  }
  return 0;
}
