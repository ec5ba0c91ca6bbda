# SPDX-License-Identifier: BSD-3-Clause
#
# Instructions of an RDMA WRITE of 64 inline bytes, posted with its doorbell, and of the poll that
# finds its completion: our driver by DevX beside libmlx5, on the same port of the same guest.
import re
from pathlib import Path

from scenario import Scenario

COUNT = 200  # of post_cost.sh
OURS = "ours"
THEIRS = {
    "post-send": "ibv_post_send, ibv_poll_cq",
    "post-send-single": "the same, single-threaded",
    "wr": "ibv_wr_*, ibv_poll_cq",
    "wr-single": "the same, single-threaded",
}
MOST = 0.35  # of what libmlx5 takes with its locks, which is what its users have


def instructions(results: Path, way: str, what: str) -> float:
    text = (results / f"{way}.{what}.txt").read_text(encoding="utf-8")
    return int(re.search(r"^(?:totals|summary): (\d+)", text, re.M)[1]) / COUNT


def judge(_build: Path, results: Path) -> list[str]:
    def of(way: str) -> tuple[float, float]:
        return instructions(results, way, "post"), instructions(results, way, "poll")

    wrong: list[str] = []
    ours = sum(of(OURS))
    print(f"{'instructions':32}{'post':>8}{'poll':>8}   ours of it")
    for way, what in {OURS: "ours, by DevX", **THEIRS}.items():
        post, poll = of(way)
        if post <= 0 or poll <= 0:
            wrong.append(f"{what}: callgrind counted nothing")
            continue
        share = ours / (post + poll)
        print(f"{what:32}{post:8.1f}{poll:8.1f}{share:13.2f}")
        if way in ("post-send", "wr") and share > MOST:
            wrong.append(f"ours takes {share:.2f} of {what}; at most {MOST} expected")
    return wrong


SCENARIO = Scenario(
    summary="instructions of a WRITE and its poll: ours by DevX beside libmlx5",
    script="post_cost.sh",
    variables={"port_type": "ib"},
    servers=[["--timing", "instant", "--port-type", "ib"]],
    programs=["tests/devx/post-cost"],
    judge=judge,
    is_long=True)
