/** operator-table-evaluator: a function that evaluates texts with operators of given meaning, precedence and grouping. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { functionRow } from "../function-row.ts";

interface Operator {
  readonly sign: string;
  readonly rank: number;
  readonly meaning: number;
}
interface Spec {
  readonly operators: readonly Operator[];
  /** By rank; a larger rank binds tighter. */
  readonly fromRight: readonly boolean[];
  /** Sign that is written before its operand and binds tighter than everything else; its meaning is 3x + 1. */
  readonly prefix: string | null;
  /** Sign that is written behind its operand, and binds tighter than the prefix; its meaning is x * x. */
  readonly postfix: string | null;
  readonly modulus: number;
}

/** By level: signs, ranks, prefix and postfix signs. */
const SIZES = [
  [2, 2, false, false],
  [3, 2, false, false],
  [4, 3, true, false],
  [6, 4, true, true],
  [8, 5, true, true],
] as const;
const SIGNS = ["+", "-", "*", "/", "^", "@", "#", "&", "|", "<", ">"];
const MEANINGS = [
  { text: "x + y", run: (x: number, y: number) => x + y },
  { text: "x - y", run: (x: number, y: number) => x - y },
  { text: "x * y", run: (x: number, y: number) => x * y },
  { text: "2 * x + y", run: (x: number, y: number) => 2 * x + y },
  { text: "x - 3 * y", run: (x: number, y: number) => x - 3 * y },
  { text: "x * y + x", run: (x: number, y: number) => x * y + x },
  { text: "5 * y - x", run: (x: number, y: number) => 5 * y - x },
  { text: "x * x + y", run: (x: number, y: number) => x * x + y },
] as const;

export const operatorTableEvaluator = functionRow<Spec>({
  id: "operator-table-evaluator",
  asks: "an evaluator of expressions whose operators have a given meaning, precedence and grouping",
  name: "evaluate",
  parameters: ["text"],
  make(rng, level) {
    const [count, ranks, hasPrefix, hasPostfix] = at(SIZES, level - 1);
    const [prefix = "", postfix = "", ...signs] = sample(SIGNS, count + 2, rng);
    const meanings = sample(range(MEANINGS.length), count, rng);
    const operators = signs.map((sign, index) => ({ sign, rank: index % ranks, meaning: at(meanings, index) }));
    return {
      operators,
      fromRight: range(ranks).map(() => rng.integer(2) === 0),
      prefix: hasPrefix ? prefix : null,
      postfix: hasPostfix ? postfix : null,
      modulus: rng.pick([997, 1009, 10_007]),
    };
  },
  effort: ({ operators, fromRight, prefix, postfix }) =>
    2 * operators.length + fromRight.length + 3 * Number(prefix !== null) + 3 * Number(postfix !== null),
  stories: [
    () => "A calculator has operators that no other has.",
    () => "The formulas of an old program use signs that look familiar and mean something else.",
    () => "We need an evaluator for a small notation; eval of the host language would give other results.",
    () => "An expression language was designed with unusual precedence.",
  ],
  rules: (spec) => {
    const lines = range(spec.fromRight.length)
      .reverse()
      .map((rank, index) => {
        const here = spec.operators.filter((one) => one.rank === rank);
        const meanings = here.map(({ sign, meaning }) => `x ${sign} y means ${at(MEANINGS, meaning).text}`);
        return `${index + 1}. ${meanings.join("; ")}. ${at(spec.fromRight, rank) ? "Grouped from the right" : "Grouped from the left"}.`;
      });
    const unary = [
      ...(spec.postfix === null
        ? []
        : [`A ${spec.postfix} behind an operand squares it, and binds tightest; it may be repeated.`]),
      ...(spec.prefix === null
        ? []
        : [
            `A ${spec.prefix} before an operand x gives 3 * x + 1${spec.postfix === null ? ", and binds tightest" : ", and binds tighter than all binary operators"}; it may be repeated.`,
          ]),
    ];
    return `Binary operators, those that bind tighter first; the operators of a line have the same rank:\n\n${lines.join("\n")}\n\n${unary.join(" ")} Round brackets group. Numbers are decimal, blanks mean nothing. Each result, also an intermediate one, is reduced to its remainder from 0 to ${spec.modulus - 1} modulo ${spec.modulus}.`;
  },
  types: () => "The argument is a correct expression as a text, the result a whole number.",
  calls(spec, rng) {
    const texts = (size: number): [string][] => range(10).map(() => [drawText(spec, size, rng)]);
    return {
      short: texts(2),
      chains: range(12).map(() => [chain(spec, rng)]),
      medium: texts(5),
      long: texts(14),
      longest: texts(30),
    };
  },
  solve: (spec, [text]) => valueOf(spec, (text as string).replaceAll(" ", "")),
  python: (spec) => {
    const table = spec.operators.map(
      ({ sign, rank, meaning }) =>
        `    "${sign}": (${rank}, ${at(spec.fromRight, rank) ? "True" : "False"}, lambda x, y: ${at(MEANINGS, meaning).text}),`,
    );
    return [
      `TABLE = {\n${table.join("\n")}\n}`,
      "def evaluate(text):",
      "    tokens, number = [], ''",
      "    for sign in text + ' ':",
      "        if sign.isdigit():",
      "            number += sign",
      "            continue",
      "        if number:",
      "            tokens.append(int(number))",
      "        number = ''",
      "        if sign != ' ':",
      "            tokens.append(sign)",
      "    tokens.append(None)",
      "    place = 0",
      "    def operand():",
      "        nonlocal place",
      "        token = tokens[place]",
      "        place += 1",
      ...(spec.prefix === null
        ? []
        : [`        if token == "${spec.prefix}":`, `            return (3 * operand() + 1) % ${spec.modulus}`]),
      "        if token == '(':",
      "            value = climb(0)",
      "            place += 1",
      "        else:",
      `            value = token % ${spec.modulus}`,
      ...(spec.postfix === null
        ? []
        : [
            `        while tokens[place] == "${spec.postfix}":`,
            "            place += 1",
            `            value = value * value % ${spec.modulus}`,
          ]),
      "        return value",
      "    def climb(least):",
      "        nonlocal place",
      "        value = operand()",
      "        while tokens[place] in TABLE and TABLE[tokens[place]][0] >= least:",
      "            rank, from_right, meaning = TABLE[tokens[place]]",
      "            place += 1",
      `            value = meaning(value, climb(rank if from_right else rank + 1)) % ${spec.modulus}`,
      "        return value",
      "    return climb(0)",
    ].join("\n");
  },
  slips: (spec) => [
    ...spec.fromRight.map((_, rank) => ({
      ...spec,
      fromRight: spec.fromRight.map((one, other) => (other === rank ? !one : one)),
    })),
    { ...spec, operators: spec.operators.map((one) => ({ ...one, rank: spec.fromRight.length - 1 - one.rank })) },
    { ...spec, operators: spec.operators.map((one) => ({ ...one, rank: 0 })) },
    {
      ...spec,
      operators: spec.operators.map((one, index) =>
        index === 0 ? { ...one, meaning: (one.meaning + 1) % MEANINGS.length } : one,
      ),
    },
    { ...spec, modulus: spec.modulus + 2 },
  ],
});

const mod = (value: number, by: number): number => ((value % by) + by) % by;

/** Splits at the operator that is applied last, so that it shares nothing with a parser that climbs. */
function valueOf(spec: Spec, text: string): number {
  let depth = 0;
  let split: { place: number; rank: number } | null = null;
  for (const [place, sign] of text.split("").entries()) {
    depth += Number(sign === "(") - Number(sign === ")");
    const operator = depth === 0 ? spec.operators.find((one) => one.sign === sign) : undefined;
    if (operator === undefined) continue;
    const isLater =
      split === null ||
      operator.rank < split.rank ||
      (operator.rank === split.rank && spec.fromRight[operator.rank] === false);
    if (isLater) split = { place, rank: operator.rank };
  }
  if (split !== null) {
    const operator = spec.operators.find(({ sign }) => sign === text[split.place]);
    const [x, y] = [valueOf(spec, text.slice(0, split.place)), valueOf(spec, text.slice(split.place + 1))];
    return mod(at(MEANINGS, operator?.meaning ?? 0).run(x, y), spec.modulus);
  }
  if (spec.prefix !== null && text.startsWith(spec.prefix))
    return mod(3 * valueOf(spec, text.slice(1)) + 1, spec.modulus);
  if (spec.postfix !== null && text.endsWith(spec.postfix))
    return mod(valueOf(spec, text.slice(0, -1)) ** 2, spec.modulus);
  return text.startsWith("(") ? valueOf(spec, text.slice(1, -1)) : mod(Number(text), spec.modulus);
}

function drawText(spec: Spec, size: number, rng: Rng): string {
  if (size === 0) {
    const before = spec.prefix !== null && rng.integer(4) === 0 ? spec.prefix.repeat(between(rng, 1, 2)) : "";
    const after = spec.postfix !== null && rng.integer(4) === 0 ? spec.postfix : "";
    return `${before}${between(rng, 0, 60)}${after}`;
  }
  const left = rng.integer(size);
  const blank = rng.pick(["", " "]);
  const text = `${drawText(spec, left, rng)}${blank}${rng.pick(spec.operators).sign}${blank}${drawText(spec, size - 1 - left, rng)}`;
  return rng.integer(4) === 0 ? `(${text})` : text;
}

/** Three operators of one rank side by side, where there are as many, else of all ranks. */
function chain(spec: Spec, rng: Rng): string {
  const rank = rng.integer(spec.fromRight.length);
  const same = spec.operators.filter((one) => one.rank === rank);
  return [between(rng, 2, 50), ...range(3).map(() => `${rng.pick(same).sign}${between(rng, 2, 50)}`)].join("");
}
