/** Draws from a list without changing its order. */
import type { Rng } from "../../../random/rng.ts";

/** At most `count` of them, in their order, all equally likely. */
export function someOf<Item>(items: readonly Item[], count: number, rng: Rng): Item[] {
  let left = Math.min(count, items.length);
  return items.filter((_, at) => {
    if (rng.next() * (items.length - at) >= left) return false;
    left -= 1;
    return true;
  });
}
