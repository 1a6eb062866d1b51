"""The family graphs: whether the certificate is one, and whether what it settles is the optimum that networkx finds."""

from itertools import combinations, permutations
from typing import Any

from forms import Answer, Check, Problem, listed, named, numbers, nx


def flow_and_cut(one: Problem, answer: str) -> bool:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(1, one["size"] + 1))
    for pipe in one["pipes"]:
        graph.add_edge(pipe["from"], pipe["to"], capacity=pipe["most"])
    flow = numbers(named(answer)["flow"])
    value = sum(amount for amount, pipe in zip(flow, one["pipes"], strict=True) if pipe["from"] == 1)
    return bool(nx.maximum_flow_value(graph, 1, one["size"]) == value)


def potentials_or_negative_cycle(one: Problem, answer: str) -> bool:
    graph = nx.DiGraph()
    for rule in one["rules"]:
        graph.add_edge(0, rule["to"], weight=0)
        graph.add_edge(0, rule["from"], weight=0)
        graph.add_edge(rule["from"], rule["to"], weight=rule["most"])
    return bool(nx.negative_edge_cycle(graph)) == answer.startswith("circle")


def plain(one: Problem) -> Any:
    graph = nx.Graph(one["edges"])
    if "size" in one:
        graph.add_nodes_from(range(1, one["size"] + 1))
    return graph


def colouring_with_clique(one: Problem, answer: str) -> bool:
    graph, lines = plain(one), named(answer)
    colours = numbers(lines["colours"])
    clique, weight = nx.max_weight_clique(graph, weight=None)
    proper = all(colours[a - 1] != colours[b - 1] for a, b in graph.edges)
    return proper and len(clique) == weight == len(set(colours)) == len(numbers(lines["clique"]))


def hamiltonian_cycle(one: Problem, answer: str) -> bool:
    graph, cycle = plain(one), numbers(answer)
    rounds = nx.cycle_graph(cycle)
    return set(rounds.nodes) == set(graph.nodes) and all(graph.has_edge(a, b) for a, b in rounds.edges)


def stable_assignment(one: Problem) -> str:
    pupils, tutors = one["pupils"], one["tutors"]
    size = len(pupils)

    def blocks(pupil: int, tutor: int, of: tuple[int, ...]) -> bool:
        wants = pupils[pupil].index(tutor) < pupils[pupil].index(of[pupil])
        return wants and tutors[tutor].index(pupil) < tutors[tutor].index(of.index(tutor))

    stable = [
        of for of in permutations(range(size)) if not any(blocks(p, t, of) for p in range(size) for t in range(size))
    ]
    best = min(stable, key=lambda of: sum(tutors[tutor].index(pupil) for pupil, tutor in enumerate(of)))
    return listed(tutor + 1 for tutor in best)


def graceful_tree(one: Problem, answer: str) -> bool:
    graph, labels = plain(one), numbers(answer)
    drops = {abs(labels[a - 1] - labels[b - 1]) for a, b in graph.edges}
    return bool(nx.is_tree(graph)) and sorted(labels) == list(range(len(labels))) and len(drops) == len(labels) - 1


def lesson_hours(one: Problem, answer: str) -> bool:
    graph = nx.Graph()
    for (teacher, group), hour in zip(one["meetings"], numbers(answer), strict=True):
        graph.add_edge(("teacher", teacher), ("group", group), hour=hour)
    fair = all(
        len({data["hour"] for *_, data in graph.edges(node, data=True)}) == graph.degree(node) for node in graph.nodes
    )
    return fair and max(degree for _, degree in graph.degree) == one["hours"] == max(numbers(answer))


def euler_trail(one: Problem, answer: str) -> bool:
    graph, walk = plain(one), numbers(answer)
    used = nx.path_graph(len(walk))
    steps = {frozenset((walk[a], walk[b])) for a, b in used.edges}
    return bool(nx.has_eulerian_path(graph, one["start"])) and steps == {frozenset(edge) for edge in graph.edges}


def dominating_set(one: Problem, answer: str) -> bool:
    graph, chosen = plain(one), numbers(answer)
    smaller = any(nx.is_dominating_set(graph, few) for few in combinations(graph.nodes, len(chosen) - 1))
    return bool(nx.is_dominating_set(graph, chosen)) and not smaller


ANSWERS: dict[str, Answer] = {"stable-assignment": stable_assignment}
CHECKS: dict[str, Check] = {
    "flow-and-cut": flow_and_cut,
    "potentials-or-negative-cycle": potentials_or_negative_cycle,
    "colouring-with-clique": colouring_with_clique,
    "hamiltonian-cycle": hamiltonian_cycle,
    "graceful-tree": graceful_tree,
    "lesson-hours": lesson_hours,
    "euler-trail": euler_trail,
    "dominating-set": dominating_set,
}
