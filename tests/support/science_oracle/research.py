"""Research: linear systems, graphs and labelled areas by libraries, and replayed logs."""

import ast
import itertools
from fractions import Fraction
from typing import Any

from forms import Given, Solver, Value, exact, marked, ndimage, np, nx, sp


def crosstab_completion(one: Given) -> list[Value]:
    table = [[sp.Integer(cell) for cell in row] for row in one["cells"]]
    symbols = sp.symbols(f"c:{len(one['blanks'])}")
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    for symbol, (row, column) in zip(symbols, one["blanks"], strict=True):
        table[row][column] = symbol
    equations = [sum(row) - total for row, total in zip(table, rows, strict=True)]
    equations += [sum(column) - total for column, total in zip(zip(*table, strict=True), columns, strict=True)]
    for fact in one["facts"]:
        a, b, value = symbols[fact["first"]], symbols[fact["second"]], fact["value"]
        equations.append({"more": a - b - value, "both": a + b - value, "times": a - value * b}[fact["kind"]])
    (solution,) = sp.linsolve(equations, *symbols)
    return [exact(value) for value in solution]


def scale_map_reading(one: Given) -> list[Value]:
    water, cliff, _, start, end = one["legend"]
    rows = [[*row] for row in one["rows"]]
    height, width = len(rows), len(rows[0])
    graph = nx.grid_2d_graph(height, width)
    graph.remove_nodes_from([(r, c) for r, c in itertools.product(range(height), range(width)) if rows[r][c] in (water, cliff)])
    places = {rows[r][c]: (r, c) for r, c in itertools.product(range(height), range(width))}
    way = nx.shortest_path_length(graph, places[start], places[end])
    labels, count = ndimage.label(np.array(rows) == water)
    sizes = [int((labels == label).sum()) for label in range(1, count + 1)]
    lake = labels == 1 + int(np.argmax(sizes))
    shore = int((lake[1:] != lake[:-1]).sum() + (lake[:, 1:] != lake[:, :-1]).sum())
    return [str(way * one["scale"]), str(max(sizes) * one["scale"] ** 2), str(shore * one["scale"])]


def schedule_slack_reading(one: Given) -> list[Value]:
    jobs, marks = one["jobs"], one["marks"]

    def graph_of(extra: int) -> Any:
        graph = nx.DiGraph()
        for index, job in enumerate(jobs):
            graph.add_edge(("begin", index), ("end", index), weight=job["days"] + (extra if index == one["late"] else 0))
            graph.add_edge("start", ("begin", index), weight=0)
            graph.add_edge(("end", index), "finish", weight=0)
            for before in job["after"]:
                graph.add_edge(("end", before["job"]), ("begin", index), weight=before["wait"])
        return graph

    def length(graph: Any, source: Any, target: Any) -> int:
        part = graph.subgraph((nx.descendants(graph, source) & nx.ancestors(graph, target)) | {source, target})
        return int(nx.dag_longest_path_length(part))

    graph = graph_of(0)
    end = length(graph, "start", "finish")
    slack = [
        end - length(graph, "start", ("begin", index)) - job["days"] - length(graph, ("end", index), "finish")
        for index, job in enumerate(jobs)
    ]
    critical = sorted(mark for mark, own in zip(marks, slack, strict=True) if own == 0)
    return [str(end), marked(critical), str(slack[one["loose"]]), str(length(graph_of(one["delay"]), "start", "finish"))]


def relative_timeline(one: Given) -> list[Value]:
    """All statements as one linear system."""
    count = len(one["events"])
    rows, right = [], []
    for statement in one["statements"]:
        row = np.zeros(count)
        row[statement["event"]] = 1
        if statement["kind"] == "apart":
            row[statement["from"]] -= 1
        if statement["kind"] == "middle":
            row[statement["from"]] -= 0.5
            row[statement["to"]] -= 0.5
        rows.append(row)
        right.append({"date": statement.get("day"), "apart": statement.get("days"), "middle": 0}[statement["kind"]])
    days = np.linalg.solve(np.array(rows), np.array(right, dtype=float))
    return [marked([one["events"][place] for place in np.argsort(days)])]


def licensed_conclusions(one: Given) -> list[Value]:
    graph = nx.DiGraph(one["arrows"])
    graph.add_nodes_from(range(len(one["names"])))
    holds = [nx.is_d_separator(graph, {c["a"]}, {c["b"]}, set(c["given"])) for c in one["claims"]]
    return [marked([f"C{place + 1}" for place, held in enumerate(holds) if held])]


def cited_claims_answer(one: Given) -> list[Value]:
    graph = nx.Graph()
    for place, (a, b) in enumerate(one["links"]):
        graph.add_edge(a, b, place=place)
    (path,) = nx.all_simple_paths(graph, *one["asked"])
    cites = sorted(graph.edges[pair]["place"] for pair in itertools.pairwise(path))
    years = sum(one["births"][b] - one["births"][a] for a, b in itertools.pairwise(path))
    return [str(years), marked([f"D{place + 1}" for place in cites])]


def missing_link_detection(one: Given) -> list[Value]:
    known = {
        (relation, person): to
        for relation, leads in enumerate(one["leads"])
        for person, to in enumerate(leads)
        if [relation, person] not in one["missing"]
    }
    answers: list[Value] = []
    for question in one["questions"]:
        now = question["person"]
        text = ""
        for relation in question["relations"]:
            if (relation, now) not in known:
                text = f"unknown {one['people'][now]}"
                break
            now = known[relation, now]
        answers.append(text or one["people"][now])
    return answers


def fact_table_from_memos(one: Given) -> list[Value]:
    memos = one["memos"]

    def valid(place: int) -> bool:
        return not any(m["kind"] == "revoke" and m["memo"] == place and valid(other) for other, m in enumerate(memos))

    prices = [Fraction(price) for price in one["start"]]
    for place, memo in enumerate(memos):
        if memo["kind"] == "revoke" or not valid(place):
            continue
        for item in memo["items"]:
            if memo["kind"] == "set":
                prices[item] = Fraction(memo["price"])
            elif memo["kind"] == "add":
                prices[item] += memo["amount"]
            else:
                prices[item] *= Fraction(100 + memo["percent"], 100)
    return [exact(price) for price in prices]


def overwritten_keys(one: Given) -> list[Value]:
    state: dict[str, str] = {}
    saved: dict[str, dict[str, str]] = {}
    for entry in one["entries"]:
        kind, key, other = entry["kind"], entry.get("key"), entry.get("other")
        if kind == "set":
            state[key] = entry["value"]
        elif kind == "delete":
            state.pop(key, None)
        elif kind == "copy" and key in state:
            state[other] = state[key]
        elif kind == "rename" and key in state:
            state[other] = state.pop(key)
        elif kind == "swap" and key in state and other in state:
            state[key], state[other] = state[other], state[key]
        elif kind == "save":
            saved[entry["name"]] = dict(state)
        elif kind == "restore":
            state = dict(saved.get(entry["name"], state))
    return [state.get(key, "missing") for key in one["asked"]]


def boolean_query_writer(one: Given) -> list[Value]:
    """The query as an expression of Python: how many documents it judges wrongly."""
    text = one["gold"].replace("AND", "and").replace("OR", "or").replace("NOT", "not")
    tree = ast.parse(text, mode="eval")
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    code = compile(tree, "query", "eval")
    wrong = sum(
        bool(eval(code, {"__builtins__": {}}, {name: name in words for name in names})) != (place in one["relevant"])
        for place, words in enumerate(one["documents"])
    )
    return [wrong]


def statement_tie_out(one: Given) -> list[Value]:
    """Sets of cells, the smallest first, whose values can be chosen so that all sums agree."""
    cells = np.array(one["cells"], dtype=float)
    rows, columns = cells.shape
    by_row, by_column = np.ones_like(cells), np.ones_like(cells)
    by_row[:, -1], by_column[-1, :] = -1, -1
    conditions = [(by_row * (np.arange(rows) == row)[:, None]).ravel() for row in range(rows)]
    conditions += [(by_column * (np.arange(columns) == column)[None, :]).ravel() for column in range(columns)]
    system = np.array(conditions)
    off = system @ cells.ravel()
    bad_rows = [row for row in range(rows) if off[row]]
    bad_columns = [column for column in range(columns) if off[rows + column]]
    found = []
    for order in itertools.permutations(bad_columns):
        places = [row * columns + column for row, column in zip(bad_rows, order, strict=True)]
        change, _, _, _ = np.linalg.lstsq(system[:, places], -off, rcond=None)
        if np.abs(system[:, places] @ change + off).max() < 1e-6:
            found.append((sorted(places), round(float(cells.ravel()[places].sum() + change.sum()))))
    assert len(found) == 1

    def name(place: int) -> str:
        row, column = divmod(place, columns)
        return ("T" if row == rows - 1 else "ABCDEFGH"[row]) + ("T" if column == columns - 1 else str(column + 1))

    return [marked([name(place) for place in found[0][0]]), str(found[0][1])]


SOLVERS: dict[str, Solver] = {
    "crosstab-completion": crosstab_completion,
    "scale-map-reading": scale_map_reading,
    "schedule-slack-reading": schedule_slack_reading,
    "relative-timeline": relative_timeline,
    "licensed-conclusions": licensed_conclusions,
    "cited-claims-answer": cited_claims_answer,
    "missing-link-detection": missing_link_detection,
    "fact-table-from-memos": fact_table_from_memos,
    "overwritten-keys": overwritten_keys,
    "boolean-query-writer": boolean_query_writer,
    "statement-tie-out": statement_tie_out,
}
