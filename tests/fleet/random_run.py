# SPDX-License-Identifier: BSD-3-Clause
"""A fleet of five, a real etcd and clients that write all the time; at random nodes are killed,
stopped and cut off, members of etcd go or are cut apart, and operators fence the tenant: in the
manner of Jepsen.

    random_run.py LEASED LEASECTL CRASH_RIG FAILOVER_CHECK FOLDER_OF_LEASE_SERVER
                  [--seed N] [--seconds N] [--members 1|3] [--clients N] [--history FILE] [--plan]

What is done, to whom and when, is a function of the seed (--plan prints it and runs nothing); what
comes of it is not. Everything that was asked, answered and done goes to --history, a line of JSON
each; what of it is operations on epochs and regions, `failover-check history` judges. Status 0:
nothing was wrong. 1: something was; each is a line. 2: an argument.
"""

import argparse
import collections
import itertools
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

NODES = 5
PROMISES = ("all", "by TTL", "all", "alone", "nothing")  # as fleet_host has them
QUIET_S = 3.0         # before the first fault
LONG_S = 28.0         # whoever promised something is Expired by then
SLOW_S = (0.02, 0.3)  # each way; an election of etcd's waits for a second
TENANT = os.getuid()  # as leased has it without a configuration
# Of members: one that neither hears the others nor is heard, the leader so, one that hears nobody,
# one that nobody hears, and ways that take their time.
PARTITIONS = ("minority", "leader", "deaf", "dumb", "slow")
Fault = collections.namedtuple("Fault", "at what target lasts which")
Programs = collections.namedtuple("Programs", "leased leasectl rig judge")


def plan(seed, seconds, members):
    """What happens, in order. Of those that promise to end by themselves one is away for so long
    that the answer of it is Expired."""
    chance = random.Random(f"{seed} plan")
    away = chance.randrange(3)
    faults = [Fault(QUIET_S, chance.choice(("kill", "stop", "cut")), away, LONG_S,
                    tuple(range(members))),
              Fault(QUIET_S + 0.2, "fence", 0, None, ("--wait",))]
    at = QUIET_S
    while (at := at + chance.uniform(0.1, 1.6)) < seconds:
        what = chance.choices(("fence", "kill", "stop", "cut", "deaf", "end", "etcd kill",
                               "etcd stop", "partition", "compact", "leasectl kill"),
                              (8, 3, 4, 3, 2, 1, 1, 1, 4, 1, 1))[0]
        lasts = chance.choice((chance.uniform(0.05, 1), chance.uniform(1, 8)))
        which = tuple(i for i in range(members) if chance.random() < 0.7) or (0,)
        if what == "fence":
            which = chance.choice((("--wait",), ("--wait",), ("--most-ms", "2000")))
        if what == "partition":
            which = (chance.choice(PARTITIONS), chance.uniform(*SLOW_S))
        nodes = [i for i in range(NODES) if i != away or at > QUIET_S + LONG_S]
        is_of_etcd = what.startswith("etcd") or what == "partition"
        target = chance.randrange(members) if is_of_etcd else chance.choice(nodes)
        faults.append(Fault(round(at, 3), what, target, round(lasts, 3), which))
    return faults


class Etcd:
    def __init__(self, folder, members, history):
        self.history = history
        self.network = Network()
        self.cluster = Cluster(folder, members, self.network).start()
        self.lock = threading.Lock()

    def kill(self, target):
        with self.lock:
            self.cluster.members[target].kill()

    def start(self, target):
        with self.lock:
            if self.cluster.members[target].process is None:
                self.cluster.members[target].start()

    def signal(self, target, how):
        with self.lock:
            process = self.cluster.members[target].process
            if process is not None:
                process.send_signal(how)

    def partition(self, target, how, delay_s):
        """What mends it."""
        if how == "leader":
            target = next((i for i, each in enumerate(self.cluster.members)
                           if Cluster.leads(each, 1)), target)
        name = self.cluster.members[target].name
        others = [each.name for each in self.cluster.members if each.name != name]
        ways = both(name, others)
        if how == "slow":
            self.network.slow(ways, delay_s)
            return lambda: self.network.hasten(ways)
        if how in ("deaf", "dumb"):
            ways = [way for way in ways if name == way[how == "deaf"]]
        self.network.hold(ways)
        return lambda: self.network.release(ways)

    def compact(self):
        try:
            self.cluster.compact()
        except OSError:  # nobody there to be told
            pass

    def mend(self):
        self.network.mend()
        for target in range(len(self.cluster.members)):
            self.signal(target, signal.SIGCONT)
            self.start(target)


class Fences:
    """`leasectl revoke-tenant --everywhere`, any number at a time, and what it was answered."""

    def __init__(self, leasectl, etcd, hosts, history):
        self.leasectl, self.etcd, self.hosts, self.history = leasectl, etcd, hosts, history
        self.running = []
        self.threads = []
        self.epochs = []  # (asked, answered, epoch)
        self.answers = collections.Counter()

    def begin(self, arguments):
        thread = threading.Thread(target=self.run, args=[arguments, len(self.threads)])
        self.threads.append(thread)
        thread.start()

    def run(self, arguments, number):
        who = f"operator-{number}"
        below = {host.name: host.next_tag() for host in self.hosts}
        asked = time.monotonic()
        self.history.add(who, "fence", tenant=TENANT, arguments=arguments)
        process = subprocess.Popen(
            [self.leasectl, "--json", "revoke-tenant", str(TENANT), "--everywhere", "--etcd",
             self.etcd.cluster.urls, *arguments], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.running.append(process)
        said, why = process.communicate()
        answered = time.monotonic()
        self.running.remove(process)
        self.history.add(who, "fence answered", status=process.returncode, why=why.strip())
        lines = [json.loads(line) for line in said.splitlines()]
        if process.returncode < 0 or not lines:
            return
        *nodes, whole = lines
        self.epochs.append((asked, answered, whole["epoch"]))
        by_name = {host.name: host for host in self.hosts}
        for each in nodes:
            self.answers[each["answer"]] += 1
            self.history.add(who, "answer", node=each["node"], answer=each["answer"],
                             epoch=whole["epoch"], remark=each["remark"])
            if each["answer"] != "Unreachable":
                by_name[each["node"]].answered(below[each["node"]], each["answer"], answered)

    def kill_one(self):
        """Not the oldest, which may be the one that waits for Expired."""
        for process in self.running[1:][-1:]:
            process.kill()


class Run:
    def __init__(self, programs, folder, options):
        self.programs, self.folder, self.options = programs, folder, options
        self.history = History()
        self.etcd = Etcd(folder / "etcd", options.members, self.history)
        self.hosts = [Host(programs, folder, self.etcd, f"node-{i}", options.seed, promise,
                           options.clients) for i, promise in enumerate(PROMISES)]
        self.fences = Fences(programs.leasectl, self.etcd, self.hosts, self.history)
        self.later = []  # (when, what)
        self.faults = collections.Counter()
        self.judged = 0

    def run(self):
        for host in self.hosts:
            host.begin()
        wait_for(lambda: all(host.grants() for host in self.hosts), "the fleet does not begin")
        began = time.monotonic()
        for fault in plan(self.options.seed, self.options.seconds, self.options.members):
            self.pass_time(began + fault.at)
            self.faults[fault.what] += 1
            self.history.add("plan", fault.what, target=fault.target, lasts=fault.lasts,
                             which=fault.which)
            self.do(fault)
        self.pass_time(began + self.options.seconds)
        self.mend()

    def pass_time(self, until):
        """What is to end by then ends in time."""
        while time.monotonic() < until:
            due = [each for each in self.later if each[0] <= time.monotonic()]
            self.later = [each for each in self.later if each not in due]
            for _, what in due:
                what()
            time.sleep(0.005)

    def after(self, seconds, what):
        self.later.append((time.monotonic() + seconds, what))

    def do(self, fault):
        host = self.hosts[fault.target]
        if fault.what == "fence":
            self.fences.begin(fault.which)
        elif fault.what == "kill":
            host.kill(fault.lasts)
        elif fault.what == "end":
            host.end(fault.lasts)
        elif fault.what == "stop":
            host.not_before = time.monotonic() + fault.lasts  # of one that is killed for it
            host.signal(signal.SIGSTOP)
            self.after(fault.lasts, lambda: host.signal(signal.SIGCONT))
        elif fault.what == "cut":
            host.cut(fault.which)
            self.after(fault.lasts, lambda: host.heal(fault.which))
        elif fault.what == "deaf":
            host.hold(fault.which)
            self.after(fault.lasts, lambda: host.release(fault.which))
        elif fault.what == "partition":
            self.after(fault.lasts, self.etcd.partition(fault.target, *fault.which))
        elif fault.what == "etcd kill":
            self.etcd.kill(fault.target)
            self.after(fault.lasts, lambda: self.etcd.start(fault.target))
        elif fault.what == "etcd stop":
            self.etcd.signal(fault.target, signal.SIGSTOP)
            self.after(fault.lasts, lambda: self.etcd.signal(fault.target, signal.SIGCONT))
        elif fault.what == "compact":
            self.etcd.compact()
        else:
            self.fences.kill_one()

    def mend(self):
        """Then everybody gets on: fences are answered for certain, and tenants come again."""
        self.history.add("plan", "mended")
        self.etcd.mend()
        for host in self.hosts:
            host.heal()
            host.signal(signal.SIGCONT)
            host.not_before = 0.0
        self.fences.begin(("--wait",))
        for thread in self.fences.threads:
            thread.join(DEADLINE_S)
        if any(thread.is_alive() for thread in self.fences.threads):
            self.history.violation("operator", "a fence is not certain though all is mended")
        for host in self.hosts:
            wait_for(host.grants, f"{host.name} grants nothing though all is mended")

    def end(self):
        """What the hardware saw."""
        for process in list(self.fences.running):
            process.kill()
        operations = Operations()
        reports = [host.close(operations) for host in self.hosts]
        self.etcd.cluster.kill()
        operations.add_epochs(self.fences.epochs)
        self.judged = len(operations.rows)
        for each in operations.judge(self.programs.judge, self.folder / "operations.json"):
            self.history.violation("judge", each)
        for one, other in itertools.combinations(self.hosts, 2):
            if one.book.all & other.book.all:
                self.history.violation(one.name, f"{other.name} has given a name of its own")
        return reports

    def tell(self, reports):
        counts = self.history.counts
        print(f"seed {self.options.seed}, {self.options.seconds} s, etcd of "
              f"{self.options.members}: {counts['granted']} leases granted, "
              f"{sum(each.landed for each in reports)} WRITEs landed, of them "
              f"{sum(each.orphaned for each in reports)} while no server was there; "
              f"{sum(host.lives for host in self.hosts)} lives of servers, "
              f"{counts['watchdog']} ended by the watchdog")
        print(f"  {len(self.fences.epochs)} fences answered: {dict(self.fences.answers)}; "
              f"done: {dict(self.faults)}; {self.judged} operations judged")
        for each in self.history.wrong:
            print(f"WRONG: {each}")


def main(options, programs):
    with tempfile.TemporaryDirectory() as folder:
        run = Run(programs, pathlib.Path(folder), options)
        reports = []
        try:
            run.run()
        except AssertionError as error:
            run.history.violation("run", str(error))
        finally:
            reports = run.end()
            if options.history:
                options.history.write_text(
                    "".join(json.dumps(each) + "\n" for each in run.history.lines),
                    encoding="utf-8")
        run.tell(reports)
        return 1 if run.history.wrong else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("leased", "leasectl", "rig", "judge", "folder"):
        parser.add_argument(name)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--members", type=int, default=3, choices=(1, 3))
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--history", type=pathlib.Path)
    parser.add_argument("--plan", action="store_true")
    ARGUMENTS = parser.parse_args()
    if ARGUMENTS.plan:
        for each_fault in plan(ARGUMENTS.seed, ARGUMENTS.seconds, ARGUMENTS.members):
            print(*each_fault)
        sys.exit(0)
    sys.path[:0] = [str(pathlib.Path(__file__).parent), ARGUMENTS.folder]
    # pylint: disable=wrong-import-position
    from etcd_cluster import Cluster
    from fleet_host import DEADLINE_S, History, Host
    from fleet_node import wait_for
    from network import Network, both
    from operations import Operations
    sys.exit(main(ARGUMENTS, Programs(ARGUMENTS.leased, ARGUMENTS.leasectl, ARGUMENTS.rig,
                                      ARGUMENTS.judge)))
