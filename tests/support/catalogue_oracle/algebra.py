"""The family algebra."""

import importlib
from itertools import product
from typing import Any

from forms import Answer, Check, Problem, listed, numbers, poly, sp, table, x

combinatorics: Any = importlib.import_module("sympy.combinatorics")
curves: Any = importlib.import_module("sympy.ntheory.elliptic_curve")


def permutation(images: list[int]) -> Any:
    return combinatorics.Permutation([image - 1 for image in images])


def permutation_group_order(one: Problem) -> str:
    generators = [combinatorics.Permutation(images) for images in one["generators"]]
    return str(combinatorics.PermutationGroup(generators).order())


def permutation_root(one: Problem, answer: str) -> bool:
    return bool(permutation(numbers(answer)) ** one["exponent"] == combinatorics.Permutation(one["power"]))


def common_conjugation(one: Problem, answer: str) -> bool:
    names = permutation(numbers(answer))
    pairs = zip(one["before"], one["after"], strict=True)
    # Sympy's product applies the left factor first.
    return all(
        ~names * combinatorics.Permutation(before) * names == combinatorics.Permutation(after) for before, after in pairs
    )


def modular_group_word(one: Problem, answer: str) -> bool:
    turn, shear = sp.Matrix([[0, -1], [1, 0]]), sp.Matrix([[1, 1], [0, 1]])
    first, *rest = numbers(answer)
    whole = shear**first
    for exponent in rest:
        whole = whole * turn * shear**exponent
    return list(whole) == [int(entry) for entry in one["matrix"]]


def syndrome_decoding(one: Problem, answer: str) -> bool:
    total = 0
    for place in numbers(answer):
        total ^= int(one["columns"][place - 1], 2)
    return total == int(one["syndrome"], 2) and len(numbers(answer)) <= one["weight"]


def corrupted_evaluations(one: Problem, answer: str) -> bool:
    found = poly(reversed(numbers(answer)))
    # Two polynomials cannot both agree with so many values.
    right = [found.eval(place) % one["prime"] == value for place, value in enumerate(one["values"])]
    return right.count(False) <= one["errors"] and 2 * one["errors"] + one["size"] <= len(right)


def shortest_register(one: Problem, answer: str) -> bool:
    prime, terms, factors = one["prime"], one["terms"], numbers(answer)
    length = len(factors)
    field = sp.GF(prime)
    hankel = sp.polys.matrices.DomainMatrix(
        [[field(terms[i + j]) for j in range(length)] for i in range(length)], (length, length), field
    )
    # The Hankel matrix is regular, so no shorter recurrence exists.
    predicted = all(
        sum(factor * terms[n - 1 - k] for k, factor in enumerate(factors)) % prime == terms[n]
        for n in range(length, len(terms))
    )
    return predicted and hankel.rank() == length


def elliptic_curve_multiple(one: Problem) -> str:
    curve = curves.EllipticCurve(one["a"], one["b"], modulus=one["prime"])
    found = one["factor"] * curve(*one["point"])
    return listed(int(value) % one["prime"] for value in (found.x, found.y))


def prime_field_factors(one: Problem, answer: str) -> bool:
    _, known = sp.factor_list(poly(one["product"]).as_expr(), x, modulus=one["prime"])
    expected = sorted(
        [int(value) % one["prime"] for value in sp.Poly(factor, x).all_coeffs()]
        for factor, count in known
        for _ in range(count)
    )
    return expected == sorted(table(answer))


def code_weights(one: Problem) -> str:
    prime, rows = one["prime"], one["rows"]
    counts = [0] * (len(rows[0]) + 1)
    for factors in product(range(prime), repeat=len(rows)):
        word = sp.Matrix([factors]) * sp.Matrix(rows)
        counts[sum(value % prime != 0 for value in word)] += 1
    return listed(counts)


ANSWERS: dict[str, Answer] = {
    "permutation-group-order": permutation_group_order,
    "elliptic-curve-multiple": elliptic_curve_multiple,
    "code-weights": code_weights,
}
CHECKS: dict[str, Check] = {
    "permutation-root": permutation_root,
    "common-conjugation": common_conjugation,
    "modular-group-word": modular_group_word,
    "syndrome-decoding": syndrome_decoding,
    "corrupted-evaluations": corrupted_evaluations,
    "shortest-register": shortest_register,
    "prime-field-factors": prime_field_factors,
}
