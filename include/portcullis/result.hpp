// SPDX-License-Identifier: BSD-3-Clause
//
// Errors are values. Every call that can fail returns Result<T>; nothing in a library throws after
// start-up or aborts. An Error says what failed in one line that names the value and what is
// accepted, and carries a command's own verdict where a firmware command was the cause.
//
// Result<T> is tl::expected<T, Error> (Debian: libexpected-dev), which has the members of C++23's
// std::expected: has_value(), operator*, error(), value_or(). Its value() throws on an error; ask
// first.
//
// Example, leases.cpp:
//   const auto spec = DeviceSpec::parse("modle");
//   if (!spec) std::cout << spec.error().text << '\n';  // names the word and what is accepted
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace portcullis {
/// What kind of failure it is.
enum class Errc : std::uint8_t {
  InvalidArgument,  // the caller's value is not acceptable
  NotFound,         // no such object, epoch or device
  Unsupported,      // the device or this build cannot do it
  Busy,             // all slots, entries or rings of that kind are in use
  Timeout,          // a deadline passed; whatever was waited for may still happen
  CommandFailed,    // the device answered and the answer is not success
  DeviceFailed,     // the device reported an internal error, or contradicted itself
  DeviceGone,       // reads return all ones: surprise removal
  OutOfResources,   // memory, IOVA space, ids
  Malformed,        // bytes from the device, the wire or a file do not decode
  System,           // an operating system call failed
};

/// What a firmware command answered; the error's text has the names.
struct CommandFault {
  std::uint16_t opcode = 0;          // of the command
  std::uint16_t op_mod = 0;          // its modifier
  std::uint8_t delivery_status = 0;  // cmd_queue_entry.status, 0 is delivered
  std::uint8_t status = 0;           // *_out.status, 0 is success
  std::uint32_t syndrome = 0;        // *_out.syndrome, vendor specific
};
/// What failed.
struct Error {
  Errc code = Errc::InvalidArgument;                   // for programs
  std::string text;                                    // for people: one line
  std::optional<CommandFault> command = std::nullopt;  // where a firmware command was the cause
};
/// A value, or why there is none.
template <class T>
using Result = tl::expected<T, Error>;
/// An error to return.
[[nodiscard]] inline tl::unexpected<Error> fail(Errc code, std::string text) {
  return tl::unexpected<Error>(Error{code, std::move(text), std::nullopt});
}

/// Passes a failed Result's error on as another Result type.
template <class T>
[[nodiscard]] tl::unexpected<Error> forward_error(Result<T>&& result) {
  return tl::unexpected<Error>(std::move(result).error());
}

}  // namespace portcullis

/// `PORTCULLIS_TRY(expression);` returns its error from the enclosing function; goes on without
/// one.
#define PORTCULLIS_TRY(...)                                                               \
  do {                                                                                    \
    if (auto portcullis_result = (__VA_ARGS__); !portcullis_result)                       \
      return ::tl::unexpected<::portcullis::Error>(std::move(portcullis_result).error()); \
  } while (false)

/// `PORTCULLIS_TRY_ASSIGN(auto queue, Queue::create(..));` declares `queue` or returns the error.
#define PORTCULLIS_TRY_ASSIGN(declaration, ...) \
  PORTCULLIS_TRY_ASSIGN_(declaration, PORTCULLIS_CONCAT_(portcullis_result_, __LINE__), __VA_ARGS__)
#define PORTCULLIS_TRY_ASSIGN_(declaration, result, ...)                                \
  auto result = (__VA_ARGS__);                                                          \
  if (!result) return ::tl::unexpected<::portcullis::Error>(std::move(result).error()); \
  declaration = *std::move(result)
#define PORTCULLIS_CONCAT_(a, b) PORTCULLIS_CONCAT2_(a, b)
#define PORTCULLIS_CONCAT2_(a, b) a##b
