/** List scores: steps that thin out, change and order a list of whole numbers, and one number at the end. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { literal } from "../json.ts";
import {
  type Input,
  type Mutant,
  replacedItems,
  type Style,
  type SubjectKind,
  swappedItems,
  testOfCall,
} from "./subject.ts";

type Change =
  | { readonly do: "above"; readonly than: number; readonly equal: boolean }
  | { readonly do: "drop-multiples"; readonly of: number }
  | { readonly do: "clip"; readonly low: number; readonly high: number }
  | { readonly do: "once"; readonly last: boolean }
  | { readonly do: "runs" }
  | { readonly do: "skip"; readonly count: number; readonly last: boolean }
  | { readonly do: "sort"; readonly down: boolean }
  | { readonly do: "changes" }
  | { readonly do: "scale"; readonly by: number; readonly plus: number }
  | { readonly do: "stop"; readonly value: number; readonly keep: boolean };
type End =
  | { readonly is: "sum" | "largest" | "spread" | "alternating"; readonly empty: number }
  | { readonly is: "place"; readonly last: boolean; readonly empty: number }
  | { readonly is: "rising"; readonly strict: boolean; readonly empty: number }
  | { readonly is: "count"; readonly above: number; readonly empty: number };
export interface ListScore {
  readonly is: "list-score";
  readonly name: string;
  readonly steps: readonly Change[];
  readonly end: End;
}

const NAMES = ["reading_score", "level_mark", "trace_value", "signal_index", "stock_figure", "tide_number"];
const STEPS = [1, 2, 3, 4, 5] as const;
const LONGEST = 12;
const LARGEST = 30;

export const listScore: SubjectKind<ListScore> = {
  id: "list-score",
  name: ({ name }) => name,
  draw(rng, level) {
    const steps = range(at(STEPS, level - 1)).map(() => drawStep(rng));
    return { is: "list-score", name: rng.pick(NAMES), steps, end: drawEnd(rng) };
  },
  head: ({ name }) =>
    `\`${name}(values)\` takes a list of at most ${LONGEST} whole numbers from -${LARGEST} to ${LARGEST}, which may be empty, and returns a whole number. Whether it changes the list that it gets is left open, and so is what it does with longer lists.`,
  rules: ({ steps, end }) => [
    "The following steps apply to the list one after the other, each to the list that the step before it left.",
    ...steps.map(sentence),
    ending(end),
  ],
  python,
  run: ({ steps, end }, [values]) => {
    let list = values as readonly number[];
    for (const step of steps) list = changed(step, list);
    return ended(end, list);
  },
  anyInput: (_, rng) => [range(rng.integer(LONGEST + 1)).map(() => between(rng, -LARGEST, LARGEST))],
  edgeInput,
  mutants,
  test: ({ name }, [values = []], result) =>
    testOfCall(`${name}(${literal(values, "python")})`, result, (value) => literal(value, "python")),
};

function drawStep(rng: Rng): Change {
  switch (rng.integer(10)) {
    case 0:
      return { do: "above", than: between(rng, -15, 8), equal: rng.integer(2) === 0 };
    case 1:
      return { do: "drop-multiples", of: between(rng, 3, 6) };
    case 2:
      return { do: "clip", low: between(rng, -20, -5), high: between(rng, 6, 22) };
    case 3:
      return { do: "once", last: rng.integer(2) === 0 };
    case 4:
      return { do: "runs" };
    case 5:
      return { do: "skip", count: between(rng, 1, 3), last: rng.integer(2) === 0 };
    case 6:
      return { do: "sort", down: rng.integer(2) === 0 };
    case 7:
      return { do: "changes" };
    case 8:
      return { do: "scale", by: rng.pick([-3, -2, 2, 3]), plus: between(rng, -5, 5) };
    default:
      return { do: "stop", value: between(rng, -9, 9), keep: rng.integer(2) === 0 };
  }
}

function drawEnd(rng: Rng): End {
  const empty = between(rng, -9, -1);
  switch (rng.integer(5)) {
    case 0:
      return { is: "place", last: rng.integer(2) === 0, empty };
    case 1:
      return { is: "rising", strict: rng.integer(2) === 0, empty };
    case 2:
      return { is: "count", above: between(rng, -5, 5), empty };
    default:
      return { is: rng.pick(["sum", "largest", "spread", "alternating"] as const), empty };
  }
}

function sentence(step: Change): string {
  switch (step.do) {
    case "above":
      return `Only the numbers ${step.equal ? "of at least" : "above"} ${step.than} stay.`;
    case "drop-multiples":
      return `All multiples of ${step.of} are left out (0 is one, and so are negative ones).`;
    case "clip":
      return `Numbers below ${step.low} become ${step.low}, numbers above ${step.high} become ${step.high}.`;
    case "once":
      return `Of equal numbers, wherever they stand, only the ${step.last ? "last" : "first"} stays.`;
    case "runs":
      return "Of equal numbers side by side only one stays.";
    case "skip":
      return `The ${step.last ? "last" : "first"} ${step.count === 1 ? "number is" : `${step.count} numbers are`} left out (all, if there are not more).`;
    case "sort":
      return `The numbers are sorted, the ${step.down ? "largest" : "smallest"} first.`;
    case "changes":
      return "Every number but the first is replaced by itself minus the number before it, as the list was before this step.";
    case "scale":
      return `Every number x becomes ${step.by} * x ${step.plus < 0 ? "-" : "+"} ${Math.abs(step.plus)}.`;
    case "stop":
      return `From the first number that equals ${step.value} on, all are left out${step.keep ? ", but this first one stays" : ", this one too"}.`;
  }
}

function ending(end: End): string {
  const texts = {
    sum: "the sum of the numbers",
    largest: "the largest number",
    spread: "the largest number minus the smallest",
    alternating: "the first number minus the second plus the third minus the fourth, and so on",
    place: "",
    rising: "",
    count: "",
  };
  const text =
    end.is === "place"
      ? `the position, counted from 1, of the largest number; of several equal ones, the position of the ${end.last ? "last" : "first"}`
      : end.is === "rising"
        ? `the length of the longest part of the list, without gaps, in which each number is ${end.strict ? "greater than" : "at least"} the one before it`
        : end.is === "count"
          ? `how many of the numbers are above ${end.above}`
          : texts[end.is];
  return `If no number is left, the result is ${end.empty}. Else it is ${text}.`;
}

function changed(step: Change, list: readonly number[]): readonly number[] {
  switch (step.do) {
    case "above":
      return list.filter((x) => x > step.than || (step.equal && x === step.than));
    case "drop-multiples":
      return list.filter((x) => x % step.of !== 0);
    case "clip":
      return list.map((x) => Math.min(step.high, Math.max(step.low, x)));
    case "once":
      return list.filter((x, place) => (step.last ? list.lastIndexOf(x) : list.indexOf(x)) === place);
    case "runs":
      return list.filter((x, place) => place === 0 || list[place - 1] !== x);
    case "skip":
      return step.last ? list.slice(0, Math.max(0, list.length - step.count)) : list.slice(step.count);
    case "sort":
      return list.toSorted((a, b) => (step.down ? b - a : a - b));
    case "changes":
      return list.map((x, place) => (place === 0 ? x : x - at(list, place - 1)));
    case "scale":
      return list.map((x) => step.by * x + step.plus);
    case "stop": {
      const place = list.indexOf(step.value);
      return place < 0 ? list : list.slice(0, place + Number(step.keep));
    }
  }
}

function ended(end: End, list: readonly number[]): number {
  if (list.length === 0) return end.empty;
  const largest = Math.max(...list);
  switch (end.is) {
    case "sum":
      return list.reduce((a, b) => a + b, 0);
    case "largest":
      return largest;
    case "spread":
      return largest - Math.min(...list);
    case "alternating":
      return list.reduce((total, x, place) => (place % 2 === 0 ? total + x : total - x), 0);
    case "place":
      return 1 + (end.last ? list.lastIndexOf(largest) : list.indexOf(largest));
    case "count":
      return list.filter((x) => x > end.above).length;
    case "rising": {
      const lengths = list.map(() => 1);
      for (const [place, x] of list.entries()) {
        const before = list[place - 1];
        if (before !== undefined && (end.strict ? x > before : x >= before))
          lengths[place] = 1 + at(lengths, place - 1);
      }
      return Math.max(...lengths);
    }
  }
}

// ---- Python ----

function python({ name, steps, end }: ListScore, { rng, open }: Style): string {
  const list = rng.pick(["numbers", "rest", "items"]);
  return [
    `def ${name}(values):`,
    ...(open === "strict" ? [`    if len(values) > ${LONGEST}:`, '        raise ValueError("too long")'] : []),
    `    ${list} = list(values)`,
    // Whether the caller's list changes is left open, so a test that uses one twice is wrong.
    ...(open === "odd" ? ["    values.clear()"] : []),
    ...steps.flatMap((step) => stepLines(step, list, rng)).map((line) => `    ${line}`),
    `    if not ${list}:`,
    `        return ${end.empty}`,
    ...endLines(end, list, rng).map((line) => `    ${line}`),
  ].join("\n");
}

function stepLines(step: Change, list: string, rng: Rng): string[] {
  const kept = (test: string): string[] =>
    rng.pick([
      [`${list} = [x for x in ${list} if ${test}]`],
      ["kept = []", `for x in ${list}:`, `    if ${test}:`, "        kept.append(x)", `${list} = kept`],
    ]);
  switch (step.do) {
    case "above":
      return kept(
        step.equal
          ? rng.pick([`x >= ${step.than}`, `not x < ${step.than}`, `x > ${step.than - 1}`])
          : rng.pick([`x > ${step.than}`, `not x <= ${step.than}`, `x >= ${step.than + 1}`]),
      );
    case "drop-multiples":
      return kept(rng.pick([`x % ${step.of} != 0`, `x % ${step.of}`, `abs(x) % ${step.of} > 0`]));
    case "clip":
      return [
        `${list} = [${rng.pick([`min(${step.high}, max(${step.low}, x))`, `max(${step.low}, min(x, ${step.high}))`])} for x in ${list}]`,
      ];
    case "once":
      return step.last
        ? [`${list} = list(dict.fromkeys(${list}[::-1]))[::-1]`]
        : rng.pick([
            [`${list} = list(dict.fromkeys(${list}))`],
            ["kept = []", `for x in ${list}:`, "    if x not in kept:", "        kept.append(x)", `${list} = kept`],
          ]);
    case "runs":
      return [`${list} = [x for i, x in enumerate(${list}) if i == 0 or ${list}[i - 1] != x]`];
    case "skip":
      return step.last
        ? [rng.pick([`${list} = ${list}[:-${step.count}]`, `del ${list}[max(0, len(${list}) - ${step.count}):]`])]
        : [rng.pick([`${list} = ${list}[${step.count}:]`, `del ${list}[:${step.count}]`])];
    case "sort":
      return step.down
        ? [rng.pick([`${list}.sort(reverse=True)`, `${list} = sorted(${list})[::-1]`])]
        : [rng.pick([`${list}.sort()`, `${list} = sorted(${list})`])];
    case "changes":
      return [
        rng.pick([
          `${list} = ${list}[:1] + [b - a for a, b in zip(${list}, ${list}[1:])]`,
          `${list} = [x - ${list}[i - 1] if i else x for i, x in enumerate(${list})]`,
        ]),
      ];
    case "scale":
      return [
        `${list} = [${rng.pick([`${step.by} * x + ${step.plus}`, `${step.plus} + x * ${step.by}`])} for x in ${list}]`,
      ];
    case "stop":
      return [
        `if ${step.value} in ${list}:`,
        `    del ${list}[${list}.index(${step.value})${step.keep ? " + 1" : ""}:]`,
      ];
  }
}

function endLines(end: End, list: string, rng: Rng): string[] {
  switch (end.is) {
    case "sum":
      return [`return sum(${list})`];
    case "largest":
      return [rng.pick([`return max(${list})`, `return sorted(${list})[-1]`])];
    case "spread":
      return [`return max(${list}) - min(${list})`];
    case "alternating":
      return [
        rng.pick([
          `return sum(${list}[::2]) - sum(${list}[1::2])`,
          `return sum(-x if i % 2 else x for i, x in enumerate(${list}))`,
        ]),
      ];
    case "place":
      return end.last
        ? [`return len(${list}) - ${list}[::-1].index(max(${list}))`]
        : [`return ${list}.index(max(${list})) + 1`];
    case "count":
      return [
        rng.pick([
          `return sum(1 for x in ${list} if x > ${end.above})`,
          `return len([x for x in ${list} if x >= ${end.above + 1}])`,
        ]),
      ];
    case "rising":
      return [
        "best = length = 1",
        `for a, b in zip(${list}, ${list}[1:]):`,
        `    length = length + 1 if ${end.strict ? "b > a" : "b >= a"} else 1`,
        "    best = max(best, length)",
        "return best",
      ];
  }
}

// ---- mutants and inputs ----

function mutants(spec: ListScore): Mutant<ListScore>[] {
  const changes = (step: Change): { operator: string; item: Change | null }[] => [
    { operator: "forgotten-rule", item: null },
    ...(step.do === "above" ? [{ operator: "boundary", item: { ...step, equal: !step.equal } }] : []),
    ...(step.do === "drop-multiples" ? [{ operator: "constant", item: { ...step, of: step.of + 1 } }] : []),
    ...(step.do === "clip"
      ? [
          { operator: "constant", item: { ...step, low: step.low + 1 } },
          { operator: "constant", item: { ...step, high: step.high + 1 } },
        ]
      : []),
    ...(step.do === "once"
      ? [
          { operator: "first-or-last", item: { ...step, last: !step.last } },
          { operator: "equals", item: { do: "runs" as const } },
        ]
      : []),
    ...(step.do === "runs" ? [{ operator: "equals", item: { do: "once" as const, last: false } }] : []),
    ...(step.do === "skip"
      ? [
          { operator: "constant", item: { ...step, count: step.count + 1 } },
          { operator: "first-or-last", item: { ...step, last: !step.last } },
        ]
      : []),
    ...(step.do === "sort" ? [{ operator: "direction", item: { ...step, down: !step.down } }] : []),
    ...(step.do === "scale" ? [{ operator: "constant", item: { ...step, plus: step.plus + 1 } }] : []),
    ...(step.do === "stop"
      ? [
          { operator: "boundary", item: { ...step, keep: !step.keep } },
          { operator: "constant", item: { ...step, value: step.value + 1 } },
        ]
      : []),
  ];
  const { end } = spec;
  const ends: { operator: string; end: End }[] = [
    { operator: "empty-case", end: { ...end, empty: 0 } },
    ...(end.is === "place" ? [{ operator: "first-or-last", end: { ...end, last: !end.last } }] : []),
    ...(end.is === "rising" ? [{ operator: "boundary", end: { ...end, strict: !end.strict } }] : []),
    ...(end.is === "count"
      ? [
          { operator: "constant", end: { ...end, above: end.above + 1 } },
          { operator: "constant", end: { ...end, above: end.above - 1 } },
        ]
      : []),
    ...(end.is === "spread" ? [{ operator: "forgotten-rule", end: { ...end, is: "largest" as const } }] : []),
    ...(end.is === "alternating" ? [{ operator: "forgotten-rule", end: { ...end, is: "sum" as const } }] : []),
  ];
  return [
    ...replacedItems(spec.steps, changes).map(({ operator, items }) => ({ operator, spec: { ...spec, steps: items } })),
    ...swappedItems(spec.steps).map((steps) => ({ operator: "order", spec: { ...spec, steps } })),
    ...ends.map((one) => ({ operator: one.operator, spec: { ...spec, end: one.end } })),
  ];
}

/** Short lists of few different numbers: constants of the steps, their neighbours, and repetitions. */
function edgeInput({ steps }: ListScore, rng: Rng): Input {
  const constants = steps.flatMap((step) =>
    Object.values(step).flatMap((value) => (typeof value === "number" ? [value - 1, value, value + 1] : [])),
  );
  const pool = [...constants, 0, 1, -1, between(rng, -LARGEST, LARGEST), between(rng, -LARGEST, LARGEST)];
  const some = range(between(rng, 1, 4)).map(() => rng.pick(pool));
  const length = rng.pick([0, 1, 2, 3, 4, 5, 6, 8, LONGEST]);
  return [
    range(length).map(() =>
      Math.min(LARGEST, Math.max(-LARGEST, rng.integer(4) === 0 ? rng.pick(pool) : rng.pick(some))),
    ),
  ];
}
