# SPDX-License-Identifier: BSD-3-Clause
"""Judges the cbd analysis of random fabrics by networkx and exhaustive search.

    networkx_judge.py PROGRAM COUNT     runs `PROGRAM COUNT`, exit 1 at the first disagreement

PROGRAM prints a fabric and our answer a line. What is judged: the dependencies and who makes each,
the cyclic components, the length of the shortest cycle and that it is one, the number of cycles,
and of each breaking set that it breaks, and that it is smallest or inclusion-minimal as it says.
"""

import collections
import json
import subprocess
import sys

import networkx

EXACT = 20


def dependencies(fabric):
    """(link, link) -> who makes it, by the definition of pfc/cbd/dependencies.hpp."""
    links, hosts = fabric["links"], set(fabric["hosts"])
    hops = collections.defaultdict(set)
    for node, destination, via in fabric["routes"]:
        hops[node, destination].add(via)
    routed = {node for node, _ in hops}
    named = {destination for _, destination in hops}
    behind = collections.defaultdict(list)  # switch -> links to the hosts that it serves
    for number, (source, to, _) in enumerate(links):
        ways = {then for came, then, _ in links if came == to}
        if to in hosts and to not in named and ways == {source} and source not in hosts:
            behind[source].append(number)
    users = collections.defaultdict(set)
    for destination in {destination for _, destination in hops}:
        start = set()  # (link that led here or None, node)
        for number, (source, to, _) in enumerate(links):
            if source in hosts and source != destination:
                start.add((None, source) if source in routed else (number, to))
        if not any(source in hosts for source, _, _ in links):
            start = {(None, node) for node in range(fabric["nodes"])}
        seen, todo = set(start), list(start)
        while todo:
            came, node = todo.pop()
            vias = hops.get((node, destination), ())
            if node == destination:
                vias = [link for link in behind[node] if came is None or
                        links[link][1] != links[came][0]]
            for via in vias:
                if came is not None and links[via][2]:
                    users[came, via].add(("destination", destination))
                state = (via, links[via][1])
                if node != destination and state not in seen:
                    seen.add(state)
                    todo.append(state)
    for number, path in enumerate(fabric["flows"]):
        for first, then in zip(path, path[1:]):
            if links[then][2]:
                users[first, then].add(("flow", number))
    return users


def can_break(cycles, choices, most):
    """Whether `most` items hold one alternative of every cycle."""

    def search(at, taken):
        while at < len(cycles) and any(a <= taken for a in choices(cycles[at])):
            at += 1
        if at == len(cycles):
            return True
        return any(len(taken | a) <= most and search(at + 1, taken | a)
                   for a in choices(cycles[at]))

    return search(0, frozenset())


def edges_of(cycle):
    return list(zip(cycle, cycle[1:] + cycle[:1]))


def judge_set(graph, said, cycles, without, choices):
    """`without(items)` is the graph left; `choices(cycle)` what breaks it."""
    items = [tuple(c) if isinstance(c, list) else c for c in said["changes"]]
    acyclic = networkx.is_directed_acyclic_graph
    assert acyclic(without(graph, items)), f"{items} leaves a cycle"
    for item in items:
        rest = [other for other in items if other != item]
        assert not acyclic(without(graph, rest)), f"{item} of {items} is not needed"
    if len(cycles) <= EXACT:
        assert said["smallest"], "not called smallest"
        assert not can_break(cycles, choices, len(items) - 1), f"{items} is not smallest"
    else:
        assert not said["smallest"], "called smallest with too many cycles"


def judge_component(whole, users, said):
    graph = whole.subgraph(said["links"])
    assert said["edges"] == graph.number_of_edges(), "edges of the component"
    cycles = []
    for cycle in networkx.simple_cycles(graph):
        cycles.append(cycle)
        if len(cycles) > 5000:
            break
    assert said["cycles"] == min(len(cycles), EXACT + 1), f"{len(cycles)} cycles"
    length = min(1 + networkx.shortest_path_length(graph, b, a) for a, b in graph.edges
                 if networkx.has_path(graph, b, a))
    assert len(said["shortest"]) == length, f"shortest has {length} links"
    assert all(graph.has_edge(*edge) for edge in edges_of(said["shortest"])), "no cycle"

    def without_turns(graph, turns):
        return networkx.restricted_view(graph, [], turns)

    def without_links(graph, links):
        return networkx.restricted_view(graph, links, [])

    def without_users(graph, gone):
        gone = set(gone)
        return networkx.restricted_view(graph, [], [e for e in graph.edges if users[e] <= gone])

    judge_set(graph, said["turns"], cycles, without_turns,
              lambda cycle: [frozenset([edge]) for edge in edges_of(cycle)])
    judge_set(graph, said["removed"], cycles, without_links,
              lambda cycle: [frozenset([link]) for link in cycle])
    judge_set(graph, said["users"], cycles, without_users,
              lambda cycle: [frozenset(users[edge]) for edge in edges_of(cycle)])


def judge(fabric, answer):
    users = dependencies(fabric)
    said = {(a, b): {tuple(user) for user in by} for a, b, by in answer["edges"]}
    wrong = sorted(edge for edge in set(said) | set(users) if said.get(edge) != users.get(edge))
    assert not wrong, f"edges or their users differ: {wrong}"
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(fabric["links"])))
    graph.add_edges_from(users)
    cyclic = sorted(sorted(c) for c in networkx.strongly_connected_components(graph)
                    if len(c) > 1 or graph.has_edge(*[next(iter(c))] * 2))
    assert cyclic == [c["links"] for c in answer["components"]], "components"
    for component in answer["components"]:
        judge_component(graph, users, component)


def main():
    program, count = sys.argv[1:]
    lines = subprocess.run([program, count], stdout=subprocess.PIPE, check=True).stdout.splitlines()
    graphs = few = many = 0
    for number, line in enumerate(lines):
        both = json.loads(line)
        try:
            judge(both["fabric"], both["answer"])
        except AssertionError as error:
            print(f"graph {number}: {error}\n{line.decode()}")
            return 1
        graphs += 1
        few += any(c["cycles"] <= EXACT for c in both["answer"]["components"])
        many += any(c["cycles"] > EXACT for c in both["answer"]["components"])
    print(f"{graphs} graphs agree; {few} have components of at most {EXACT} cycles, {many} of more")
    # A generator that makes only the one kind or the other would judge little.
    return 0 if graphs == int(count) and min(few, many) > graphs // 20 else 1


if __name__ == "__main__":
    sys.exit(main())
