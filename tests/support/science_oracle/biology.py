"""Biology: genotypes as vectors, eigenvalues, enumeration, recursion with a memory, and fits of curves."""

import itertools
from fractions import Fraction
from functools import cache

from forms import Given, Solver, Value, exact, marked, np, optimize


def gene_pool_forecast(one: Given) -> list[Value]:
    p = one["start"]
    fitness = np.array(one["fitness"])
    for _ in range(one["generations"]):
        genotypes = np.array([p * p, 2 * p * (1 - p), (1 - p) ** 2]) * fitness
        genotypes /= genotypes.sum()
        pool = np.array([genotypes[0] + genotypes[1] / 2, genotypes[2] + genotypes[1] / 2])
        if one["mutation"]:
            u, v = one["mutation"]
            pool = np.array([[1 - u, v], [u, 1 - v]]) @ pool
        if one["migration"]:
            share, frequency = one["migration"]
            pool = (1 - share) * pool + share * np.array([frequency, 1 - frequency])
        p = float(pool[0])
    return [p, 2 * p * (1 - p) * (1 - (one["inbreeding"] or 0))]


def outbreak_steps(one: Given) -> list[Value]:
    matrix = np.array(one["matrix"], dtype=float)
    if one["shield"]:
        matrix[one["shield"]["group"]] *= 1 - one["shield"]["share"]
    largest = float(max(abs(np.linalg.eigvals(matrix))))
    cases = np.linalg.matrix_power(matrix, one["generations"]) @ np.array(one["cases"])
    return [largest, float(cases.sum()), 1 - 1 / largest]


def pedigree_odds(one: Given) -> list[Value]:
    people = one["people"]
    faulty = Fraction(1, one["rarity"])
    total = hits = Fraction(0)
    # Pairs of copies, from the first and the second parent, for everybody.
    for copies in itertools.product([(0, 0), (0, 1), (1, 0), (1, 1)], repeat=len(people)):
        weight = Fraction(1)
        for person, own in zip(people, copies, strict=True):
            if person["isIll"] is not None and person["isIll"] != (own == (1, 1)):
                weight = Fraction(0)
                break
            for place in range(2):
                chance = faulty if person["parents"] is None else Fraction(sum(copies[person["parents"][place]]), 2)
                weight *= chance if own[place] else 1 - chance
            if weight == 0:
                break
        total += weight
        wanted = 2 if one["question"] == "ill" else 1
        if sum(copies[one["asked"]]) == wanted:
            hits += weight
    return [exact(hits / total)]


def three_point_map(one: Given) -> list[Value]:
    genes = one["genes"]
    parent = max(one["classes"], key=lambda each: each["count"])["bits"]
    best: tuple[int, list[int]] | None = None
    for order in itertools.permutations(range(len(genes))):
        if genes[order[0]] > genes[order[-1]]:
            continue
        counts = [0] * (len(genes) - 1)
        for each in one["classes"]:
            side = [each["bits"][gene] ^ parent[gene] for gene in order]
            for place in range(len(counts)):
                counts[place] += each["count"] * (side[place] != side[place + 1])
        if best is None or sum(counts) < best[0]:
            best = (sum(counts), [*order])
            distances = counts
    assert best is not None
    total = sum(each["count"] for each in one["classes"])
    return [marked([genes[gene] for gene in best[1]]), *[exact(Fraction(100 * count, total)) for count in distances]]


def altered_code_translation(one: Given) -> list[Value]:
    strand = one["dna"]
    if one["deleted"] is not None:
        strand = strand[: one["deleted"] - 1] + strand[one["deleted"] :]
    if one["isOpposite"]:
        strand = strand[::-1].translate(str.maketrans("ACGT", "TGCA"))
    place = 0
    while one["introns"] and (place := strand.find("GTAG", place)) >= 0:
        before, _, after = strand[place + 4 :].partition("CAGG")
        if len(before) + 4 + len(after) > len(strand) - place - 4:
            break
        strand = strand[:place] + after
    codons = ["".join(each) for each in itertools.product("ACGT", repeat=3)]
    code = dict(zip(codons, one["code"], strict=True))
    message = strand[strand.index(one["start"]) :]
    letters = [code[message[place : place + 3]] for place in range(0, len(message) - 2, 3)]
    return ["".join(letters[: letters.index("*")])]


def optimal_alignment(one: Given) -> list[Value]:
    first, second, scheme = one["first"], one["second"], one["scheme"]

    def pair(a: str, b: str) -> int:
        if a == b:
            return int(scheme["match"])
        return int(scheme["similar"] if (a in "AG") == (b in "AG") else scheme["other"])

    @cache
    def best(i: int, j: int, last: int) -> float:
        """From places i and j on, after a column of this kind."""
        if i == len(first) and j == len(second):
            return 0
        ways = []
        if i < len(first) and j < len(second):
            ways.append(pair(first[i], second[j]) + best(i + 1, j + 1, 0))
        if i < len(first):
            ways.append(scheme["gap"] + (scheme["open"] if last != 1 else 0) + best(i + 1, j, 1))
        if j < len(second):
            ways.append(scheme["gap"] + (scheme["open"] if last != 2 else 0) + best(i, j + 1, 2))
        return max(ways)

    return [best(0, 0, 0)]


def distance_tree(one: Given) -> list[Value]:
    """The four-point condition: each group of four species is split as the distances say."""
    distances, count = one["distances"], len(one["taxa"])
    sides: list[set[int]] = []

    def leaves(node: int | list) -> set[int]:
        own = {node} if isinstance(node, int) else set().union(*[leaves(part) for part in node])
        sides.append(own)
        return own

    leaves(one["tree"])
    right = 0
    for a, b, c, d in itertools.combinations(range(count), 4):
        sums = {
            (a, b): distances[a][b] + distances[c][d],
            (a, c): distances[a][c] + distances[b][d],
            (a, d): distances[a][d] + distances[b][c],
        }
        pair = set(min(sums, key=lambda key: sums[key]))
        four = {a, b, c, d}
        right += any(side & four in (pair, four - pair) for side in sides)
    return [right - sum(1 for _ in itertools.combinations(range(count), 4))]


def digest_map(one: Given) -> list[Value]:
    length = one["length"]

    def pieces(sites: tuple[int, ...]) -> list[int]:
        ends = [0, *sorted(sites), length]
        return sorted((b - a for a, b in itertools.pairwise(ends)), reverse=True)

    def places(fragments: list[int]) -> list[tuple[int, ...]]:
        every = itertools.combinations(range(1, length), len(fragments) - 1)
        return [sites for sites in every if pieces(sites) == fragments]

    found = [
        (a, b)
        for a in places(one["a"])
        for b in places(one["b"])
        if pieces(a + b) == one["both"] and min(a + b) < length - max(a + b)
    ]
    assert len(found) == 1
    return [marked([str(site) for site in sites]) for sites in found[0]]


def enzyme_inhibitor_call(one: Given) -> list[Value]:
    substrate = np.array(one["substrate"])

    def fitted(rates: list[float]) -> tuple[float, float]:
        start = [2 * max(rates), float(np.median(substrate))]
        (top, half), _ = optimize.curve_fit(lambda s, v, k: v * s / (k + s), substrate, np.array(rates), p0=start, maxfev=20000)
        return float(top), float(half)

    top, half = fitted(one["free"])
    constants: list[Value] = []
    kinds: list[Value] = []
    for inhibitor in one["inhibitors"]:
        own_top, own_half = fitted(inhibitor["rates"])
        by_top, by_half = top / own_top, own_half / half
        if by_top < 1.02:
            kinds.append("competitive")
            factor = by_half
        elif abs(by_half - 1) < 0.02:
            kinds.append("noncompetitive")
            factor = by_top
        else:
            kinds.append("uncompetitive")
            factor = by_top
        constants.append(inhibitor["concentration"] / (factor - 1))
    return [top, half, *constants, *kinds]


SOLVERS: dict[str, Solver] = {
    "gene-pool-forecast": gene_pool_forecast,
    "outbreak-steps": outbreak_steps,
    "pedigree-odds": pedigree_odds,
    "three-point-map": three_point_map,
    "altered-code-translation": altered_code_translation,
    "optimal-alignment": optimal_alignment,
    "distance-tree": distance_tree,
    "digest-map": digest_map,
    "enzyme-inhibitor-call": enzyme_inhibitor_call,
}
