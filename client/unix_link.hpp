// SPDX-License-Identifier: BSD-3-Clause
//
// A link over AF_UNIX: one message is one frame.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "base/unique_fd.hpp"
#include "client/link.hpp"

namespace portcullis::client {

class UnixLink : public Link {
 public:
  /// A server that accepts nobody, with all places before it taken, is waited for until then.
  [[nodiscard]] static Result<std::unique_ptr<Link>> open(const std::filesystem::path& path,
                                                          std::uint64_t until_ns,
                                                          const Stop& stop = {});

  [[nodiscard]] Result<void> send(const wire::FrameBytes& frame, std::uint64_t until_ns) override;
  [[nodiscard]] Result<std::optional<wire::FrameBytes>> receive(std::uint64_t until_ns) override;
  [[nodiscard]] int fd() const noexcept override { return socket_.get(); }
  [[nodiscard]] std::optional<std::uint64_t> there_ns() const noexcept override {
    return there_ns_;
  }

 private:
  explicit UnixLink(UniqueFd socket);

  UniqueFd socket_;
  std::uint64_t there_ns_;  // when this side last looked, and it had not ended
};

}  // namespace portcullis::client
