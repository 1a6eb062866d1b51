/** weakest-precondition: the condition before assignments and branches that makes a linear condition hold after them. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

/** name = the sum of factors times variables, plus a constant. */
interface Assignment {
  name: string;
  factors: number[];
  constant: number;
}
/** Sum of factors times variables >= bound. */
interface Condition {
  factors: number[];
  bound: number;
}
export interface PreconditionProblem {
  names: string[];
  steps: Assignment[];
  post: Condition;
}

/** By level: variables, assignments. */
const SIZES = [
  [2, 2],
  [2, 4],
  [3, 5],
  [3, 7],
  [4, 9],
] as const;
const LARGEST = 400;

export const weakestPrecondition = itemRow<PreconditionProblem>({
  id: "weakest-precondition",
  asks: "the weakest linear condition before assignments that ensures one after them",
  form: "list",
  tries: 100,
  make: draw,
  prompts: [
    (one) =>
      `${preconditionSource(one)}\n\nFind the weakest condition before the first line that guarantees ${conditionText(one)} after the last one. It has the form ${form(one)}; give ${letters(one)} without dividing by common factors, as they come out by substitution, separated by commas.`,
    (one) =>
      `Compute wp(S, ${conditionText(one)}) for the program S (all variables are whole numbers):\n\n${preconditionSource(one)}\n\nWrite it as ${form(one)} with the numbers that backward substitution gives (do not cancel), and answer with ${letters(one)} in this order and commas between.`,
    (one) =>
      `After this code\n\n${preconditionSource(one)}\n\nan assertion demands ${conditionText(one)}. Push the assertion backwards to the beginning: it becomes ${form(one)}. State the numbers ${letters(one)}, unreduced, comma-separated.`,
    (one) =>
      `For which initial values does\n\n${preconditionSource(one)}\n\nend with ${conditionText(one)}? The exact answer is an inequality ${form(one)} in the initial values; its coefficients are those of substitution from the end, without cancelling. List ${letters(one)}.`,
  ],
});

const COEFFICIENTS = "ABCD";

function form({ names }: PreconditionProblem): string {
  return `${names.map((name, index) => `${COEFFICIENTS.charAt(index)}*${name}`).join(" + ")} >= K`;
}

function letters({ names }: PreconditionProblem): string {
  return `${COEFFICIENTS.slice(0, names.length).split("").join(", ")} and K`;
}

function sumText(names: readonly string[], factors: readonly number[], constant: number): string {
  const terms = names.flatMap((name, index) => {
    const factor = at(factors, index);
    if (factor === 0) return [];
    return [{ sign: factor < 0 ? "-" : "+", text: Math.abs(factor) === 1 ? name : `${Math.abs(factor)} * ${name}` }];
  });
  if (constant !== 0) terms.push({ sign: constant < 0 ? "-" : "+", text: String(Math.abs(constant)) });
  return terms
    .map(({ sign, text }, index) => (index === 0 ? `${sign === "-" ? "-" : ""}${text}` : ` ${sign} ${text}`))
    .join("");
}

export function conditionText({ names, post }: PreconditionProblem): string {
  return `${sumText(names, post.factors, 0)} >= ${post.bound}`;
}

export function preconditionSource({ names, steps }: PreconditionProblem): string {
  return steps.map(({ name, factors, constant }) => `${name} = ${sumText(names, factors, constant)}`).join("\n");
}

function draw(rng: Rng, level: Level) {
  const [count, length] = at(SIZES, level - 1);
  const names = shuffled("xyzuvw", rng).slice(0, count).toSorted();
  const factor = (): number => rng.pick([-3, -2, -1, 1, 1, 2, 3]);
  const steps = range(length).map((): Assignment => {
    const used = new Set(sample(names, between(rng, 1, 2), rng));
    return {
      name: rng.pick(names),
      factors: names.map((name) => (used.has(name) ? factor() : 0)),
      constant: between(rng, -9, 9),
    };
  });
  const post = { factors: names.map(() => factor()), bound: between(rng, -20, 20) };
  const found = before(steps, names, post);
  const values = [...found.factors, found.bound];
  if (values.some((value) => Math.abs(value) > LARGEST) || found.factors.filter((value) => value !== 0).length < 2)
    return null;
  // Every assignment matters.
  const isIdle = steps.some((_, index) => {
    const other = before(
      steps.filter((_step, place) => place !== index),
      names,
      post,
    );
    return [...other.factors, other.bound].join() === values.join();
  });
  if (isIdle) return null;
  const listed = ({ factors, bound }: Condition): string[] => [...factors, bound].map(String);
  const misses = [
    listed(before(steps.toReversed(), names, post)),
    listed(post),
    listed({ factors: found.factors, bound: 2 * post.bound - found.bound }),
    listed(before(steps.slice(1), names, post)),
  ];
  return { problem: { names, steps, post }, items: values.map(String), misses, effort: length * count };
}

/** Substitutes from the last assignment to the first. */
function before(steps: readonly Assignment[], names: readonly string[], post: Condition): Condition {
  return steps.toReversed().reduce<Condition>((now, { name, factors, constant }) => {
    const place = names.indexOf(name);
    const weight = at(now.factors, place);
    const kept = now.factors.map((value, index) => (index === place ? 0 : value) + weight * at(factors, index));
    return { factors: kept.map((value) => value + 0), bound: now.bound - weight * constant };
  }, post);
}
