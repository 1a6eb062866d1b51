"""Measurement: derivatives by sympy, projections by numpy, factorials, and columns of designs."""

import itertools
import math
from fractions import Fraction

from forms import Given, Solver, Value, exact, marked, np, sp


def uncertainty_propagation(one: Given) -> list[Value]:
    inputs = [*one["inputs"], *([one["offset"]] if one["offset"] else [])]
    symbols = sp.symbols(f"v:{len(inputs)}", positive=True)
    bases = [symbols[0] - symbols[-1] if place == 0 and one["offset"] else symbols[place] for place in range(len(one["inputs"]))]
    result = sp.Mul(*[base ** sp.Rational(str(each["power"])) for base, each in zip(bases, one["inputs"], strict=True)])
    at = dict(zip(symbols, [each["value"] for each in inputs], strict=True))
    slopes = np.array([float(sp.diff(result, symbol).subs(at)) for symbol in symbols])
    covariance = np.diag([each["sigma"] ** 2 for each in inputs])
    if one["correlation"]:
        a, b = one["correlation"]["pair"]
        covariance[a, b] = covariance[b, a] = one["correlation"]["value"] * inputs[a]["sigma"] * inputs[b]["sigma"]
    return [float(result.subs(at)), math.sqrt(slopes @ covariance @ slopes)]


def regression_diagnosis(one: Given) -> list[Value]:
    design = np.array([[1, point["x"]] for point in one["points"]])
    y = np.array([point["y"] for point in one["points"]])
    n = len(y)
    fit = np.linalg.lstsq(design, y, rcond=None)[0]
    variance = float(((y - design @ fit) ** 2).sum()) / (n - 2)
    without = [np.linalg.lstsq(np.delete(design, left, 0), np.delete(y, left), rcond=None)[0] for left in range(n)]
    moved = [float(((design @ (fit - other)) ** 2).sum()) for other in without]
    worst = int(np.argmax(moved))
    place = np.array([1, one["place"]])
    spread = float(place @ np.linalg.inv(design.T @ design) @ place)
    return [float(fit[1]), float(without[worst][1]), math.sqrt(variance * (1 + spread)), f"P{worst + 1}"]


def conjugate_update(one: Given) -> list[Value]:
    def beta(a: int, b: int) -> Fraction:
        return Fraction(math.factorial(a - 1) * math.factorial(b - 1), math.factorial(a + b - 1))

    s = sum(batch["successes"] for batch in one["batches"])
    f = sum(batch["failures"] for batch in one["batches"])
    k, n = one["next"]["successes"], one["next"]["trials"]

    def evidence(more: int, less: int) -> list[Fraction]:
        return [e["weight"] * beta(e["a"] + s + more, e["b"] + f + less) / beta(e["a"], e["b"]) for e in one["experts"]]

    total = sum(evidence(0, 0))
    values = [sum(evidence(1, 0)) / total, math.comb(n, k) * sum(evidence(k, n - k)) / total]
    if len(one["experts"]) > 1:
        values.append(evidence(0, 0)[0] / total)
    return [exact(value) for value in values]


def aliased_effects(one: Given) -> list[Value]:
    """The columns of the design themselves."""
    letters = "ABCDEFGHJ"[: one["factors"]]
    free = one["factors"] - len(one["generators"])
    columns = [*np.array(list(itertools.product([-1, 1], repeat=free))).T]

    def product(bits: int) -> np.ndarray:
        chosen = [column for place, column in enumerate(columns) if bits >> place & 1]
        return np.prod(chosen, axis=0) if chosen else np.ones(2**free, dtype=int)

    for generator in one["generators"]:
        columns.append(generator["sign"] * product(generator["product"]))
    asked = product(one["asked"])
    found: dict[int, list[str]] = {1: [], -1: []}
    shortest = one["factors"]
    for bits in range(1, 2 ** one["factors"]):
        name = "".join(letter for place, letter in enumerate(letters) if bits >> place & 1)
        column = product(bits)
        if abs(int(column.sum())) == 2**free:
            shortest = min(shortest, len(name))
        for sign in (1, -1):
            if bits != one["asked"] and len(name) <= one["most"] and (column == sign * asked).all():
                found[sign].append(name)
    return [marked(found[1] or ["none"]), marked(found[-1] or ["none"]), str(shortest)]


SOLVERS: dict[str, Solver] = {
    "uncertainty-propagation": uncertainty_propagation,
    "regression-diagnosis": regression_diagnosis,
    "conjugate-update": conjugate_update,
    "aliased-effects": aliased_effects,
}
