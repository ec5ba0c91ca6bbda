// SPDX-License-Identifier: BSD-3-Clause
#include "service/single_lease.hpp"

#include <span>
#include <utility>

#include "pmd/port.hpp"
#include "steering/set_up.hpp"

namespace portcullis::service {

Result<std::unique_ptr<SingleLease>> SingleLease::create(ServedPort& port,
                                                         const SingleLeaseOptions& options,
                                                         LogSink log) {
  std::unique_ptr<SingleLease> made(new SingleLease(port, options, std::move(log)));
  PORTCULLIS_TRY(made->set_up_steering());
  PORTCULLIS_TRY(made->set_up_umr());
  return made;
}

Result<void> SingleLease::set_up_steering() {
  steering::FlowDrop::Options wanted;
  wanted.choice = options_.steering.value_or(steering::choice_for(options_.plan.entry));
  wanted.allow_function_drop = options_.allow_function_drop;
  wanted.loopback = port_->path();
  auto rule = steering::set_up_rule(port_->driver().context(), options_.plan.entry, wanted, log_);
  if (!rule && rule.error().code == Errc::Unsupported)
    rule.error().text += "; --steering=try asks the device all the same";
  PORTCULLIS_TRY_ASSIGN(drop_, std::move(rule));
  return {};
}

Result<void> SingleLease::set_up_umr() {
  if (!options_.plan.has(lease::Step::FreeKey)) return {};
  PORTCULLIS_TRY_ASSIGN(umr_queue_, pmd::UmrQueue::create(port_->driver().context()));
  umr_.emplace(*umr_queue_);
  return {};
}

Result<lease::Grant> SingleLease::grant(const exchange::Request& request) {
  lease::LeaseManager::Options wanted;
  wanted.table.slots = 1;
  wanted.plan = options_.plan;
  wanted.residence_ms = options_.residence_ms;
  wanted.grant.mtu =
      pmd::fitting_path_mtu(port_->driver().context(), ClientDesk::mtu_of(request.mtu));
  wanted.grant.source_address_index = port_->address_index();
  wanted.grant.traffic_class = static_cast<std::uint8_t>(options_.dscp << 2);
  wanted.grant.priority = static_cast<std::uint8_t>(options_.priority);
  auto host = lease::Host::of(port_->driver());
  host.log = log_;
  host.steering = drop_.get();
  if (umr_) host.umr = &*umr_;
  manager_.reset();  // the one before has ended before the next begins
  PORTCULLIS_TRY_ASSIGN(manager_, lease::LeaseManager::create(std::move(host), wanted));
  auto granted = ClientDesk::grant(*manager_, options_.plan, request, options_.terms);
  if (granted) {
    grant_ = *granted;
  } else if (const auto down = manager_->tear_down(); !down && log_) {
    log_(down.error().text);
  }
  return granted;
}

}  // namespace portcullis::service
