"""Agentic work: the optima on which scores rest, as mixed integer programs or by trying everything."""

import itertools

from forms import Given, Solver, Value, np, optimize


def restock_orders(one: Given) -> list[Value]:
    """Least cost of every item: lots and orders of each day as integers."""
    values: list[Value] = []
    for item in one["items"]:
        demand = np.array(item["demand"])
        days = len(demand)
        arrives = np.array([[float(order + item["lead"] <= day) for order in range(days)] for day in range(days)])
        # Stock after day d: start + lots that have come - demand so far; storage is paid for it.
        past = item["stock"] - np.cumsum(demand)
        most = int(demand.sum() // item["lot"]) + 2
        per_lot = item["price"] + item["storage"] * item["lot"] * arrives.sum(axis=0)
        cost = np.concatenate([per_lot, np.full(days, item["fee"])])
        covered = optimize.LinearConstraint(np.hstack([item["lot"] * arrives, np.zeros((days, days))]), -past, np.inf)
        linked = optimize.LinearConstraint(np.hstack([np.eye(days), -most * np.eye(days)]), -np.inf, 0)
        bounds = optimize.Bounds(0, np.concatenate([np.full(days, most), np.ones(days)]))
        found = optimize.milp(cost, constraints=[covered, linked], bounds=bounds, integrality=np.ones(2 * days))
        values.append(round(float(found.fun + item["storage"] * past.sum())))
    return values


def battery_plan(one: Given) -> list[Value]:
    hours = len(one["hours"])
    prices = np.array([hour["price"] for hour in one["hours"]])
    loads = np.array([hour["load"] for hour in one["hours"]])
    # Variables: units in, units out.
    cost = np.concatenate([prices, -prices + one["wear"]])
    running = np.tril(np.ones((hours, hours)))
    level = optimize.LinearConstraint(np.hstack([running, -running]), -one["start"], one["capacity"] - one["start"])
    last = optimize.LinearConstraint(np.concatenate([np.ones(hours), -np.ones(hours)]), 0, np.inf)
    most_out = np.minimum(one["power"], loads)
    bounds = optimize.Bounds(0, np.concatenate([np.full(hours, one["power"]), most_out]))
    found = optimize.milp(cost, constraints=[level, last], bounds=bounds, integrality=np.ones(2 * hours))
    return [round(float(found.fun + prices @ loads))]


def auction_campaign(one: Given) -> list[Value]:
    gain = np.array([lot["value"] - lot["rival"] - 1 for lot in one["lots"]])
    price = np.array([lot["rival"] + 1 for lot in one["lots"]])
    limit = optimize.LinearConstraint(price, -np.inf, one["budget"])
    found = optimize.milp(-gain, constraints=[limit], bounds=optimize.Bounds(0, 1), integrality=np.ones(len(gain)))
    return [round(float(-found.fun))]


def package_negotiation(one: Given) -> list[Value]:
    best = 0
    for options in itertools.product(*[range(len(issue["own"])) for issue in one["issues"]]):
        chosen = list(zip(one["issues"], options, strict=True))
        if sum(issue["start"] + issue["step"] * option for issue, option in chosen) >= one["floor"]:
            best = max(best, sum(issue["own"][option] for issue, option in chosen))
    return [best]


def trip_dispatch(one: Given) -> list[Value]:
    """Paths of vehicles through trips that can follow each other, as a flow."""
    trips, cars = one["trips"], one["vehicles"]
    arcs: list[tuple[int, int]] = []
    for car, vehicle in enumerate(cars):
        arcs += [(-1 - car, to) for to, trip in enumerate(trips) if abs(vehicle["place"] - trip["from"]) <= trip["start"]]
    for a, first in enumerate(trips):
        free = first["start"] + abs(first["to"] - first["from"])
        for b, second in enumerate(trips):
            if a != b and first["start"] <= second["start"] and free + abs(first["to"] - second["from"]) <= second["start"]:
                arcs.append((a, b))
    gain = np.array([trips[to]["fare"] for _, to in arcs])
    rows, upper = [], []
    for car in range(len(cars)):
        rows.append([float(source == -1 - car) for source, _ in arcs])
        upper.append(1)
    for trip in range(len(trips)):
        rows.append([float(to == trip) for _, to in arcs])
        upper.append(1)
        rows.append([float(source == trip) - float(to == trip) for source, to in arcs])
        upper.append(0)
    limits = optimize.LinearConstraint(np.array(rows), -np.inf, np.array(upper))
    found = optimize.milp(-gain, constraints=[limits], bounds=optimize.Bounds(0, 1), integrality=np.ones(len(arcs)))
    return [round(float(-found.fun))]


def bank_reconciliation(one: Given) -> list[Value]:
    """The greatest number of lines that can be matched."""
    most = max(2, *[len(match) for match in one["matches"]])
    sets: list[tuple[int, tuple[str, ...]]] = []
    for place, line in enumerate(one["lines"]):
        near = [e for e in one["entries"] if line["day"] - 5 <= e["day"] <= line["day"]]
        for size in range(1, most + 1):
            for some in itertools.combinations(near, size):
                if sum(entry["amount"] for entry in some) == line["amount"]:
                    sets.append((place, tuple(entry["id"] for entry in some)))
    rows = [[float(place == own) for own, _ in sets] for place in range(len(one["lines"]))]
    rows += [[float(entry["id"] in some) for _, some in sets] for entry in one["entries"]]
    limits = optimize.LinearConstraint(np.array(rows), -np.inf, 1)
    found = optimize.milp(-np.ones(len(sets)), constraints=[limits], bounds=optimize.Bounds(0, 1), integrality=np.ones(len(sets)))
    return [round(float(-found.fun))]


SOLVERS: dict[str, Solver] = {
    "restock-orders": restock_orders,
    "battery-plan": battery_plan,
    "auction-campaign": auction_campaign,
    "package-negotiation": package_negotiation,
    "trip-dispatch": trip_dispatch,
    "bank-reconciliation": bank_reconciliation,
}
