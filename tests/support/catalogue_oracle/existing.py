"""Rows of modular arithmetic, linear algebra, sequences, exact arithmetic and counting for which sympy or networkx has a method."""

import importlib
import math
from fractions import Fraction
from typing import Any

from forms import Answer, Problem, ascending, listed, mp, nx, sp

normal_forms: Any = importlib.import_module("sympy.matrices.normalforms")


def congruence_system(one: Problem) -> str:
    pairs = [(each["residue"], each["modulus"]) for each in one["congruences"]]
    return str(sp.ntheory.modular.solve_congruence(*pairs)[0])


def discrete_log_classes(one: Problem) -> str:
    base, target, modulus = one["base"], one["target"], one["modulus"]
    return f"{sp.discrete_log(modulus, target, base)}, {sp.n_order(base, modulus)}"


def composite_square_roots(one: Problem) -> str:
    found = sp.ntheory.residue_ntheory.polynomial_congruence(
        sp.Symbol("x") ** 2 + one["linear"] * sp.Symbol("x") + one["constant"], one["modulus"]
    )
    return ascending(found)


def order_and_generators(one: Problem) -> str:
    place = one["above"] + 1
    while not sp.is_primitive_root(place, one["prime"]):
        place += 1
    return f"{sp.n_order(one['unit'], one['prime'])}, {place}"


def inverse_totient_sets(one: Problem) -> str:
    function, value = (sp.totient if one["of"] == "phi" else sp.divisor_sigma), one["value"]
    # phi(n) >= sqrt(n / 2), and far larger for small values; sigma(n) > n.
    most = max(200, 8 * value) if one["of"] == "phi" else value
    return ascending(n for n in range(one["above"] + 1, most + 1) if function(n) == value)


def factorial_valuations(one: Problem) -> str:
    def exponent(prime: int) -> int:
        def legendre(n: int) -> int:
            return (n - sum(sp.ntheory.factor_.digits(n, prime)[1:])) // (prime - 1)

        return legendre(int(one["top"])) - legendre(int(one["first"])) - legendre(int(one["second"]))

    return str(min(exponent(prime) // power for prime, power in sp.factorint(one["base"]).items()))


def binomial_mod_prime_power(one: Problem) -> str:
    return str(sp.ntheory.residue_ntheory.binomial_mod(int(one["n"]), int(one["k"]), one["prime"] ** one["exponent"]))


def divisor_sum_of_function(one: Problem) -> str:
    n = math.prod(prime**power for prime, power in one["powers"])
    return str(
        sum(
            d ** one["a"] * sp.divisor_count(d) ** one["b"] * sp.totient(d) ** one["c"] * sp.mobius(d) ** one["e"]
            for d in sp.divisors(n)
        )
    )


def coprime_count_range(one: Problem) -> str:
    modulus, primes = one["modulus"], one["primes"]
    total = 0
    for size in range(len(primes) + 1):
        for chosen in sp.utilities.iterables.subsets(primes, size):
            factor = math.prod(chosen)
            found = sp.ntheory.modular.solve_congruence((0, factor), (one["residue"], modulus))
            if found is None:
                continue
            rest, step = int(found[0]), int(found[1])
            count = (int(one["to"]) - rest) // step - (int(one["from"]) - 1 - rest) // step
            total += (-1) ** size * count
    return str(total)


def coin_gap_numbers(one: Problem) -> str:
    coins = one["coins"]
    bound = 2 * max(coins) ** 2
    paid = 1
    for coin in coins:
        shift = coin
        while shift <= bound:
            paid |= paid << shift
            shift *= 2
    gaps = [amount for amount in range(bound) if not paid >> amount & 1]
    return f"{gaps[-1]}, {len(gaps)}"


def structured_determinant(one: Problem) -> str:
    a, b, c = one["a"], one["b"], one["c"]

    def entry(i: int, j: int) -> int:
        if one["pattern"] == "band":
            return a if i == j else b if j == i + 1 else c if j == i - 1 else 0
        if one["pattern"] == "arrow":
            return (a + 1 if i % 2 == 0 and i > 0 else a) if i == j else b if i == 0 else c if j == 0 else 0
        if one["pattern"] == "smaller-index":
            return a * (1 + min(i, j)) + b + (c if i == j else 0)
        return a + i + 1 if i == j else b if j > i else c

    return str(sp.Matrix(one["size"], one["size"], entry).det(method="berkowitz"))


def matrix_power_entry(one: Problem) -> str:
    field = sp.GF(one["modulus"], symmetric=False)
    matrix = sp.polys.matrices.DomainMatrix.from_Matrix(sp.Matrix(one["matrix"])).convert_to(field)
    return str(int((matrix ** one["power"]).to_Matrix()[one["row"], one["column"]]) % one["modulus"])


def least_squares_residual(one: Problem) -> str:
    columns, target = sp.Matrix(one["spanning"]).T, sp.Matrix(one["target"])
    rest = target - columns * columns.solve_least_squares(target)
    return str(rest.dot(rest))


def basis_change_map(one: Problem) -> str:
    basis = sp.Matrix(one["basis"])
    return listed(list(basis.inv() * sp.Matrix(one["map"]) * basis))


def characteristic_coefficients(one: Problem) -> str:
    return listed(sp.Matrix(one["matrix"]).charpoly().all_coeffs()[1:])


def invariant_factors(one: Problem) -> str:
    found = normal_forms.invariant_factors(sp.Matrix(one["matrix"]), domain=sp.ZZ)
    return listed(abs(value) for value in found)


def definiteness_threshold(one: Problem) -> str:
    matrix = sp.Matrix(one["matrix"])
    added = sp.diag(*[1 if index in one["places"] else 0 for index in range(matrix.rows)])
    parameter = 2_000
    # The property holds from the threshold on.
    low = -2_000
    while parameter - low > 1:
        middle = (low + parameter) // 2
        if (matrix + middle * added).is_positive_definite:
            parameter = middle
        else:
            low = middle
    return str(parameter)


def span_membership(one: Problem) -> str:
    spanning = sp.Matrix(one["spanning"])
    return ascending(
        index + 11
        for index, row in enumerate(one["candidates"])
        if spanning.col_join(sp.Matrix([row])).rank() == spanning.rank()
    )


def product_coefficient(one: Problem) -> str:
    x, place = sp.Symbol("x"), one["place"]
    whole: Any = sp.Poly(1, x)
    for factor in one["polynomials"]:
        terms = {(exponent * factor["step"],): value for exponent, value in enumerate(factor["factors"])}
        whole *= sp.Poly.from_dict(terms, x) ** factor["power"]
    for step in one["series"]:
        whole *= sp.Poly.from_dict({(exponent,): 1 for exponent in range(0, place + 1, step)}, x)
    return str(whole.coeff_monomial(x**place))


def polynomial_geometric_series(one: Problem) -> str:
    k, m = sp.symbols("k m", integer=True, nonnegative=True)
    ratio, pattern, first = sp.Rational(*one["ratio"]), one["pattern"], one["first"]
    size = len(pattern)
    total: Any = 0
    term = sum(factor * k**power for power, factor in enumerate(one["polynomial"]))
    for start in range(first, first + size):
        shifted = sp.expand(term.subs(k, start + size * m))
        total += pattern[start % size] * ratio**start * sp.summation(shifted * (ratio**size) ** m, (m, 0, sp.oo))
    return str(sp.nsimplify(sp.simplify(total)))


def telescoping_reciprocals(one: Problem) -> str:
    total = Fraction(0)
    for k in range(one["first"], one["last"] + 1):
        sign = -1 if one["alternates"] and (k - one["first"]) % 2 == 1 else 1
        below = (one["a"] * k + one["b"]) * (one["a"] * (k + one["shift"]) + one["b"])
        total += Fraction(sign * one["top"], below)
    return str(total)


def continued_fraction_work(one: Problem) -> str:
    found = list(sp.continued_fraction_periodic(one["p"], one["q"], one["d"]))
    period = found.pop() if isinstance(found[-1], list) else []
    return listed([*found, *period])


def nested_surd_simplify(one: Problem) -> str:
    with mp.workdps(120):
        root = mp.sqrt(one["d"])
        top = sum(sign * mp.sqrt(a + b * root) for sign, a, b in one["roots"])
        value = top / (one["below"][0] + one["below"][1] * root)
        # An integer relation between the number, 1 and the root has the two rational coordinates.
        size, constant, factor = mp.pslq([value, mp.mpf(1), root], maxcoeff=10**12, maxsteps=10**5)
    return listed(-Fraction(int(one_), int(size)) for one_ in (constant, factor))


def simplest_fraction_between(one: Problem) -> str:
    low, high = Fraction(*one["low"]), Fraction(*one["high"])
    below = 1
    while True:
        top = math.floor(low * below) + 1
        if Fraction(top, below) < high:
            return str(Fraction(top, below))
        below += 1


def magnitude_ordering(one: Problem) -> str:
    def size(item: list[Any]) -> Any:
        kind, base, exponent = item
        return exponent * mp.log(base) if kind == "power" else mp.loggamma(base + 1)

    order = sorted(range(len(one["items"])), key=lambda index: size(one["items"][index]))
    return listed(index + 1 for index in order)


def power_tower_digits(one: Problem) -> str:
    def tower(numbers: list[int], modulus: int) -> int:
        if len(numbers) == 1:
            return numbers[0] if numbers[0] < 64 * modulus else numbers[0] % modulus + 64 * modulus
        if modulus == 1:
            return 64
        above = tower(numbers[1:], int(sp.totient(modulus)) * 64)
        exact = math.log2(max(2, numbers[0])) * above < 60
        if exact:
            return numbers[0] ** above
        return pow(numbers[0], above, modulus) + 64 * modulus

    modulus = 10 ** one["digits"]
    return str(tower([one["base"], *one["exponents"]], modulus) % modulus)


def labelled_graph_census(one: Problem) -> str:
    graph = nx.Graph()
    graph.add_nodes_from(range(one["vertices"]))
    graph.add_edges_from(one["edges"])
    if one["colours"] is None:
        return spanning_trees(graph)
    return str(nx.chromatic_polynomial(graph).subs(sp.Symbol("x"), one["colours"]))


def spanning_trees(graph: Any) -> str:
    # The Tutte polynomial at (1, 1).
    polynomial = nx.tutte_polynomial(graph)
    return str(polynomial.subs({symbol: 1 for symbol in polynomial.free_symbols}))


ANSWERS: dict[str, Answer] = {
    "congruence-system": congruence_system,
    "discrete-log-classes": discrete_log_classes,
    "composite-square-roots": composite_square_roots,
    "order-and-generators": order_and_generators,
    "inverse-totient-sets": inverse_totient_sets,
    "factorial-valuations": factorial_valuations,
    "binomial-mod-prime-power": binomial_mod_prime_power,
    "divisor-sum-of-function": divisor_sum_of_function,
    "coprime-count-range": coprime_count_range,
    "coin-gap-numbers": coin_gap_numbers,
    "structured-determinant": structured_determinant,
    "matrix-power-entry": matrix_power_entry,
    "least-squares-residual": least_squares_residual,
    "basis-change-map": basis_change_map,
    "characteristic-coefficients": characteristic_coefficients,
    "invariant-factors": invariant_factors,
    "definiteness-threshold": definiteness_threshold,
    "span-membership": span_membership,
    "product-coefficient": product_coefficient,
    "polynomial-geometric-series": polynomial_geometric_series,
    "telescoping-reciprocals": telescoping_reciprocals,
    "continued-fraction-work": continued_fraction_work,
    "nested-surd-simplify": nested_surd_simplify,
    "simplest-fraction-between": simplest_fraction_between,
    "magnitude-ordering": magnitude_ordering,
    "power-tower-digits": power_tower_digits,
    "labelled-graph-census": labelled_graph_census,
}
