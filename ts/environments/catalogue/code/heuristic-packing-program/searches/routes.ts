/** Search over things in sequences, where each step from one to the next has a cost: rounds of vehicles, lines of machines. */
import { at } from "../../../lists.ts";
import { dice, type Dice, slack, sortedBy } from "../geometry.ts";

export interface Routing {
  /** Of each thing, and of a sequence's begin and end, which come last: what the step to each of these costs. */
  readonly steps: readonly (readonly number[])[];
  readonly loads: readonly number[];
  /** Most load and most things of a sequence. */
  readonly cap: number;
  readonly most: number;
  /** What a sequence costs. */
  readonly price: number;
}

/** Sequences that things are put behind, and the longest piece that moves. */
const NEAR = 8;
const LONGEST = 3;

export function stepCost(
  { steps, price }: Pick<Routing, "steps" | "price">,
  routes: readonly (readonly number[])[],
): number {
  const edge = steps.length - 1;
  return routes.reduce((total, route) => {
    const whole = [edge, ...route, edge];
    return (
      total +
      price +
      route.reduce(
        (some, _, index) => some + at(at(steps, at(whole, index)), at(whole, index + 1)),
        at(at(steps, at(whole, route.length)), edge),
      )
    );
  }, 0);
}

export function routesFound(routing: Routing, moves: number): number[][] {
  const before = nearestFirst(routing);
  const after = moveAbout(routing, before, moves);
  return stepCost(routing, after) > stepCost(routing, before) ? before : after;
}

/** From each thing to the nearest one for which there is room. */
function nearestFirst({ steps, loads, cap, most }: Routing): number[][] {
  const left = new Set(loads.keys());
  const routes: number[][] = [];
  while (left.size > 0) {
    const route: number[] = [];
    let [here, load] = [loads.length, 0];
    for (;;) {
      let best = -1;
      for (const thing of left) {
        if (load + at(loads, thing) > cap) continue;
        if (best < 0 || at(at(steps, here), thing) < at(at(steps, here), best)) best = thing;
      }
      if (best < 0 || route.length >= most) break;
      route.push(best);
      left.delete(best);
      load += at(loads, best);
      here = best;
    }
    routes.push(route);
  }
  return routes;
}

/** Moves pieces of sequences behind near things, or to the begin of a sequence. Each sequence is a ring through a mark. */
function moveAbout(routing: Routing, before: readonly (readonly number[])[], moves: number): number[][] {
  const { steps, loads, cap, most, price } = routing;
  const [count, rnd] = [loads.length, dice()];
  const { next, last, route } = ringsOf(before, count);
  const used = before.map((things) => things.reduce((total, thing) => total + at(loads, thing), 0));
  const sizes = before.map((things) => things.length);
  const near = loads.map((_, thing) => {
    const order = sortedBy(count, (other) => at(at(steps, other), thing));
    return order.filter((other) => other !== thing).slice(0, NEAR);
  });
  const step = (a: number, b: number): number => at(at(steps, Math.min(a, count)), Math.min(b, count));
  for (let move = 0; move < moves; move++) {
    const head = rnd(count);
    const piece = pieceFrom(head, { next, count, rnd });
    const to =
      rnd(8) === 0 || near[head]?.length === 0
        ? count + rnd(before.length)
        : at(at(near, head), rnd(at(near, head).length));
    const tail = at(piece, piece.length - 1);
    const [left, right, behind] = [at(last, head), at(next, tail), at(next, to)];
    if (to === left || piece.includes(to)) continue;
    const [from, into] = [at(route, head), at(route, to)];
    const load = piece.reduce((total, thing) => total + at(loads, thing), 0);
    if (into !== from && (at(used, into) + load > cap || at(sizes, into) + piece.length > most)) continue;
    const paid = (behind === to ? price : 0) - (left === right ? price : 0);
    const gain =
      step(left, right) -
      step(left, head) -
      step(tail, right) +
      step(to, head) +
      step(tail, behind) -
      step(to, behind) +
      paid;
    if (gain > slack(move, moves, HEAT)) continue;
    [next[left], last[right]] = [right, left];
    [next[to], last[head], next[tail], last[behind]] = [head, to, behind, tail];
    for (const thing of piece) route[thing] = into;
    used[from] = at(used, from) - load;
    used[into] = at(used, into) + load;
    sizes[from] = at(sizes, from) - piece.length;
    sizes[into] = at(sizes, into) + piece.length;
  }
  const after = before.map((_, index) => {
    const things: number[] = [];
    for (let thing = at(next, count + index); thing < count; thing = at(next, thing)) things.push(thing);
    return things;
  });
  return after.filter((things) => things.length > 0);
}

/** Up to three things from this one on. */
function pieceFrom(
  head: number,
  { next, count, rnd }: { next: readonly number[]; count: number; rnd: Dice },
): number[] {
  const piece = [head];
  for (let more = rnd(LONGEST); more > 0 && at(next, at(piece, piece.length - 1)) < count; more--)
    piece.push(at(next, at(piece, piece.length - 1)));
  return piece;
}

function ringsOf(
  routes: readonly (readonly number[])[],
  count: number,
): { next: number[]; last: number[]; route: number[] } {
  const blank = (): number[] => Array.from({ length: count + routes.length }, () => 0);
  const [next, last, route] = [blank(), blank(), blank()];
  for (const [index, things] of routes.entries()) {
    const ring = [count + index, ...things];
    for (const [place, thing] of ring.entries()) {
      const after = at(ring, (place + 1) % ring.length);
      next[thing] = after;
      last[after] = thing;
      route[thing] = index;
    }
  }
  return { next, last, route };
}

const HEAT = 6;

export const ROUTES_PYTHON = `def routed(steps, loads, cap, most, price, moves):
    n = len(loads)
    left, before = list(range(n)), []
    while left:
        route, here, load = [], n, 0
        while len(route) < most:
            row = steps[here]
            fit = [i for i in left if load + loads[i] <= cap]
            if not fit:
                break
            here = min(fit, key=row.__getitem__)
            route.append(here)
            left.remove(here)
            load += loads[here]
        before.append(route)
    k = len(before)
    nxt, prv, where = [0] * (n + k), [0] * (n + k), [0] * (n + k)
    for r, route in enumerate(before):
        ring = [n + r] + route
        for at, i in enumerate(ring):
            after = ring[(at + 1) % len(ring)]
            nxt[i], prv[after], where[i] = after, i, r
    used = [sum(loads[i] for i in route) for route in before]
    sizes = [len(route) for route in before]
    near = []
    for i in range(n):
        column = [steps[j][i] for j in range(n)]
        near.append([j for j in sorted(range(n), key=column.__getitem__)[:${NEAR + 1}] if j != i][:${NEAR}])

    def cost(routes):
        total = price * len(routes)
        for route in routes:
            whole = [n] + route + [n]
            total += sum(steps[a][b] for a, b in zip(whole, whole[1:]))
        return total

    def step(a, b):
        return steps[a if a < n else n][b if b < n else n]

    for move in range(moves):
        i = rnd(n)
        piece, more = [i], rnd(${LONGEST})
        while more > 0 and nxt[piece[-1]] < n:
            piece.append(nxt[piece[-1]])
            more -= 1
        if rnd(8) == 0 or not near[i]:
            to = n + rnd(k)
        else:
            to = near[i][rnd(len(near[i]))]
        e = piece[-1]
        p, q, b = prv[i], nxt[e], nxt[to]
        if to == p or to in piece:
            continue
        a, c = where[i], where[to]
        load = sum(loads[x] for x in piece)
        if a != c and (used[c] + load > cap or sizes[c] + len(piece) > most):
            continue
        gain = step(p, q) - step(p, i) - step(e, q) + step(to, i) + step(e, b) - step(to, b)
        gain += (price if b == to else 0) - (price if p == q else 0)
        if gain > slack(move, moves, ${HEAT}):
            continue
        nxt[p], prv[q] = q, p
        nxt[to], prv[i], nxt[e], prv[b] = i, to, b, e
        for x in piece:
            where[x] = c
        used[a] -= load
        used[c] += load
        sizes[a] -= len(piece)
        sizes[c] += len(piece)
    after = []
    for r in range(k):
        route, i = [], nxt[n + r]
        while i < n:
            route.append(i)
            i = nxt[i]
        if route:
            after.append(route)
    return before if cost(after) > cost(before) else after
`;
