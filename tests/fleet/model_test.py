# SPDX-License-Identifier: BSD-3-Clause
"""The rules of a fleet as failover-check explores them, and each rule left out: found.

    model_test.py FAILOVER_CHECK FOLDER_OF_PROTOCOLS
"""

import json
import pathlib
import subprocess
import sys
import unittest

ETCD = {"shared": 1}  # 1: it is a member, 2: the epoch is raised, 4: its outcome


class Protocol:
    """One of the files, to be changed and explored."""

    def __init__(self, name):
        self.text = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))

    def at(self, label):
        return next(i for i, each in enumerate(self.text["steps"]) if each.get("label") == label)

    def step(self, label):
        return self.text["steps"][self.at(label)]

    def awaits(self, request):
        return next(each for each in self.text["steps"] if each.get("await") == request)

    def request(self, name):
        return next(each for each in self.text["work_requests"] if each["name"] == name)

    def explored(self, environment):
        """Where a partition comes, no request is lost besides: both at once are too many states for
        the explorer to look at progress."""
        answered = ["--timeouts", "0", "--late", "0"] if environment == "partition" else []
        done = subprocess.run([FAILOVER_CHECK, "check", "-", "--json", "--threads", "1",
                               "--environment", environment, *answered],
                              input=json.dumps(self.text), capture_output=True, text=True,
                              timeout=120, check=False)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)


class Explored(unittest.TestCase):
    def check(self, protocol, environment, verdict, violation="none"):
        found = protocol.explored(environment)
        self.assertEqual((found["verdict"], found["violation"]), (verdict, violation))
        return found


class Model(Explored):
    def safe(self, protocol, environment):
        self.assertEqual(self.check(protocol, environment, "safe")["not_judged"], [])

    def test_nothing_changes_after_the_answer_and_all_come_to_their_end(self):
        self.safe(Protocol("revoke"), "crash")
        self.safe(Protocol("revoke"), "partition")
        self.safe(Protocol("revoke"), "both")

    def test_epoch_that_was_raised_is_learnt(self):
        self.safe(Protocol("watch"), "raised")

    def test_granted_memory_is_never_more_than_the_quota_and_all_come_to_their_end(self):
        self.safe(Protocol("shares"), "unanswered")
        self.safe(Protocol("shares"), "partition")


class Mutant(Explored):
    def refuted(self, protocol, environment):
        self.check(protocol, environment, "refuted", "ghost-write")

    def test_grant_before_the_epoch_was_read(self):
        protocol = Protocol("revoke")
        del protocol.text["steps"][protocol.at("resync")]
        self.refuted(protocol, "crash")

    def test_epoch_read_without_a_linearizable_read(self):
        """What such a read finds was so some time ago: here, before the node was a member."""
        protocol = Protocol("revoke")
        stale = protocol.step("resync") | {"label": "node", "then": "join", "else": "end"}
        stale["is"] = {"equals": 0}
        del protocol.text["steps"][protocol.at("resync")]
        protocol.step("node")["label"] = "join"
        protocol.text["steps"].insert(protocol.at("join"), stale)
        self.refuted(protocol, "crash")

    def test_expiry_by_a_clock_that_can_be_set(self):
        protocol = Protocol("revoke")
        environment = protocol.text["environments"]["partition"]
        environment["others"].append({"name": "the asker's clock is set", "cell": {"shared": 2},
                                      "when": 1, "becomes": 3})
        self.refuted(protocol, "partition")

    def test_expiry_at_the_end_of_the_session(self):
        protocol = Protocol("revoke")
        protocol.step("expired")["is"] = {"equals": 1}
        self.refuted(protocol, "partition")

    def test_promise_kept_before_the_fence_is_in_effect(self):
        protocol = Protocol("revoke")
        del protocol.text["steps"][protocol.at("fenced alone")]
        protocol.step("fence alone")["then"] = "promise"
        self.refuted(protocol, "partition")

    def test_lease_that_is_renewed_while_its_node_is_alone(self):
        """Its time by which the asker counts is over then, and it is not."""
        protocol = Protocol("revoke")
        protocol.step("alone")["then"] = "promise"
        self.refuted(protocol, "partition")

    def test_outcome_before_the_fence_is_in_effect(self):
        protocol = Protocol("revoke")
        del protocol.text["steps"][protocol.at("fenced")]
        protocol.step("fence")["then"] = "nothing held"
        self.refuted(protocol, "crash")

    def test_second_life_that_fences_what_the_first_one_had(self):
        protocol = Protocol("revoke")
        protocol.step("fence again")["fence"] = 2
        protocol.step("fenced again")["await_fence"] = 2
        self.refuted(protocol, "crash")

    def test_members_read_before_the_epoch_is_raised(self):
        protocol = Protocol("revoke")
        at = protocol.at("asker")
        late = {"name": "raise later", "opcode": "FADD", "qp": 8, "cell": ETCD, "operand": 2,
                "counted": False}
        protocol.text["work_requests"].append(late)
        protocol.text["steps"][at:at + 2] = [
            {"label": "asker", "probe": ETCD, "is": {"equals": 0}, "then": "raise to nobody",
             "else": "raise"},
            {"label": "raise to nobody", "post": "raise"},
            {"await": "raise", "then": "answer", "on_timeout": "end"},
            {"label": "raise", "post": "raise later"},
            {"await": "raise later", "then": "wait", "on_timeout": "end"}]
        self.refuted(protocol, "crash")

    def test_answer_without_an_outcome(self):
        protocol = Protocol("revoke")
        protocol.awaits("raise")["else"] = "answer"
        self.refuted(protocol, "crash")

    def test_watch_that_begins_now(self):
        """Only what changes from now on is looked for: the gap before it is passed over."""
        protocol = Protocol("watch")
        protocol.text["steps"].insert(protocol.at("watch"), {
            "probe": {"own": 0}, "is": "always", "keep": True, "then": "watch", "else": "watch"})
        protocol.step("watch")["is"] = "equals-register"
        found = self.check(protocol, "raised", "hangs")
        self.assertGreater(found["hanging_states"], 0)


class MutantOfShares(Explored):
    """What breaks the rule of quotas: two nodes have granted what there is room for once."""

    def refuted(self, protocol, environment):
        self.check(protocol, environment, "refuted", "assertion")

    def test_share_written_without_comparing_the_others(self):
        protocol = Protocol("shares")
        protocol.request("take")["opcode"] = "WRITE"
        del protocol.request("take")["compare"]
        protocol.awaits("take")["is"] = "always"
        self.refuted(protocol, "unanswered")

    def test_share_compared_with_a_later_read_than_the_sum_is_of(self):
        """What the sum is made of is stale then: whoever has taken the room since is written
        over."""
        protocol = Protocol("shares")
        protocol.step("look")["then"] = "newer"
        protocol.text["steps"].insert(protocol.at("take"), {
            "label": "newer", "probe": {"shared": 0}, "keep": True, "is": "always",
            "then": "take", "else": "take"})
        self.refuted(protocol, "unanswered")

    def test_grant_before_the_share_is_confirmed(self):
        protocol = Protocol("shares")
        protocol.awaits("take")["else"] = "grant"
        self.refuted(protocol, "unanswered")

    def test_share_freed_before_the_fence_is_in_effect(self):
        protocol = Protocol("shares")
        del protocol.text["steps"][protocol.at("fenced")]
        steps = protocol.text["steps"]
        counted = steps[protocol.at("count down"):protocol.at("outcome")]
        del steps[protocol.at("count down"):protocol.at("outcome")]
        protocol.step("fence")["then"] = "outcome"
        protocol.awaits("give back")["then"] = "fenced"
        at = protocol.at("fence alone")
        steps[at:at] = [{"label": "fenced", "await_fence": 4}, counted[0],
                        counted[1] | {"then": "end"}]
        self.refuted(protocol, "partition")

    def test_share_that_is_found_is_relied_on_though_a_smaller_one_may_still_come(self):
        protocol = Protocol("shares")
        self.rely_on_what_is_found(protocol)
        self.refuted(protocol, "unanswered")

    def test_share_that_is_found_after_joining_again_is_relied_on(self):
        protocol = Protocol("shares")
        self.rely_on_what_is_found(protocol)
        self.refuted(protocol, "partition")

    def test_share_of_a_node_taken_when_its_session_ends(self):
        protocol = Protocol("shares")
        protocol.step("taken")["is"] = {"equals": 1}
        self.refuted(protocol, "partition")

    def test_share_of_a_node_that_has_joined_since_is_taken(self):
        """The write says nothing of what it takes the place of."""
        protocol = Protocol("shares")
        protocol.request("take over")["opcode"] = "WRITE"
        del protocol.request("take over")["compare"]
        protocol.awaits("take over")["is"] = "always"
        self.refuted(protocol, "partition")

    def test_promise_kept_before_the_fence_is_in_effect(self):
        protocol = Protocol("shares")
        steps = protocol.text["steps"]
        said = steps[protocol.at("promise"):protocol.at("back")]
        del steps[protocol.at("promise"):protocol.at("back")]
        steps[protocol.at("fenced alone"):protocol.at("fenced alone")] = said
        self.refuted(protocol, "partition")

    @staticmethod
    def rely_on_what_is_found(protocol):
        protocol.step("wanted again")["then"] = "grant again"
        at = protocol.at("keep it")
        del protocol.text["steps"][at:at + 2]
        protocol.text["work_requests"].remove(protocol.request("keep it"))


if __name__ == "__main__":
    FAILOVER_CHECK = sys.argv[1]
    FOLDER = pathlib.Path(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
