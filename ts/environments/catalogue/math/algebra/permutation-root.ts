/** permutation-root: a permutation whose power is given; it is applied again and again. */
import { shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";
import { cyclesText, imagesText, permutationFrom, powerOf } from "./permutations.ts";

interface Problem {
  power: number[];
  exponent: number;
}

/** By level: points, exponents. */
const SIZES = [
  [6, [2]],
  [9, [2, 3]],
  [13, [3, 4]],
  [18, [4, 6]],
  [26, [6, 8, 10]],
] as const;

export const permutationRoot = certificateRow<Problem>({
  id: "permutation-root",
  asks: "a permutation whose given power is a given permutation",
  draw(rng, level) {
    const [size, exponents] = at(SIZES, level - 1);
    const root = shuffled(range(size), rng);
    const exponent = rng.pick<number>(exponents);
    const power = powerOf(root, exponent);
    if (power.filter((image, place) => image !== place).length < size / 2) return null;
    // The inverse of a power is easy where it is a root itself.
    if (powerOf(power, exponent).every((image, place) => image === power[place])) return null;
    return { problem: { power, exponent }, certificate: imagesText(root), steps: size * exponent };
  },
  proves({ power, exponent }, answer) {
    const root = permutationFrom(integersIn(answer), power.length);
    return root !== null && powerOf(root, exponent).every((image, place) => image === power[place]);
  },
  prompts: [
    (one) =>
      `Find a permutation s of {1, ..., ${one.power.length}} with s^${one.exponent} = ${cyclesText(one.power)}. ${FORMAT}`,
    (one) =>
      `A shuffle of ${one.power.length} cards, done ${one.exponent} times in a row, moves the card in place i to place t(i), where t(1), t(2), ... is ${imagesText(one.power)}. What may one shuffle do? ${FORMAT}`,
    (one) =>
      `Extract a root: which permutation, composed with itself until it occurs ${one.exponent} times, gives the map with the images ${imagesText(one.power)} of 1, 2, 3, ...? ${FORMAT}`,
    (one) =>
      `${FORMAT} It permutes the numbers up to ${one.power.length}, and applying it ${one.exponent} times has the same effect as applying ${cyclesText(one.power)} once.`,
  ],
  slips({ power, exponent }, certificate) {
    const images = certificate.split(", ");
    return [
      imagesText(power),
      imagesText(powerOf(power, exponent)),
      imagesText(range(power.length)),
      images.with(0, at(images, 1)).with(1, at(images, 0)).join(", "),
      images.slice(1).join(", "),
    ];
  },
  variants: (_, certificate) => [`[${certificate}]`],
});

const FORMAT = "Answer with the images of 1, 2, 3, ... in this order, separated by commas.";
