"""What a solver is, and the libraries behind untyped doors: their types are incomplete."""

import importlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Given = dict[str, Any]
Value = float | int | str
Solver = Callable[[Any], list[Value]]

np: Any = importlib.import_module("numpy")
optimize: Any = importlib.import_module("scipy.optimize")
ndimage: Any = importlib.import_module("scipy.ndimage")
sp: Any = importlib.import_module("sympy")
nx: Any = importlib.import_module("networkx")


def exact(value: Any) -> str:
    """A fraction in lowest terms; a whole number without a bar."""
    return str(Fraction(str(value)))


def marked(marks: list[str]) -> str:
    """Marks in the given order."""
    return ", ".join(marks)
