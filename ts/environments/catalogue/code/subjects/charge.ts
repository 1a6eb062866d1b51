/** Charges: a total that ordered rules change, from two numbers and a kind. Early rules refuse or stop, so they hide later ones. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import { type Json, literal } from "../json.ts";
import { compared } from "../small-python/operators.ts";
import {
  ERROR,
  type Input,
  type Mutant,
  replacedItems,
  type Style,
  type SubjectKind,
  swappedItems,
  testOfCall,
} from "./subject.ts";

type Comparison = "<" | "<=" | ">" | ">=";
export type Condition =
  | { readonly at: 0 | 1; readonly is: Comparison; readonly than: number }
  | { readonly at: 0 | 1; readonly every: number; readonly rest: number }
  | { readonly kind: string; readonly not: boolean }
  | { readonly join: "and" | "or"; readonly parts: readonly [Condition, Condition] };
export type Step =
  | { readonly do: "add"; readonly when: Condition; readonly amount: number }
  | { readonly do: "per"; readonly at: 0 | 1; readonly above: number; readonly amount: number }
  | {
      readonly do: "blocks";
      readonly at: 0 | 1;
      readonly size: number;
      readonly started: boolean;
      readonly amount: number;
    }
  | { readonly do: "discount"; readonly when: Condition; readonly percent: number }
  | { readonly do: "double"; readonly when: Condition }
  | { readonly do: "most"; readonly amount: number }
  | { readonly do: "least"; readonly amount: number; readonly when: Condition }
  | { readonly do: "round"; readonly up: boolean; readonly to: number }
  | { readonly do: "refuse"; readonly when: Condition }
  | { readonly do: "stop"; readonly when: Condition };
export interface Charge {
  readonly is: "charge";
  readonly name: string;
  readonly parameters: readonly [string, string];
  readonly most: readonly [number, number];
  readonly kinds: readonly string[];
  readonly start: number;
  readonly rate: number;
  readonly steps: readonly Step[];
}

const STORIES = [
  ["parcel_fee", ["weight", "distance"], ["paper", "glass", "food", "books"]],
  ["parking_fee", ["minutes", "spaces"], ["car", "van", "bus", "bike"]],
  ["printing_price", ["pages", "copies"], ["matt", "gloss", "draft", "card"]],
  ["storage_charge", ["boxes", "days"], ["cold", "dry", "outdoor", "safe"]],
  ["translation_price", ["words", "hours"], ["legal", "novel", "menu", "manual"]],
  ["boat_rent", ["hours", "guests"], ["canoe", "yacht", "raft", "ferry"]],
] as const;
/** Rules by level. */
const STEPS = [4, 5, 7, 9, 11] as const;
const SENTENCES = { "<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least" } as const;
const MESSAGES = { strict: "refused", plain: "not possible", odd: "" } as const;
const NEXT = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" } as const;

export const charge: SubjectKind<Charge> = {
  id: "charge",
  name: ({ name }) => name,
  draw,
  head: ({ name, parameters: [one, two], most, kinds }) =>
    `\`${name}(${one}, ${two}, kind)\` returns a whole number. \`${one}\` is a whole number from 0 to ${most[0]}, \`${two}\` one from 0 to ${most[1]}, and \`kind\` one of ${kinds.map((kind) => literal(kind, "python")).join(", ")}. What it does with other arguments, and what messages its errors have, is left open.`,
  rules: (spec) => [
    `The total begins with ${spec.start} plus ${spec.rate} times ${spec.parameters[0]}. Then the following rules apply one after the other, each to the total so far.`,
    ...spec.steps.map((step) => sentence(spec, step)),
    "The result is the total.",
  ],
  python,
  run: (spec, [one, two, kind]) => run(spec, [Number(one), Number(two)], kind as string),
  anyInput: ({ most, kinds }, rng) => [rng.integer(most[0] + 1), rng.integer(most[1] + 1), rng.pick(kinds)],
  edgeInput,
  mutants,
  test: ({ name }, input, result) =>
    testOfCall(`${name}(${input.map((value) => literal(value, "python")).join(", ")})`, result, (value) =>
      literal(value, "python"),
    ),
};

function draw(rng: Rng, level: number): Charge {
  const [name, parameters, allKinds] = rng.pick(STORIES);
  const most = [between(rng, 30, 90), between(rng, 20, 60)] as const;
  const kinds = sample(allKinds, between(rng, 3, 4), rng);
  const about = (what: 0 | 1 | "kind"): Condition => {
    if (what === "kind") return { kind: rng.pick(kinds), not: rng.integer(3) === 0 };
    if (rng.integer(5) === 0) return { at: what, every: between(rng, 3, 7), rest: 0 };
    return { at: what, is: rng.pick(["<", "<=", ">", ">="] as const), than: between(rng, 4, most[what] - 4) };
  };
  const condition = (): Condition => {
    const [one = 0, other = 1] = sample([0, 1, "kind"] as const, 2, rng);
    if (rng.integer(6) >= level - 1) return about(one);
    return { join: rng.pick(["and", "and", "or"] as const), parts: [about(one), about(other)] };
  };
  const step = (): Step => {
    const place = rng.pick([0, 1] as const);
    switch (rng.integer(9)) {
      case 0:
        return { do: "per", at: place, above: between(rng, 3, most[place] - 8), amount: between(rng, 2, 9) };
      case 1:
        return {
          do: "blocks",
          at: place,
          size: between(rng, 3, 9),
          started: rng.integer(2) === 0,
          amount: between(rng, 2, 15),
        };
      case 2:
        return { do: "discount", when: condition(), percent: 5 * between(rng, 1, 8) };
      case 3:
        return { do: "double", when: condition() };
      case 4:
        return { do: "most", amount: 10 * between(rng, 12, 40) + rng.integer(10) };
      case 5:
        return { do: "least", amount: 10 * between(rng, 3, 14) + rng.integer(10), when: condition() };
      case 6:
        return { do: "round", up: rng.integer(2) === 0, to: between(rng, 3, 12) };
      default:
        return { do: "add", when: condition(), amount: between(rng, 3, 60) };
    }
  };
  const steps = Array.from({ length: at(STEPS, level - 1) - 1 }, step);
  // A rule that ends the calculation stands first where it refuses, else anywhere but at the end.
  const narrow: Condition = { at: 0, is: rng.pick(["<", "<="] as const), than: between(rng, 1, 6) };
  if (rng.integer(2) === 0) steps.unshift({ do: "refuse", when: narrow });
  else steps.splice(between(rng, 1, steps.length - 1), 0, { do: "stop", when: level > 2 ? condition() : narrow });
  return { is: "charge", name, parameters, most, kinds, start: between(rng, 5, 40), rate: between(rng, 1, 6), steps };
}

function conditionText(spec: Charge, one: Condition): string {
  if ("join" in one) return one.parts.map((part) => conditionText(spec, part)).join(` ${one.join} `);
  if ("kind" in one) return `the kind is ${one.not ? "not " : ""}${literal(one.kind, "python")}`;
  const parameter = spec.parameters[one.at];
  if ("every" in one)
    return one.rest === 0
      ? `${parameter} is a multiple of ${one.every} (0 is one)`
      : `the remainder of ${parameter} divided by ${one.every} is ${one.rest}`;
  return `${parameter} ${SENTENCES[one.is]} ${one.than}`;
}

function sentence(spec: Charge, step: Step): string {
  const when = "when" in step ? conditionText(spec, step.when) : "";
  switch (step.do) {
    case "add":
      return `If ${when}, ${step.amount} is added.`;
    case "per":
      return `For each unit of ${spec.parameters[step.at]} above ${step.above}, ${step.amount} is added.`;
    case "blocks":
      return `For each ${step.started ? "started" : "complete"} block of ${step.size} units of ${spec.parameters[step.at]}, ${step.amount} is added.`;
    case "discount":
      return `If ${when}, the total falls by ${step.percent} percent of it; this reduction is rounded down to a whole number.`;
    case "double":
      return `If ${when}, the total is doubled.`;
    case "most":
      return `A total above ${step.amount} becomes ${step.amount}.`;
    case "least":
      return `If ${when}, a total below ${step.amount} becomes ${step.amount}.`;
    case "round":
      return `The total is rounded ${step.up ? "up" : "down"} to a multiple of ${step.to}.`;
    case "refuse":
      return `If ${when}, ValueError is raised.`;
    case "stop":
      return `If ${when}, the total so far is the result, and the rules below do not apply.`;
  }
}

function isTrue(one: Condition, numbers: readonly [number, number], kind: string): boolean {
  if ("join" in one) {
    const [first, second] = one.parts.map((part) => isTrue(part, numbers, kind));
    return one.join === "and" ? first === true && second === true : first === true || second === true;
  }
  if ("kind" in one) return (kind === one.kind) !== one.not;
  const value = numbers[one.at];
  if ("every" in one) return value % one.every === one.rest;
  return compared(value, one.is, one.than);
}

function run(spec: Charge, numbers: readonly [number, number], kind: string): Json {
  let total = spec.start + spec.rate * numbers[0];
  for (const step of spec.steps) {
    if ("when" in step && !isTrue(step.when, numbers, kind)) continue;
    if (step.do === "refuse") return ERROR;
    if (step.do === "stop") return total;
    total = applied(step, total, numbers);
  }
  return total;
}

function applied(step: Step, total: number, numbers: readonly [number, number]): number {
  switch (step.do) {
    case "add":
      return total + step.amount;
    case "per":
      return total + step.amount * Math.max(0, numbers[step.at] - step.above);
    case "blocks": {
      const blocks = numbers[step.at] / step.size;
      return total + step.amount * (step.started ? Math.ceil(blocks) : Math.floor(blocks));
    }
    case "discount":
      return total - Math.floor((total * step.percent) / 100);
    case "double":
      return total * 2;
    case "most":
      return Math.min(total, step.amount);
    case "least":
      return Math.max(total, step.amount);
    case "round":
      return (step.up ? Math.ceil(total / step.to) : Math.floor(total / step.to)) * step.to;
    default:
      return total;
  }
}

// ---- Python ----

function python(spec: Charge, style: Style): string {
  const { rng, open } = style;
  const [one, two] = spec.parameters;
  const total = rng.pick(["total", "amount", "result", "price"]);
  const outside = [
    `    if not (0 <= ${one} <= ${spec.most[0]} and 0 <= ${two} <= ${spec.most[1]}):`,
    open === "strict" ? '        raise ValueError("out of range")' : "        return 0",
  ];
  return [
    `def ${spec.name}(${one}, ${two}, kind):`,
    ...(open === "plain" ? [] : outside),
    `    ${total} = ${rng.pick([`${spec.start} + ${spec.rate} * ${one}`, `${one} * ${spec.rate} + ${spec.start}`])}`,
    ...spec.steps.flatMap((step) => stepLines(spec, step, total, style)).map((line) => `    ${line}`),
    `    return ${total}`,
  ].join("\n");
}

function conditionCode(spec: Charge, one: Condition, rng: Rng, isInner = false): string {
  if ("join" in one) {
    const parts = one.parts.map((part) => conditionCode(spec, part, rng, true));
    if (rng.integer(3) === 0) {
      const other = one.join === "and" ? "or" : "and";
      return `not (not (${parts[0]}) ${other} not (${parts[1]}))`;
    }
    const text = parts.join(` ${one.join} `);
    return isInner ? `(${text})` : text;
  }
  if ("kind" in one) {
    const [name, others] = [literal(one.kind, "python"), spec.kinds.filter((kind) => kind !== one.kind)];
    const list = `(${others.map((kind) => literal(kind, "python")).join(", ")},)`;
    return one.not
      ? rng.pick([`kind != ${name}`, `not kind == ${name}`, `kind in ${list}`])
      : rng.pick([`kind == ${name}`, `kind in (${name},)`, `kind not in ${list}`]);
  }
  const value = spec.parameters[one.at];
  if ("every" in one) return `${value} % ${one.every} == ${one.rest}`;
  const turned = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" }[one.is];
  const opposite = { "<": ">=", "<=": ">", ">": "<=", ">=": "<" }[one.is];
  const than = one.is === "<" || one.is === ">=" ? one.than - 1 : one.than + 1;
  return rng.pick([
    `${value} ${one.is} ${one.than}`,
    `${one.than} ${turned} ${value}`,
    `not ${value} ${opposite} ${one.than}`,
    `${value} ${NEXT[one.is]} ${than}`,
  ]);
}

function stepLines(spec: Charge, step: Step, total: string, { rng, open }: Style): string[] {
  const when = "when" in step ? conditionCode(spec, step.when, rng) : "";
  switch (step.do) {
    case "add":
      return rng.pick([
        [`if ${when}:`, `    ${total} += ${step.amount}`],
        [`${total} += ${step.amount} if ${when} else 0`],
      ]);
    case "per": {
      const value = spec.parameters[step.at];
      return rng.pick([
        [`${total} += ${step.amount} * max(0, ${value} - ${step.above})`],
        [`if ${value} > ${step.above}:`, `    ${total} += (${value} - ${step.above}) * ${step.amount}`],
      ]);
    }
    case "blocks": {
      const value = spec.parameters[step.at];
      const blocks = step.started
        ? rng.pick([`(-(-${value} // ${step.size}))`, `((${value} + ${step.size - 1}) // ${step.size})`])
        : rng.pick([`(${value} // ${step.size})`, `divmod(${value}, ${step.size})[0]`]);
      return [`${total} += ${step.amount} * ${blocks}`];
    }
    case "discount":
      return [
        `if ${when}:`,
        `    ${total} -= ${rng.pick([`${total} * ${step.percent} // 100`, `(${step.percent} * ${total}) // 100`])}`,
      ];
    case "double":
      return [`if ${when}:`, `    ${total} ${rng.pick(["*= 2", `+= ${total}`])}`];
    case "most":
      return rng.pick([
        [`${total} = min(${total}, ${step.amount})`],
        [`if ${total} > ${step.amount}:`, `    ${total} = ${step.amount}`],
      ]);
    case "least":
      return [
        `if ${when}:`,
        `    ${total} = ${rng.pick([`max(${total}, ${step.amount})`, `${total} if ${total} > ${step.amount} else ${step.amount}`])}`,
      ];
    case "round":
      return step.up
        ? [rng.pick([`${total} = -(-${total} // ${step.to}) * ${step.to}`, `${total} += -${total} % ${step.to}`])]
        : [rng.pick([`${total} = ${total} // ${step.to} * ${step.to}`, `${total} -= ${total} % ${step.to}`])];
    case "refuse":
      return [`if ${when}:`, `    raise ValueError(${literal(MESSAGES[open], "python")})`];
    case "stop":
      return [`if ${when}:`, `    return ${total}`];
  }
}

// ---- mutants and inputs ----

function changedConditions(spec: Charge, one: Condition): { operator: string; item: Condition }[] {
  if ("join" in one) {
    const [first, second] = one.parts;
    return [
      { operator: "connective", item: { ...one, join: one.join === "and" ? "or" : "and" } },
      { operator: "forgotten-condition", item: first },
      { operator: "forgotten-condition", item: second },
      ...changedConditions(spec, first).map(({ operator, item }) => ({
        operator,
        item: { ...one, parts: [item, second] as const },
      })),
      ...changedConditions(spec, second).map(({ operator, item }) => ({
        operator,
        item: { ...one, parts: [first, item] as const },
      })),
    ];
  }
  if ("kind" in one)
    return [
      { operator: "negation", item: { ...one, not: !one.not } },
      ...spec.kinds.filter((kind) => kind !== one.kind).map((kind) => ({ operator: "kind", item: { ...one, kind } })),
    ];
  if ("every" in one)
    return [
      { operator: "constant", item: { ...one, every: one.every + 1 } },
      { operator: "constant", item: { ...one, rest: 1 } },
    ];
  return [
    { operator: "boundary", item: { ...one, is: NEXT[one.is] } },
    { operator: "constant", item: { ...one, than: one.than + 2 } },
    { operator: "constant", item: { ...one, than: one.than - 2 } },
    { operator: "parameter", item: { ...one, at: one.at === 0 ? 1 : 0 } },
  ];
}

function mutants(spec: Charge): Mutant<Charge>[] {
  const changes = (step: Step): { operator: string; item: Step | null }[] => [
    { operator: step.do === "refuse" ? "forgotten-error" : "forgotten-rule", item: null },
    ...("when" in step
      ? changedConditions(spec, step.when).map(({ operator, item }) => ({ operator, item: { ...step, when: item } }))
      : []),
    ...("amount" in step ? [{ operator: "constant", item: { ...step, amount: step.amount + 1 } }] : []),
    ...(step.do === "per" ? [{ operator: "constant", item: { ...step, above: step.above + 1 } }] : []),
    ...(step.do === "blocks" ? [{ operator: "rounding", item: { ...step, started: !step.started } }] : []),
    ...(step.do === "discount" ? [{ operator: "constant", item: { ...step, percent: step.percent + 1 } }] : []),
    ...(step.do === "round" ? [{ operator: "rounding", item: { ...step, up: !step.up } }] : []),
    ...(step.do === "stop" ? [{ operator: "early-end", item: { do: "refuse" as const, when: step.when } }] : []),
  ];
  return [
    ...replacedItems(spec.steps, changes).map(({ operator, items }) => ({ operator, spec: { ...spec, steps: items } })),
    ...swappedItems(spec.steps).map((steps) => ({ operator: "order", spec: { ...spec, steps } })),
  ];
}

function edgeInput(spec: Charge, rng: Rng): Input {
  const bounds: [number[], number[]] = [
    [0, spec.most[0]],
    [0, spec.most[1]],
  ];
  const visit = (one: Condition): void => {
    if ("join" in one) one.parts.forEach(visit);
    else if ("than" in one) bounds[one.at].push(one.than - 1, one.than, one.than + 1);
    else if ("every" in one) bounds[one.at].push(one.every * between(rng, 0, 5));
  };
  for (const step of spec.steps) {
    if ("when" in step) visit(step.when);
    if (step.do === "per") bounds[step.at].push(step.above, step.above + 1);
    if (step.do === "blocks") bounds[step.at].push(step.size * between(rng, 1, 4));
  }
  const value = (place: 0 | 1): number =>
    rng.integer(4) === 0
      ? rng.integer(spec.most[place] + 1)
      : Math.min(spec.most[place], Math.max(0, rng.pick(bounds[place])));
  return [value(0), value(1), rng.pick(spec.kinds)];
}
