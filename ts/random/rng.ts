/**
 * Seeded pseudo-random numbers for generating tasks and demonstrations: sfc32 (Chris Doty-Humphrey, PractRand), 128
 * bits of state.
 *
 * The stream depends on the seed alone and is part of what a seed reproduces. Not for secrets.
 */

export interface Rng {
  /** Uniform in [0, 1), 32 bits of it. */
  next(): number;
  /** Uniform integer in [0, bound); `bound` a positive integer up to 2^32. */
  integer(bound: number): number;
  /** One of the items (a string counts as its UTF-16 units), all equally likely; there must be at least one. */
  pick(items: string): string;
  pick<Item>(items: readonly Item[]): Item;
}

const UINT32 = 2 ** 32;

/** Rounds after seeding, until every bit of the state depends on every bit of the seed. */
const WARM_UP = 15;

/** @param seed a non-negative integer below 2^53, as `seed()` gives. */
export function createRng(seed: number): Rng {
  let a = seed | 0;
  let b = Math.floor(seed / UINT32) | 0;
  let c = 0x9e3779b9 | 0;
  let counter = 1;

  const uint32 = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return sum >>> 0;
  };
  for (let i = 0; i < WARM_UP; i += 1) uint32();

  const integer = (bound: number): number => Math.floor((uint32() / UINT32) * bound);
  function pick<Item>(items: readonly Item[] | string): Item | string {
    const item = items[integer(items.length)];
    if (item === undefined) throw new RangeError("rng.pick: there is nothing to pick from");
    return item;
  }
  return { next: () => uint32() / UINT32, integer, pick };
}
