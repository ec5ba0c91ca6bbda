// SPDX-License-Identifier: BSD-3-Clause
//
// verbs-times DEVICE SAMPLES: what a user of verbs has in place of three commands, timed one call
// at a time: ibv_modify_qp to ERR (2ERR_QP), ibv_dereg_mr (DESTROY_MKEY, and the pages unpinned),
// ibv_query_qp (QUERY_QP).
//
// verbs-times DEVICE SAMPLES LEASES: what a user of verbs has in place of a revoke, for so many
// pairs of a queue pair and a region of a page: ibv_dereg_mr in a loop, and ibv_modify_qp to ERR
// before each of them.
//
// Prints the medians as JSON; tests/vm/scenarios/latency.py reads them.
#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/clock.hpp"
#include "base/device.hpp"
#include "base/result.hpp"

namespace portcullis::testing {
namespace {

template <class T, int (*Destroy)(T*)>
struct Destroyer {
  void operator()(T* object) const noexcept { static_cast<void>(Destroy(object)); }
};
using Context = std::unique_ptr<ibv_context, Destroyer<ibv_context, &ibv_close_device>>;
using Domain = std::unique_ptr<ibv_pd, Destroyer<ibv_pd, &ibv_dealloc_pd>>;
using Queue = std::unique_ptr<ibv_cq, Destroyer<ibv_cq, &ibv_destroy_cq>>;
using Pair = std::unique_ptr<ibv_qp, Destroyer<ibv_qp, &ibv_destroy_qp>>;
using Region = std::unique_ptr<ibv_mr, Destroyer<ibv_mr, &ibv_dereg_mr>>;

Error failed(const char* call, int error) {
  return {Errc::System, fmt::format("{}: {}", call, std::generic_category().message(error)),
          std::nullopt};
}

struct Times {
  std::vector<std::uint64_t> to_error, dereg, query;
};

struct RevokeTimes {
  std::vector<std::uint64_t> dereg, to_error_and_dereg;
};

class Verbs {
 public:
  static Result<Verbs> open(const std::string& name) {
    Verbs verbs;
    int count = 0;
    ibv_device** const list = ibv_get_device_list(&count);
    for (int i = 0; list != nullptr && i < count; ++i)
      if (name == ibv_get_device_name(list[i])) verbs.context_.reset(ibv_open_device(list[i]));
    ibv_free_device_list(list);
    if (!verbs.context_) return fail(Errc::NotFound, fmt::format("no RDMA device \"{}\"", name));
    verbs.domain_.reset(ibv_alloc_pd(verbs.context_.get()));
    if (!verbs.domain_) return tl::unexpected<Error>(failed("ibv_alloc_pd", errno));
    verbs.queue_.reset(ibv_create_cq(verbs.context_.get(), 64, nullptr, nullptr, 0));
    if (!verbs.queue_) return tl::unexpected<Error>(failed("ibv_create_cq", errno));
    return verbs;
  }

  /// One call of each kind, on objects of its own.
  Result<void> sample(Times& times) {
    PORTCULLIS_TRY_ASSIGN(const Pair pair, make_pair());
    ibv_qp_attr attributes{};
    ibv_qp_init_attr made{};
    PORTCULLIS_TRY(timed("ibv_query_qp", times.query, [&] {
      return ibv_query_qp(pair.get(), &attributes, IBV_QP_STATE, &made);
    }));
    PORTCULLIS_TRY(
        timed("ibv_modify_qp to ERR", times.to_error, [&] { return to_error(pair.get()); }));
    PORTCULLIS_TRY_ASSIGN(Region region, make_region());
    return timed("ibv_dereg_mr", times.dereg, [&] { return ibv_dereg_mr(region.release()); });
  }

  /// Takes `leases` regions away, then as many whose queue pairs end before them.
  Result<void> sample_revoke(std::size_t leases, RevokeTimes& times) {
    memory_.resize(leases * kPageBytes);
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < leases; ++i) {
      PORTCULLIS_TRY_ASSIGN(Pair pair, make_pair());
      pairs.push_back(std::move(pair));
    }
    PORTCULLIS_TRY_ASSIGN(std::vector<Region> regions, make_regions(leases));
    PORTCULLIS_TRY(timed("ibv_dereg_mr", times.dereg, [&] {
      int error = 0;
      for (Region& region : regions) error |= ibv_dereg_mr(region.release());
      return error;
    }));
    PORTCULLIS_TRY_ASSIGN(regions, make_regions(leases));
    return timed("ibv_modify_qp to ERR and ibv_dereg_mr", times.to_error_and_dereg, [&] {
      int error = 0;
      for (std::size_t i = 0; i < leases; ++i)
        error |= to_error(pairs[i].get()) | ibv_dereg_mr(regions[i].release());
      return error;
    });
  }

 private:
  Verbs() = default;

  /// In INIT: 2ERR_QP is for queue pairs that have left RESET.
  Result<Pair> make_pair() {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = queue_.get();
    wanted.cap = {.max_send_wr = 16,
                  .max_recv_wr = 1,
                  .max_send_sge = 1,
                  .max_recv_sge = 1,
                  .max_inline_data = 0};
    wanted.qp_type = IBV_QPT_RC;
    Pair pair(ibv_create_qp(domain_.get(), &wanted));
    if (!pair) return tl::unexpected<Error>(failed("ibv_create_qp", errno));
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    constexpr int kToInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    if (const int error = ibv_modify_qp(pair.get(), &attributes, kToInit); error != 0)
      return tl::unexpected<Error>(failed("ibv_modify_qp to INIT", error));
    return pair;
  }
  /// Of the page with that number.
  Result<Region> make_region(std::size_t page = 0) {
    Region region(ibv_reg_mr(domain_.get(), memory_.data() + page * kPageBytes, kPageBytes,
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
    if (!region) return tl::unexpected<Error>(failed("ibv_reg_mr", errno));
    return region;
  }
  Result<std::vector<Region>> make_regions(std::size_t count) {
    std::vector<Region> regions;
    for (std::size_t page = 0; page < count; ++page) {
      PORTCULLIS_TRY_ASSIGN(Region region, make_region(page));
      regions.push_back(std::move(region));
    }
    return regions;
  }
  static int to_error(ibv_qp* pair) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    return ibv_modify_qp(pair, &attributes, IBV_QP_STATE);
  }

  template <class Call>
  static Result<void> timed(const char* name, std::vector<std::uint64_t>& into, Call&& call) {
    const Clock clock = Clock::wall();
    const std::uint64_t before_ns = clock.now_ns();
    const int error = std::forward<Call>(call)();
    into.push_back(clock.now_ns() - before_ns);
    if (error != 0) return tl::unexpected<Error>(failed(name, error));
    return {};
  }

  Context context_;
  Domain domain_;
  Queue queue_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kPageBytes);
};

std::uint64_t median(std::vector<std::uint64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Result<void> run(const std::string& device, std::uint64_t samples) {
  PORTCULLIS_TRY_ASSIGN(Verbs verbs, Verbs::open(device));
  Times times;
  for (std::uint64_t i = 0; i < samples; ++i) PORTCULLIS_TRY(verbs.sample(times));
  fmt::print("{{\"2ERR_QP\": {}, \"DESTROY_MKEY\": {}, \"a query\": {}}}\n", median(times.to_error),
             median(times.dereg), median(times.query));
  return {};
}

Result<void> run_revoke(const std::string& device, std::uint64_t samples, std::uint64_t leases) {
  PORTCULLIS_TRY_ASSIGN(Verbs verbs, Verbs::open(device));
  RevokeTimes times;
  for (std::uint64_t i = 0; i < samples; ++i) PORTCULLIS_TRY(verbs.sample_revoke(leases, times));
  fmt::print("{{\"dereg_mr\": {}, \"to ERR and dereg_mr\": {}}}\n", median(times.dereg),
             median(times.to_error_and_dereg));
  return {};
}

}  // namespace
}  // namespace portcullis::testing

int main(int argc, char** argv) {
  namespace testing = portcullis::testing;
  const auto number = [&](int i) { return argc > i ? std::strtoull(argv[i], nullptr, 10) : 0; };
  if (number(2) == 0 || argc > 4 || (argc == 4 && number(3) == 0)) {
    fmt::print(stderr, "usage: verbs-times DEVICE SAMPLES [LEASES]\n");
    return 2;
  }
  const auto done = argc == 3 ? testing::run(argv[1], number(2))
                              : testing::run_revoke(argv[1], number(2), number(3));
  if (done) return 0;
  fmt::print(stderr, "verbs-times: {}\n", done.error().text);
  return 1;
}
