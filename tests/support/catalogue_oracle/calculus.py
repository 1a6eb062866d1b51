"""The family calculus."""

import importlib
from typing import Any

from forms import Answer, Check, Problem, listed, sp, x

rings: Any = importlib.import_module("sympy.polys.rings")
ring_series: Any = importlib.import_module("sympy.polys.ring_series")

FUNCTIONS: dict[str, Any] = {
    "exp": sp.exp,
    "sin": sp.sin,
    "cos": sp.cos,
    "log1p": lambda inner: sp.log(1 + inner),
    "atan": sp.atan,
    "sqrt1p": lambda inner: sp.sqrt(1 + inner),
}


def rising(coefficients: list[Any]) -> Any:
    """From the constant up."""
    return sum(sp.Rational(str(factor)) * x**power for power, factor in enumerate(coefficients))


def coefficient(function: Any, order: int) -> Any:
    return sp.series(function, x, 0, order + 1).removeO().coeff(x, order)


def taylor_coefficient(one: Problem) -> str:
    whole = FUNCTIONS[one["outer"]](rising(one["inner"]))
    if one["factor"] is not None:
        whole *= FUNCTIONS[one["factor"]](x)
    return str(coefficient(whole, one["order"]))


def ode_series_coefficient(one: Problem) -> str:
    order = one["order"]
    unknown = sp.symbols(f"a:{order + 1}")
    y = sum(name * x**power for power, name in enumerate(unknown))
    p, q, r = (rising(one[name]) for name in "pqr")
    rest = sp.Poly(sp.diff(y, x, 2) - p * sp.diff(y, x) - q * y - r, x)
    conditions = [rest.coeff_monomial(x**power) for power in range(order - 1)]
    start = [unknown[0] - one["start"][0], unknown[1] - one["start"][1]]
    [solution] = sp.linsolve([*start, *conditions], unknown)
    return str(solution[order])


def limit_by_expansion(one: Problem) -> str:
    top = rising(one["polynomial"])
    for term in one["terms"]:
        top += term["factor"] * FUNCTIONS[term["name"]](term["rate"] * x)
    return str(sp.limit(top / x ** one["order"], x, 0))


def series_reversion(one: Problem) -> str:
    ring, a, b = rings.ring("a,b", sp.QQ)
    order = one["order"]
    top = sum((factor * a**power for power, factor in enumerate(one["top"])), ring(0))
    below = sum((factor * a**power for power, factor in enumerate(one["below"])), ring(0))
    series = ring_series.rs_mul(top, ring_series.rs_series_inversion(below, a, order + 1), a, order + 1)
    found = ring_series.rs_series_reversion(series, a, order + 1, b)
    return str(found.coeff(b**order))


def implicit_derivatives(one: Problem) -> str:
    y = sp.Symbol("y")
    form = sum(term["factor"] * x ** term["i"] * y ** term["j"] for term in one["terms"]) - one["right"]
    return str(sp.idiff(form, y, x, one["order"]).subs({x: one["point"][0], y: one["point"][1]}))


def polygon_circulation(one: Problem) -> str:
    t, total = sp.Symbol("t"), sp.Integer(0)
    corners = one["corners"]
    for (x0, y0), (x1, y1) in zip(corners, [*corners[1:], corners[0]], strict=True):
        place_x, place_y = x0 + t * (x1 - x0), y0 + t * (y1 - y0)
        for field, step in ((one["p"], x1 - x0), (one["q"], y1 - y0)):
            value = sum(term["factor"] * place_x ** term["i"] * place_y ** term["j"] for term in field)
            total += step * sp.integrate(sp.expand(value), (t, 0, 1))
    return str(total)


def quadrature_weights(one: Problem) -> str:
    nodes = one["nodes"]
    weights = []
    for node in nodes:
        basis = sp.prod((x - other) / sp.Rational(node - other) for other in nodes if other != node)
        weights.append(sp.integrate(sp.expand(basis * x ** one["power"]), (x, one["from"], one["to"])))
    return listed(weights)


def pade_approximant(one: Problem, answer: str) -> bool:
    parts = answer.split(", ")
    top, below = rising(parts[: one["top"] + 1]), rising(["1", *parts[one["top"] + 1 :]])
    rest = sp.Poly(sp.expand(below * rising(one["series"]) - top), x)
    known = one["top"] + one["below"] + 1
    # A common factor would make the fraction one of lower degrees.
    plain = sp.gcd(top, below).is_number
    return plain and all(rest.coeff_monomial(x**power) == 0 for power in range(known))


ANSWERS: dict[str, Answer] = {
    "taylor-coefficient": taylor_coefficient,
    "ode-series-coefficient": ode_series_coefficient,
    "limit-by-expansion": limit_by_expansion,
    "series-reversion": series_reversion,
    "implicit-derivatives": implicit_derivatives,
    "polygon-circulation": polygon_circulation,
    "quadrature-weights": quadrature_weights,
}
CHECKS: dict[str, Check] = {"pade-approximant": pade_approximant}
