/** relative-timeline: the order of events from scattered statements about how far they are apart. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { MONTHS } from "../../months.ts";
import type { Level } from "../../row.ts";
import { numbered } from "../documents.ts";

type Statement =
  | { kind: "date"; event: number; day: number }
  | { kind: "apart"; event: number; from: number; days: number }
  | { kind: "middle"; event: number; from: number; to: number };

interface Given {
  events: string[];
  statements: Statement[];
}

/** By level: events. */
const EVENTS = [5, 7, 10, 13, 17] as const;
/** All months have 30 days. */
const MONTH = 30;

export const relativeTimeline = fieldRow<Given>({
  id: "relative-timeline",
  asks: "the order of events from statements about how many days they are apart",
  draw,
  solve,
  values: ({ events }) =>
    `the ${events.length} names of the towns from the first to the last visit, separated by commas`,
  wordings: [
    (one, rng) =>
      `A travelling court visited towns, each once and for a day, all in one year. From its letters:\n${shown(one, rng)}\n\nAll months have 30 days. In which order did it visit the towns?`,
    (one, rng) => `Order these visits of one year in time (a month has 30 days here, a week 7):\n${shown(one, rng)}`,
    (one, rng) =>
      `When was the king in which town? Reconstruct the sequence of his visits in one year from these sentences. Every month is taken as 30 days.\n${shown(one, rng)}`,
    (one, rng) =>
      `Scraps of the chronicle of one year, mixed up:\n${shown(one, rng)}\n\nWith months of 30 days, list the towns by the day of the visit, earliest first.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const count = at(EVENTS, level - 1);
  const days = shuffled(range(330), rng).slice(0, count);
  const order = shuffled(range(count), rng);
  const statements = order.map((event, place): Statement => {
    const earlier = order.slice(0, place);
    if (place === 0 || (place > 2 && rng.integer(7) === 0)) return { kind: "date", event, day: at(days, event) };
    const from = rng.integer(2) === 0 ? at(earlier, place - 1) : rng.pick(earlier);
    const pairs = earlier.flatMap((a) =>
      earlier
        .filter((b) => at(days, a) < at(days, b) && at(days, a) + at(days, b) === 2 * at(days, event))
        .map((b) => [a, b] as const),
    );
    const [pair] = pairs;
    if (pair !== undefined) return { kind: "middle", event, from: pair[0], to: pair[1] };
    return { kind: "apart", event, from, days: at(days, event) - at(days, from) };
  });
  return { events: distinct(count, () => name(rng)), statements: shuffled(statements, rng) };
}

function solve({ events, statements }: Given): Solution | null {
  const days = new Map<number, number>();
  let steps = 0;
  for (let found = true; found;) {
    found = false;
    for (const one of statements) {
      if (days.has(one.event)) continue;
      steps += 1;
      const day = dayOf(one, days);
      if (day === null) continue;
      days.set(one.event, day);
      found = true;
    }
  }
  const times = range(events.length).map((event) => days.get(event) ?? -1);
  if (new Set(times).size < events.length || times.includes(-1)) return null;
  const sorted = (some: readonly number[]): string =>
    marked(
      range(events.length)
        .toSorted((a, b) => at(some, a) - at(some, b))
        .map((event) => at(events, event)),
    );
  const gold = sorted(times);
  const mentions = marked(statements.map(({ event }) => at(events, event)));
  const swapped = marked(gold.split(", ").map((_, index, all) => (index < 2 ? at(all, 1 - index) : at(all, index))));
  if (mentions === gold) return null;
  return {
    fields: [{ name: "order", kind: "sequence", value: gold, options: events }],
    slips: [[mentions], [marked(gold.split(", ").toReversed())], [swapped]],
    steps: steps + events.length,
  };
}

/** Null where what it refers to is not known yet. */
function dayOf(one: Statement, days: ReadonlyMap<number, number>): number | null {
  if (one.kind === "date") return one.day;
  const from = days.get(one.from);
  if (one.kind === "apart") return from === undefined ? null : from + one.days;
  const to = days.get(one.to);
  return from === undefined || to === undefined ? null : (from + to) / 2;
}

function shown({ events, statements }: Given, rng: Rng): string {
  const town = (event: number): string => at(events, event);
  const span = (days: number): string => {
    if (days % 7 === 0) return days === 7 ? "a week" : `${days / 7} weeks`;
    if (days % MONTH === 0) return days === MONTH ? "a month" : `${days / MONTH} months`;
    return days === 1 ? "a day" : `${days} days`;
  };
  const text = (one: Statement): string => {
    switch (one.kind) {
      case "date":
        return `The visit to ${town(one.event)} was on ${(one.day % MONTH) + 1} ${at(MONTHS, Math.floor(one.day / MONTH))}.`;
      case "middle":
        return `The day in ${town(one.event)} was exactly half-way between those in ${town(one.from)} and ${town(one.to)}.`;
      case "apart": {
        const length = span(Math.abs(one.days));
        const isLater = one.days > 0;
        return rng.pick([
          `${length} ${isLater ? "after" : "before"} ${town(one.from)} the court was in ${town(one.event)}.`,
          `${town(one.from)} saw the court ${length} ${isLater ? "earlier" : "later"} than ${town(one.event)} did.`,
          `Between ${town(one.from)} and ${town(one.event)}, which came ${isLater ? "second" : "first"}, there is a distance of ${length}.`,
        ]);
      }
    }
  };
  return numbered(
    statements.map(text).map((line) => line.charAt(0).toUpperCase() + line.slice(1)),
    "L",
  );
}
