# SPDX-License-Identifier: BSD-3-Clause
"""A history as operations on words, for `failover-check history`: the tenant's epoch as a register,
and of each lease whether its region is held, and its bytes.

An epoch is raised from the one below it to its own, by one fence, between when that was asked for
and answered. A region is held from its grant on, and over when its end was told, or a fence
answered of its node that was asked for later than the lease. A WRITE that lands, when it does,
finds it held and changes its bytes; one that is refused finds it over. Times are of
CLOCK_MONOTONIC.
"""

import json
import math
import subprocess

FREE, HELD, OVER = range(3)
MOST_WRITES = 400  # of a lease that are looked at: the first, and so many of the last
DEADLINE_S = 600
NS = 10**9


class Operations:
    def __init__(self):
        self.rows = []

    def add(self, name, begin_s, end_s, *words):
        """Without `end_s` it was not answered: it may have happened, or not."""
        row = {"name": name, "from": int(begin_s * NS), "words": list(words)}
        if end_s is not None:
            row["to"] = math.ceil(end_s * NS)
        self.rows.append(row)

    def add_epochs(self, epochs):
        """(asked, answered, epoch) of each fence."""
        below = 0
        for asked_s, answered_s, epoch in sorted(epochs, key=lambda each: each[2]):
            self.add(f"fence {epoch}", asked_s, answered_s,
                     {"cell": "epoch", "do": "cas", "compare": below, "value": epoch,
                      "answer": below},
                     {"cell": f"raised to {epoch}", "do": "add", "value": 1, "answer": 0})
            below = epoch

    def add_lease(self, name, lease, landed, refused):
        """What was told of it (fleet_host.Seen), and of its client's WRITEs (in seconds)."""
        held, told_s = f"held {name}", lease.told_s
        self.add(f"grant {name}", lease.asked_s, told_s,
                 {"cell": held, "do": "cas", "compare": FREE, "value": HELD, "answer": FREE})
        for why, at_s in lease.over:
            self.add(f"{why} {name}", lease.asked_s, at_s,
                     {"cell": held, "do": "write", "value": OVER})
        # It may end at any time, by whatever nobody was told of.
        self.add(f"end {name}", lease.asked_s, None,
                 {"cell": held, "do": "write", "value": OVER})
        for begin_s, end_s in lease.listed:
            self.add(f"list {name}", begin_s, end_s,
                     {"cell": held, "do": "read", "answer": HELD})
        for count, at_s in enumerate(landed[:1] + landed[1:][-MOST_WRITES:]):
            self.add(f"WRITE {count} {name}", at_s, at_s,
                     {"cell": held, "do": "read", "answer": HELD},
                     {"cell": f"bytes {name}", "do": "add", "value": 1, "answer": count})
        for at_s in refused:
            self.add(f"refused WRITE {name}", lease.asked_s, at_s,
                     {"cell": held, "do": "read", "answer": OVER})

    def judge(self, failover_check, file):
        """What is wrong, a line each; nothing if it is linearizable."""
        file.write_text(json.dumps({"operations": self.rows}), encoding="utf-8")
        done = subprocess.run([failover_check, "history", file], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)
        if done.returncode == 0:
            return []
        return (done.stdout + done.stderr).splitlines() or [f"status {done.returncode}"]
