"""The family diophantine."""

import importlib
import math
from fractions import Fraction

from forms import Answer, Check, Problem, ascending, fraction, listed, numbers, sp

dn: object = importlib.import_module("sympy.solvers.diophantine.diophantine")


def pell_solutions(one: Problem) -> str:
    d, n, above = one["d"], one["n"], int(one["above"])
    t, u = (int(value) for value in dn.diop_DN(d, 1)[0])  # type: ignore[attr-defined]
    best = None
    for base in dn.diop_DN(d, n):  # type: ignore[attr-defined]
        for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            x, y = signs[0] * int(base[0]), signs[1] * int(base[1])
            for _ in range(200):
                if x > above and y > 0:
                    best = min(best or (x, y), (x, y))
                    break
                x, y = x * t + d * y * u, x * u + y * t
    return "" if best is None else listed(best)


def right_triangle_census(one: Problem) -> str:
    size = one["size"]
    found = set()
    for d in sp.divisors(size * size if one["part"] == "leg" else 2 * size * size):
        product = size * size if one["part"] == "leg" else 2 * size * size
        if one["part"] == "leg":
            other, hypotenuse = (product // d - d) // 2, (product // d + d) // 2
            if other > 0 and other * other + size * size == hypotenuse * hypotenuse:
                found.add(hypotenuse)
        else:
            a, b = 2 * size + d, 2 * size + product // d
            hypotenuse = math.isqrt(a * a + b * b)
            if a * a + b * b == hypotenuse * hypotenuse and a + b - hypotenuse == 2 * size:
                found.add(hypotenuse)
    return ascending(found)


def factored_equation_solutions(one: Problem) -> str:
    a, b, c, d = (one[name] for name in "abcd")
    # y = (d - bx) / (ax + c) differs from -b/a by a fraction of |ad + bc| / |ax + c|.
    bound = abs(a * d + b * c) + abs(c) + 1
    return ascending(x for x in range(-bound, bound + 1) if a * x + c != 0 and (d - b * x) % (a * x + c) == 0)


def sum_of_squares_ways(one: Problem) -> str:
    n, m = one["n"], one["m"]
    found = set()
    for x in range(math.isqrt(n) + 1):
        rest = n - x * x
        if rest % m == 0 and sp.ntheory.primetest.is_square(rest // m) and (m > 1 or x >= math.isqrt(rest)):
            found.add(x)
    return ascending(found)


def vieta_descent(one: Problem) -> str:
    triple = sorted(int(value) for value in one["triple"])
    z = sp.Symbol("z")
    while True:
        a, b, c = triple
        roots = sp.roots(sp.Poly(a * a + b * b + z * z - one["k"] * a * b * z - int(one["constant"]), z), multiple=True)
        other = min(roots, key=lambda root: (root == c, root)) if len(set(roots)) > 1 else c
        if other < 0 or other >= c:
            return listed(triple)
        triple = sorted([a, b, int(other)])


def egyptian_fraction_bound(one: Problem, answer: str) -> bool:
    chosen = numbers(answer)
    different = len(set(chosen)) == one["count"] == len(chosen)
    return different and max(chosen) <= one["most"] and sum(Fraction(1, n) for n in chosen) == Fraction(one["target"])


def rational_conic_point(one: Problem, answer: str) -> bool:
    x, y = (fraction(part.strip()) for part in answer.split(","))
    return one["a"] * x * x + one["b"] * y * y == one["c"] and Fraction(one["low"]) < x < Fraction(one["high"])


def progression_sums(one: Problem) -> str:
    total, step = one["total"], one["step"]
    found = []
    for first in range(1, total):
        # k(2a + (k - 1)s) = 2t has a whole root k.
        half = 2 * first - step
        square = half * half + 8 * step * total
        root = math.isqrt(square)
        if root * root == square and (root - half) % (2 * step) == 0 and (root - half) // (2 * step) >= 2:
            found.append(first)
    return ascending(found)


def form_reduction(one: Problem) -> str:
    a, b, c = one["form"]
    matrix = sp.Matrix([[2 * a, b], [b, 2 * c]])
    size = int(matrix.det())
    for first in range(1, math.isqrt(size // 3) + 1):
        for middle in range(-first + 1, first + 1):
            last, rest = divmod(size + middle * middle, 4 * first)
            if rest != 0 or last < first or (last == first and middle < 0):
                continue
            if equivalent((a, b, c), (first, middle, last)):
                return listed([first, middle, last])
    return ""


def equivalent(form: tuple[int, int, int], reduced: tuple[int, int, int]) -> bool:
    """Whether short columns (p, r), (q, s) of determinant 1 give the reduced form's coefficients."""
    a, b, c = form

    def value(x: int, y: int) -> int:
        return a * x * x + b * x * y + c * y * y

    size = 4 * a * c - b * b
    for wanted_x in [reduced[0]]:
        most = math.isqrt(4 * a * wanted_x // size) + 1
        for r in range(-most, most + 1):
            disc = (b * r) ** 2 - 4 * a * (c * r * r - wanted_x)
            if disc < 0 or math.isqrt(disc) ** 2 != disc:
                continue
            for root in (math.isqrt(disc), -math.isqrt(disc)):
                if (root - b * r) % (2 * a) != 0:
                    continue
                p = (root - b * r) // (2 * a)
                s, q, common = (int(v) for v in sp.gcdex(p, r))
                if abs(common) != 1:
                    continue
                # p·s - (-q)·r = ±1.
                s, q = s * common, -q * common
                cross = 2 * a * p * q + b * (p * s + q * r) + 2 * c * r * s
                shift, rest = divmod(reduced[1] - cross, 2 * wanted_x)
                if rest == 0 and value(q + shift * p, s + shift * r) == reduced[2]:
                    return True
    return False


def class_number(one: Problem) -> str:
    size, count = one["size"], 0
    for b in range(-math.isqrt(size // 3), math.isqrt(size // 3) + 1):
        product, rest = divmod(b * b + size, 4)
        if rest != 0:
            continue
        for a in sp.divisors(product):
            c = product // a
            if abs(b) <= a <= c and math.gcd(a, b, c) == 1 and (b >= 0 or (abs(b) < a < c)):
                count += 1
    return str(count)


def hensel_root(one: Problem) -> str:
    z = sp.Symbol("z")
    form = sum(factor * z**power for power, factor in enumerate(reversed(one["polynomial"])))
    modulus = one["prime"] ** one["exponent"]
    found = sp.ntheory.residue_ntheory.polynomial_congruence(form, modulus)
    [root] = [value for value in found if value % one["prime"] == one["start"]]
    return str(root)


ANSWERS: dict[str, Answer] = {
    "pell-solutions": pell_solutions,
    "right-triangle-census": right_triangle_census,
    "factored-equation-solutions": factored_equation_solutions,
    "sum-of-squares-ways": sum_of_squares_ways,
    "vieta-descent": vieta_descent,
    "progression-sums": progression_sums,
    "form-reduction": form_reduction,
    "class-number": class_number,
    "hensel-root": hensel_root,
}
CHECKS: dict[str, Check] = {
    "egyptian-fraction-bound": egyptian_fraction_bound,
    "rational-conic-point": rational_conic_point,
}
