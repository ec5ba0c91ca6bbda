// SPDX-License-Identifier: BSD-3-Clause
#include "model/hca_server/frame_channel.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "base/cells.hpp"
#include "base/unique_fd.hpp"
#include "base/unix_socket.hpp"

namespace portcullis::model {
namespace {

constexpr std::string_view kAccepted =
    "dgram,local=ADDRESS,remote=ADDRESS, stream,listen=ADDRESS and stream,connect=ADDRESS are "
    "accepted; an ADDRESS is HOST:PORT or a path with a '/'";
/// NET_BUFSIZE of QEMU's include/net/net.h: a longer frame is none.
constexpr std::size_t kMaxFrameOnStream = 4096 + 65536;
/// What a peer that does not read may leave with us: the frames of 16 send queues of 1024, and
/// more. A machine with other work to do lets a peer wait while such a burst goes out.
constexpr std::size_t kMaxUnsent = std::size_t{32} << 20;
/// More than a round of either end needs, less than what a requester is patient for.
constexpr std::size_t kMuchUnsent = std::size_t{256} << 10;
/// A peer that has read nothing for so long stops no sender.
constexpr std::chrono::seconds kPatience{1};

constexpr std::string_view kWhat = "wire address";

/// A socket address of any family.
struct Address {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
  [[nodiscard]] const sockaddr* generic() const {
    return static_cast<const sockaddr*>(static_cast<const void*>(&storage));
  }
  template <class T>
  void set(const T& address) {
    std::memcpy(&storage, &address, sizeof address);
    bytes = sizeof address;
  }
};

tl::unexpected<Error> bad_address(const std::string& text, std::string_view why) {
  return fail(Errc::InvalidArgument, fmt::format("{} '{}': {}", kWhat, text, why));
}

Result<Address> address_of(const std::string& text) {
  Address out;
  if (text.find('/') != std::string::npos) {
    PORTCULLIS_TRY_ASSIGN(const sockaddr_un path, unix_address(text, kWhat));
    out.set(path);
    return out;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return bad_address(text, "HOST:PORT or a path is accepted");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const std::string host = text.substr(0, colon);
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
    return bad_address(text, "the host must be an IPv4 address such as 127.0.0.1");
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || rest != end || port == 0)
    return bad_address(text, "the port must be a number from 1 to 65535");
  address.sin_port = htons(port);
  out.set(address);
  return out;
}

tl::unexpected<Error> system_error(const std::string& what) {
  return fail(Errc::System, "wire: " + what + ": " + std::strerror(errno));
}

/// Bound to `text`; a UNIX socket's file is `path`'s from then on.
Result<UniqueFd> bound_socket(const std::string& text, int type, SocketPath& path) {
  PORTCULLIS_TRY_ASSIGN(const Address address, address_of(text));
  UniqueFd fd(socket(address.storage.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return system_error("socket");
  if (address.storage.ss_family == AF_UNIX) {
    PORTCULLIS_TRY_ASSIGN(path, SocketPath::bind(fd.get(), type, text, kWhat));
    return fd;
  }
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd.get(), address.generic(), address.bytes) != 0) return system_error("bind " + text);
  return fd;
}

class DatagramChannel final : public FrameChannel {
 public:
  DatagramChannel(UniqueFd fd, SocketPath path, const Address& remote)
      : fd_(std::move(fd)), path_(std::move(path)), remote_(remote) {}

  [[nodiscard]] int fd() const noexcept override { return fd_.get(); }
  [[nodiscard]] std::optional<std::size_t> receive(std::span<std::byte> frame) override {
    while (true) {
      // MSG_TRUNC: the datagram's own length, so that one that was cut is seen.
      const ssize_t got = recv(fd_.get(), frame.data(), frame.size(), MSG_TRUNC);
      if (got < 0) return std::nullopt;
      if (static_cast<std::size_t>(got) <= frame.size()) return static_cast<std::size_t>(got);
    }
  }
  [[nodiscard]] bool send(std::span<const std::byte> frame) override {
    return sendto(fd_.get(), frame.data(), frame.size(), MSG_NOSIGNAL, remote_.generic(),
                  remote_.bytes) == static_cast<ssize_t>(frame.size());
  }

 private:
  UniqueFd fd_;
  SocketPath path_;
  Address remote_;
};

/// Bytes that come in at one end and go out at the other; what went out is moved over in large
/// steps.
class ByteQueue {
 public:
  [[nodiscard]] std::span<const std::byte> all() const noexcept {
    return std::span(bytes_).subspan(gone_);
  }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() - gone_; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  void append(std::span<const std::byte> more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
  }
  void drop(std::size_t count) {
    gone_ += count;
    if (gone_ < bytes_.size() - gone_) return;
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(gone_));
    gone_ = 0;
  }
  void clear() noexcept {
    bytes_.clear();
    gone_ = 0;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t gone_ = 0;  // of those at the front
};

class StreamChannel final : public FrameChannel {
 public:
  /// Connects to `remote` whenever it is not connected.
  explicit StreamChannel(const Address& remote) : remote_(remote) {}
  /// Accepts one peer after the other.
  StreamChannel(UniqueFd listener, SocketPath path)
      : listener_(std::move(listener)), path_(std::move(path)) {}

  [[nodiscard]] int fd() const noexcept override {
    return peer_.is_open() ? peer_.get() : listener_.get();
  }
  [[nodiscard]] short events() const noexcept override {
    return unsent_.empty() ? POLLIN : POLLIN | POLLOUT;
  }
  [[nodiscard]] bool is_full() const noexcept override {
    return unsent_.size() > kMuchUnsent && Clock::now() - moved_ < kPatience;
  }

  [[nodiscard]] std::optional<std::size_t> receive(std::span<std::byte> frame) override {
    if (!peer_.is_open()) find_peer();
    if (!peer_.is_open()) return std::nullopt;
    flush();
    if (const auto bytes = take_whole(frame)) return bytes;
    if (!peer_.is_open()) return std::nullopt;
    read_some();
    return take_whole(frame);
  }

  [[nodiscard]] bool send(std::span<const std::byte> frame) override {
    if (!peer_.is_open() || unsent_.size() + frame.size() > kMaxUnsent) return false;
    if (unsent_.empty()) moved_ = Clock::now();
    const std::uint32_t length = cells::be32(static_cast<std::uint32_t>(frame.size()));
    unsent_.append(std::as_bytes(std::span(&length, 1)));
    unsent_.append(frame);
    flush();
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// A frame that is here from its first byte to its last.
  [[nodiscard]] std::optional<std::size_t> take_whole(std::span<std::byte> frame) {
    while (received_.size() >= sizeof(std::uint32_t)) {
      std::uint32_t raw = 0;
      std::memcpy(&raw, received_.all().data(), sizeof raw);
      const std::size_t bytes = cells::be32(raw);
      if (bytes > kMaxFrameOnStream) {
        hang_up();
        return std::nullopt;
      }
      if (received_.size() < sizeof raw + bytes) break;
      const bool fits = bytes <= frame.size();
      if (fits) std::ranges::copy(received_.all().subspan(sizeof raw, bytes), frame.begin());
      received_.drop(sizeof raw + bytes);
      if (fits) return bytes;
    }
    return std::nullopt;
  }

  void find_peer() {
    if (listener_.is_open()) {
      peer_ = UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    } else if (Clock::now() >= next_try_) {
      next_try_ = Clock::now() + std::chrono::milliseconds(200);
      peer_ = try_connect();
    }
    if (!peer_.is_open()) return;
    const int yes = 1;
    setsockopt(peer_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }

  /// A host that does not answer keeps nobody waiting: it is asked again later.
  [[nodiscard]] UniqueFd try_connect() const {
    constexpr int kPatienceMs = 20;
    const int family = remote_.storage.ss_family;
    UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.is_open()) return {};
    if (connect(fd.get(), remote_.generic(), remote_.bytes) == 0) return fd;
    if (errno != EINPROGRESS) return {};
    pollfd entry{.fd = fd.get(), .events = POLLOUT, .revents = 0};
    int error = 0;
    socklen_t bytes = sizeof error;
    if (poll(&entry, 1, kPatienceMs) != 1 ||
        getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0)
      return {};
    return fd;
  }

  void hang_up() {
    peer_.reset();
    received_.clear();
    unsent_.clear();
  }

  void read_some() {
    std::array<std::byte, 16384> buffer;
    while (true) {
      const ssize_t got = recv(peer_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return hang_up();
      if (got < 0) return;
      received_.append(std::span<const std::byte>(buffer).first(static_cast<std::size_t>(got)));
      if (received_.size() > kMaxFrameOnStream) return;
    }
  }

  void flush() {
    while (!unsent_.empty()) {
      const auto bytes = unsent_.all();
      const ssize_t sent =
          ::send(peer_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent <= 0) return;
      unsent_.drop(static_cast<std::size_t>(sent));
      moved_ = Clock::now();
    }
  }

  UniqueFd listener_;
  SocketPath path_;
  Address remote_;
  UniqueFd peer_;
  Clock::time_point next_try_{};
  ByteQueue received_;
  ByteQueue unsent_;
  Clock::time_point moved_{};  // when the peer read last, or unsent_ was empty
};

/// "key=value" at the front of `text`, and what stands behind its comma. Empty: another key.
std::string take(std::string_view& text, std::string_view key) {
  const std::size_t end = std::min(text.find(','), text.size());
  const std::string_view part = text.substr(0, end);
  if (!part.starts_with(key) || part.size() <= key.size() || part[key.size()] != '=') return {};
  text.remove_prefix(std::min(end + 1, text.size()));
  return std::string(part.substr(key.size() + 1));
}

}  // namespace

Result<WireSpec> WireSpec::parse(std::string_view text) {
  const auto bad = [&] {
    return fail(Errc::InvalidArgument,
                "wire '" + std::string(text) + "': " + std::string(kAccepted));
  };
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return bad();
  const std::string_view kind = text.substr(0, comma);
  std::string_view rest = text.substr(comma + 1);
  WireSpec spec;
  if (kind == "dgram") {
    spec.local = take(rest, "local");
    spec.remote = take(rest, "remote");
    if (spec.local.empty() || spec.remote.empty() || !rest.empty()) return bad();
    return spec;
  }
  if (kind != "stream") return bad();
  spec.local = take(rest, "listen");
  spec.kind = spec.local.empty() ? Kind::Connect : Kind::Listen;
  if (spec.kind == Kind::Connect) spec.remote = take(rest, "connect");
  if ((spec.local.empty() && spec.remote.empty()) || !rest.empty()) return bad();
  return spec;
}

Result<std::unique_ptr<FrameChannel>> FrameChannel::open(const WireSpec& spec) {
  SocketPath path;
  if (spec.kind == WireSpec::Kind::Connect) {
    PORTCULLIS_TRY_ASSIGN(const Address remote, address_of(spec.remote));
    return std::make_unique<StreamChannel>(remote);
  }
  if (spec.kind == WireSpec::Kind::Listen) {
    PORTCULLIS_TRY_ASSIGN(UniqueFd fd, bound_socket(spec.local, SOCK_STREAM, path));
    if (listen(fd.get(), 1) != 0) return system_error("listen " + spec.local);
    return std::make_unique<StreamChannel>(std::move(fd), std::move(path));
  }
  PORTCULLIS_TRY_ASSIGN(const Address remote, address_of(spec.remote));
  PORTCULLIS_TRY_ASSIGN(UniqueFd fd, bound_socket(spec.local, SOCK_DGRAM, path));
  return std::make_unique<DatagramChannel>(std::move(fd), std::move(path), remote);
}

}  // namespace portcullis::model
