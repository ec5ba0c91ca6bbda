// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "service/daemon/fleet_thread.hpp"

namespace portcullis::service::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "portcullis-config-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path file() const { return folder_ / "leased.toml"; }
  Result<Config> read(const std::string& text) const {
    std::ofstream(file(), std::ios::binary) << text;
    return read_config(file(), Config{});
  }

  std::filesystem::path folder_;
};

TEST_F(ConfigTest, PlanThatIsRefused_IsNotAmongThoseThatAreAccepted) {
  const auto config = read("[device]\nplan = \"foo\"\n");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().text, Not(HasSubstr("drop-only")));
  EXPECT_THAT(config.error().text, Not(HasSubstr("indirect")));
}

TEST_F(ConfigTest, WhatCountsFromARestart_IsNamedWordByWord) {
  const auto running = read("").value();
  EXPECT_THAT(counts_from_a_restart(running, running), IsEmpty());
  EXPECT_THAT(counts_from_a_restart(running, read("[limits]\nrequests = 5\n").value()), IsEmpty());
  const auto next = read(
      "[device]\nslots = 5\nplan = \"nak-first\"\n[journal]\npath = \"/j\"\n"
      "[socket]\nmode = \"0660\"\n[metrics]\nlisten = \"127.0.0.1:9\"\n");
  EXPECT_THAT(counts_from_a_restart(running, next.value()),
              ElementsAre("[device] plan", "[device] slots", "[socket] mode", "[journal] path",
                          "[metrics] listen"));
}

/// Whoever copies the sample changes nothing by that.
TEST_F(ConfigTest, Sample_SaysWhatIsSoWithoutIt) {
  const auto config = read_config(PORTCULLIS_SAMPLE_CONFIG, Config{});
  ASSERT_TRUE(config) << config.error().text;
  const DeviceConfig device;
  EXPECT_EQ(config->device.name, device.name);
  EXPECT_EQ(config->device.eal, device.eal);
  EXPECT_EQ(config->device.plan.full_name(), device.plan.full_name());
  EXPECT_EQ(config->device.slots, device.slots);
  EXPECT_EQ(config->device.grace_ms, device.grace_ms);
  EXPECT_EQ(config->device.residence_ms, device.residence_ms);
  EXPECT_EQ(config->device.mtu, device.mtu);
  EXPECT_EQ(config->device.polls, device.polls);
  EXPECT_EQ(config->process, ProcessConfig{});
  EXPECT_EQ(config->socket_mode, Config{}.socket_mode);
  EXPECT_EQ(config->journal_keep_ms, Config{}.journal_keep_ms);
  EXPECT_EQ(config->limits, Limits{});
  EXPECT_EQ(config->users, Users{});
  EXPECT_FALSE(config->quic);
  EXPECT_FALSE(config->fleet);
  EXPECT_FALSE(config->metrics);
}

constexpr const char* kEveryWord = R"(
[device]
name = "0000:03:00.0"
address = "192.0.2.1"
eal = ["-l", "2-3"]
plan = "nak-first"
slots = 99
grace_ms = 1000
residence_ms = 20
mtu = 4096
polls = true
[socket]
path = "/run/x.sock"
mode = "0660"
[journal]
path = "/var/x.journal"
keep_days = 2
[limits]
tenant_leases = 1
tenant_bytes = 2
lease_bytes = 3
default_ttl_ms = 4
most_ttl_ms = 5
orphan_ms = 6
most_rest_ms = 10
challenge_ms = 13
connections = 7
uid_connections = 8
tenant_connections = 11
host_connections = 12
requests = 9
unread_bytes = 1048576
[[user]]
uid = 1000
tenant = 12
role = "client"
[[user]]
name = "root"
role = "operator"
)";

TEST_F(ConfigTest, EveryWord_IsRead) {
  const auto config = read(kEveryWord);
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->device.name, "0000:03:00.0");
  EXPECT_EQ(config->device.address->text(), "192.0.2.1");
  EXPECT_THAT(config->device.eal, testing::ElementsAre("-l", "2-3"));
  EXPECT_EQ(config->device.plan.full_name(), "nak-first");
  EXPECT_EQ(config->device.slots, 99u);
  EXPECT_EQ(config->device.grace_ms, 1000u);
  EXPECT_EQ(config->device.residence_ms, 20u);
  EXPECT_EQ(config->device.mtu, 4096u);
  EXPECT_TRUE(config->device.polls);
  EXPECT_EQ(config->socket, "/run/x.sock");
  EXPECT_EQ(config->socket_mode, 0660u);
  EXPECT_EQ(config->journal, "/var/x.journal");
  EXPECT_EQ(config->journal_keep_ms, 2u * 86'400'000);
  EXPECT_EQ(config->limits, (Limits{.tenant_leases = 1,
                                    .tenant_bytes = 2,
                                    .lease_bytes = 3,
                                    .default_ttl_ms = 4,
                                    .most_ttl_ms = 5,
                                    .orphan_ms = 6,
                                    .most_rest_ms = 10,
                                    .challenge_ms = 13,
                                    .connections = 7,
                                    .uid_connections = 8,
                                    .tenant_connections = 11,
                                    .host_connections = 12,
                                    .requests = 9,
                                    .unread_bytes = 1048576}));
  EXPECT_EQ(config->users.by_uid.at(1000), (Account{.tenant = 12}));
  EXPECT_EQ(config->users.by_uid.at(0), (Account{.tenant = 0, .role = wire::Role::Operator}));
}

TEST_F(ConfigTest, Process_IsTaken) {
  const auto config = read(R"(
[process]
user = "nobody"
group = "12"
seccomp = false
debuggable = true
)");
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->process.user->id, 65'534u);
  EXPECT_EQ(config->process.group->id, 12u);
  EXPECT_FALSE(config->process.seccomp);
  EXPECT_TRUE(config->process.is_debuggable);
}

TEST_F(ConfigTest, Quic_IsTaken) {
  const auto config = read(R"(
[quic]
listen = "[::1]:7810"
authority = "/pki/ca.pem"
certificate = "/pki/own.pem"
key = "/pki/own.key"
revoked = "/pki/revoked.pem"
idle_ms = 250
[[certificate]]
name = "DNS:DB1.example"
tenant = 7
role = "observer"
[[certificate]]
name = "IP:2001:DB8:0:0::7"
tenant = 8
)");
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->quic->address.text(), "[::1]:7810");
  EXPECT_EQ(config->quic->files, (quic::CredentialFiles{.authority = "/pki/ca.pem",
                                                        .certificate = "/pki/own.pem",
                                                        .key = "/pki/own.key",
                                                        .revoked = "/pki/revoked.pem"}));
  EXPECT_EQ(config->quic->timeouts.idle_ms, 250u);
  EXPECT_EQ(config->certificates.by_name.at("DNS:db1.example"),
            (Account{.tenant = 7, .role = wire::Role::Observer}));
  EXPECT_EQ(config->certificates.by_name.at("IP:2001:db8::7"), (Account{.tenant = 8}));
}

TEST_F(ConfigTest, NoQuic_ListensToThisHostAlone) { EXPECT_FALSE(read("").value().quic); }

TEST_F(ConfigTest, EmptyFile_ChangesNothing) {
  const auto config = read("");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->limits, Limits{});
}

TEST_F(ConfigTest, UsersOfTheFile_ReplaceTheBuiltInOnes) {
  std::ofstream(file()) << "[[user]]\nuid = 5\n";
  Config base;
  base.users.by_uid[9] = {};
  const auto config = read_config(file(), base).value();
  EXPECT_FALSE(config.users.of(9, 1));
  EXPECT_EQ(config.users.of(5, 1)->tenant, 5u);
}

TEST_F(ConfigTest, JournalNone_KeepsNothing) {
  Config base;
  base.journal = "/x";
  std::ofstream(file()) << "[journal]\npath = \"none\"\n";
  EXPECT_FALSE(read_config(file(), base).value().journal);
}

TEST_F(ConfigTest, FileThatIsNotThere_IsNamed) {
  EXPECT_THAT(read_config(file(), {}).error().text,
              HasSubstr("leased.toml: No such file or directory"));
}

TEST_F(ConfigTest, Directory_IsNoFile) { EXPECT_FALSE(read_config(folder_, {})); }

struct Bad {
  const char* about;
  const char* text;
  const char* error;
};
void PrintTo(const Bad& bad, std::ostream* to) { *to << bad.about; }

class ConfigMistake : public ConfigTest, public testing::WithParamInterface<Bad> {};

TEST_P(ConfigMistake, IsOneLineWithItsPlace) {
  const auto config = read(GetParam().text);
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().text, HasSubstr("leased.toml" + std::string(GetParam().error)));
  EXPECT_THAT(config.error().text, testing::Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(
    Files, ConfigMistake,
    testing::Values(
        Bad{"syntax", "[device]\nname = \n", ":2: "},
        Bad{"table", "[devic]\n", ":1: \"devic\" is not known in the file; device, process"},
        Bad{"word", "[device]\nslot = 1\n", ":2: \"slot\" is not known in [device]; name,"},
        Bad{"type", "[device]\nslots = \"1\"\n", ":2: slots = '1'; a number from 1 to 65000"},
        Bad{"range", "[device]\nslots = 65001\n", ":2: slots = 65001; a number from 1 to 65000"},
        Bad{"negative", "[limits]\n\nrequests = -1\n", ":3: requests = -1; a number from 1"},
        Bad{"float", "[limits]\nrequests = 1.5\n", ":2: requests = 1.5; a number"},
        Bad{"flag", "[device]\npolls = 1\n", ":2: polls = 1; true or false is accepted"},
        Bad{"list", "[device]\neal = \"-l 1\"\n", ":2: eal = '-l 1'; a list of texts"},
        Bad{"listOfNumbers", "[device]\neal = [1]\n", ":2: eal = "},
        Bad{"address", "[device]\naddress = \"nowhere\"\n", ":2: address = \"nowhere\": "},
        Bad{"plan", "[device]\nplan = \"sead\"\n",
            ":2: plan = \"sead\": no such plan; accepted are seed, "},
        Bad{"planOfGroups", "[device]\nplan = \"indirect\"\n",
            ":2: plan = \"indirect\": no plan for a service; accepted are seed, "},
        Bad{"planThatNeverTears", "[device]\nplan = \"drop-only\"\n",
            ":2: plan = \"drop-only\": no plan for a service; accepted are seed, "},
        Bad{"mtu", "[device]\nmtu = 1500\n", ":1: mtu = 1500; 256, 512,"},
        Bad{"processUser", "[process]\nuser = \"no such user\"\n",
            ":2: user = \"no such user\": there is no user"},
        Bad{"processRoot", "[process]\nuser = \"root\"\n", ":2: user = \"root\": another user"},
        Bad{"processUid", "[process]\nuser = 65534\n", ":2: user = 65534; a text in quotes"},
        Bad{"processGroup", "[process]\nuser = \"nobody\"\ngroup = \"no such group\"\n",
            ":3: group = \"no such group\": there is no group"},
        Bad{"processGroupAlone", "[process]\ngroup = \"nogroup\"\n",
            ":1: a group is there without a user"},
        Bad{"processUidWithoutAGroup", "[process]\nuser = \"4000000001\"\n",
            ":1: the system knows no group of user 4000000001"},
        Bad{"processSeccomp", "[process]\nseccomp = \"off\"\n",
            ":2: seccomp = 'off'; true or false"},
        Bad{"processWord", "[process]\nuid = 1\n", ":2: \"uid\" is not known in [process]; user,"},
        Bad{"mode", "[socket]\nmode = \"0999\"\n", ":2: mode = \"0999\": a mode such as"},
        Bad{"modeNumber", "[socket]\nmode = 660\n", ":2: mode = 660; a text in quotes"},
        Bad{"path", "[socket]\npath = \"x\"\n", ":2: path = \"x\": a path from the root on"},
        Bad{"role", "[[user]]\nuid = 1\nrole = \"king\"\n",
            ":3: role = \"king\": client, operator"},
        Bad{"nobody", "[[user]]\ntenant = 1\n", ":1: [[user]] has neither uid nor name"},
        Bad{"userName", "[[user]]\nname = \"no such user\"\n",
            ":2: name = \"no such user\": there"},
        Bad{"userTwice", "[[user]]\nuid = 1\n[[user]]\nuid = 1\n", ":3: [[user]] 1 is there twice"},
        Bad{"userTwoWays", "[[user]]\nuid = 1\nname = \"root\"\n", ":1: [[user]] has a uid and a"},
        Bad{"userTable", "[user]\nuid = 1\n", ":1: user = "},
        Bad{"quicWithoutAKey",
            "[quic]\nlisten = \"[::]:1\"\nauthority = \"/a\"\ncertificate = \"/b\"\n",
            ":1: [quic] has no key; listen, authority, certificate and key belong together"},
        Bad{"quicName",
            "[quic]\nlisten = \"db1:7810\"\nauthority = \"/a\"\ncertificate = \"/b\"\n"
            "key = \"/c\"\n",
            ":2: listen = \"db1:7810\": an address and a port"},
        Bad{"quicPath",
            "[quic]\nlisten = \"[::]:1\"\nauthority = \"a\"\ncertificate = \"/b\"\n"
            "key = \"/c\"\n",
            ":3: authority = \"a\": a path from the root on"},
        Bad{"certificateKind", "[[certificate]]\nname = \"db1\"\ntenant = 1\n",
            ":2: name = \"db1\": a subject alternative name"},
        Bad{"certificateAddress", "[[certificate]]\nname = \"IP:db1\"\ntenant = 1\n",
            ":2: name = \"IP:db1\": a subject alternative name"},
        Bad{"certificateTenant", "[[certificate]]\nname = \"DNS:db1\"\n",
            ":1: [[certificate]] has no name, or no tenant"},
        Bad{"certificateTwice",
            "[[certificate]]\nname = \"DNS:a\"\ntenant = 1\n[[certificate]]\nname = \"DNS:a\"\n"
            "tenant = 2\n",
            ":4: [[certificate]] DNS:a is there twice"},
        Bad{"ttl", "[limits]\ndefault_ttl_ms = 9\nmost_ttl_ms = 8\n",
            ":1: default_ttl_ms 9 is above most_ttl_ms 8"}),
    [](const auto& info) { return std::string(info.param.about); });

TEST_F(ConfigTest, EveryWordOfEtcd_IsRead) {
  std::ofstream(folder_ / "password") << "secret\nnot this\n";
  const auto config = read(
      "[etcd]\nendpoints = [\"https://192.0.2.1:2379\", \"https://192.0.2.2:2379/\"]\n"
      "node = \"memory-1\"\nsession_s = 7\nisolation_s = 60\nisolation_tenants = [7, 8]\n"
      "stall_s = 20\nlabels = [\"rack=r1\", \"zone=b\"]\nmemory_bytes = 1073741824\n"
      "quic_address = \"db1.example:7810\"\nauthority = \"/ca\"\ncertificate = \"/c\"\n"
      "key = \"/k\"\nuser = \"alice\"\npassword_file = \"" +
      (folder_ / "password").string() + "\"\n");

  ASSERT_TRUE(config) << config.error().text;
  const FleetConfig wanted{
      .etcd = {.endpoints = {"https://192.0.2.1:2379", "https://192.0.2.2:2379"},
               .tls = {.authority = "/ca", .certificate = "/c", .key = "/k"},
               .user = "alice",
               .password = "secret"},
      .node = "memory-1",
      .session_s = 7,
      .isolation = fleet::Isolation{.after_s = 60, .stall_s = 20, .tenants = {7, 8}},
      .labels = {"rack=r1", "zone=b"},
      .memory_bytes = 1ULL << 30,
      .quic_address = "db1.example:7810"};
  EXPECT_EQ(config->fleet, wanted);
}

TEST_F(ConfigTest, NodeThatRenewsNothingAlone_IsAloneForASessionAndTheLongestTtl) {
  const auto config = read(
      "[limits]\ndefault_ttl_ms = 1000\nmost_ttl_ms = 30001\n"
      "[etcd]\nendpoints = [\"http://a\"]\nsession_s = 7\nrenew_alone = false\nstall_s = 5\n");

  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->fleet->isolation,
            (fleet::Isolation{.after_s = 7 + 31, .stall_s = 5, .ends_by_ttl = true}));
}

TEST_F(ConfigTest, NodeThatRenewsNothingAloneAndRevokesSooner_DoesBoth) {
  const auto config =
      read("[etcd]\nendpoints = [\"http://a\"]\nrenew_alone = false\nisolation_s = 20\n");

  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->fleet->isolation, (fleet::Isolation{.after_s = 20, .ends_by_ttl = true}));
}

TEST_F(ConfigTest, NodeThatRenewsAlone_IsAsWithoutThat) {
  const auto config = read("[etcd]\nendpoints = [\"http://a\"]\nrenew_alone = true\n");

  ASSERT_TRUE(config) << config.error().text;
  EXPECT_FALSE(config->fleet->isolation);
}

TEST_F(ConfigTest, FileWithoutEtcd_IsNoNode) { EXPECT_FALSE(read("[device]\n")->fleet); }

struct WrongEtcd {
  const char* lines;
  const char* said;
};

class ConfigOfEtcd : public ConfigTest, public testing::WithParamInterface<WrongEtcd> {};

TEST_P(ConfigOfEtcd, IsRefusedWithItsLine) {
  const auto config = read(std::string("[etcd]\n") + GetParam().lines);

  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().text, HasSubstr(file().string() + ":"));
  EXPECT_THAT(config.error().text, HasSubstr(GetParam().said));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, ConfigOfEtcd,
    testing::Values(
        WrongEtcd{"node = \"a\"\n", "URLs such as http://192.0.2.1:2379 are accepted"},
        WrongEtcd{"endpoints = [\"etcd\"]\n", "\"etcd\""},
        WrongEtcd{"endpoints = \"http://a\"\n", "a list of texts is accepted"},
        WrongEtcd{"endpoints = [\"http://a\"]\nnode = \"a/b\"\n", "node \"a/b\""},
        WrongEtcd{"endpoints = [\"http://a\"]\nsession_s = 1\n", "a number from 2 to 3600"},
        WrongEtcd{"endpoints = [\"http://a\"]\nsession_s = 20\nisolation_s = 19\n",
                  "a number from 20 to 86400"},
        WrongEtcd{"endpoints = [\"http://a\"]\nisolation_s = 20\nisolation_tenants = []\n",
                  "a list of numbers"},
        WrongEtcd{"endpoints = [\"http://a\"]\nisolation_s = 20\nisolation_tenants = [-1]\n",
                  "a list of numbers"},
        WrongEtcd{"endpoints = [\"http://a\"]\nstall_s = 5\n", "stall_s without isolation_s"},
        WrongEtcd{"endpoints = [\"http://a\"]\nrenew_alone = true\nstall_s = 5\n",
                  "beside renew_alone = false, it is accepted"},
        WrongEtcd{"endpoints = [\"http://a\"]\nrenew_alone = 0\n", "true or false"},
        WrongEtcd{"endpoints = [\"http://a\"]\nrenew_alone = false\nisolation_tenants = [7]\n",
                  "isolation_tenants without isolation_s"},
        WrongEtcd{"endpoints = [\"http://a\"]\nlabels = [\"rack\"]\n", "KEY=VALUE is accepted"},
        WrongEtcd{"endpoints = [\"http://a\"]\nlabels = [\"a=b\", \"a=c\"]\n", "a is there twice"},
        WrongEtcd{"endpoints = [\"http://a\"]\nlabels = \"a=b\"\n", "a list of texts"},
        WrongEtcd{"endpoints = [\"http://a\"]\nmemory_bytes = 0\n", "a number from 1 to"},
        WrongEtcd{"endpoints = [\"http://a\"]\nquic_address = \"db1\"\n", "a host and a port"},
        WrongEtcd{"endpoints = [\"http://a\"]\nquic_address = \"db1:65536\"\n",
                  "a host and a port"},
        WrongEtcd{"endpoints = [\"http://a\"]\nuser = \"alice\"\n", "without a password"},
        WrongEtcd{"endpoints = [\"http://a\"]\nauthority = \"/ca\"\n", "https:// is accepted"},
        WrongEtcd{"endpoints = [\"http://a\"]\npassword_file = \"/nowhere\"\n",
                  "a file whose first line is the password is accepted"},
        WrongEtcd{"endpoints = [\"http://a\"]\nprefix = \"/x\"\n", "\"prefix\" is not known"}));

TEST(FleetOfTheConfig, WildcardOfQuic_NeedsAnAddressForOthers) {
  Config config;
  config.journal = "/journal";
  config.fleet = FleetConfig{.node = "a"};
  for (const int family : {AF_INET, AF_INET6}) {
    config.quic.emplace().address = UdpAddress::any(family);
    config.fleet->quic_address.clear();
    const auto checked = check_fleet(config);
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().text, testing::HasSubstr(config.quic->address.text()));
    EXPECT_THAT(checked.error().text, testing::HasSubstr("quic_address in [etcd] is accepted"));
    config.fleet->quic_address = "db1.example:7810";
    EXPECT_TRUE(check_fleet(config));
  }
  config.fleet->quic_address.clear();
  config.quic->address = UdpAddress::parse("192.0.2.1:7810", "listen").value();
  EXPECT_TRUE(check_fleet(config));
}

}  // namespace
}  // namespace portcullis::service::daemon
