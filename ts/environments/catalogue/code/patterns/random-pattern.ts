/** Random patterns, and patterns with one change. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { range } from "../../lists.ts";
import type { Pattern } from "./regular.ts";

/** A pattern with about `size` operators. */
export function drawPattern(size: number, letters: number, rng: Rng): Pattern {
  if (size <= 0) {
    const [first, second] = [rng.integer(letters), rng.integer(letters)];
    return {
      kind: "letters",
      set: first !== second && rng.integer(5) === 0 ? [first, second].toSorted((a, b) => a - b) : [first],
    };
  }
  const kind = rng.integer(7);
  if (kind <= 2) {
    const [from, to] = rng.pick([
      [0, null],
      [0, null],
      [1, null],
      [0, 1],
    ] as const);
    return { kind: "repeat", body: withoutRepeat(drawPattern(size - 1, letters, rng)), from, to };
  }
  const parts = range(between(rng, 2, 3));
  const sizes = parts.map(() => 0);
  for (let left = size - 1; left > 0; left--) {
    const place = rng.integer(sizes.length);
    sizes[place] = (sizes[place] ?? 0) + 1;
  }
  return { kind: kind <= 4 ? "sequence" : "choice", parts: sizes.map((one) => drawPattern(one, letters, rng)) };
}

/** A repeat of a repeat is the outer one, which is easier to read. */
function withoutRepeat(pattern: Pattern): Pattern {
  return pattern.kind === "repeat" ? pattern.body : pattern;
}

/** The pattern with one change at a random place. */
export function changedPattern(pattern: Pattern, letters: number, rng: Rng): Pattern {
  if (pattern.kind === "letters") return { kind: "letters", set: [rng.integer(letters)] };
  if (pattern.kind === "repeat") {
    if (rng.integer(2) === 0) return { ...pattern, body: changedPattern(pattern.body, letters, rng) };
    return { ...pattern, ...(pattern.to === null ? { from: 1 - pattern.from } : { to: null }) };
  }
  const place = rng.integer(pattern.parts.length);
  if (rng.integer(5) === 0) return { ...pattern, parts: [...pattern.parts].reverse() };
  return {
    ...pattern,
    parts: pattern.parts.map((part, index) => (index === place ? changedPattern(part, letters, rng) : part)),
  };
}
