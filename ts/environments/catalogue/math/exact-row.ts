/** Rows whose answer is one exact value in `\boxed{}`: the solver finds it, and equal values are equal texts. */
import type { Rng } from "../../../random/rng.ts";
import { defineRow, type Level, type Row } from "../row.ts";
import { type AnswerKind, canonicalAnswer, fractionText } from "./exact-answer.ts";

export interface Solution {
  /** Canonical (`canonicalAnswer`). */
  readonly value: string;
  /** Work of the method that a person would use. */
  readonly steps: number;
}

export interface ExactRow<Problem extends object> {
  readonly id: string;
  readonly asks: string;
  readonly kind: AnswerKind;
  /** A problem as JSON; null for a degenerate draw. */
  readonly draw: (rng: Rng, level: Level) => Problem | null;
  /** Null: the problem has no answer, or a trivial one, and another is drawn. */
  readonly solve: (problem: Problem) => Solution | null;
  readonly canonical?: (problem: Problem) => unknown;
  readonly prompts: readonly ((problem: Problem, rng: Rng) => string)[];
  /** Values that plausible mistakes give, canonical; right ones among them are left out. */
  readonly slips: (problem: Problem, value: string) => readonly (string | bigint | number)[];
}

interface Solved<Problem> {
  readonly problem: Problem;
  readonly value: string;
  readonly steps: number;
}

/** Answers that guessing finds first. */
const TRIVIAL: ReadonlySet<string> = new Set(["0", "1", "-1"]);

export function exactRow<Problem extends object>(row: ExactRow<Problem>): Row {
  const { kind } = row;
  return defineRow<Solved<Problem>>({
    id: row.id,
    asks: row.asks,
    place: "boxed",
    make: (rng, level) => {
      const problem = row.draw(rng, level);
      const solution = problem === null ? null : row.solve(problem);
      if (problem === null || solution === null || TRIVIAL.has(solution.value)) return null;
      return { problem, ...solution };
    },
    effort: ({ steps }) => steps,
    canonical: ({ problem }) => row.canonical?.(problem) ?? problem,
    prompts: row.prompts.map(
      (wording) =>
        ({ problem }, rng) =>
          wording(problem, rng),
    ),
    gold: ({ value }) => value,
    nearMisses: ({ problem, value }) => {
      const slips = row.slips(problem, value).map(String);
      return [...new Set([...slips, ...neighbours(value, kind)])].filter(
        (text) => canonicalAnswer(text, kind) !== value,
      );
    },
    variants: ({ value }) => writings(value, kind),
    score: ({ value }, answer) => (canonicalAnswer(answer, kind) === value ? 1 : 0),
  });
}

/** Values beside the right one. */
function neighbours(value: string, kind: AnswerKind): string[] {
  if (kind === "fraction") {
    const [top = "0", bottom = "1"] = value.split("/");
    const [numerator, denominator] = [BigInt(top), BigInt(bottom)];
    const others = [
      fractionText(numerator + 1n, denominator),
      fractionText(numerator, denominator + 1n),
      fractionText(denominator, numerator),
    ];
    return others.flatMap((text) => (text === null ? [] : [text]));
  }
  if (kind === "fractions") {
    const list = value.split(", ");
    const [first = "0", ...rest] = list;
    const others = neighbours(first, "fraction").map((text) => [text, ...rest]);
    return [...others, list.slice(0, -1), [...list, "2"], list.toReversed()].map((one) => one.join(", "));
  }
  if (kind === "fractionSet") {
    const list = value.split(", ");
    const [first = "0", ...rest] = list;
    const others = neighbours(first, "fraction").map((text) => [...rest, text]);
    return [...others, list.slice(0, -1), [...list, "97/89"]].map((one) => one.join(", ")).filter((one) => one !== "");
  }
  const values = value.split(", ").map(BigInt);
  if (kind === "integer") return values.flatMap((one) => [one + 1n, one - 1n, 2n * one, -one]).map(String);
  const [first = 0n, ...rest] = values;
  const changed = [
    [first + 1n, ...rest],
    values.slice(0, -1),
    [...values, (values.at(-1) ?? 0n) + 1n],
    [first, ...rest.map((one) => one + 1n)],
  ];
  return changed.map((list) => list.join(", ")).filter((text) => text !== "");
}

/** The value in other usual writings. */
function writings(value: string, kind: AnswerKind): string[] {
  if (kind === "fraction") {
    const [top = "", bottom] = value.split("/");
    if (bottom === undefined) return [`${top}/1`, `$${top}$`];
    const sign = top.startsWith("-") ? "-" : "";
    return [`${sign}\\frac{${top.replace("-", "")}}{${bottom}}`, ` ${top} / ${bottom} `];
  }
  if (kind === "integer") return [`$${value}$`, value.replaceAll(/\B(?=(?:\d{3})+$)/gu, ",")];
  const list = value.split(", ");
  if (kind === "fractions") return [`(${value})`, list.map((one) => writings(one, "fraction")[0] ?? one).join(", ")];
  if (kind === "fractionSet")
    return [`\\{${list.toReversed().join(", ")}\\}`, list.map((one) => writings(one, "fraction")[0] ?? one).join(", ")];
  return [`(${value})`, list.join(","), ...(kind === "set" ? [`\\{${list.toReversed().join(", ")}\\}`] : [])];
}
