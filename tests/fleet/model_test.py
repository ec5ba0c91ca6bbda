# SPDX-License-Identifier: BSD-3-Clause
"""The rules of a fleet as failover-check explores them, and each rule left out: found.

    model_test.py FAILOVER_CHECK FOLDER_OF_REVOKE_AND_WATCH
"""

import json
import pathlib
import subprocess
import sys
import unittest

ETCD = {"shared": 1}  # 1: it is a member, 2: the epoch is raised, 4: its outcome


class Protocol:
    """One of the two files, to be changed and explored."""

    def __init__(self, name):
        self.text = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))

    def at(self, label):
        return next(i for i, each in enumerate(self.text["steps"]) if each.get("label") == label)

    def step(self, label):
        return self.text["steps"][self.at(label)]

    def awaits(self, request):
        return next(each for each in self.text["steps"] if each.get("await") == request)

    def explored(self, environment):
        done = subprocess.run([FAILOVER_CHECK, "check", "-", "--json", "--threads", "1",
                               "--environment", environment], input=json.dumps(self.text),
                              capture_output=True, text=True, timeout=120, check=False)
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


if __name__ == "__main__":
    FAILOVER_CHECK = sys.argv[1]
    FOLDER = pathlib.Path(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
