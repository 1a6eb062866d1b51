/** Seeds for requests without one: distinct, and equal after every start with the same seed. */

/** Increment and multipliers of SplitMix64 (Steele, Lea, Flood 2014). */
const GAMMA = 0x9e3779b97f4a7c15n;
const MIX_1 = 0xbf58476d1ce4e5b9n;
const MIX_2 = 0x94d049bb133111ebn;
/** A seed travels as a JSON number, so it has 53 bits. */
const SEED_BITS = 53;

export interface SeedSequence {
  /** The next seed, an integer from 0 to 2^53 - 1. */
  next(): number;
}

/** The sequence that belongs to `seed`. */
export function seedSequence(seed: number): SeedSequence {
  let state = BigInt(Math.trunc(seed));
  return {
    next() {
      state = BigInt.asUintN(64, state + GAMMA);
      let mixed = state;
      mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 30n)) * MIX_1);
      mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 27n)) * MIX_2);
      return Number(BigInt.asUintN(SEED_BITS, mixed ^ (mixed >> 31n)));
    },
  };
}
