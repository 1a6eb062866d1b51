"""The families optimisation and linear-algebra, where an answer is a certificate."""

import importlib
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from typing import Any

from forms import Answer, Check, Problem, fraction, listed, named, numbers, sp, table

simplex: Any = importlib.import_module("sympy.solvers.simplex")
normal_forms: Any = importlib.import_module("sympy.matrices.normalforms")


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return sum(x * y for x, y in zip(a, b, strict=True))


def exact(line: str) -> list[Fraction]:
    return [fraction(part.strip()) for part in line.split(",")]


def jordan_blocks(one: Problem) -> str:
    form = sp.Matrix(one["matrix"]).jordan_form(calc_transform=False)
    blocks: dict[int, list[int]] = {}
    start = 0
    for row in range(form.rows):
        if row + 1 == form.rows or form[row, row + 1] == 0:
            blocks.setdefault(int(form[row, row]), []).append(row + 1 - start)
            start = row + 1
    return listed(part for value in sorted(blocks) for part in [value, *sorted(blocks[value], reverse=True)])


def smith_form_witness(one: Problem, answer: str) -> bool:
    matrix, rows = sp.Matrix(one["matrix"]), table(answer)
    left, right = sp.Matrix(rows[: matrix.rows]), sp.Matrix(rows[matrix.rows :])
    form = normal_forms.smith_normal_form(matrix, domain=sp.ZZ).applyfunc(abs)
    return abs(left.det()) == 1 == abs(right.det()) and left * matrix * right == form


def hermite_normal_form(one: Problem, answer: str) -> bool:
    matrix, values = sp.Matrix(one["matrix"]), iter(numbers(answer))
    size = matrix.rows
    form = sp.Matrix(size, size, [next(values) if column >= row else 0 for row in range(size) for column in range(size)])
    change = form * matrix.inv()
    reduced = all(0 <= form[row, column] < form[column, column] for column in range(size) for row in range(column))
    return reduced and all(entry.is_integer for entry in change) and abs(change.det()) == 1


def diagonalising_basis(one: Problem, answer: str) -> bool:
    matrix, rows = sp.Matrix(one["matrix"]), table(answer)
    basis = sp.Matrix([row[1:] for row in rows]).T
    return basis.inv() * matrix * basis == sp.diag(*[row[0] for row in rows])


def integer_kernel_basis(one: Problem, answer: str) -> bool:
    matrix, basis = sp.Matrix(one["matrix"]), sp.Matrix(table(answer))
    factors = normal_forms.invariant_factors(basis, domain=sp.ZZ)
    return (matrix * basis.T).is_zero_matrix and {abs(value) for value in factors} == {1}


def sylvester_equation(one: Problem, answer: str) -> bool:
    a, b, c = (sp.Matrix(one[name]) for name in "abc")
    x = sp.Matrix(c.rows, c.cols, numbers(answer))
    z = sp.Symbol("z")
    unique = sp.resultant(a.charpoly(z).as_expr(), (-b).charpoly(z).as_expr(), z) != 0
    return unique and a * x + x * b == c


def linear_program_with_dual(one: Problem, answer: str) -> bool:
    lines = named(answer)
    x, y = exact(lines["x"]), exact(lines["y"])
    unknown = sp.symbols(f"x:{len(x)}")
    limits = [dot(row, unknown) <= bound for row, bound in zip(one["a"], one["b"], strict=True)]
    best, _ = simplex.lpmax(dot(one["gain"], unknown), [*limits, *(name >= 0 for name in unknown)])
    return fraction(best) == dot(one["gain"], x) == dot(one["b"], y)


def integer_program_point(one: Problem, answer: str) -> bool:
    uses = [resource["uses"] for resource in one["resources"]]
    stocks = [resource["stock"] for resource in one["resources"]]
    most = [
        min(stock // use[good] for use, stock in zip(uses, stocks, strict=True)) for good in range(len(one["gains"]))
    ]
    best = max(
        dot(one["gains"], plan)
        for plan in product(*(range(count + 1) for count in most))
        if all(dot(use, plan) <= stock for use, stock in zip(uses, stocks, strict=True))
    )
    return best == dot(one["gains"], numbers(answer))


def assignment_with_prices(one: Problem, answer: str) -> bool:
    costs, lines = one["costs"], named(answer)
    size = len(costs)
    best = min(sum(costs[row][order[row]] for row in range(size)) for order in permutations(range(size)))
    return best == sum(costs[row][column - 1] for row, column in enumerate(numbers(lines["columns"])))


def infeasibility_multipliers(one: Problem, answer: str) -> bool:
    sums = sp.Matrix([numbers(answer)]) * sp.Matrix(one["rows"])
    return all(value == 0 for value in sums[:-1]) and sums[-1] < 0


def absolute_deviation_minimum(one: Problem) -> str:
    # The weighted median of the corners.
    corners = sorted((Fraction(t["shift"], t["slope"]), t["weight"] * t["slope"]) for t in one["terms"])
    half, passed = Fraction(sum(weight for _, weight in corners), 2), 0
    for place, weight in corners:
        passed += weight
        if passed >= half:
            return str(sum(t["weight"] * abs(t["slope"] * place - t["shift"]) for t in one["terms"]))
    return ""


def chebyshev_line(one: Problem, answer: str) -> bool:
    m, c, e = exact(answer)
    rests = [y - m * x - c for x, y in sorted(one["points"])]
    # Three extreme rests of alternating sign prove that no line is better.
    signs = [rest > 0 for rest in rests if abs(rest) == e]
    changes = sum(a != b for a, b in zip(signs, signs[1:], strict=False))
    return max(abs(rest) for rest in rests) == e and changes >= 2


def form_on_ellipsoid(one: Problem) -> str:
    matrix, form = sp.Matrix(one["matrix"]), sp.Matrix(one["form"])
    if one["plane"] is not None:
        inside = sp.Matrix.hstack(*sp.Matrix([one["plane"]]).nullspace())
        matrix, form = inside.T * matrix * inside, inside.T * form
    return str(one["level"] * (form.T * matrix.inv() * form)[0])


def sum_of_squares_form(one: Problem, answer: str) -> bool:
    matrix = sp.zeros(len(one["matrix"]))
    for line in answer.split("\n"):
        weight, *factors = (sp.Rational(part.strip()) for part in line.split(","))
        matrix += weight * sp.Matrix(factors) * sp.Matrix([factors])
    return matrix == sp.Matrix(one["matrix"])


def nash_equilibrium(one: Problem, answer: str) -> bool:
    lines = named(answer)
    p, q = exact(lines["p"]), exact(lines["q"])
    rows = [dot(row, q) for row in one["first"]]
    columns = [dot(column, p) for column in zip(*one["second"], strict=True)]
    fair = min(*p, *q) >= 0 and sum(p) == 1 == sum(q)
    return fair and max(rows) == dot(p, rows) and max(columns) == dot(q, columns)


def shapley_shares(one: Problem) -> str:
    amounts, barrel = one["amounts"], one["barrel"]
    shares, count = [0] * len(amounts), 0
    for order in permutations(range(len(amounts))):
        count += 1
        total = 0
        for partner in order:
            shares[partner] += (total + amounts[partner]) // barrel - total // barrel
            total += amounts[partner]
    return listed(Fraction(share, count) for share in shares)


def short_tour(one: Problem, answer: str) -> bool:
    distances = one["distances"]

    def length(tour: Sequence[int]) -> int:
        return sum(distances[a][b] for a, b in zip(tour, [*tour[1:], tour[0]], strict=True))

    best = min(length([0, *rest]) for rest in permutations(range(1, len(distances))))
    return best == length([place - 1 for place in numbers(answer)])


def machine_schedule(one: Problem, answer: str) -> bool:
    jobs, paces = one["jobs"], one["paces"]

    def end(plan: Sequence[int]) -> int:
        ends = [0] * len(paces)
        for job, machine in zip(jobs, plan, strict=True):
            ends[machine] += job * paces[machine]
        return max(ends)

    best = min(end(plan) for plan in product(range(len(paces)), repeat=len(jobs)))
    return best == end([machine - 1 for machine in numbers(answer)])


def weighted_cover(one: Problem, answer: str) -> bool:
    sets, universe = one["sets"], set(range(1, one["elements"] + 1))
    best = min(
        sum(each["price"] for each in chosen)
        for size in range(1, len(sets) + 1)
        for chosen in combinations(sets, size)
        if set().union(*(each["members"] for each in chosen)) == universe
    )
    return best == sum(sets[index - 1]["price"] for index in numbers(answer))


def optimal_prefix_code(one: Problem, answer: str) -> bool:
    counts = sorted(one["counts"], reverse=True)

    @cache
    def cost(done: int, free: int, depth: int) -> float:
        """The least cost when this many nodes are free at a depth and the largest counts have their words."""
        if done == len(counts):
            return 0
        if depth > one["longest"] or free == 0:
            return float("inf")
        return min(
            depth * sum(counts[done : done + leaves]) + cost(done + leaves, min(2 * (free - leaves), len(counts)), depth + 1)
            for leaves in range(min(free, len(counts) - done) + 1)
        )

    words = answer.split(", ")
    return cost(0, 1, 0) == sum(count * len(word) for count, word in zip(one["counts"], words, strict=True))


ANSWERS: dict[str, Answer] = {
    "jordan-blocks": jordan_blocks,
    "absolute-deviation-minimum": absolute_deviation_minimum,
    "form-on-ellipsoid": form_on_ellipsoid,
    "shapley-shares": shapley_shares,
}
CHECKS: dict[str, Check] = {
    "smith-form-witness": smith_form_witness,
    "hermite-normal-form": hermite_normal_form,
    "diagonalising-basis": diagonalising_basis,
    "integer-kernel-basis": integer_kernel_basis,
    "sylvester-equation": sylvester_equation,
    "linear-program-with-dual": linear_program_with_dual,
    "integer-program-point": integer_program_point,
    "chebyshev-line": chebyshev_line,
    "assignment-with-prices": assignment_with_prices,
    "infeasibility-multipliers": infeasibility_multipliers,
    "sum-of-squares-form": sum_of_squares_form,
    "nash-equilibrium": nash_equilibrium,
    "short-tour": short_tour,
    "machine-schedule": machine_schedule,
    "weighted-cover": weighted_cover,
    "optimal-prefix-code": optimal_prefix_code,
}
