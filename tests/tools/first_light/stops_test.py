# SPDX-License-Identifier: BSD-3-Clause
"""first-light stopped by Ctrl-C and killed, in every step, at its first, a middle and its last
command: what was found before is in the bundle, which names the step and concludes nothing that
a whole run does not, and the next run is whole.

    stops_test.py STOPPED_FIRST_LIGHT HCA_SERVER     built to send itself a signal where it is told
"""

import io
import json
import os
import re
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest

DEADLINE_S = 600
LITTLE = ("--rounds", "2", "--writes", "4", "--revokes", "2", "--fences", "32")
STEPS = ("bring-up", "commands", "loopback", "reach", "key", "entries", "probes", "plans", "floor",
         "audit", "end")
INTERRUPTED = 130
# The one thing that the driver says of a model: what it does not know of hardware.
SAID = r"\A([\w-]+: CREATE_MKEY accepts [^\n]*\n)?\Z"


def files_of(bundle):
    plain = subprocess.run(["zstd", "-dc", bundle], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        return {each.name: archive.extractfile(each).read() for each in archive}


def states_of(bundle):
    steps = json.loads(files_of(bundle)["facts.json"])["steps"]
    return {step["name"]: (step["state"], step["why"]) for step in steps}


def answers_of(bundle):
    said = files_of(bundle)["conclusions.txt"].decode()
    found = re.findall(r"(?m)^(confirmed|refuted|undecided|not run) +(\S+) ", said)
    return {name: answer for answer, name in found}


class Stopped(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bundle = self.folder / "card.tar.zst"

    def light(self, device, steps, stop=""):
        command = [PROGRAM, *LITTLE, device, "--steps", ",".join(steps), "--bundle", self.bundle]
        return subprocess.run(command, text=True, capture_output=True, timeout=DEADLINE_S,
                              stdin=subprocess.DEVNULL, check=False,
                              env=os.environ | {"PORTCULLIS_STOP_AT": stop})

    def stop_everywhere(self, how, judge):
        """Between a step before and one behind it, where there are such."""
        for step in STEPS:
            answers = self.answers_of_whole(step)
            commands = json.loads(files_of(self.bundle)["manifest.json"])["commands_sent"]
            self.assertGreater(commands, 2, step)
            asked = [each for each in STEPS if each in ("bring-up", step, "end")]
            for at in (1, commands // 2, commands):
                with self.subTest(step=step, command=at, of=commands):
                    self.bundle.unlink()
                    judge(asked, step, self.light("model", asked, f"{step}:{at}:{int(how)}"))
                    self.assertEqual(list(self.folder.glob(".unfinished*")), [])
                    for name, answer in answers_of(self.bundle).items():
                        self.assertIn(answer, (answers[name], "undecided", "not run"), name)
                    self.assertEqual(self.answers_of_whole(step), answers)

    def answers_of_whole(self, step):
        said = self.light("model", [step])
        self.assertEqual(said.returncode, 0, said.stdout)
        self.assertRegex(said.stderr, SAID)
        self.assertEqual(states_of(self.bundle), {step: ("done", "")})
        return answers_of(self.bundle)

    def expect_interrupted(self, asked, step, said):
        self.assertEqual(said.returncode, INTERRUPTED, said.stdout)
        self.assertRegex(said.stderr, SAID)
        self.assertIn(f"bundle: {self.bundle} ", said.stdout)
        states = states_of(self.bundle)
        state, why = states.pop(step)
        # What was asked for by then may be whole.
        self.assertRegex(f"{state} {why}", r"\A(failed (plan .*: )?stopped|done )\Z")
        self.assertEqual(states, self.around(asked, step, ("not run", "stopped before it")))

    def expect_killed(self, asked, step, said):
        self.assertEqual(said.returncode, -signal.SIGKILL)
        states = states_of(self.bundle)
        self.assertEqual(states.pop(step), ("failed", "the program ended in it"))
        left = ("not run", "the program ended before it")
        self.assertEqual(states, self.around(asked, step, left))
        shown = subprocess.run([PROGRAM, "show", self.bundle], text=True, capture_output=True,
                               check=False, timeout=DEADLINE_S)
        self.assertEqual(shown.returncode, 1 if step == "bring-up" else 3)
        self.assertRegex(shown.stdout, rf"(?m)^{step} +failed .*\n  the program ended in it$")

    @staticmethod
    def around(asked, step, left):
        """The states of all but `step`: done before it, `left` behind it."""
        at = asked.index(step)
        return {name: ("done", "") if i < at else left
                for i, name in enumerate(asked) if i != at}

    def test_by_ctrl_c_in_any_step_it_packs_what_was_found(self):
        self.stop_everywhere(signal.SIGINT, self.expect_interrupted)

    def test_killed_in_any_step_it_has_left_what_was_found(self):
        self.stop_everywhere(signal.SIGKILL, self.expect_killed)

    def test_device_that_outlives_it_is_whole_for_the_next_run(self):
        path = self.folder / "hca"
        asked = ("bring-up", "commands", "loopback", "key", "plans", "end")
        with subprocess.Popen([HCA_SERVER, "--shm", path], text=True, stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL) as server:
            try:
                self.assertIn("listening", server.stderr.readline())
                for how in (signal.SIGINT, signal.SIGKILL):
                    for step in asked:
                        with self.subTest(step=step, by=how.name):
                            self.light(f"shm:{path}", asked, f"{step}:40:{int(how)}")
                            # Some are over before they look whether they are to stop.
                            self.assertIn(states_of(self.bundle)[step][0], ("failed", "done"))
                            said = self.light(f"shm:{path}", asked)
                            self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
            finally:
                server.kill()


if __name__ == "__main__":
    PROGRAM, HCA_SERVER = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
