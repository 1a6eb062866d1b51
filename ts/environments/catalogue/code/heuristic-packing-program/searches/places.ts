/** Search over things in places, where links between near things are cheap: lines and floors. */
import { at } from "../../../lists.ts";
import { dice, slack, sortedBy } from "../geometry.ts";

export type Link = readonly [a: number, b: number, weight: number];

export interface Placing {
  readonly count: number;
  readonly links: readonly Link[];
  /** Coordinates of the places, of which there are at least as many as things. */
  readonly places: readonly (readonly [x: number, y: number])[];
  /** Differences of the indexes of places that are near each other. */
  readonly hops: readonly number[];
}

type Near = readonly (readonly (readonly [other: number, weight: number])[])[];

export function linkCost(links: readonly Link[], where: readonly (readonly [number, number])[]): number {
  return links.reduce((total, [a, b, weight]) => {
    const [[x, y], [u, v]] = [at(where, a), at(where, b)];
    return total + weight * (Math.abs(x - u) + Math.abs(y - v));
  }, 0);
}

/** The place of each thing. */
export function placesFound({ count, links, places, hops }: Placing, steps: number): number[] {
  const near: [number, number][][] = Array.from({ length: count }, () => []);
  for (const [a, b, weight] of links) {
    at(near, a).push([b, weight]);
    at(near, b).push([a, weight]);
  }
  const place = Array.from({ length: count }, () => 0);
  const holds: number[] = places.map(() => -1);
  for (const [index, thing] of waveOf(near).entries()) {
    place[thing] = index;
    holds[index] = thing;
  }
  const before = [...place];
  const total = moveAbout({ near, place, holds, places, hops }, steps);
  return total > 0 ? before : place;
}

/** Breadth first from the things with the fewest links. */
function waveOf(near: Near): number[] {
  const seen = new Set<number>();
  const wave: number[] = [];
  for (const start of sortedBy(near.length, (index) => at(near, index).length)) {
    if (seen.has(start)) continue;
    seen.add(start);
    wave.push(start);
    for (let head = wave.length - 1; head < wave.length; head++)
      for (const [other] of at(near, at(wave, head)))
        if (!seen.has(other)) {
          seen.add(other);
          wave.push(other);
        }
  }
  return wave;
}

interface Moving extends Pick<Placing, "places" | "hops"> {
  readonly near: Near;
  readonly place: number[];
  readonly holds: number[];
}

/** Swaps places, or moves to an empty one; returns by how much the cost has grown. */
function moveAbout({ near, place, holds, places, hops }: Moving, steps: number): number {
  const rnd = dice();
  let grown = 0;
  const change = (thing: number, to: number, other: number): number => {
    const [[x, y], [u, v]] = [at(places, at(place, thing)), at(places, to)];
    let total = 0;
    for (const [next, weight] of at(near, thing)) {
      if (next === other) continue;
      const [p, q] = at(places, at(place, next));
      total += weight * (Math.abs(u - p) + Math.abs(v - q) - Math.abs(x - p) - Math.abs(y - q));
    }
    return total;
  };
  for (let step = 0; step < steps; step++) {
    const thing = rnd(near.length);
    let to = rnd(places.length);
    const links = at(near, thing);
    if (links.length > 0 && rnd(4) > 0) {
      const [next] = at(links, rnd(links.length));
      to = at(place, next) + at(hops, rnd(hops.length));
    }
    const from = at(place, thing);
    if (to < 0 || to >= places.length || to === from) continue;
    const other = at(holds, to);
    const gain = change(thing, to, other) + (other < 0 ? 0 : change(other, from, thing));
    if (gain > slack(step, steps, HEAT)) continue;
    grown += gain;
    place[thing] = to;
    holds[to] = thing;
    holds[from] = other;
    if (other >= 0) place[other] = from;
  }
  return grown;
}

const HEAT = 25;

export const PLACES_PYTHON = `def placed(n, links, places, hops, steps):
    near = [[] for _ in range(n)]
    for a, b, w in links:
        near[a].append((b, w))
        near[b].append((a, w))
    seen, wave = set(), []
    for start in sorted(range(n), key=lambda i: len(near[i])):
        if start in seen:
            continue
        seen.add(start)
        head = len(wave)
        wave.append(start)
        while head < len(wave):
            for j, _ in near[wave[head]]:
                if j not in seen:
                    seen.add(j)
                    wave.append(j)
            head += 1
    place, holds = [0] * n, [-1] * len(places)
    for index, i in enumerate(wave):
        place[i] = index
        holds[index] = i
    before, grown = list(place), 0

    def change(i, to, other):
        x, y = places[place[i]]
        u, v = places[to]
        total = 0
        for j, w in near[i]:
            if j != other:
                p, q = places[place[j]]
                total += w * (abs(u - p) + abs(v - q) - abs(x - p) - abs(y - q))
        return total

    for step in range(steps):
        i = rnd(n)
        to = rnd(len(places))
        links = near[i]
        if links and rnd(4) > 0:
            to = place[links[rnd(len(links))][0]] + hops[rnd(len(hops))]
        a = place[i]
        if to < 0 or to >= len(places) or to == a:
            continue
        j = holds[to]
        gain = change(i, to, j) + (change(j, a, i) if j >= 0 else 0)
        if gain > slack(step, steps, ${HEAT}):
            continue
        grown += gain
        place[i] = to
        holds[to] = i
        holds[a] = j
        if j >= 0:
            place[j] = a
    return before if grown > 0 else place
`;
