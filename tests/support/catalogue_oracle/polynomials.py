"""The family polynomials."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

from forms import (
    Answer,
    Check,
    Problem,
    ascending,
    fraction,
    listed,
    named,
    numbers,
    poly,
    sp,
    table,
    x,
)


def root_sums(one: Problem) -> str:
    term = x ** one["above"] / (x - one["shift"]) ** one["below"]
    return str(sp.RootSum(poly(one["coefficients"]), sp.Lambda(x, term), auto=True))


def value_from_points(one: Problem) -> str:
    size = len(one["values"]) + len(one["slopes"])
    unknown = sp.symbols(f"c:{size}")
    form = sum(factor * x**power for power, factor in enumerate(unknown))
    conditions = [form.subs(x, place) - value for place, value in one["values"]]
    conditions += [sp.diff(form, x).subs(x, place) - value for place, value in one["slopes"]]
    [solution] = sp.linsolve(conditions, unknown)
    return str(form.subs(dict(zip(unknown, solution, strict=True))).subs(x, one["place"]))


def remainder_high_power(one: Problem) -> str:
    tools = sp.polys.galoistools
    found = tools.gf_pow_mod([1, one["base"]], one["exponent"], one["monic"], one["prime"], sp.ZZ)
    degree = len(one["monic"]) - 1
    return listed([0] * (degree - len(found)) + [int(value) for value in found])


def partial_fractions(one: Problem) -> str:
    below = [sp.Poly(x - root, x) for root, _ in one["linear"]]
    whole: Any = sp.Integer(1)
    for root, power in one["linear"]:
        whole *= (x - root) ** power
    for b, c in one["quadratic"]:
        whole *= x**2 + b * x + c
    parts = sp.Add.make_args(sp.apart(poly(one["numerator"]).as_expr() / whole, x))
    known: dict[tuple[Any, int], Any] = {}
    for part in parts:
        top, bottom = sp.fraction(sp.together(part))
        lead, [(base, power)] = sp.factor_list(bottom, x)
        known[(sp.Poly(base, x).monic().as_expr(), power)] = sp.Poly(top / lead / sp.Poly(base, x).LC() ** power * 1, x)
    values: list[Any] = []
    for base, (_, most) in zip(below, one["linear"], strict=True):
        for power in range(1, most + 1):
            values.append(known[(base.as_expr(), power)].as_expr())
    for b, c in one["quadratic"]:
        top = known[(x**2 + b * x + c, 1)]
        values += [top.coeff_monomial(x), top.coeff_monomial(1)]
    return listed(values)


def minimal_polynomial(one: Problem) -> str:
    number: Any = sp.Integer(one["shift"])
    for radical in one["radicals"]:
        number += radical["factor"] * sp.root(radical["radicand"], radical["order"])
    return listed(sp.Poly(sp.minimal_polynomial(number, x), x).all_coeffs())


def numbers_from_power_sums(one: Problem) -> str:
    sums = one["sums"]
    elementary: list[Any] = [sp.Integer(1)]
    for degree in range(1, len(sums) + 1):
        rows = sp.Matrix(
            degree,
            degree,
            lambda i, j: sums[i - j] if j <= i else (i + 1 if j == i + 1 else 0),
        )
        elementary.append(rows.det() / math.factorial(degree))
    roots = sp.roots(sp.Poly([(-1) ** index * value for index, value in enumerate(elementary)], x), filter="Z")
    return ascending(int(root) for root, count in roots.items() for _ in range(count))


def absolute_value_equation(one: Problem) -> str:
    found: set[Fraction] = set()
    terms, (slope, offset) = one["terms"], one["right"]
    for signs in product([1, -1], repeat=2 * len(terms)):
        rise, rest = Fraction(-slope), Fraction(-offset)
        for index, term in enumerate(terms):
            inner, outer = signs[2 * index], signs[2 * index + 1]
            if term["inner"] is None:
                rise += term["factor"] * inner * term["slope"]
                rest += term["factor"] * inner * term["offset"]
            else:
                rise += term["factor"] * outer * inner * term["slope"]
                rest += term["factor"] * outer * (inner * term["offset"] - term["inner"])
        if rise != 0:
            found.add(-rest / rise)

    def left(place: Fraction) -> Fraction:
        total = Fraction(0)
        for term in terms:
            size = abs(term["slope"] * place + term["offset"])
            total += term["factor"] * (size if term["inner"] is None else abs(size - term["inner"]))
        return total

    return ascending(place for place in found if left(place) == slope * place + offset)


def floor_equation(one: Problem) -> str:
    found: set[Fraction] = set()
    # Every solution is (right - whole number) / slope.
    slope, right = one["slope"], one["right"]
    for step in range(-20_000, 20_001):
        place = Fraction(right - step, slope)
        if sum(factor * math.floor(multiple * place) for factor, multiple in one["floors"]) == step:
            found.add(place)
    return ascending(found)


def all_real_roots(one: Problem) -> str:
    upper = one["upper"]
    polynomial = poly([*upper, 0])
    values = [polynomial.eval(root) for root in sp.Poly(polynomial.diff(x), x).nroots(n=40)]
    ordered = sorted(values, key=lambda value: sp.re(value))
    turning = len(upper) - 1
    lows, highs = ordered[: (turning + 1) // 2], ordered[(turning + 1) // 2 :]
    if len(upper) % 2 == 0:
        lows, highs = ordered[: turning // 2 + 1], ordered[turning // 2 + 1 :]
    return f"{math.floor(-sp.re(highs[0])) + 1}, {math.ceil(-sp.re(lows[-1])) - 1}"


def factor_over_rationals(one: Problem, answer: str) -> bool:
    lead, known = sp.factor_list(poly(one["product"]))
    count = sum(power for _, power in known)
    rows = table(answer)
    whole = sp.Poly(1, x)
    for row in rows:
        whole *= poly(row)
    return abs(lead) == 1 and len(rows) == count == one["count"] and whole == poly(one["product"])


def coprime_witness(one: Problem, answer: str) -> bool:
    lines = named(answer)
    u, v = (poly(part.strip() for part in lines[name].split(",")) for name in "uv")
    a, b = poly(one["a"]), poly(one["b"])
    s, t, common = sp.gcdex(a, b)
    return common.as_expr() == 1 and u.as_expr() == s.as_expr() and v.as_expr() == t.as_expr()


def extension_field_inverse(one: Problem, answer: str) -> bool:
    tools, prime = sp.polys.galoistools, one["prime"]
    plain = [
        tools.gf_trunc(tools.gf_strip(list(part)), prime) for part in (one["element"], numbers(answer), one["monic"])
    ]
    inside = tools.gf_rem(tools.gf_mul(plain[0], plain[1], prime, sp.ZZ), plain[2], prime, sp.ZZ)
    return bool(tools.gf_irreducible_p(plain[2], prime, sp.ZZ)) and [int(value) for value in inside] == [1]


def root_isolation(one: Problem, answer: str) -> bool:
    polynomial = poly(one["polynomial"])
    lines = [[fraction(part.strip()) for part in line.split(",")] for line in answer.split("\n")]
    counts = [polynomial.count_roots(sp.Rational(str(low)), sp.Rational(str(high))) for low, high in lines]
    return counts == [1] * len(lines) and polynomial.count_roots() == len(lines) == one["count"]


ANSWERS: dict[str, Answer] = {
    "root-sums": root_sums,
    "value-from-points": value_from_points,
    "remainder-high-power": remainder_high_power,
    "partial-fractions": partial_fractions,
    "minimal-polynomial": minimal_polynomial,
    "numbers-from-power-sums": numbers_from_power_sums,
    "absolute-value-equation": absolute_value_equation,
    "floor-equation": floor_equation,
    "all-real-roots": all_real_roots,
}
CHECKS: dict[str, Check] = {
    "factor-over-rationals": factor_over_rationals,
    "coprime-witness": coprime_witness,
    "extension-field-inverse": extension_field_inverse,
    "root-isolation": root_isolation,
}
