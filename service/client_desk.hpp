// SPDX-License-Identifier: BSD-3-Clause
//
// Where clients of another host ask for a lease: a request that this port can serve is taken, any
// other is refused with the reason, and a grant is sent back. Its caller grants and revokes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "lease/lease_manager.hpp"
#include "service/exchange/exchange.hpp"
#include "service/exchange/line_channel.hpp"
#include "service/served_port.hpp"

namespace portcullis::service {

/// What a lease has whoever asks for it.
struct LeaseTerms {
  std::uint64_t bytes = 65536;
  pmd::Access access{.local_write = true, .remote_write = true, .remote_read = true};
  std::uint32_t timeout = 14;
  std::uint32_t retry = 6;  // 7 would be for ever on soft-RoCE
};

class ClientDesk {
 public:
  /// A line for the user: what it is about, and the text.
  using Say = std::function<void(std::string_view what, const std::string& text)>;

  /// Both must outlive it.
  ClientDesk(ServedPort& port, exchange::LineChannel& channel, Say say)
      : port_(&port), channel_(&channel), say_(std::move(say)) {}

  /// None when told to stop. A bad line costs its sender the connection, nobody else anything.
  [[nodiscard]] Result<std::optional<exchange::Request>> await_request(
      const std::function<bool()>& stop);
  void refuse(const std::string& why);
  /// A lease for `request`, by the key that `plan` takes back: one of its tenant, for a group of
  /// one, where the plan is for groups, since an exchange is about one lease. The client is told
  /// nothing.
  [[nodiscard]] static Result<lease::Grant> grant(lease::LeaseManager& manager,
                                                  const lease::Plan& plan,
                                                  const exchange::Request& request,
                                                  const LeaseTerms& terms);
  /// What a peer says of its GID, MAC and QPN is its claim: whether they could be, no more.
  [[nodiscard]] Result<void> check_address(const exchange::Request& request) const;
  /// The client's line; false when the client has gone, and knows of nothing.
  [[nodiscard]] Result<bool> tell(const lease::Grant& grant, const LeaseTerms& terms);
  [[nodiscard]] bool is_client_gone() { return channel_->is_peer_gone(); }
  void drop_client() { channel_->drop(); }

  /// The code of the largest MTU that both have; ours is what RoCE leaves of a 1500-byte frame.
  [[nodiscard]] static prm::QpcMtu mtu_of(std::uint32_t client_bytes) noexcept;

 private:
  [[nodiscard]] Result<exchange::Request> check(exchange::Request request) const;

  ServedPort* port_;
  exchange::LineChannel* channel_;
  Say say_;
};

}  // namespace portcullis::service
