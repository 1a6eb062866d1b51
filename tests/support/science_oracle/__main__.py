"""Answers tasks of science, research and agentic work with numpy, scipy, sympy and networkx, which share no code with their generators.

Reads a list of `{"id", "given"}` as JSON and prints, per line, the list of values in the order of the task's answer. `--rows` prints the
names of the tasks that it can answer.
"""

import json
import sys

import biology
import matter
import measurement
import optima
import research
from forms import Solver

SOLVERS: dict[str, Solver] = {
    **biology.SOLVERS,
    **matter.SOLVERS,
    **measurement.SOLVERS,
    **research.SOLVERS,
    **optima.SOLVERS,
}

if sys.argv[1:] == ["--rows"]:
    print(json.dumps(sorted(SOLVERS)))
else:
    for one in json.load(sys.stdin):
        print(json.dumps(SOLVERS[one["id"]](one["given"])))
