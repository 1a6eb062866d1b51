"""The family witnesses: whether the known certificate is one, and whether the case that it settles is the right one."""

from forms import Check, Problem, numbers, nx, sp, table


def full_factorisation(one: Problem, answer: str) -> bool:
    known = sp.factorint(one["number"], multiple=True)
    return sorted(numbers(answer)) == sorted(int(prime) for prime in known)


def addition_chain(one: Problem, answer: str) -> bool:
    chain = numbers(answer)
    sums = all(
        any(value == a + b for a in chain[:index] for b in chain[:index])
        for index, value in enumerate(chain)
        if index > 0
    )
    if not sums or one["middle"] not in chain or chain[-1] != one["target"]:
        return False
    # All chains of small length, breadth first; longer ones would take too long.
    if one["length"] > 7:
        return True
    layer = {(1,)}
    for _ in range(one["length"] - 1):
        layer = {(*known, a + b) for known in layer for a in known for b in known if known[-1] < a + b <= one["target"]}
        if any(one["middle"] in known and one["target"] in known for known in layer):
            return False
    return True


def short_lattice_vector(one: Problem, answer: str) -> bool:
    basis, vector = sp.Matrix(one["basis"]), sp.Matrix([numbers(answer)])
    factors = vector * basis.inv()
    length = sum(entry**2 for entry in vector)
    return all(factor.is_integer for factor in factors) and 0 < length <= one["bound"]


def equal_sum_sets(one: Problem, answer: str) -> bool:
    left, right = table(answer)
    return sum(left) == sum(right) and not set(left) & set(right) and {*left, *right} <= set(one["numbers"])


def matching_or_hall_set(one: Problem, answer: str) -> bool:
    graph = nx.Graph()
    people = [f"p{index}" for index in range(len(one["skills"]))]
    graph.add_nodes_from(people)
    graph.add_edges_from((people[index], f"j{job}") for index, jobs in enumerate(one["skills"]) for job in jobs)
    matching = nx.bipartite.hopcroft_karp_matching(graph, people)
    return (len(matching) // 2 == len(people)) == answer.startswith("jobs")


def degree_list_verdict(one: Problem, answer: str) -> bool:
    return bool(nx.is_graphical(one["degrees"])) == answer.startswith("edges")


def graph_relabelling(one: Problem, answer: str) -> bool:
    first, second = nx.Graph(one["first"]), nx.Graph(one["second"])
    image = dict(enumerate(numbers(answer), start=1))
    renamed = nx.relabel_nodes(first, image)
    return bool(nx.is_connected(first)) and {frozenset(e) for e in renamed.edges} == {
        frozenset(e) for e in second.edges
    }


CHECKS: dict[str, Check] = {
    "full-factorisation": full_factorisation,
    "addition-chain": addition_chain,
    "short-lattice-vector": short_lattice_vector,
    "equal-sum-sets": equal_sum_sets,
    "matching-or-hall-set": matching_or_hall_set,
    "degree-list-verdict": degree_list_verdict,
    "graph-relabelling": graph_relabelling,
}
