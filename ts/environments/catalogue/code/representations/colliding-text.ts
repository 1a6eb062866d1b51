/** colliding-text: another text with the same value of a small rolling hash. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { witnessRow } from "../witness-row.ts";

export interface CollisionProblem {
  text: string;
  factor: number;
  modulus: number;
  /** Whether each letter is mixed by exclusive or before the multiplication. */
  mixes: boolean;
  /** Places that must keep their letters. */
  kept: number[];
}

/** By level: letters, modulus, places that are kept. */
const SIZES = [
  [6, [17, 31], 3],
  [6, [64, 101], 2],
  [6, [127, 251], 2],
  [10, [256, 509], 6],
  [12, [509, 1021], 8],
] as const;

export const collidingText = witnessRow<CollisionProblem>({
  id: "colliding-text",
  asks: "another text with the same value of a small hash and with given letters in place",
  form: "list",
  tries: 40,
  make,
  isRight: (problem, items) => {
    const { text, kept } = problem;
    const [other = "", ...more] = items;
    if (more.length > 0 || other.length !== text.length || !/^[a-z]+$/u.test(other) || other === text) return false;
    return kept.every((place) => other[place] === text[place]) && hashOf(problem, other) === hashOf(problem, text);
  },
  prompts: [
    (one) =>
      `${collisionSource(one)}\n\nFind another word of ${one.text.length} lower-case letters a to z with the same h as "${one.text}".${keeping(one)} Write the word alone.`,
    (one) =>
      `Collide with h("${one.text}"):\n\n${collisionSource(one)}\n\nThe other text also has ${one.text.length} letters from a to z.${keeping(one)} Answer with it.`,
    (one) =>
      `A table uses this hash (Python):\n\n${collisionSource(one)}\n\nWhich key other than "${one.text}", as long and in small letters, falls on the same value?${keeping(one)} One such key is enough.`,
    (one) =>
      `Second preimage wanted for "${one.text}" (lower-case letters, equal length, not the same word).${keeping(one)}\n\n${collisionSource(one)}\n\nGive the word.`,
  ],
});

export function collisionSource({ factor, modulus, mixes }: CollisionProblem): string {
  const step = mixes
    ? `v = ((v ^ (ord(c) - 96)) * ${factor}) % ${modulus}`
    : `v = (v * ${factor} + ord(c) - 96) % ${modulus}`;
  return `def h(text):\n    v = 0\n    for c in text:\n        ${step}\n    return v`;
}

function keeping({ text, kept }: CollisionProblem): string {
  if (kept.length === 0) return "";
  const shown = text.split("").map((letter, place) => (kept.includes(place) ? letter : "_"));
  return ` It must have the form ${shown.join("")}, where _ is any letter.`;
}

function make(rng: Rng, level: Level) {
  const [length, moduli, keeps] = at(SIZES, level - 1);
  const word = (): string =>
    range(length)
      .map(() => String.fromCodePoint(97 + rng.integer(26)))
      .join("");
  const first = between(rng, 0, length - keeps);
  const base: CollisionProblem = {
    text: word(),
    factor: 2 * between(rng, 2, 15) + 1,
    modulus: rng.pick(moduli),
    mixes: rng.integer(2) === 0,
    kept: range(length).filter((place) => place < first || place >= first + length - keeps),
  };
  const open = range(length).filter((place) => !base.kept.includes(place));
  const target = hashOf(base, base.text);
  let tried = 0;
  for (const turn of range(6 * base.modulus)) {
    tried = turn + 1;
    const other = base.text.split("");
    for (const place of open) other[place] = String.fromCodePoint(97 + rng.integer(26));
    const witness = other.join("");
    if (witness === base.text || hashOf(base, witness) !== target) continue;
    const swapped = `${base.text.charAt(1)}${base.text.charAt(0)}${base.text.slice(2)}`;
    return {
      problem: base,
      witness: [witness],
      misses: [[base.text], [swapped], [word()], [`${witness}a`]],
      effort: base.modulus * length + Math.min(tried, 5),
    };
  }
  return null;
}

function hashOf({ factor, modulus, mixes }: CollisionProblem, text: string): number {
  let v = 0;
  for (let place = 0; place < text.length; place++) {
    const code = text.charCodeAt(place) - 96;
    v = mixes ? ((v ^ code) * factor) % modulus : (v * factor + code) % modulus;
  }
  return v;
}
