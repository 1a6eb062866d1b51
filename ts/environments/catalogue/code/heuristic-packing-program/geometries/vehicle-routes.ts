/** Customers on rounds of vehicles that begin at a depot. */
import { between } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { at, range } from "../../../lists.ts";
import { defineGeometry, isEachOnce, sum } from "../geometry.ts";
import { ROUTES_PYTHON, routesFound, stepCost } from "../searches/routes.ts";

interface Rules {
  readonly cap: number;
  readonly most: number;
  readonly price: number;
  /** A vehicle does not come back. */
  readonly isOpen: boolean;
}

type Point = readonly [x: number, y: number, demand: number];

interface Data {
  readonly depot: readonly [number, number];
  readonly customers: readonly Point[];
}

const ANY = 1_000;
const SIDE = 100;

export const vehicleRoutes = defineGeometry<Rules, Data>({
  id: "vehicle-routes",
  rules: (rng, sides) => ({
    cap: between(rng, 60, 120),
    most: sides === 2 ? between(rng, 5, 8) : ANY,
    price: between(rng, 10, 60),
    isOpen: sides > 0 && rng.integer(2) === 0,
  }),
  draw,
  input: ({ depot, customers }) => [[customers.length], depot, ...customers],
  cost(rules, data, plan) {
    const { customers } = data;
    if (!isEachOnce(plan.flat(), customers.length)) return null;
    const isBad = (route: readonly number[]): boolean =>
      route.length > rules.most || sum(route.map((one) => at(customers, one)[2])) > rules.cap;
    return plan.some(isBad) ? null : stepCost({ steps: stepsOf(rules, data), price: rules.price }, plan);
  },
  isThing: () => true,
  plain({ cap, most }, { customers }) {
    const routes: number[][] = [];
    let load = Infinity;
    for (const [index, [, , demand]] of customers.entries()) {
      const last = routes.at(-1);
      if (last !== undefined && load + demand <= cap && last.length < most) last.push(index);
      else {
        routes.push([index]);
        load = 0;
      }
      load += demand;
    }
    return routes;
  },
  search: (rules, data, moves) =>
    routesFound({ ...rules, steps: stepsOf(rules, data), loads: data.customers.map(([, , demand]) => demand) }, moves),
  bound: ({ cap, price }, { customers }) => price * Math.ceil(sum(customers.map(([, , demand]) => demand)) / cap),
  python: {
    constants: ({ cap, most, price, isOpen }) =>
      `CAP, MOST, PRICE, OPEN = ${cap}, ${most}, ${price}, ${isOpen ? "True" : "False"}`,
    plain: `def read():
    n = take()
    return takes(2), [takes(3) for _ in range(n)]


def plain(depot, customers):
    routes, load = [], 0
    for i, (x, y, demand) in enumerate(customers):
        if routes and load + demand <= CAP and len(routes[-1]) < MOST:
            routes[-1].append(i)
            load += demand
        else:
            routes.append([i])
            load = demand
    return [[i + FIRST for i in route] for route in routes]
`,
    search: `${ROUTES_PYTHON}

def search(depot, customers, steps):
    points = [(x, y) for x, y, _ in customers] + [tuple(depot)]
    table = [[abs(x - u) + abs(y - v) for u, v in points] for x, y in points]
    if OPEN:
        for row in table:
            row[-1] = 0
    routes = routed(table, [demand for _, _, demand in customers], CAP, MOST, PRICE, steps)
    return [[i + FIRST for i in route] for route in routes]
`,
  },
  stories: [
    "Vans bring parcels from a depot to customers in a city whose streets form a grid.",
    "Carts empty the bins of a park; its paths run north to south and west to east.",
    "Nurses visit patients in a town of square blocks.",
    "Robots fetch goods from shelves of a hall and move along its two directions.",
  ],
  task: ({ cap, most, price, isOpen }) =>
    `Each customer is on exactly one round. The demands of a round add up to at most ${cap}${most < ANY ? `, and it has at most ${most} customers` : ""}. A round begins at the depot, goes to its customers in the stated order${isOpen ? " and ends at the last one, without a way back" : ", and comes back to the depot"}. The way between two points is |x1 - x2| + |y1 - y2|. The cost is the length of all rounds, and ${price} for each round.`,
  inputText:
    "The first line has the number of customers, the second the x and y of the depot; each further line has the x, y and demand of a customer, in the order of their numbers.",
  outputText: "one line for each round, with the numbers of its customers in their order",
  plainText:
    "it takes the customers in the order of their numbers and begins another round where the next one is not allowed any more",
});

function stepsOf({ isOpen }: Rules, { depot, customers }: Data): number[][] {
  const points = [...customers, depot];
  return points.map(([x, y]) =>
    points.map(([u, v], index) => (isOpen && index === customers.length ? 0 : Math.abs(x - u) + Math.abs(y - v))),
  );
}

function draw(rng: Rng, { cap }: Rules, size: number): Data {
  const centres = range(3 + rng.integer(5)).map(() => [rng.integer(SIDE), rng.integer(SIDE)] as const);
  const near = (centre: number): number => Math.min(SIDE, Math.max(0, centre + between(rng, -12, 12)));
  const customers = range(size).map((): Point => {
    const [x, y] = rng.pick(centres);
    const demand = between(rng, Math.floor(cap / 12), Math.floor(cap / 3));
    return rng.integer(3) === 0 ? [rng.integer(SIDE), rng.integer(SIDE), demand] : [near(x), near(y), demand];
  });
  return { depot: [between(rng, 20, 80), between(rng, 20, 80)], customers };
}
