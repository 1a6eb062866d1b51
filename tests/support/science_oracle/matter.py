"""Chemistry, waves, earth and sky: roots of equations, integration of motion, vectors, and graphs up to isomorphism."""

import importlib
import itertools
import math
from typing import Any

from forms import Given, Solver, Value, exact, np, nx, optimize, sp

integrate: Any = importlib.import_module("scipy.integrate")
isomorphism: Any = importlib.import_module("networkx.algorithms.isomorphism")


def equilibrium_composition(one: Given) -> list[Value]:
    changes = np.array([reaction["change"] for reaction in one["reactions"]], dtype=float)
    logs = np.log([reaction["constant"] for reaction in one["reactions"]])

    def settled(amounts: Any, volume: float) -> Any:
        """Least Gibbs energy would do the same; here the logarithms of quotients are brought to those of the constants."""

        def misfit(extents: Any) -> Any:
            now = amounts + extents @ changes
            if (now <= 0).any():
                return np.full(len(logs), 1e3) + 1e3 * np.minimum(now, 0).sum() ** 2
            return changes @ np.log(now / volume) - logs

        spread = float(amounts.sum())
        tries = np.linspace(-spread, spread, 41)
        for start in itertools.product(tries, repeat=len(logs)):
            if (amounts + np.array(start) @ changes <= 1e-9).any():
                continue
            found = optimize.root(misfit, np.array(start), tol=1e-13)
            now = amounts + found.x @ changes
            if (now > 0).all() and np.abs(misfit(found.x)).max() < 1e-8:
                return now
        raise AssertionError("no equilibrium")

    amounts = np.array(one["amounts"], dtype=float)
    if one["later"] is None:
        return [float(value) for value in settled(amounts, one["volume"])]
    if one["later"]["added"]:
        amounts[one["later"]["added"]["substance"]] += one["later"]["added"]["amount"]
    return [float(value) for value in settled(amounts, one["later"]["volume"])]


def enthalpy_combination(one: Given) -> list[Value]:
    factors = sp.symbols(f"m:{len(one['reactions'])}")
    equations = [
        sum(factor * reaction[place] for factor, reaction in zip(factors, one["reactions"], strict=True)) - wanted
        for place, wanted in enumerate(one["target"])
    ]
    (solution,) = sp.linsolve(equations, *factors)
    total = sum(factor * enthalpy for factor, enthalpy in zip(solution, one["enthalpies"], strict=True))
    return [exact(value) for value in [*solution, total]]


def cell_and_electrolysis(one: Given) -> list[Value]:
    kelvin = one["temperature"] + 273.15

    def potential(electrode: Given, concentration: float) -> float:
        return float(electrode["standard"] + 8.314 * kelvin / (electrode["charges"] * 96485) * math.log(concentration))

    anode, cathode = sorted(one["electrodes"], key=lambda each: potential(each, each["concentration"]))

    def voltage(moles: float) -> float:
        gone = cathode["concentration"] - moles / (cathode["charges"] * cathode["volume"])
        come = anode["concentration"] + moles / (anode["charges"] * anode["volume"])
        return potential(cathode, gone) - potential(anode, come)

    values: list[Value] = [voltage(0)]
    if one["current"]:
        moles = one["current"]["amperes"] * one["current"]["hours"] * 3600 / 96485
        values.append(moles / anode["charges"] * anode["molar"])
        if one["hasAfter"]:
            values.append(voltage(moles))
    if one["hasEnd"]:
        most = cathode["concentration"] * cathode["volume"] * cathode["charges"]
        end = most if voltage(most * (1 - 1e-14)) > 0 else optimize.brentq(voltage, 0, most * (1 - 1e-14))
        values.append(end * 96485 / 3600)
    return [*values, anode["metal"]]


def isomer_census(one: Given) -> list[Value]:
    """Trees from networkx, substituents in every way, and one molecule of each class of isomorphic ones."""
    kept: dict[str, list[Any]] = {}
    same = isomorphism.categorical_node_match("kind", "")
    for tree in nx.nonisomorphic_trees(one["carbons"]):
        if max(dict(tree.degree).values()) > 4:
            continue
        for places in itertools.product(range(one["carbons"]), repeat=len(one["substituents"])):
            graph = tree.copy()
            nx.set_node_attributes(graph, "", "kind")
            for carbon, letter in zip(places, one["substituents"], strict=True):
                graph.nodes[carbon]["kind"] = "".join(sorted(graph.nodes[carbon]["kind"] + letter))
            free = [4 - graph.degree(node) - len(graph.nodes[node]["kind"]) for node in graph]
            if min(free) < 0:
                continue
            longest = max(max(lengths.values()) for _, lengths in nx.all_pairs_shortest_path_length(graph)) + 1
            if one["chain"] not in (-1, longest):
                continue
            if one["methyls"] not in (-1, free.count(3)) or one["methylenes"] not in (-1, free.count(2)):
                continue
            if one["quaternary"] not in (-1, [graph.degree(node) for node in graph].count(4)):
                continue
            if one["isSpread"] and any(len(graph.nodes[node]["kind"]) > 1 for node in graph):
                continue
            key = nx.weisfeiler_lehman_graph_hash(graph, node_attr="kind")
            known = kept.setdefault(key, [])
            if not any(nx.is_isomorphic(graph, other, node_match=same) for other in known):
                known.append(graph)
    return [str(sum(len(graphs) for graphs in kept.values()))]


def structure_string_facts(one: Given) -> list[Value]:
    """The text alone is read."""
    graph = nx.Graph()
    stack: list[int] = []
    open_rings: dict[str, int] = {}
    last, order = -1, 1
    for letter in one["text"]:
        if letter == "(":
            stack.append(last)
        elif letter == ")":
            last = stack.pop()
        elif letter in "=#":
            order = 2 if letter == "=" else 3
        elif letter.isdigit():
            if letter in open_rings:
                graph.add_edge(last, open_rings.pop(letter), order=1)
            else:
                open_rings[letter] = last
        else:
            node = len(graph)
            graph.add_node(node, element=letter)
            if last >= 0:
                graph.add_edge(last, node, order=order)
            last, order = node, 1
    valence = {"C": 4, "N": 3, "O": 2, "F": 1}
    free = {node: valence[graph.nodes[node]["element"]] - int(graph.degree(node, weight="order")) for node in graph}
    carbons = [node for node in graph if graph.nodes[node]["element"] == "C"]
    doubled = {
        node
        for a, b, kind in graph.edges(data="order")
        for node, other in ((a, b), (b, a))
        if kind == 2 and graph.nodes[node]["element"] == "C" and graph.nodes[other]["element"] == "O"
    }
    hydroxyls = [node for node in graph if graph.nodes[node]["element"] == "O" and free[node] == 1]
    return [
        str(value)
        for value in [
            sum(free.values()),
            len(nx.cycle_basis(graph)),
            sum(free[node] == 3 for node in carbons),
            sum(free[node] == 2 for node in carbons),
            sum(kind > 1 for _, _, kind in graph.edges(data="order")),
            len(doubled),
            len(hydroxyls),
        ]
    ]


def level_scheme_lines(one: Given) -> list[Value]:
    lines, count = one["lines"], one["count"]
    found = []
    for inner in itertools.combinations(lines[:-1], count - 1):
        levels = np.array([0, *inner, lines[-1]])
        gaps = set(np.abs(levels[:, None] - levels[None, :]).ravel().tolist())
        if set(lines) <= gaps and levels[1] < levels[-1] - levels[-2]:
            found.append(levels[1:])
    assert len(found) == 1
    return [str(value) for value in found[0]]


def shifted_tone_inference(one: Given) -> list[Value]:
    """In the frame of the air, where the wind has no effect but on speeds."""
    c, w, u = one["sound"], one["wind"], one["listener"]

    def heard(speed: float, tone: float) -> tuple[float, float]:
        train, ear = speed - w, u + w
        return tone * (c + ear) / (c - train), tone * (c - ear) / (c + train)

    def misfit(values: Any) -> list[float]:
        before, after = heard(values[0], values[1])
        return [before / one["before"] - 1, after / one["after"] - 1]

    speed, tone = optimize.fsolve(misfit, [30, one["before"]], xtol=1e-12)
    values: list[Value] = [float(speed), float(tone)]
    if one["hasBeats"]:
        train, ground = speed - w, -w
        # The wall moves with the ground, against the air.
        wall = tone * (c - ground) / (c - train)
        behind = tone * (c + ground) / (c + train)
        values.append(float(wall - behind))
        if one["hasCab"]:
            values.append(float(wall / (c + ground) * (c + train)))
    return values


def transfer_orbit_plan(one: Given) -> list[Value]:
    """The motion between the burns is integrated."""
    mu, inner, outer, far = one["mu"], one["inner"], one["outer"], one["far"]
    tilt = math.radians(one["tilt"])

    def pull(_: float, state: Any) -> Any:
        return np.concatenate([state[2:], -mu * state[:2] / np.hypot(*state[:2]) ** 3])

    def half(start: float, speed: float) -> tuple[float, float, float]:
        """From one end of the ellipse to the other: time, distance and speed there."""
        turn = lambda _, state: state[1]  # noqa: E731
        turn.terminal, turn.direction = True, -1
        found = integrate.solve_ivp(pull, (1, 1e8), [start, 1e-9, 0, speed], events=turn, rtol=1e-11, atol=1e-6)
        end = found.y_events[0][0]
        return float(found.t_events[0][0]) - 1, float(np.hypot(*end[:2])), float(np.hypot(*end[2:]))

    def speed_for(start: float, end: float) -> float:
        around = math.sqrt(mu / start)
        if end > start:
            return float(optimize.brentq(lambda v: half(start, v)[1] - end, around * 1.001, around * 1.41))
        return float(optimize.brentq(lambda v: half(start, v)[1] - end, around * 0.3, around * 0.999))

    def bend(a: float, b: float) -> float:
        return math.hypot(b * math.cos(tilt) - a, b * math.sin(tilt))

    top = far or outer
    leave = speed_for(inner, top)
    seconds, _, arrive = half(inner, leave)
    burns = [leave - math.sqrt(mu / inner)]
    if far is None:
        burns.append(bend(arrive, math.sqrt(mu / outer)))
    else:
        down = speed_for(far, outer)
        more, _, low = half(far, down)
        seconds += more
        burns += [bend(arrive, down), low - math.sqrt(mu / outer)]
    values: list[Value] = [*burns, seconds / 3600]
    if one["hasTarget"]:
        swept = 360 * seconds / (2 * math.pi * math.sqrt(outer**3 / mu))
        values.append(((180 if far is None else 360) - swept) % 360)
    return values


def rotation(axis: int, degrees: float) -> Any:
    a = math.radians(degrees)
    matrix = np.eye(3)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    matrix[i, i] = matrix[j, j] = math.cos(a)
    matrix[i, j], matrix[j, i] = -math.sin(a), math.sin(a)
    return matrix


def sky_position_time(one: Given) -> list[Value]:
    local = one["sidereal"]
    if one["place"]:
        local += one["place"]["clock"] * 1.0027379 + one["place"]["longitude"] / 15

    def seen(sidereal: float) -> Any:
        """East, north, up."""
        star = rotation(2, 15 * one["ascension"]) @ rotation(1, -one["declination"]) @ np.array([1.0, 0, 0])
        frame = rotation(2, 15 * sidereal) @ rotation(1, -one["latitude"])
        up, east, north = frame @ np.array([1.0, 0, 0]), frame @ np.array([0, 1.0, 0]), frame @ np.array([0, 0, 1.0])
        return np.array([star @ east, star @ north, star @ up])

    east, north, up = seen(local)
    values: list[Value] = [math.degrees(math.asin(up)), math.degrees(math.atan2(east, north)) % 360]
    hours = np.linspace(0, 24, 20001)[:-1]
    above = np.mean([seen(hour)[2] > 0 for hour in hours]) * 24 if one["asked"] == "all" else 0
    count = {"altitude": 1, "both": 2, "all": 3}[one["asked"]]
    return [*values, float(above)][:count]


def great_circle_route(one: Given) -> list[Value]:
    points = [rotation(2, p["longitude"]) @ rotation(1, -p["latitude"]) @ np.array([1.0, 0, 0]) for p in one["places"]]
    angles = [math.atan2(np.linalg.norm(np.cross(a, b)), a @ b) for a, b in itertools.pairwise(points)]
    first, second = points[0], points[1]
    tangent = second - (second @ first) * first
    tangent /= np.linalg.norm(tangent)
    east = np.cross([0, 0, 1.0], first)
    east /= np.linalg.norm(east)
    north = np.cross(first, east)
    values: list[Value] = [one["radius"] * sum(angles), math.degrees(math.atan2(tangent @ east, tangent @ north)) % 360]
    if one["share"] is not None:
        arc = one["share"] * angles[0]
        middle = math.cos(arc) * first + math.sin(arc) * tangent
        values += [math.degrees(math.asin(middle[2])), math.degrees(math.atan2(middle[1], middle[0]))]
    if one["hasTop"]:
        around = np.linspace(0, 2 * math.pi, 40001)
        values.append(math.degrees(math.asin(max(np.cos(around) * first[2] + np.sin(around) * tangent[2]))))
    return values


def quake_location(one: Given) -> list[Value]:
    stations = np.array([[s["x"], s["y"], s["time"]] for s in one["stations"]])

    def fit(kept: Any) -> tuple[float, Any]:
        def misfit(values: Any) -> Any:
            return values[2] + np.hypot(kept[:, 0] - values[0], kept[:, 1] - values[1]) / one["speed"] - kept[:, 2]

        starts = [(x, y, kept[:, 2].min() - 8) for x in (-50, 0, 50) for y in (-50, 0, 50)]
        found = min((optimize.least_squares(misfit, start) for start in starts), key=lambda each: each.cost)
        return float(found.cost), found.x

    if not one["hasWrong"]:
        return [float(value) for value in fit(stations)[1]]
    fits = [fit(np.delete(stations, left, axis=0)) for left in range(len(stations))]
    left = min(range(len(fits)), key=lambda place: fits[place][0])
    return [*[float(value) for value in fits[left][1]], f"S{left + 1}"]


def moist_air_budget(one: Given) -> list[Value]:
    """Metre by metre."""

    def saturation(t: float) -> float:
        return math.exp(17.62 * t / (243.12 + t))

    t = float(one["temperature"])
    dew = float(optimize.brentq(lambda d: saturation(d) - one["humidity"] / 100 * saturation(t), -60, t))
    base = None
    height = one["heights"][0]
    for goal in one["heights"][1:]:
        while height != goal:
            step = 1 if goal > height else -1
            cloudy = step > 0 and t <= dew + 1e-9
            if cloudy and base is None:
                base = height
            t -= step * (one["moist"] if cloudy else one["dry"]) / 1000
            dew = t if cloudy else dew - step * one["dew"] / 1000
            height += step
    assert base is not None
    return [base, t, dew]


def isotope_age_data(one: Given) -> list[Value]:
    n = np.array([sample["parent"] for sample in one["samples"]])
    m = np.array([sample["daughter"] for sample in one["samples"]])

    def line(kept: Any) -> tuple[float, float, float]:
        slope, start = np.polyfit(n[kept], m[kept], 1)
        return float(np.abs(slope * n[kept] + start - m[kept]).max()), float(slope), float(start)

    every = np.arange(len(n))
    lines = {left: line(every[every != left]) for left in (every if one["hasDisturbed"] else [-1])}
    left = min(lines, key=lambda place: lines[place][0])
    _, slope, start = lines[left]
    values: list[Value] = [math.log(1 + slope) / one["decay"] * 1e5, start]
    return [*values, f"M{left + 1}"] if one["hasDisturbed"] else values


SOLVERS: dict[str, Solver] = {
    "equilibrium-composition": equilibrium_composition,
    "enthalpy-combination": enthalpy_combination,
    "cell-and-electrolysis": cell_and_electrolysis,
    "isomer-census": isomer_census,
    "structure-string-facts": structure_string_facts,
    "level-scheme-lines": level_scheme_lines,
    "shifted-tone-inference": shifted_tone_inference,
    "transfer-orbit-plan": transfer_orbit_plan,
    "sky-position-time": sky_position_time,
    "great-circle-route": great_circle_route,
    "quake-location": quake_location,
    "moist-air-budget": moist_air_budget,
    "isotope-age-data": isotope_age_data,
}
