/** skeptical-arguments: which arguments are in all, some or none of the stable extensions of a debate with circles of attacks. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  count: number;
  /** The first one attacks the second one. */
  attacks: [number, number][];
}

/** By level: arguments. */
const SIZES = [6, 8, 10, 12, 14] as const;
const WORDS = ["all", "some", "none"];

export const skepticalArguments = fieldRow<Given>({
  id: "skeptical-arguments",
  asks: "which arguments stand in all, some or none of the stable positions of a debate with circles",
  draw,
  solve,
  isShared: true,
  values: () =>
    "each value is all, some (but not all) or none, as the argument is in all, some or none of the stable positions",
  wordings: [
    (one) => `${debate(one)}\n\n${RULE} Classify every argument.`,
    (one) =>
      `${RULE}\n\nAttacks:\n${debate(one)}\n\nFind all stable positions, and say of each argument in how many of them it is.`,
    (one) =>
      `A debate among ${one.count} arguments can be settled in several ways.\n${debate(one)}\nA way to settle it is a stable position. ${RULE}`,
    (one) =>
      `Compute credulous and sceptical acceptance under stable semantics. The framework has these attacks:\n${debate(one)}\nDefinition: ${RULE}`,
  ],
});

const RULE =
  "A stable position is a set of arguments in which none attacks another one of the set, while every argument outside of the set is attacked by one inside.";

function draw(rng: Rng, level: Level): Given | null {
  const count = at(SIZES, level - 1);
  const order = shuffled(range(count), rng);
  const attacks: [number, number][] = [];
  // Pairs that attack each other leave a choice.
  for (let pair = 0; pair + 1 < count && pair < 2 * Math.ceil(count / 4); pair += 2)
    attacks.push([at(order, pair), at(order, pair + 1)], [at(order, pair + 1), at(order, pair)]);
  for (const target of order.slice(2))
    for (const from of sample(range(count), 1 + rng.integer(2), rng)) if (from !== target) attacks.push([from, target]);
  const known = new Map(attacks.map((pair) => [pair.join(" "), pair]));
  return { count, attacks: shuffled(known.values(), rng) };
}

function solve({ count, attacks }: Given): Solution | null {
  const attacked = range(count).map((from) =>
    attacks.reduce((bits, [a, b]) => (a === from ? bits | (1 << b) : bits), 0),
  );
  const stable = range(2 ** count).filter((set) => {
    const hit = attacked.reduce((bits, own, one) => ((set >> one) & 1 ? bits | own : bits), 0);
    return (hit ^ set) === 2 ** count - 1 && (hit & set) === 0;
  });
  if (stable.length < 2) return null;
  const words = range(count).map((one) => {
    const times = stable.filter((set) => (set >> one) & 1).length;
    return at(WORDS, times === stable.length ? 0 : times > 0 ? 1 : 2);
  });
  const counts = WORDS.map((word) => words.filter((one) => one === word).length);
  if (Math.min(...counts) === 0 || Math.max(...counts) > count * 0.6) return null;
  const [first = 0] = stable;
  const free = range(count).map((one) => at(WORDS, attacks.some(([, target]) => target === one) ? 1 : 0));
  return {
    fields: words.map((value, one) => ({ name: `A${one + 1}`, kind: "word", value, options: WORDS })),
    slips: [range(count).map((one) => at(WORDS, (first >> one) & 1 ? 0 : 2)), free],
    steps: 2 ** count,
  };
}

function debate({ attacks }: Given): string {
  return attacks.map(([from, to]) => `A${from + 1} attacks A${to + 1}.`).join("\n");
}
