"""The writing of answers, and sympy behind one untyped door: its types are incomplete."""

import importlib
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

Problem = dict[str, Any]
Answer = Callable[[Any], str]
Check = Callable[[Any, str], bool]

sp: Any = importlib.import_module("sympy")
nx: Any = importlib.import_module("networkx")
mp: Any = importlib.import_module("mpmath")
x: Any = sp.Symbol("x")


def listed(values: Iterable[Any]) -> str:
    """In the given order."""
    return ", ".join(str(value) for value in values)


def ascending(values: Iterable[Any]) -> str:
    """A set, from the smallest value."""
    return listed(sorted(values))


def fraction(value: Any) -> Fraction:
    """Of a sympy rational, or of a text."""
    return Fraction(str(value))


def numbers(line: str) -> list[int]:
    """The whole numbers of a line."""
    return [int(part) for part in line.replace(",", " ").split()]


def table(text: str) -> list[list[int]]:
    """The whole numbers of each line."""
    return [numbers(line) for line in text.split("\n")]


def named(text: str) -> dict[str, str]:
    """The lines `name: value`."""
    return {name: value.strip() for name, value in (line.split(":", 1) for line in text.split("\n"))}


def poly(coefficients: Iterable[Any]) -> Any:
    """Coefficients from the highest power down."""
    return sp.Poly([sp.Rational(str(one)) for one in coefficients], x)
