// SPDX-License-Identifier: BSD-3-Clause
#include "fleet/http.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.hpp"

namespace portcullis::fleet {
namespace {

constexpr long kConnectMs = 3'000;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of an answer that nobody has taken

std::string one_line(std::string text) {
  for (char& each : text)
    if (each < ' ' || each == '\x7f') each = ' ';
  return text;
}

/// libcurl's own set-up, before any thread of ours uses it.
bool is_set_up() {
  static const bool is_good = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return is_good;
}

}  // namespace

struct Http::Transfer {
  struct CloseEasy {
    void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
  };

  std::unique_ptr<CURL, CloseEasy> easy;
  std::unique_ptr<curl_slist, FreeList> headers;
  Request request;
  std::string received;
  std::array<char, CURL_ERROR_SIZE> why{};
  std::optional<CURLcode> ended;

  // libcurl's own type of it (curl_write_callback).
  // NOLINTNEXTLINE(readability-non-const-parameter): as libcurl calls it
  static std::size_t take(char* bytes, std::size_t one, std::size_t count, void* to) {
    auto* transfer = static_cast<Transfer*>(to);
    if (transfer->received.size() + one * count > kMostBytes) return 0;
    transfer->received.append(bytes, one * count);
    return one * count;
  }

  template <class Value>
  void set(CURLoption option, Value value) {
    (void)curl_easy_setopt(easy.get(), option, value);
  }

  [[nodiscard]] long status() const {
    long code = 0;
    (void)curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

  /// Not before libcurl has a connection, and whatever TLS wants.
  [[nodiscard]] bool has_sent() const {
    long bytes = 0;
    curl_off_t ready_us = 0;
    (void)curl_easy_getinfo(easy.get(), CURLINFO_REQUEST_SIZE, &bytes);
    (void)curl_easy_getinfo(easy.get(), CURLINFO_PRETRANSFER_TIME_T, &ready_us);
    return bytes != 0 || ready_us != 0;
  }

  [[nodiscard]] tl::unexpected<Error> failure() const {
    const CURLcode code = ended.value_or(CURLE_OK);
    const std::string text = why[0] != '\0' ? why.data() : curl_easy_strerror(code);
    return fail(code == CURLE_OPERATION_TIMEDOUT ? Errc::Timeout : Errc::System, one_line(text));
  }

  [[nodiscard]] bool add_headers() {
    for (const std::string& each :
         {std::string("Content-Type: application/json"), std::string("Expect:"),
          request.token.empty() ? std::string() : "Authorization: " + request.token}) {
      if (each.empty()) continue;
      curl_slist* longer = curl_slist_append(headers.get(), each.c_str());
      if (longer == nullptr) return false;
      (void)headers.release();
      headers.reset(longer);
    }
    return true;
  }
};

Result<std::unique_ptr<Http>> Http::create(TlsFiles tls) {
  std::unique_ptr<Http> http(new Http(std::move(tls)));
  if (is_set_up()) http->multi_.reset(curl_multi_init());
  if (!http->multi_) return fail(Errc::System, "libcurl cannot be set up");
  return http;
}

Http::Http(TlsFiles tls) : tls_(std::move(tls)) {}

Http::~Http() { drop(stream_); }

Result<std::unique_ptr<Http::Transfer>> Http::start(const Request& request,
                                                    std::uint64_t deadline_ms) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = request;
  transfer->easy.reset(curl_easy_init());
  if (!transfer->easy || !transfer->add_headers())
    return fail(Errc::OutOfResources, "libcurl has no memory");
  const Request& own = transfer->request;
  transfer->set(CURLOPT_URL, own.url.c_str());
  transfer->set(CURLOPT_PROTOCOLS_STR, "http,https");
  transfer->set(CURLOPT_PROXY, "");
  transfer->set(CURLOPT_NOSIGNAL, 1L);
  transfer->set(CURLOPT_TCP_KEEPALIVE, 1L);
  transfer->set(CURLOPT_HTTPHEADER, transfer->headers.get());
  transfer->set(CURLOPT_POSTFIELDS, own.body.c_str());
  transfer->set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(own.body.size()));
  transfer->set(CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  transfer->set(CURLOPT_TIMEOUT_MS, static_cast<long>(deadline_ms));  // 0: none
  transfer->set(CURLOPT_WRITEFUNCTION, &Transfer::take);
  transfer->set(CURLOPT_WRITEDATA, static_cast<void*>(transfer.get()));
  transfer->set(CURLOPT_PRIVATE, static_cast<void*>(transfer.get()));
  transfer->set(CURLOPT_ERRORBUFFER, transfer->why.data());
  if (!tls_.authority.empty()) transfer->set(CURLOPT_CAINFO, tls_.authority.c_str());
  if (!tls_.certificate.empty()) {
    transfer->set(CURLOPT_SSLCERT, tls_.certificate.c_str());
    transfer->set(CURLOPT_SSLKEY, tls_.key.c_str());
  }
  if (curl_multi_add_handle(multi_.get(), transfer->easy.get()) != CURLM_OK)
    return fail(Errc::System, "libcurl does not take another request");
  return transfer;
}

void Http::drop(std::unique_ptr<Transfer>& transfer) noexcept {
  if (transfer) (void)curl_multi_remove_handle(multi_.get(), transfer->easy.get());
  transfer.reset();
}

void Http::run() {
  int running = 0;
  (void)curl_multi_perform(multi_.get(), &running);
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    Transfer* transfer = nullptr;
    (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    if (transfer != nullptr) transfer->ended = message->data.result;
  }
}

Result<Http::Response> Http::post(const Request& request, std::uint64_t deadline_ms) {
  const Clock clock = Clock::wall();
  const std::uint64_t most_ns = clock.now_ns() + deadline_ms * kNsPerMs;
  has_sent_ = false;
  if (clock.now_ns() >= end_by_ns_) return fail(Errc::Timeout, "its time is over");
  PORTCULLIS_TRY_ASSIGN(auto transfer, start(request, std::max<std::uint64_t>(deadline_ms, 1)));
  for (run(); !transfer->ended; run()) {
    const std::uint64_t now_ns = clock.now_ns();
    const std::uint64_t until_ns = std::min<std::uint64_t>(most_ns, end_by_ns_);
    if (now_ns >= until_ns) transfer->ended = CURLE_OPERATION_TIMEDOUT;  // and libcurl missed it
    if (transfer->ended) break;
    const auto left_ms = static_cast<int>((until_ns - now_ns) / kNsPerMs + 1);
    (void)curl_multi_poll(multi_.get(), nullptr, 0, left_ms, nullptr);
  }
  Result<Response> response = transfer->failure();
  if (*transfer->ended == CURLE_OK)
    response = Response{.status = transfer->status(), .body = std::move(transfer->received)};
  has_sent_ = transfer->has_sent();
  drop(transfer);
  return response;
}

void Http::end_by(std::uint64_t until_ns) noexcept {
  end_by_ns_ = until_ns;
  (void)curl_multi_wakeup(multi_.get());  // post() may wait with another end before it
}

Result<void> Http::open_stream(const Request& request) {
  close_stream();
  PORTCULLIS_TRY_ASSIGN(stream_, start(request, 0));
  return {};
}

void Http::close_stream() noexcept { drop(stream_); }

Result<std::optional<std::string>> Http::next_line() {
  if (!stream_) return fail(Errc::NotFound, "no stream is open");
  const std::size_t end = stream_->received.find('\n');
  if (end != std::string::npos) {
    std::optional<std::string> line(stream_->received.substr(0, end));
    stream_->received.erase(0, end + 1);
    return line;
  }
  if (!stream_->ended) return std::nullopt;
  const auto why = *stream_->ended == CURLE_OK
                       ? fail(Errc::System, fmt::format("the stream has ended (HTTP status {})",
                                                        stream_->status()))
                       : stream_->failure();
  close_stream();
  return why;
}

void Http::wait(std::uint64_t most_ms, int wake_fd) {
  curl_waitfd wake{.fd = wake_fd, .events = CURL_WAIT_POLLIN, .revents = 0};
  run();
  const bool has_news =
      stream_ && (stream_->ended || stream_->received.find('\n') != std::string::npos);
  if (has_news) return;
  constexpr std::uint64_t kMostMs = 60'000;
  (void)curl_multi_poll(multi_.get(), &wake, wake_fd >= 0 ? 1 : 0,
                        static_cast<int>(std::min(most_ms, kMostMs)), nullptr);
  run();
}

}  // namespace portcullis::fleet
