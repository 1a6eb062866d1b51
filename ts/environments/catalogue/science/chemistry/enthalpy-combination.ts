/** enthalpy-combination: the enthalpy of a reaction from those of others, with the multipliers (Hess). */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { ratio, reduced, solveLinear, textOf } from "../../math/rational.ts";
import type { Level } from "../../row.ts";

/** Numbers of each substance: negative before the arrow, positive behind it. */
type Reaction = number[];

interface Given {
  substances: string[];
  reactions: Reaction[];
  /** In kJ. */
  enthalpies: number[];
  target: Reaction;
}

/** By level: known reactions, substances. */
const KNOBS = [
  [2, 4],
  [3, 5],
  [4, 6],
  [5, 8],
  [7, 10],
] as const;
const LETTERS = "ABDEGJLMQRTXZ".split("");
const MOST_COEFFICIENT = 12;

export const enthalpyCombination = fieldRow<Given>({
  id: "enthalpy-combination",
  asks: "the enthalpy of a reaction as a combination of others, with every multiplier",
  draw,
  solve,
  values: ({ reactions }) =>
    `m1 to m${reactions.length} are the factors of the reactions R1 to R${reactions.length}, negative where one is reversed and 0 where it is not needed, and H is the enthalpy of the target in kJ; all are exact numbers`,
  wordings: [
    (one) =>
      `Reactions between substances with letters for names, and their enthalpies:\n${list(one)}\nCombine them to ${equation(one, one.target)}: which multiple of each is needed, and what is the enthalpy of this reaction as written?`,
    (one) =>
      `Target: ${equation(one, one.target)}. Known:\n${list(one)}\nWrite the target as a sum of multiples of these equations, and add their enthalpies in the same way.`,
    (one) =>
      `By the law of Hess find the enthalpy of ${equation(one, one.target)} from\n${list(one)}\nand say how often each equation enters (backwards counts as negative).`,
    (one) =>
      `A calorimeter gave\n${list(one)}\nNobody can measure ${equation(one, one.target)} directly. Get its enthalpy from the others, with the multipliers that make every other substance cancel.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, kinds] = at(KNOBS, level - 1);
  const substances = shuffled(LETTERS, rng).slice(0, kinds);
  const reactions = range(count).map((): Reaction => {
    const used = sample(range(kinds), between(rng, 3, 4), rng);
    const left = between(rng, 1, used.length - 1);
    return substances.map((_, substance) => {
      const place = used.indexOf(substance);
      return place < 0 ? 0 : (place < left ? -1 : 1) * between(rng, 1, 3);
    });
  });
  const factors = reactions.map(() => rng.pick([-3, -2, -1, 1, 2, 3, level > 3 ? 0 : 1]));
  const target = substances.map((_, substance) =>
    reactions.reduce((sum, reaction, index) => sum + at(factors, index) * at(reaction, substance), 0),
  );
  const isPlain = target.some((value) => value < 0) && target.some((value) => value > 0);
  if (!isPlain || target.some((value) => Math.abs(value) > MOST_COEFFICIENT)) return null;
  // A substance at least has to cancel.
  if (target.filter((value) => value !== 0).length > kinds - 1) return null;
  return { substances, reactions, enthalpies: reactions.map(() => between(rng, -480, 320)), target };
}

function solve({ reactions, enthalpies, target }: Given): Solution | null {
  const { pivots } = reduced(
    reactions.map((reaction) => reaction.map((value) => ratio(value))),
    target.length,
  );
  // Dependent equations allow many combinations.
  if (pivots.length < reactions.length) return null;
  const rows = pivots.map((substance) => reactions.map((reaction) => ratio(at(reaction, substance))));
  const factors = solveLinear(
    rows,
    pivots.map((substance) => ratio(at(target, substance))),
  );
  if (factors === null) return null;
  const numbers = factors.map((factor) => Number(textOf(factor)));
  const enthalpy = (multiply: (factor: number, index: number) => number): number =>
    numbers.reduce((sum, factor, index) => sum + multiply(factor, index) * at(enthalpies, index), 0);
  const H = enthalpy((factor) => factor);
  const texts = numbers.map(String);
  return {
    fields: [
      ...texts.map((value, index) => ({ name: `m${index + 1}`, kind: "number" as const, value })),
      { name: "H", kind: "number", value: String(H) },
    ],
    slips: [
      [...texts.map((text) => text.replace("-", "")), String(enthalpy(Math.abs))],
      [...texts.map(() => "1"), String(enthalpy(() => 1))],
      [...numbers.map((number) => String(0 - number)), String(0 - H)],
      [...texts, String(enthalpy((factor) => Math.sign(factor)))],
    ].filter((slip) => slip.join() !== [...texts, String(H)].join()),
    steps: reactions.length ** 2 * target.length,
  };
}

function equation({ substances }: Given, reaction: Reaction): string {
  const side = (sign: number): string =>
    range(reaction.length)
      .filter((index) => at(reaction, index) * sign > 0)
      .map(
        (index) =>
          `${Math.abs(at(reaction, index)) === 1 ? "" : `${Math.abs(at(reaction, index))} `}${at(substances, index)}`,
      )
      .join(" + ");
  return `${side(-1)} -> ${side(1)}`;
}

function list(one: Given): string {
  return one.reactions
    .map((reaction, index) => `R${index + 1}: ${equation(one, reaction)}, ${at(one.enthalpies, index)} kJ`)
    .join("\n");
}
