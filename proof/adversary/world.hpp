// SPDX-License-Identifier: BSD-3-Clause
//
// What a run takes place in: device, driver, lease manager, clients, adversary and witness. Every
// wait of the driver comes through tick(), where the adversary moves first.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "attach/function.hpp"
#include "attach/port.hpp"
#include "lease/lease_manager.hpp"
#include "model/model.hpp"
#include "pmd/hca.hpp"
#include "proof/adversary/client.hpp"
#include "proof/adversary/deceit.hpp"
#include "proof/adversary/kept_channel.hpp"
#include "proof/adversary/run.hpp"
#include "steering/set_up.hpp"

namespace portcullis::proof::adversary {

class World {
 public:
  [[nodiscard]] static Result<std::unique_ptr<World>> create(const RunSpec& spec);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  /// A lease for a client, connected, its region the witness's to watch. The client's first PSN is
  /// `psn`, or random. Where leases are granted together it is a group of its own.
  [[nodiscard]] Result<void> admit(Client& client, std::optional<std::uint32_t> psn = std::nullopt);
  /// The same for leases granted together, which are reached by one indirect key and have no
  /// receives.
  [[nodiscard]] Result<void> admit_together(std::span<Client* const> clients,
                                            std::optional<std::uint32_t> psn = std::nullopt);
  /// Posts `operations` messages of all clients with `mood`; time passes.
  [[nodiscard]] Result<void> traffic(std::uint32_t operations, const Adversary::Mood& mood);
  /// Posts, with nothing held, until the run has as many operations as it must.
  [[nodiscard]] Result<void> finish_operations();
  /// Posts of one client and holds until much of it is on its way, or `rounds` are over.
  [[nodiscard]] Result<void> hoard(Client& client, std::uint32_t rounds);
  /// `neighbour` was granted together with `old` and lives. It goes with the key of both to the
  /// last bytes of where `old` lay. What their key names there is gone, whoever has its number now.
  [[nodiscard]] Result<void> reach_over(Client& neighbour, const Client& old, Operation operation);
  /// Takes the leases away, many in one batch; from the outcome on the witness watches. The first
  /// one's client goes on meanwhile, and counts at the key step.
  [[nodiscard]] Result<void> revoke(std::span<Client* const> clients);
  [[nodiscard]] Result<void> revoke(Client& client) {
    Client* const one = &client;
    return revoke(std::span(&one, 1));
  }
  /// The same with everything at once, which is these: all leases that are there.
  [[nodiscard]] Result<void> drain(std::span<Client* const> clients);
  /// Everything goes on until the slot is free again, or `ms` have passed.
  [[nodiscard]] Result<bool> wait_until_free(std::uint32_t slot, std::uint64_t ms);
  /// What is held is let go, time passes.
  [[nodiscard]] Result<void> settle(Adversary::Release release);
  [[nodiscard]] Result<void> pass(std::uint64_t ns);

  [[nodiscard]] Client& client(std::size_t index) noexcept { return *clients_[index]; }
  /// Its lease has not been taken away.
  [[nodiscard]] bool is_active(const Client& client) const;
  /// The number of its QP should still rest: what lives no longer than that may have any luck.
  [[nodiscard]] bool is_resting(const Client& client) const;
  [[nodiscard]] Adversary& adversary() noexcept { return *adversary_; }
  [[nodiscard]] model::Model& model() noexcept { return *model_; }
  [[nodiscard]] model::Random& random() noexcept { return random_; }
  [[nodiscard]] const RunSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] RunResult result() const;

 private:
  explicit World(const RunSpec& spec);

  [[nodiscard]] Result<void> start();
  [[nodiscard]] Result<void> bring_up();
  [[nodiscard]] Result<void> steer();
  [[nodiscard]] Result<void> start_manager();
  [[nodiscard]] std::uint32_t draw_psn();
  [[nodiscard]] lease::GrantRequest request_of(const Client& client, std::uint32_t psn) const;
  [[nodiscard]] Result<void> enter(Client& client, const lease::Grant& grant, std::uint32_t psn,
                                   bool has_receives);
  enum class Way : std::uint8_t { ByName, Drain };
  [[nodiscard]] Result<void> take_away(std::span<Client* const> clients, Way way);
  [[nodiscard]] Result<void> break_key_step();
  [[nodiscard]] Result<void> break_any(model::CommandFaultRule rule);
  void break_in_the_kernels_eyes();
  [[nodiscard]] Result<void> break_umr_queue();
  [[nodiscard]] Result<void> hoard_read(Client& client);
  [[nodiscard]] Result<void> poll_clients();
  [[nodiscard]] Result<void> serve(const Client& client);
  [[nodiscard]] std::vector<lease::RevokeAnswer> answer(std::span<Client* const> clients);
  [[nodiscard]] std::optional<lease::RevokeAnswer> start(const Client& client,
                                                         const lease::LeaseName& name);
  void on_outcome(const lease::Lease& lease, const lease::Verdict& verdict);
  void on_qp_reset(std::uint32_t qpn);
  void on_qp_destroyed(std::uint32_t qpn);
  void note(const Client& client, const lease::RevokeAnswer& answer);
  [[nodiscard]] Result<void> poll_leases();
  [[nodiscard]] std::uint64_t next_brink_ns() const;
  /// Operations of all clients.
  [[nodiscard]] std::uint64_t posted() const noexcept;
  static void relax_entry(void* world, std::uint64_t until_ns) noexcept;
  void relax(std::uint64_t until_ns) noexcept;
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return plain_->clock.now_ns(); }

  // Destroyed from the last to the first.
  RunSpec spec_;
  model::Random random_;
  Witness witness_;
  std::shared_ptr<Adversary> adversary_;
  std::optional<Device> plain_;  // as the model gave it
  Deceit deceit_;
  std::optional<ProofSpace> space_;
  std::optional<ProofFunction> bus_;
  std::unique_ptr<attach::Function> function_;
  model::Model* model_ = nullptr;    // the function's
  std::optional<KeptChannel> kept_;  // none: the function is ours
  std::optional<ProofChannel> channel_;
  std::optional<pmd::Context> context_;
  std::optional<attach::Port> port_;
  std::unique_ptr<steering::DropRule> drop_;  // null: the function has no steering
  std::optional<pmd::UmrQueue> umr_queue_;    // of a plan that frees keys
  std::optional<ProofFreer> freer_;
  std::vector<std::unique_ptr<Client>> clients_;
  /// What an outcome has promised, by the serial of its lease.
  struct Promise {
    prm::QpNumber qpn{};
    std::uint64_t grace_until_ns = 0;
    std::uint64_t rests_until_ns = 0;
  };
  std::unordered_map<std::uint32_t, Promise> promises_;
  bool is_over_ = false;
  std::unique_ptr<lease::LeaseManager> manager_;
  RunResult result_;
  Client* under_fence_ = nullptr;
  bool awaits_key_step_ = false;
  std::uint32_t serials_ = 0;
  std::uint64_t step_ = 0;
  std::uint64_t receives_ = 0;
  bool is_polling_ = false;
  bool is_key_gone_ = false;
  bool is_stubborn_ = false;   // DMA stays held until the outcome stands
  bool makes_fail_ = false;    // something was made to fail in this run
  Result<void> posting_ = {};  // while a fence ran
};

}  // namespace portcullis::proof::adversary
