/** Languages as data: which features they have, what their words are, and what each feature means in this one. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import type { Level } from "../../row.ts";

export const FEATURES = [
  "division",
  "unknown",
  "truth",
  "logic",
  "repeat",
  "while",
  "order",
  "sight",
  "passing",
  "arity",
  "attempt",
  "range",
  "blocks",
] as const;
export type Feature = (typeof FEATURES)[number];

export interface Rules {
  /** Which way quotients are rounded; the remainder follows. */
  readonly division: "down" | "zero";
  /** What a name without a value means. */
  readonly unknown: "nought" | "error" | "less";
  readonly truth: "nonzero" | "positive" | "odd";
  readonly logic: "short" | "both";
  readonly logicValue: "bit" | "operand";
  /** Whether the count of a repetition is computed once or before each round. */
  readonly repeat: "once" | "again";
  /** Rounds of a while loop after which it ends. */
  readonly most: number;
  readonly atMost: "end" | "error";
  readonly order: "left" | "right";
  /** Which variables a function sees besides its own. */
  readonly sight: "global" | "caller";
  /** Whether `set` in a function changes a variable that it sees, or always one of this call. */
  readonly assign: "outer" | "own";
  /** Whether the end of a call copies parameters back to the variables that were its arguments. */
  readonly passing: "value" | "back";
  readonly arity: "error" | "nought";
  readonly undo: boolean;
  readonly range: "none" | "wrap" | "stop";
  /** The largest number where there is a range. */
  readonly largest: number;
  /** Whether a variable that is made in a block ends with it. */
  readonly blocks: boolean;
}

export const WORDS = {
  set: ["set", "let", "put", "store"],
  show: ["show", "say", "print", "out"],
  tell: ["tell", "peek", "echo", "note"],
  if: ["if", "when", "case"],
  else: ["else", "otherwise", "or-else"],
  repeat: ["repeat", "times", "loop"],
  while: ["while", "as-long", "during"],
  define: ["define", "def", "func", "to"],
  return: ["return", "give", "yield"],
  call: ["call", "do", "run"],
  attempt: ["attempt", "try", "risk"],
  rescue: ["rescue", "except", "or-do"],
  fail: ["fail", "raise", "throw"],
  open: ["{", "begin", "<<"],
  close: ["}", "end", ">>"],
  "+": ["+", "plus", "add"],
  "-": ["-", "minus", "sub"],
  "*": ["*", "mul", "by"],
  "/": ["/", "div", "over"],
  "%": ["%", "mod", "rem"],
  "<": ["<", "below", "lt"],
  "=": ["=", "same", "eq"],
  and: ["and", "both", "&"],
  or: ["or", "either", "|"],
} as const;
export type Word = keyof typeof WORDS;

export interface Language {
  readonly features: readonly Feature[];
  readonly rules: Rules;
  readonly words: Readonly<Record<Word, string>>;
  /** Operators stand between their operands, all of one rank from the left; else before them. */
  readonly infix: boolean;
}

/** Features by level. */
const COUNTS = [3, 5, 7, 9, 11] as const;
const OF_FUNCTIONS: readonly Feature[] = ["sight", "passing", "arity"];
/** What holds where a feature is not part of the language. */
const PLAIN: Rules = {
  division: "down",
  unknown: "nought",
  truth: "nonzero",
  logic: "short",
  logicValue: "bit",
  repeat: "once",
  most: 9,
  atMost: "end",
  order: "left",
  sight: "global",
  assign: "outer",
  passing: "value",
  arity: "error",
  undo: false,
  range: "none",
  largest: 99,
  blocks: false,
};

export function hasFunctions(features: readonly Feature[]): boolean {
  return features.some((feature) => OF_FUNCTIONS.includes(feature));
}

export function drawLanguage(rng: Rng, level: Level): Language {
  const chosen = new Set(sample(FEATURES, at(COUNTS, level - 1), rng));
  const features = FEATURES.filter((feature) => chosen.has(feature));
  let rules = { ...PLAIN, most: between(rng, 4, 12), largest: rng.pick([31, 49, 63, 99]) };
  for (const feature of features) rules = { ...rules, ...rng.pick(choicesOf(feature)) };
  const isBraced = rng.integer(3);
  const words = Object.fromEntries(
    Object.entries(WORDS).map(([word, texts]) => [
      word,
      word === "open" || word === "close" ? at(texts, isBraced) : rng.pick(texts),
    ]),
  ) as Record<Word, string>;
  return { features, rules, words, infix: rng.integer(2) === 0 };
}

/** What a feature may mean. */
function choicesOf(feature: Feature): readonly Partial<Rules>[] {
  switch (feature) {
    case "division":
      return [{ division: "down" }, { division: "zero" }];
    case "unknown":
      return [{ unknown: "error" }, { unknown: "less" }];
    case "truth":
      return [{ truth: "positive" }, { truth: "odd" }];
    case "logic":
      return (["short", "both"] as const).flatMap((logic) => [
        { logic, logicValue: "bit" },
        { logic, logicValue: "operand" },
      ]);
    case "repeat":
      return [{ repeat: "once" }, { repeat: "again" }];
    case "while":
      return [{ atMost: "end" }, { atMost: "error" }];
    case "order":
      return [{ order: "left" }, { order: "right" }];
    case "sight":
      return (["global", "caller"] as const).flatMap((sight) => [
        { sight, assign: "outer" },
        { sight, assign: "own" },
      ]);
    case "passing":
      return [{ passing: "value" }, { passing: "back" }];
    case "arity":
      return [{ arity: "error" }, { arity: "nought" }];
    case "attempt":
      return [{ undo: false }, { undo: true }];
    case "range":
      return [{ range: "wrap" }, { range: "stop" }];
    case "blocks":
      return [{ blocks: false }, { blocks: true }];
  }
}

/** The same forms with the meanings that they have elsewhere: what somebody does who knows languages and has not read the rules. */
export function usualMeanings(language: Language): Language {
  return { ...language, rules: { ...PLAIN, unknown: "error", most: 4 * language.rules.most } };
}

/** The language with another meaning of a feature: what somebody does who has not read this rule. */
export function otherMeanings(language: Language, feature: Feature): Language[] {
  const { rules } = language;
  const plain =
    feature === "range" ? [{ range: "none" as const }] : feature === "truth" ? [{ truth: "nonzero" as const }] : [];
  const limits = feature === "while" ? [{ most: rules.most + 1 }, { most: 4 * rules.most }] : [];
  return [...choicesOf(feature), ...plain, ...limits]
    .map((choice) => ({ ...language, rules: { ...rules, ...choice } }))
    .filter((other) => JSON.stringify(other.rules) !== JSON.stringify(rules));
}
