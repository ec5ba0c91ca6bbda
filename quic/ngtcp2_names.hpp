// SPDX-License-Identifier: BSD-3-Clause
//
// What ngtcp2 1.11 (Debian 13) calls otherwise than 0.12 (Debian 12): ngtcp2/ngtcp2.h of both was
// read, and tests/quic/ passed with both. That 1.0 has the names of 1.11 is a hypothesis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ngtcp2/ngtcp2.h>

namespace portcullis::quic {

#if NGTCP2_VERSION_NUM >= 0x010000

/// What a CONNECTION_CLOSE says, ours or the other side's.
using CloseError = ngtcp2_ccerr;

inline void clear(CloseError& error) noexcept { ngtcp2_ccerr_default(&error); }
inline void set_tls_alert(CloseError& error, std::uint8_t alert) noexcept {
  ngtcp2_ccerr_set_tls_alert(&error, alert, nullptr, 0);
}
inline void set_library_error(CloseError& error, int code) noexcept {
  ngtcp2_ccerr_set_liberr(&error, code, nullptr, 0);
}
inline void set_application_error(CloseError& error, std::uint64_t code,
                                  std::span<const std::uint8_t> reason) noexcept {
  ngtcp2_ccerr_set_application_error(&error, code, reason.data(), reason.size());
}
inline CloseError said_by_peer(ngtcp2_conn* conn) noexcept { return *ngtcp2_conn_get_ccerr(conn); }
inline bool is_of_transport(const CloseError& error) noexcept {
  return error.type == NGTCP2_CCERR_TYPE_TRANSPORT;
}

inline int shut_stream(ngtcp2_conn* conn, std::int64_t id) noexcept {
  return ngtcp2_conn_shutdown_stream(conn, 0, id, 0);
}

inline std::span<const std::uint8_t> token_of(const ngtcp2_pkt_hd& header) noexcept {
  return {header.token, header.tokenlen};
}
/// Of a client that has answered a Retry.
inline void take_retry_token(ngtcp2_settings& settings, const ngtcp2_pkt_hd& header) noexcept {
  settings.token = header.token;
  settings.tokenlen = header.tokenlen;
  settings.token_type = NGTCP2_TOKEN_TYPE_RETRY;
}
inline void set_original_id(ngtcp2_transport_params& parameters, const ngtcp2_cid& id) noexcept {
  parameters.original_dcid = id;
  parameters.original_dcid_present = 1;
}

#else

using CloseError = ngtcp2_connection_close_error;

inline void clear(CloseError& error) noexcept { ngtcp2_connection_close_error_default(&error); }
inline void set_tls_alert(CloseError& error, std::uint8_t alert) noexcept {
  ngtcp2_connection_close_error_set_transport_error_tls_alert(&error, alert, nullptr, 0);
}
inline void set_library_error(CloseError& error, int code) noexcept {
  ngtcp2_connection_close_error_set_transport_error_liberr(&error, code, nullptr, 0);
}
inline void set_application_error(CloseError& error, std::uint64_t code,
                                  std::span<const std::uint8_t> reason) noexcept {
  ngtcp2_connection_close_error_set_application_error(&error, code, reason.data(), reason.size());
}
inline CloseError said_by_peer(ngtcp2_conn* conn) noexcept {
  CloseError said{};
  ngtcp2_conn_get_connection_close_error(conn, &said);
  return said;
}
inline bool is_of_transport(const CloseError& error) noexcept {
  return error.type == NGTCP2_CONNECTION_CLOSE_ERROR_CODE_TYPE_TRANSPORT;
}

inline int shut_stream(ngtcp2_conn* conn, std::int64_t id) noexcept {
  return ngtcp2_conn_shutdown_stream(conn, id, 0);
}

inline std::span<const std::uint8_t> token_of(const ngtcp2_pkt_hd& header) noexcept {
  return {header.token.base, header.token.len};
}
inline void take_retry_token(ngtcp2_settings& settings, const ngtcp2_pkt_hd& header) noexcept {
  settings.token = header.token;
}
inline void set_original_id(ngtcp2_transport_params& parameters, const ngtcp2_cid& id) noexcept {
  parameters.original_dcid = id;
}

#endif

}  // namespace portcullis::quic
