/** Draws of several things at once from a stream of random numbers. */
import type { Rng } from "./rng.ts";

/** A new list with the items in random order, all orders equally likely. */
export function shuffled<Item>(items: Iterable<Item>, rng: Rng): Item[] {
  const list = [...items];
  for (let last = list.length - 1; last > 0; last--) {
    const other = rng.integer(last + 1);
    const [a, b] = [list[last], list[other]];
    if (a !== undefined && b !== undefined) [list[last], list[other]] = [b, a];
  }
  return list;
}

/** A whole number from `low` to `high`, both included. */
export function between(rng: Rng, low: number, high: number): number {
  return low + rng.integer(high - low + 1);
}

/** `count` of the items, or all of them where there are fewer, in random order. */
export function sample<Item>(items: Iterable<Item>, count: number, rng: Rng): Item[] {
  return shuffled(items, rng).slice(0, count);
}

/** The first draw that gives something; null when none of `tries` does. */
export function firstDrawn<Item>(tries: number, draw: () => Item | null): Item | null {
  for (let turn = 0; turn < tries; turn++) {
    const drawn = draw();
    if (drawn !== null) return drawn;
  }
  return null;
}
