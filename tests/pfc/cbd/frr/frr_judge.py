# SPDX-License-Identifier: BSD-3-Clause
"""Judges what pfc/cbd makes of failed cables by FRRouting.

    frr_judge.py PFC_ROUTES_PROGRAM [--only CASE]     exit 1 when something disagrees

Every switch of a fabric becomes a network namespace with zebra and bgpd or ospfd, every cable
between switches a veth pair, and the kernel's routes are held against ours, as sets of next hops of
every switch to every destination:

  settled    with all cables and with sets of them down, once routing has converged: as
             `converged` (OSPF, BGP with an AS number for each switch) or `valley-free` (BGP as in
             RFC 7938: a number for each leaf and for each cluster of a tier above) says;
  local      only the ends of the failed cables have reacted, each to its own ones, and nobody has
             heard anything: OSPF as `local` says; of BGP in a Clos that nothing goes to a neighbour
             that it did not go to before;
  transient  in states on the way, made by letting switches work one after the other or in rounds:
             next hops are among those of `transient`, and a cycle of links is one that
             `transient` has too. In a Clos: among those before and those after, with no cycle even
             in all states together.

What BGP with an AS number for each switch does on the way is said and not judged: paths that are
longer than before and after are explored.

PFC_ROUTES_PROGRAM FABRIC prints a JSON line: "nodes" (names), "is_host", "links" ([from, to]),
"cables" (their links), "tiers" (empty if there are none). To each line "REACTION CABLE.." it says
what the routes are after these cables failed: [[node, destination, link], ..].

Needs root, the packages frr and iproute2, and the kernel module veth.
"""

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DAEMONS = Path("/usr/lib/frr")
START_S = 60  # until sessions are there for the first time
SETTLE_S = 40
QUIET_S = 0.7  # that routes must stay as they are
IDLE_POLLS = 8  # in which daemons take no CPU time
POLL_S = 0.05
ROUNDS = 4
# How long until what was lost on the wire is sent again: ospfd does it, for BGP the kernel.
AGAIN_S = {"ospf": 3.2, "bgp": 1.0}

Tables = dict[tuple[int, int], set[int]]  # (node, destination) -> links that data may take
Cut = tuple[int, ...]  # cables


@dataclass(frozen=True)
class Case:
    """`pairs` is how many sets of two cables settle, besides each cable alone; `watched` of how
    many sets of one and of two the way there is looked at."""

    name: str
    protocol: str
    fabric: str = ""  # of pfc-deadlock's generators, or else `edges`
    edges: tuple[tuple[int, int], ...] = ()
    one_as_each: bool = False
    pairs: int = 0
    watched: tuple[int, int] = (0, 0)

    @property
    def is_clos(self) -> bool:
        return self.protocol == "bgp" and not self.one_as_each

    @property
    def settled(self) -> str:
        return "valley-free" if self.is_clos else "converged"


CASES = (
    Case("leaf-spine", "bgp", "leaf-spine:4,2,1", pairs=28, watched=(2, 4)),
    Case("wide-leaf-spine", "bgp", "leaf-spine:6,3,1", pairs=8, watched=(0, 2)),
    Case("fat-tree", "bgp", "fat-tree:4", pairs=8, watched=(1, 2)),
    # Two cables of which the third switch's two neighbours know one each.
    Case("triangle", "ospf", edges=((0, 1), (0, 2), (1, 2)), pairs=3, watched=(3, 3)),
    Case("full-mesh", "ospf", edges=tuple(itertools.combinations(range(4), 2)), pairs=15,
         watched=(2, 6)),
    Case("jellyfish", "ospf", "jellyfish:6,3,1", pairs=12, watched=(3, 6)),
    Case("larger-jellyfish", "ospf", "jellyfish:8,3,2", pairs=6, watched=(0, 2)),
    Case("leaf-spine-ospf", "ospf", "leaf-spine:4,2,1", pairs=12, watched=(2, 4)),
    Case("jellyfish-bgp", "bgp", "jellyfish:6,3,1", one_as_each=True, pairs=6),
    # Who loses the switch at the tail asks the other, whose answer is out of date.
    Case("kite-bgp", "bgp", edges=((0, 1), (1, 2), (1, 3), (2, 3)), one_as_each=True,
         watched=(4, 0)),
)


def run(*words: str, given: str | None = None) -> str:
    done = subprocess.run(words, input=given, text=True, capture_output=True, check=False,
                          timeout=START_S)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def document(case: Case) -> str:
    """A fabric of switches with a host each, as pfc-deadlock reads it."""
    switches = range(1 + max(max(edge) for edge in case.edges))
    nodes = [{"name": f"s{i}"} for i in switches]
    nodes += [{"name": f"h{i}", "kind": "host"} for i in switches]
    links = [{"from": f"h{i}", "to": f"s{i}", "both_ways": True} for i in switches]
    links += [{"from": f"s{a}", "to": f"s{b}", "both_ways": True} for a, b in case.edges]
    return json.dumps({"name": case.name, "nodes": nodes, "links": links})


class Ours:
    """The program under test, with one fabric."""

    def __init__(self, program: str, fabric: str):
        self.process = subprocess.Popen([program, fabric], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        about = json.loads(self.process.stdout.readline())
        self.names: list[str] = about["nodes"]
        self.links: list[list[int]] = about["links"]
        self.cables: list[list[int]] = about["cables"]
        self.tiers: list[int] = about["tiers"]
        self.switches = [node for node, is_host in enumerate(about["is_host"]) if not is_host]
        self.inner = [cable for cable, links in enumerate(self.cables)
                      if set(self.links[links[0]]) <= set(self.switches)]
        self.destinations = sorted({to for _, to, _ in self.routes("as-given", ())})

    def routes(self, reaction: str, cut: Cut) -> list[list[int]]:
        self.process.stdin.write(" ".join([reaction, *map(str, cut)]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def no_routes(self) -> Tables:
        return {(node, to): set() for node in self.switches for to in self.destinations
                if node != to}

    def tables(self, reaction: str, cut: Cut) -> Tables:
        tables = self.no_routes()
        for node, to, link in self.routes(reaction, cut):
            if (node, to) in tables:
                tables[node, to].add(link)
        return tables

    def ends(self, cut: Cut) -> list[int]:
        return sorted({node for cable in cut for node in self.links[self.cables[cable][0]]})

    def text(self, cut: Cut) -> str:
        return ", ".join("-".join(self.names[node] for node in self.links[self.cables[cable][0]])
                         for cable in cut) or "nothing"

    def hops(self, links) -> str:
        return " ".join(sorted(self.names[self.links[link][1]] for link in links)) or "none"

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def cycle_of(ours: Ours, tables: Tables) -> list[int]:
    """Links each of which waits for the next and the last for the first, or none: of data from
    every destination to every other, which is where the hosts are."""
    waits: dict[int, set[int]] = {}
    for to in ours.destinations:
        todo = [(None, node) for node in ours.destinations if node != to]
        seen = set()
        while todo:
            came, node = todo.pop()
            for link in tables.get((node, to), ()):
                if came is not None:
                    waits.setdefault(came, set()).add(link)
                if link not in seen:
                    seen.add(link)
                    todo.append((link, ours.links[link][1]))
    return cycle_in(waits)


def cycle_in(graph: dict[int, set[int]]) -> list[int]:
    """By depth first search."""
    done = set()
    for start in graph:
        path, ways = [start], [iter(graph[start])]
        while path and start not in done:
            step = next(ways[-1], None)
            if step in path:
                return path[path.index(step):]
            if step is None:
                done.add(path.pop())
                ways.pop()
            elif step not in done:
                path.append(step)
                ways.append(iter(graph.get(step, ())))
    return []


def numbers_of(ours: Ours, case: Case) -> dict[int, int]:
    """AS numbers: each leaf its own, and as RFC 7938 5.2.1 has it one for each cluster of a tier,
    that is, for those that are joined by it and what is below; all of the top are one."""
    numbers = {node: 65000 + node for node in ours.switches}
    if not case.is_clos:
        return numbers
    for node in ours.switches:
        if ours.tiers[node] > 1:
            numbers[node] = 64512 + 100 * ours.tiers[node] + min(cluster(ours, node))
    return numbers


def cluster(ours: Ours, start: int) -> set[int]:
    found, todo = {start}, [start]
    while todo:
        node = todo.pop()
        for here, there in ours.links:
            if here == node and there in ours.switches and there not in found and \
                    ours.tiers[there] <= ours.tiers[start]:
                found.add(there)
                todo.append(there)
    return found


class Lab:
    """The fabric, running; gone on exit. Port pN of a switch sends over link N, the prefix of
    switch N is 10.0.N.1/32."""

    def __init__(self, ours: Ours, case: Case):
        self.ours = ours
        self.protocol = case.protocol
        self.numbers = numbers_of(ours, case)
        self.folder = Path(tempfile.mkdtemp(prefix="frr-judge-"))
        self.daemons: dict[int, list[subprocess.Popen]] = {}
        self.back = {a: b for pair in ours.cables for a, b in (pair, pair[::-1])}
        self.cable = {link: cable for cable in ours.inner for link in ours.cables[cable]}
        self.down: set[int] = set()

    def __enter__(self) -> "Lab":
        self.folder.chmod(0o755)
        try:
            for node in self.ours.switches:
                run("ip", "netns", "add", self.name(node))
            self.lay_cables()
            for node in self.ours.switches:
                self.start(node)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception) -> None:
        for daemon in itertools.chain(*self.daemons.values()):
            daemon.kill()
            daemon.wait()
        for node in self.ours.switches:
            subprocess.run(["ip", "netns", "del", self.name(node)], capture_output=True,
                           check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def name(self, node: int) -> str:
        return f"frr-judge-{os.getpid()}-{node}"

    def own_links(self, node: int) -> list[int]:
        return [link for link in self.cable if self.ours.links[link][0] == node]

    def address(self, link: int) -> str:
        cable = self.cable[link]
        return f"172.16.{cable >> 7}.{2 * (cable & 127) + self.ours.cables[cable].index(link)}"

    def lay_cables(self) -> None:
        lines = []
        for cable in self.ours.inner:
            a, b = self.ours.cables[cable]
            here, there = self.ours.links[a]
            lines.append(f"link add p{a} netns {self.name(here)} type veth "
                         f"peer name p{b} netns {self.name(there)}\n")
        run("ip", "-batch", "-", given="".join(lines))

    def ip(self, node: int, lines: list[str]) -> None:
        run("ip", "-n", self.name(node), "-batch", "-", given="\n".join(lines) + "\n")

    def start(self, node: int) -> None:
        lines = ["link set lo up"]
        if node in self.ours.destinations:
            lines.append(f"addr add 10.0.{node}.1/32 dev lo")
        for link in self.own_links(node):
            lines += [f"addr add {self.address(link)}/31 dev p{link}", f"link set p{link} up"]
        self.ip(node, lines)
        folder = self.folder / str(node)
        folder.mkdir()
        shutil.chown(folder, "frr", "frr")
        # Next hop groups of the kernel that have lost one to a port that went down are used again
        # by zebra 8.4 as if they had not.
        self.daemons[node] = [self.daemon(node, "zebra", ["no zebra nexthop kernel enable"])]
        wait_for(START_S, (folder / "zserv").exists)
        lines = self.bgp(node) if self.protocol == "bgp" else self.ospf(node)
        self.daemons[node].append(self.daemon(node, f"{self.protocol}d", lines))

    def daemon(self, node: int, name: str, lines: list[str]) -> subprocess.Popen:
        folder = self.folder / str(node)
        (folder / f"{name}.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = ["ip", "netns", "exec", self.name(node), str(DAEMONS / name),
                   "-f", str(folder / f"{name}.conf"), "-i", str(folder / f"{name}.pid"),
                   "-z", str(folder / "zserv"), "--vty_socket", str(folder), "-P", "0"]
        with (folder / f"{name}.log").open("w", encoding="utf-8") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=subprocess.STDOUT)

    def bgp(self, node: int) -> list[str]:
        lines = [f"router bgp {self.numbers[node]}", f" bgp router-id 10.255.0.{node + 1}",
                 " no bgp ebgp-requires-policy", " no bgp network import-check",
                 " bgp bestpath as-path multipath-relax"]
        for link in self.own_links(node):
            peer = self.address(self.back[link])
            lines += [f" neighbor {peer} remote-as {self.numbers[self.ours.links[link][1]]}",
                      f" neighbor {peer} timers connect 1",
                      f" neighbor {peer} advertisement-interval 0"]
        lines.append(" address-family ipv4 unicast")
        if node in self.ours.destinations:
            lines.append(f"  network 10.0.{node}.1/32")
        return lines + ["  maximum-paths 64", " exit-address-family"]

    def ospf(self, node: int) -> list[str]:
        lines = []
        for link in self.own_links(node):
            lines += [f"interface p{link}", " ip ospf network point-to-point", " ip ospf cost 1",
                      " ip ospf hello-interval 1", " ip ospf dead-interval 600",
                      " ip ospf retransmit-interval 3"]
        return lines + ["router ospf", f" ospf router-id 10.255.0.{node + 1}",
                        " maximum-paths 64", " timers throttle spf 10 10 10",
                        " timers throttle lsa all 100", " timers lsa min-arrival 50",
                        " network 172.16.0.0/16 area 0", " network 10.0.0.0/16 area 0"]

    def cut(self, cut: Cut) -> None:
        """These cables are down at both ends and all others up."""
        for state, cables in (("up", self.down - set(cut)), ("down", set(cut) - self.down)):
            for cable in cables:
                for link in self.ours.cables[cable]:
                    self.ip(self.ours.links[link][0], [f"link set p{link} {state}"])
        self.down = set(cut)

    def tables(self) -> Tables:
        """What the kernels hold."""
        tables = self.ours.no_routes()
        for node in self.ours.switches:
            for route in json.loads(run("ip", "-n", self.name(node), "-j", "route") or "[]"):
                words = route["dst"].split(".")
                if words[:2] == ["10", "0"] and (node, int(words[2])) in tables:
                    tables[node, int(words[2])] |= links_of(route)
        return tables

    def settle(self, wanted: Tables, limit_s: float = SETTLE_S) -> Tables:
        """The routes once they are as wanted, and stay so; or whatever they are at the end."""
        until = time.monotonic() + limit_s
        while True:
            tables = self.tables()
            if tables == wanted:
                time.sleep(QUIET_S)
                tables = self.tables()
            if tables == wanted or time.monotonic() > until:
                return tables
            time.sleep(0.1)

    def signal(self, nodes: list[int], number: int) -> None:
        for node in nodes:
            for daemon in self.daemons[node]:
                daemon.send_signal(number)

    def freeze(self) -> None:
        self.signal(self.ours.switches, signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(self.ours.switches, signal.SIGCONT)

    def cpu_ns(self, nodes: list[int]) -> int:
        """Of all threads of their daemons."""
        files = [file for node in nodes for daemon in self.daemons[node]
                 for file in Path(f"/proc/{daemon.pid}/task").glob("*/schedstat")]
        return sum(int(file.read_text(encoding="ascii").split()[0]) for file in files)

    def let_work(self, nodes: list[int]) -> None:
        """Until they have nothing to do; all the others stay frozen."""
        self.signal(nodes, signal.SIGCONT)
        until = time.monotonic() + 5
        idle, last = 0, -1
        while idle < IDLE_POLLS and time.monotonic() < until:
            time.sleep(POLL_S)
            now = self.cpu_ns(nodes)
            idle = idle + 1 if now == last else 0
            last = now
        self.signal(nodes, signal.SIGSTOP)

    def mute(self, nodes: list[int], is_mute: bool) -> None:
        """What they send is lost: the queues of their ports have room for a byte."""
        for node in nodes:
            for link in self.own_links(node):
                words = ["add", "dev", f"p{link}", "root", "bfifo", "limit", "1"]
                words = words if is_mute else ["del", *words[1:4]]
                subprocess.run(["tc", "-n", self.name(node), "qdisc", *words],
                               capture_output=True, check=False)  # of a port that is down

    def unheard(self, nodes: list[int]) -> None:
        """They work, and what they say comes later."""
        self.mute(nodes, True)
        self.let_work(nodes)
        self.mute(nodes, False)


def links_of(route: dict) -> set[int]:
    hops = [hop for hop in route.get("nexthops", [route])
            if "dev" in hop and not {"dead", "linkdown"} & set(hop.get("flags", []))]
    return {int(hop["dev"][1:]) for hop in hops}


def wait_for(limit_s: float, is_there) -> None:
    until = time.monotonic() + limit_s
    while not is_there():
        if time.monotonic() > until:
            raise RuntimeError(f"not there after {limit_s} s")
        time.sleep(0.02)


class Judge:
    """One case."""

    def __init__(self, ours: Ours, lab: Lab, case: Case):
        self.ours = ours
        self.lab = lab
        self.case = case
        self.random = random.Random(1)
        self.wrong: list[str] = []
        self.notes: list[str] = []
        self.compared = self.holes = self.states = self.cycles = 0

    def sets(self, size: int, most: int) -> list[Cut]:
        all_sets = list(itertools.combinations(self.ours.inner, size))
        return all_sets if len(all_sets) <= most else self.random.sample(all_sets, most)

    def judge(self) -> None:
        self.settled((), START_S)
        for cut in self.sets(1, len(self.ours.inner)) + self.sets(2, self.case.pairs):
            self.settled(cut)
        for size, most in enumerate(self.case.watched, 1):
            for cut in self.sets(size, most):
                self.watch(cut)

    def same(self, what: str, have: Tables, wanted: Tables) -> None:
        for (node, to), links in sorted(wanted.items()):
            self.compared += 1
            self.holes += not links
            if have[node, to] != links:
                self.wrong.append(
                    f"{what}: {self.ours.names[node]} to {self.ours.names[to]}: FRR has "
                    f"{self.ours.hops(have[node, to])}, ours {self.ours.hops(links)}")

    def settled(self, cut: Cut, limit_s: float = SETTLE_S) -> None:
        wanted = self.ours.tables(self.case.settled, cut)
        self.lab.cut(cut)
        self.same(f"{self.case.settled} without {self.ours.text(cut)}",
                  self.lab.settle(wanted, limit_s), wanted)

    def watch(self, cut: Cut) -> None:
        """From all cables to fewer, step by step."""
        ways = [self.one_by_one] if self.case.protocol == "ospf" else [self.in_rounds,
                                                                       self.one_by_one]
        gone = {link for cable in cut for link in self.ours.cables[cable]}
        for way in ways:
            self.settled(())
            self.lab.freeze()
            self.lab.cut(cut)
            states = [self.lab.tables()]
            states += way(cut)
            self.lab.thaw()
            self.settled(cut)
            self.transient(cut, [{pair: links - gone for pair, links in state.items()}
                                 for state in states])

    def one_by_one(self, cut: Cut) -> Iterator[Tables]:
        """The ends first, who hear nothing of each other; then, of two cables, news of one; then
        everybody in any order."""
        ends = self.ours.ends(cut)
        self.lab.unheard(ends)
        yield (state := self.lab.tables())
        if not self.case.one_as_each:
            self.local(cut, state)
        time.sleep(AGAIN_S[self.case.protocol])
        late = set(self.ours.ends(cut[:1])) - set(self.ours.ends(cut[1:])) if cut[1:] else set()
        first = [node for node in self.ours.switches if node not in late]
        order = [node for node in ends if node not in late]
        order += self.random.sample(first, len(first))
        order += self.random.sample(self.ours.switches, len(self.ours.switches))
        for node in order:
            self.lab.let_work([node])
            yield self.lab.tables()

    def in_rounds(self, _cut: Cut) -> Iterator[Tables]:
        """All work at once, with what was said in the rounds before."""
        for _ in range(ROUNDS):
            self.lab.unheard(self.ours.switches)
            yield self.lab.tables()
            time.sleep(AGAIN_S[self.case.protocol])

    def local(self, cut: Cut, state: Tables) -> None:
        ends = self.ours.ends(cut)
        what = f"local without {self.ours.text(cut)}"
        before, left = self.ours.tables("as-given", ()), self.ours.tables("as-given", cut)
        others = {pair: links for pair, links in left.items() if pair[0] not in ends}
        self.same(f"{what}, who has not heard", state, others)
        if self.case.is_clos:
            self.among(what, state, before)
            return
        wanted = self.ours.tables("local", cut)
        self.same(what, state, {pair: wanted[pair] for pair in wanted if pair[0] in ends})
        self.cyclic(what, state, wanted)

    def transient(self, cut: Cut, states: list[Tables]) -> None:
        what = f"transient without {self.ours.text(cut)}"
        allowed = self.ours.tables("transient", cut)
        if self.case.is_clos:
            after = self.ours.tables(self.case.settled, cut)
            allowed = {pair: links | after[pair]
                       for pair, links in self.ours.tables("as-given", cut).items()}
            together = {pair: set().union(*(state[pair] for state in states)) for pair in after}
            self.cyclic(f"{what}, all states", together, {})
        for state in states:
            self.states += 1
            self.among(what, state, allowed)
            self.cyclic(what, state, allowed)

    def among(self, what: str, state: Tables, allowed: Tables) -> None:
        for (node, to), links in sorted(state.items()):
            self.compared += 1
            if links - allowed[node, to]:
                self.beyond(f"{what}: {self.ours.names[node]} to {self.ours.names[to]}: FRR has "
                            f"{self.ours.hops(links)}, ours {self.ours.hops(allowed[node, to])}")

    def cyclic(self, what: str, state: Tables, allowed: Tables) -> None:
        cycle = cycle_of(self.ours, state)
        self.cycles += bool(cycle)
        if cycle and not cycle_of(self.ours, allowed):
            names = " ".join("-".join(self.ours.names[node] for node in self.ours.links[link])
                             for link in cycle)
            self.beyond(f"{what}: FRR has the cycle {names}, ours has none")

    def beyond(self, line: str) -> None:
        (self.notes if self.case.one_as_each else self.wrong).append(line)


def judge(program: str, case: Case, folder: Path) -> list[str]:
    fabric = case.fabric
    if case.edges:
        fabric = str(folder / f"{case.name}.json")
        Path(fabric).write_text(document(case), encoding="utf-8")
    started = time.monotonic()
    ours = Ours(program, fabric)
    try:
        with Lab(ours, case) as lab:
            one = Judge(ours, lab, case)
            one.judge()
    finally:
        ours.end()
    wrong, notes = list(dict.fromkeys(one.wrong)), list(dict.fromkeys(one.notes))
    print(f"{case.name}: {one.compared} pairs of switch and destination compared, {one.holes} of "
          f"them without a way, {one.states} states before routing settled, {one.cycles} cycles, "
          f"{len(wrong)} disagreements, {time.monotonic() - started:.0f} s", flush=True)
    for line in notes:
        print(f"  not judged: {line}", flush=True)
    for line in wrong:
        print(f"  {line}", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="Holds pfc/cbd's reactions against FRRouting.")
    parser.add_argument("program", metavar="PFC_ROUTES_PROGRAM")
    parser.add_argument("--only", action="append", choices=[case.name for case in CASES],
                        help="this case (may be given again)")
    given = parser.parse_args()
    # So that what is being left is left as on an error: no namespace and no daemon stays.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if os.geteuid() != 0 or not (DAEMONS / "zebra").exists():
        print("frr_judge: needs root and the packages frr and iproute2", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        wrong = [line for case in CASES if not given.only or case.name in given.only
                 for line in judge(given.program, case, Path(folder))]
    print(f"{len(wrong)} disagreements" if wrong else "all agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
