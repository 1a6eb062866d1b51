/** Search over things in groups, where what a group costs depends on its load: bins and bars. */
import { at } from "../../../lists.ts";
import { dice, slack, sortedBy } from "../geometry.ts";

export interface Grouping {
  readonly sizes: readonly number[];
  /** Pairs that may not share a group. */
  readonly pairs: readonly (readonly [number, number])[];
  /** Most things of a group. */
  readonly most: number;
  /** What a group with this load costs; no load is larger than the last. */
  readonly prices: readonly number[];
  /** How much a price counts beside the squares of the loads, which make full groups fuller. */
  readonly weight: number;
}

/** Groups as lists of things. */
export function groupsFound({ sizes, pairs, most, prices, weight }: Grouping, steps: number): number[][] {
  const count = sizes.length;
  const cap = prices.length - 1;
  const near = sizes.map(() => new Set<number>());
  for (const [a, b] of pairs) {
    at(near, a).add(b);
    at(near, b).add(a);
  }
  const groups: number[][] = [];
  const loads: number[] = [];
  for (const thing of sortedBy(count, (index) => -at(sizes, index))) {
    const isFree = (group: readonly number[], index: number): boolean =>
      at(loads, index) + at(sizes, thing) <= cap &&
      group.length < most &&
      !group.some((other) => at(near, thing).has(other));
    const found = groups.findIndex(isFree);
    const place = found < 0 ? groups.length : found;
    if (found < 0) {
      groups.push([]);
      loads.push(0);
    }
    groups[place]?.push(thing);
    loads[place] = at(loads, place) + at(sizes, thing);
  }
  const paid = (some: readonly number[]): number => some.reduce((total, load) => total + at(prices, load), 0);
  const before = paid(loads);
  const group = Array.from({ length: count }, () => 0);
  for (const [index, things] of groups.entries()) for (const thing of things) group[thing] = index;
  moveAbout(
    { sizes, near, most, cap, group, loads },
    prices.map((price, load) => price * weight - load * load),
    steps,
  );
  if (paid(loads) > before) return groups.map((things) => things.toSorted((a, b) => a - b));
  return groups
    .map((_, index) => [...group.keys()].filter((thing) => group[thing] === index))
    .filter((one) => one.length > 0);
}

interface Moving {
  readonly sizes: readonly number[];
  readonly near: readonly ReadonlySet<number>[];
  readonly most: number;
  readonly cap: number;
  readonly group: number[];
  readonly loads: number[];
}

/** Moves one thing, or swaps two, where the guide does not become much worse. */
function moveAbout({ sizes, near, most, cap, group, loads }: Moving, guide: readonly number[], steps: number): void {
  const [count, many, rnd] = [sizes.length, loads.length, dice()];
  const counts = loads.map((_, index) => group.filter((one) => one === index).length);
  const clash = sizes.map((_, thing) => {
    const row = loads.map(() => 0);
    for (const other of at(near, thing)) row[at(group, other)] = at(row, at(group, other)) + 1;
    return row;
  });
  const move = (thing: number, from: number, to: number): void => {
    group[thing] = to;
    loads[from] = at(loads, from) - at(sizes, thing);
    loads[to] = at(loads, to) + at(sizes, thing);
    counts[from] = at(counts, from) - 1;
    counts[to] = at(counts, to) + 1;
    for (const other of at(near, thing)) {
      const row = at(clash, other);
      row[from] = at(row, from) - 1;
      row[to] = at(row, to) + 1;
    }
  };
  const change = (from: number, to: number, less: number, more: number): number =>
    at(guide, less) + at(guide, more) - at(guide, at(loads, from)) - at(guide, at(loads, to));
  for (let step = 0; step < steps; step++) {
    const thing = rnd(count);
    const from = at(group, thing);
    if (rnd(2) === 0) {
      const to = rnd(many);
      if (to === from || at(at(clash, thing), to) > 0 || at(counts, to) >= most) continue;
      const [less, more] = [at(loads, from) - at(sizes, thing), at(loads, to) + at(sizes, thing)];
      if (more <= cap && change(from, to, less, more) <= slack(step, steps, cap)) move(thing, from, to);
    } else {
      const other = rnd(count);
      const to = at(group, other);
      if (to === from) continue;
      const gain = at(sizes, other) - at(sizes, thing);
      const [less, more] = [at(loads, from) + gain, at(loads, to) - gain];
      if (less > cap || more > cap) continue;
      const own = at(near, thing).has(other) ? 1 : 0;
      if (at(at(clash, thing), to) > own || at(at(clash, other), from) > own) continue;
      if (change(from, to, less, more) > slack(step, steps, cap)) continue;
      move(thing, from, to);
      move(other, to, from);
    }
  }
}

export const GROUPS_PYTHON = `def grouped(sizes, pairs, most, prices, weight, steps):
    n, cap = len(sizes), len(prices) - 1
    near = [set() for _ in sizes]
    for a, b in pairs:
        near[a].add(b)
        near[b].add(a)
    groups, loads = [], []
    for i in sorted(range(n), key=lambda i: -sizes[i]):
        for g in range(len(groups)):
            if loads[g] + sizes[i] <= cap and len(groups[g]) < most and near[i].isdisjoint(groups[g]):
                break
        else:
            g = len(groups)
            groups.append([])
            loads.append(0)
        groups[g].append(i)
        loads[g] += sizes[i]
    before = sum(prices[load] for load in loads)
    group = [0] * n
    for g, things in enumerate(groups):
        for i in things:
            group[i] = g
    guide = [price * weight - load * load for load, price in enumerate(prices)]
    counts = [len(things) for things in groups]
    clash = [[0] * len(groups) for _ in sizes]
    for i in range(n):
        for j in near[i]:
            clash[i][group[j]] += 1

    def move(i, a, b):
        group[i] = b
        loads[a] -= sizes[i]
        loads[b] += sizes[i]
        counts[a] -= 1
        counts[b] += 1
        for j in near[i]:
            clash[j][a] -= 1
            clash[j][b] += 1

    for step in range(steps):
        i = rnd(n)
        a = group[i]
        if rnd(2) == 0:
            b = rnd(len(groups))
            if b == a or clash[i][b] or counts[b] >= most:
                continue
            u, v = loads[a] - sizes[i], loads[b] + sizes[i]
            if v <= cap and guide[u] + guide[v] - guide[loads[a]] - guide[loads[b]] <= slack(step, steps, cap):
                move(i, a, b)
        else:
            j = rnd(n)
            b = group[j]
            if b == a:
                continue
            d = sizes[j] - sizes[i]
            u, v = loads[a] + d, loads[b] - d
            if u > cap or v > cap:
                continue
            own = 1 if j in near[i] else 0
            if clash[i][b] > own or clash[j][a] > own:
                continue
            if guide[u] + guide[v] - guide[loads[a]] - guide[loads[b]] > slack(step, steps, cap):
                continue
            move(i, a, b)
            move(j, b, a)
    if sum(prices[load] for load in loads) > before:
        return [sorted(things) for things in groups]
    after = [[] for _ in groups]
    for i in range(n):
        after[group[i]].append(i)
    return [things for things in after if things]
`;
