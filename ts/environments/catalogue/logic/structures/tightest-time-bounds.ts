/** tightest-time-bounds: the least and largest distance of events that given bounds on other distances allow, with a choice to be settled. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

/** `to` happens from `least` to `most` minutes after `from`. */
interface Bound {
  from: number;
  to: number;
  least: number;
  most: number;
}

interface Given {
  events: number;
  bounds: Bound[];
  /** At least one of each pair holds; which one is not known. */
  choices: [Bound, Bound][];
  /** Events whose distance is asked for. */
  asked: [number, number][];
}

/** By level: events, choices, questions. */
const SIZES = [
  [4, 1, 1],
  [6, 1, 2],
  [8, 2, 2],
  [10, 3, 3],
  [12, 4, 3],
] as const;

export const tightestTimeBounds = fieldRow<Given>({
  id: "tightest-time-bounds",
  asks: "the least and largest time between events that bounds on other times, some with a choice, allow",
  draw,
  solve,
  values: ({ asked }) =>
    `${asked.map(([from, to], index) => `least${index + 1} and most${index + 1} are the smallest and largest possible time, in minutes, from E${from + 1} to E${to + 1}`).join("; ")} (negative if the second event may come first)`,
  wordings: [
    (one) => `${facts(one)}\n\n${RULE} ${question(one)}`,
    (one) =>
      `${question(one)} ${RULE}\n\nWhat the incomplete log of a laboratory says about its events:\n${facts(one)}`,
    (one) =>
      `Events E1 to E${one.events} of one morning are known only by time differences.\n${facts(one)}\n${question(one)}\n${RULE}`,
    (one) => `Solve this network of temporal constraints. ${RULE}\n${facts(one)}\nNow the question. ${question(one)}`,
  ],
});

const RULE =
  "All bounds are inclusive and all of them hold together. Of an either-or at least one of the two holds, perhaps both; the bounds asked for are over everything that is possible then.";

function draw(rng: Rng, level: Level): Given | null {
  const [events, choiceCount, questions] = at(SIZES, level - 1);
  const times = range(events).map(() => rng.integer(60));
  const boundOf = (from: number, to: number, slack: number): Bound => {
    const apart = at(times, to) - at(times, from);
    return { from, to, least: apart - between(rng, 0, slack), most: apart + between(rng, 1, slack) };
  };
  const order = shuffled(range(events), rng);
  const tree = range(events - 1).map((index) => boundOf(at(order, rng.integer(index + 1)), at(order, index + 1), 12));
  const pair = (): [number, number] => sample(range(events), 2, rng) as [number, number];
  const more = range(Math.floor(events / 2)).map(() => boundOf(...pair(), 9));
  const choices = range(choiceCount).map((): [Bound, Bound] => {
    const right = boundOf(...pair(), 7);
    const [from, to] = pair();
    const shift = (rng.integer(2) === 0 ? 1 : -1) * between(rng, 6, 18);
    const near = boundOf(from, to, 6);
    const wrong = { ...near, least: near.least + shift, most: near.most + shift };
    return rng.integer(2) === 0 ? [right, wrong] : [wrong, right];
  });
  return { events, bounds: shuffled([...tree, ...more], rng), choices, asked: range(questions).map(pair) };
}

/** Largest values of to - from by Floyd and Warshall; null when the bounds contradict each other. */
export function closure(events: number, bounds: readonly Bound[]): number[][] | null {
  const most = range(events).map((from) => range(events).map((to) => (from === to ? 0 : Infinity)));
  const lower = (from: number, to: number, value: number): void => {
    const row = at(most, from);
    if (value < at(row, to)) row[to] = value;
  };
  for (const bound of bounds) {
    lower(bound.from, bound.to, bound.most);
    lower(bound.to, bound.from, -bound.least);
  }
  for (const middle of range(events))
    for (const from of range(events))
      for (const to of range(events)) lower(from, to, at(at(most, from), middle) + at(at(most, middle), to));
  return range(events).some((one) => at(at(most, one), one) < 0) ? null : most;
}

function solve({ events, bounds, choices, asked }: Given): Solution | null {
  const cases = range(2 ** choices.length).map((picks) =>
    closure(events, [...bounds, ...choices.map((pair, index) => at(pair, (picks >> index) & 1))]),
  );
  const open = cases.filter((one) => one !== null);
  const free = closure(events, bounds);
  if (open.length === 0 || open.length === cases.length || free === null) return null;
  const read = (tables: readonly (readonly (readonly number[])[])[]): string[] =>
    asked.flatMap(([from, to]) => [
      String(-Math.max(...tables.map((most) => at(at(most, to), from)))),
      String(Math.max(...tables.map((most) => at(at(most, from), to)))),
    ]);
  const values = read(open);
  const slips = [read([free]), read(open.slice(0, 1))].filter((slip) => slip.join(" ") !== values.join(" "));
  const stated = new Set([...bounds, ...choices.flat()].map(({ from, to }) => `${from} ${to}`));
  if (slips.length === 0 || asked.some(([a, b]) => stated.has(`${a} ${b}`) || stated.has(`${b} ${a}`))) return null;
  return {
    fields: values.map((value, index) => ({
      name: `${index % 2 === 0 ? "least" : "most"}${Math.floor(index / 2) + 1}`,
      kind: "number",
      value: value === "-0" ? "0" : value,
    })),
    slips,
    steps: cases.length * events ** 3,
  };
}

function sentenceOf({ from, to, least, most }: Bound): string {
  return `E${to + 1} - E${from + 1} is from ${least} to ${most} min`;
}

function facts({ bounds, choices }: Given): string {
  return [
    ...bounds.map((bound) => `- ${sentenceOf(bound)}.`),
    ...choices.map(([first, second]) => `- Either ${sentenceOf(first)}, or ${sentenceOf(second)}.`),
  ].join("\n");
}

function question({ asked }: Given): string {
  return `How long is it at least and at most ${asked.map(([from, to]) => `from E${from + 1} to E${to + 1}`).join(", and ")}?`;
}
