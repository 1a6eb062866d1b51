/** Permutations of 0 to n - 1 as lists of images; texts count from 1. */
import { at, range } from "../../lists.ts";

export type Permutation = readonly number[];

/** First `b`, then `a`. */
export function compose(a: Permutation, b: Permutation): number[] {
  return b.map((image) => at(a, image));
}

export function inverseOf(a: Permutation): number[] {
  const inverse = a.map(() => 0);
  for (const [place, image] of a.entries()) inverse[image] = place;
  return inverse;
}

export function powerOf(a: Permutation, exponent: number): number[] {
  let result = range(a.length);
  for (const _ of range(exponent)) result = compose(a, result);
  return result;
}

/** `(1 3 2)(4 5)`; `()` for the identity. */
export function cyclesText(a: Permutation): string {
  const seen = new Set<number>();
  const cycles = range(a.length).flatMap((start) => {
    const cycle: number[] = [];
    for (let place = start; !seen.has(place); place = at(a, place)) {
      seen.add(place);
      cycle.push(place + 1);
    }
    return cycle.length > 1 ? [`(${cycle.join(" ")})`] : [];
  });
  return cycles.length === 0 ? "()" : cycles.join("");
}

export function imagesText(a: Permutation): string {
  return a.map((image) => image + 1).join(", ");
}

/** Null where the numbers, which count from 1, are no permutation of this size. */
export function permutationFrom(images: readonly number[] | null, size: number): number[] | null {
  if (images?.length !== size || new Set(images).size < size) return null;
  return images.every((image) => image >= 1 && image <= size) ? images.map((image) => image - 1) : null;
}
