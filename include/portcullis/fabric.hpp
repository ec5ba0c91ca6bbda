// SPDX-License-Identifier: BSD-3-Clause
//
// A lossless fabric: switches and hosts, links with their PFC thresholds, flows, routes. Everything
// that is asked of one (buffer_cycles.hpp, residence.hpp, fabric_runs.hpp) answers about the same.
//
// Example, fabrics.cpp:
//   PORTCULLIS_TRY_ASSIGN(const auto made, Fabric::make(what));
//   PORTCULLIS_TRY_ASSIGN(const auto fabric, made.with(std::array<std::string, 1>{"d=0.5"}));
//   std::cout << fabric.name() << ": " << fabric.links().size() << " links\n";
#pragma once

#include <portcullis/export.hpp>
#include <portcullis/result.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis {

/// A fabric as it was read or made; it never changes.
class PORTCULLIS_API Fabric {
 public:
  struct Impl;

  /// A move copies: what was moved from is the same still. It costs no more than a count.
  Fabric(const Fabric&) = default;
  /// The same.
  Fabric& operator=(const Fabric&) = default;
  ~Fabric() = default;

  /// Malformed, as "FILE:LINE: links[3].xon: what is accepted"; `file` is what messages call the
  /// text.
  [[nodiscard]] static Result<Fabric> parse(std::string_view json, std::string_view file);
  /// One that is built in (names()), or one that is generated: leaf-spine:LEAVES,SPINES,HOSTS
  /// fat-tree:PORTS ring:SWITCHES,SPAN jellyfish:SWITCHES,PORTS,SEED
  /// dragonfly:GROUPS,ROUTERS,GLOBAL. NotFound or InvalidArgument names what there is.
  [[nodiscard]] static Result<Fabric> make(std::string_view name);
  /// Those that are built in.
  [[nodiscard]] static std::vector<std::string> names();
  /// The same fabric with NAME=VALUE applied in order, such as "xoff.a-b=2" or "d=0.5" (docs/pfc.md
  /// lists them). InvalidArgument names the setting and what is accepted.
  [[nodiscard]] Result<Fabric> with(std::span<const std::string> settings) const;

  /// As its text calls it, or as it was asked for in make(): "ring:3,1". json() has it too.
  [[nodiscard]] const std::string& name() const noexcept;
  /// What parse() reads back as the same fabric.
  [[nodiscard]] std::string json() const;
  /// Names, in the order of the fabric: links are one direction of a cable each.
  [[nodiscard]] std::vector<std::string> nodes() const;
  /// As nodes(): one direction of a cable each.
  [[nodiscard]] std::vector<std::string> links() const;
  /// As nodes().
  [[nodiscard]] std::vector<std::string> flows() const;
  /// For the other functions of this library.
  [[nodiscard]] const Impl& impl() const noexcept { return *impl_; }

 private:
  explicit Fabric(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;  // never changes
};

}  // namespace portcullis
