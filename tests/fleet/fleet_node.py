# SPDX-License-Identifier: BSD-3-Clause
"""A leased that is a node of a fleet, for tests."""

import pathlib
import time

from lease_server import DEADLINE_S, Server


class Node(Server):
    """`more` are lines of its configuration: of [etcd], then whole tables."""

    def __init__(self, program, folder, name, urls, session_s, *arguments, more="", **popen):
        folder = pathlib.Path(folder)
        folder.mkdir(exist_ok=True)
        config = folder / "leased.toml"
        listed = ", ".join(f'"{each}"' for each in urls.split(","))
        config.write_text(f"[etcd]\nendpoints = [{listed}]\nnode = \"{name}\"\n"
                          f"session_s = {session_s}\n{more}", encoding="utf-8")
        super().__init__(program, folder, "--config", config, *arguments, **popen)
        self.name = name

    def wait_until_joined(self, times=1):
        until = time.monotonic() + DEADLINE_S
        while self.log_text().count("has joined the fleet") < times and time.monotonic() < until:
            time.sleep(0.02)
        assert self.log_text().count("has joined the fleet") >= times, self.log_text()


def wait_for(what, why):
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        if what():
            return
        time.sleep(0.02)
    raise AssertionError(why)
