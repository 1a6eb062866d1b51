/** Which sites to open, so that sites and ways of clients are cheap. */
import { between } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { at, range } from "../../../lists.ts";
import { defineGeometry, dice, slack, sortedBy, sum } from "../geometry.ts";

interface Rules {
  /** Most open sites. */
  readonly most: number;
  /** What a unit of way costs, and the range of rents. */
  readonly way: number;
  readonly rents: readonly [number, number];
  readonly heaviest: number;
}

interface Data {
  readonly sites: readonly (readonly [x: number, y: number, rent: number])[];
  readonly clients: readonly (readonly [x: number, y: number, trips: number])[];
}

const ANY = 1_000;
const SIDE = 100;
/** Steps of other searches for one of this, which looks at all clients. */
const STEPS_OF_MOVE = 60;
const HEAT = 5;

export const siteOpening = defineGeometry<Rules, Data>({
  id: "site-opening",
  rules: (rng, sides) => ({
    most: sides === 2 ? between(rng, 6, 12) : ANY,
    way: between(rng, 1, 4),
    rents: [between(rng, 100, 200), between(rng, 300, 500)],
    heaviest: sides === 0 ? 1 : between(rng, 2, 5),
  }),
  draw,
  input: ({ sites, clients }) => [[sites.length, clients.length], ...sites, ...clients],
  cost(rules, { sites, clients }, plan) {
    const used = plan.flat();
    if (used.length !== clients.length || used.some((site) => sites[site] === undefined)) return null;
    const open = [...new Set(used)];
    if (open.length > rules.most) return null;
    const table = tableOf(rules, { sites, clients });
    return sum(open.map((site) => at(sites, site)[2])) + sum(used.map((site, client) => at(at(table, site), client)));
  },
  isThing: () => true,
  plain(rules, data) {
    const table = tableOf(rules, data);
    const all = [...data.sites.keys()];
    const [best = 0] = sortedBy(all.length, (site) => costOf(data, table, [site]));
    const isEvery = all.length <= rules.most && costOf(data, table, all) <= costOf(data, table, [best]);
    return usedOf(data, table, isEvery ? all : [best]);
  },
  search,
  bound: (rules, data) => {
    const table = tableOf(rules, data);
    return (
      Math.min(...data.sites.map(([, , rent]) => rent)) +
      sum(data.clients.map((_, client) => Math.min(...table.map((row) => at(row, client)))))
    );
  },
  python: {
    constants: ({ most, way }) => `MOST, WAY = ${most}, ${way}`,
    plain: `def read():
    m, n = take(), take()
    sites = [takes(3) for _ in range(m)]
    clients = [takes(3) for _ in range(n)]
    table = [[WAY * c[2] * (abs(s[0] - c[0]) + abs(s[1] - c[1])) for c in clients] for s in sites]
    return [s[2] for s in sites], table


def cost(rents, table, some):
    return sum(rents[s] for s in some) + sum(map(min, zip(*[table[s] for s in some])))


def used(table, some):
    return [[min(some, key=lambda s: table[s][c]) + FIRST for c in range(len(table[0]))]]


def plain(rents, table):
    every = list(range(len(rents)))
    best = min(every, key=lambda s: cost(rents, table, [s]))
    if len(every) <= MOST and cost(rents, table, every) <= cost(rents, table, [best]):
        return used(table, every)
    return used(table, [best])
`,
    search: `def search(rents, table, steps):
    m = len(rents)
    some = []
    best = None
    while len(some) < MOST:
        now = [min(column) for column in zip(*[table[s] for s in some])]
        found, chosen = best, None
        for s in range(m):
            if s not in some:
                row = map(min, now, table[s]) if some else table[s]
                total = sum(rents[o] for o in some) + rents[s] + sum(row)
                if found is None or total < found:
                    found, chosen = total, s
        if chosen is None:
            break
        some.append(chosen)
        best = found
    moves = steps // ${STEPS_OF_MOVE}
    before, first, total = list(some), best, best
    for move in range(moves):
        other, kind, s = list(some), rnd(3), rnd(m)
        if kind != 1 and len(other) > 0:
            other.pop(rnd(len(other)))
        if kind != 0 and s not in other:
            other.append(s)
        if not other or len(other) > MOST:
            continue
        price = cost(rents, table, other)
        if price - total <= slack(move, moves, ${HEAT}):
            some, total = other, price
    return used(table, sorted(before if total > first else some))
`,
  },
  stories: [
    "A library opens branches in a town, and every reader goes to one of them.",
    "Charging stations are rented for a fleet; every car has one where it charges.",
    "A firm rents depots, and each customer is served from one of them.",
    "Wells are dug for the huts of a valley. Each hut fetches its water from one well.",
  ],
  task: ({ most, way, heaviest }) =>
    `Each client uses one site. A site that some client uses is open, and its rent is paid once${most < ANY ? `; at most ${most} sites are open` : ""}. The way between two points is |x1 - x2| + |y1 - y2|, and a client pays ${way} times its way${heaviest > 1 ? " times its trips" : " (all have one trip)"}. The cost is the sum of the rents of open sites and of what the clients pay.`,
  inputText:
    "The first line has the number of sites and the number of clients; then a line for each site with its x, y and rent, and one for each client with its x, y and trips, both in the order of their numbers.",
  outputText: "one line with the site of each client, in the order of the clients",
  plainText:
    "it opens every site, if that is allowed and costs less than the best single site, or else that one, and sends each client to the nearest open site",
});

function tableOf({ way }: Rules, { sites, clients }: Data): number[][] {
  return sites.map(([x, y]) => clients.map(([u, v, trips]) => way * trips * (Math.abs(x - u) + Math.abs(y - v))));
}

function costOf({ sites, clients }: Data, table: readonly (readonly number[])[], some: readonly number[]): number {
  let total = 0;
  for (const site of some) total += at(sites, site)[2];
  const rows = some.map((site) => at(table, site));
  for (let client = 0; client < clients.length; client++) {
    let least = Infinity;
    for (const row of rows) least = Math.min(least, row[client] ?? Infinity);
    total += least;
  }
  return total;
}

/** The nearest open site of each client, of equally near ones the first. */
function usedOf({ clients }: Data, table: readonly (readonly number[])[], some: readonly number[]): number[][] {
  return [
    clients.map((_, client) =>
      some.reduce((best, site) => (at(at(table, site), client) < at(at(table, best), client) ? site : best)),
    ),
  ];
}

/** Opens one site after another while that helps, then opens, closes and swaps. */
function search(rules: Rules, data: Data, steps: number): number[][] {
  const [table, count] = [tableOf(rules, data), data.sites.length];
  let some: number[] = [];
  let total = Infinity;
  while (some.length < rules.most) {
    let [found, chosen] = [total, -1];
    for (let site = 0; site < count; site++) {
      if (some.includes(site)) continue;
      const price = costOf(data, table, [...some, site]);
      if (price < found) [found, chosen] = [price, site];
    }
    if (chosen < 0) break;
    some.push(chosen);
    total = found;
  }
  const [before, first, rnd, moves] = [some, total, dice(), Math.floor(steps / STEPS_OF_MOVE)];
  for (let move = 0; move < moves; move++) {
    const [other, kind, site] = [[...some], rnd(3), rnd(count)];
    if (kind !== 1 && other.length > 0) other.splice(rnd(other.length), 1);
    if (kind !== 0 && !other.includes(site)) other.push(site);
    if (other.length === 0 || other.length > rules.most) continue;
    const price = costOf(data, table, other);
    if (price - total <= slack(move, moves, HEAT)) [some, total] = [other, price];
  }
  return usedOf(
    data,
    table,
    (total > first ? before : some).toSorted((a, b) => a - b),
  );
}

function draw(rng: Rng, { rents: [low, high], heaviest }: Rules, size: number): Data {
  const point = (): [number, number] => [rng.integer(SIDE), rng.integer(SIDE)];
  const sites = range(Math.min(60, 4 + Math.floor(size / 5))).map(() => [...point(), between(rng, low, high)] as const);
  return { sites, clients: range(size).map(() => [...point(), between(rng, 1, heaviest)] as const) };
}
