/** office-at-date: who held an office on a day, after appointments, resignations, exchanges and corrections of earlier reports. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { MONTHS } from "../../months.ts";
import type { Level } from "../../row.ts";
import { fieldRow, type Solution } from "../../field-row.ts";

interface Event {
  kind: "appoint" | "resign" | "exchange";
  /** Days since the beginning of the first year. */
  day: number;
  office: number;
  /** The new holder; of an exchange the other office. */
  other: number;
}

/** A later document that changes the day or the person of an earlier one. */
interface Correction {
  event: number;
  day: number;
  other: number;
}

interface Given {
  offices: string[];
  people: string[];
  events: Event[];
  corrections: Correction[];
  questions: { office: number; day: number }[];
  /** Order of the documents: events first by their place, then corrections. */
  order: number[];
}

/** By level: offices, people, events, corrections. */
const SIZES = [
  [2, 4, 5, 0],
  [2, 5, 8, 1],
  [3, 7, 13, 2],
  [4, 9, 20, 4],
  [5, 11, 30, 6],
] as const;
const OFFICES = ["harbour master", "town clerk", "treasurer", "head of the school", "keeper of the bridge"];
const QUESTIONS = 6;
const DAYS = 720;
/** Every office has a holder before this day. */
const FIRST_DAY = 30;
const VACANT = "vacant";

export const officeAtDate = fieldRow<Given>({
  id: "office-at-date",
  asks: "who held which office on given days, after appointments, resignations, exchanges and corrections",
  draw,
  solve,
  isShared: true,
  values: () => `each value is a name, or ${VACANT} when the office had no holder on that day`,
  wordings: [
    (one, rng) => `${shown(one, rng)}\n\n${rules()}\n\nWho held the office?\n${asked(one)}`,
    (one, rng) =>
      `${rules()}\n\nThe gazette, whose pages got mixed up:\n${shown(one, rng)}\n\nFor each day say who was in office.\n${asked(one)}`,
    (one, rng) =>
      `Office holders are sought for these days:\n${asked(one)}\n\nEvidence (not in the order of time):\n${shown(one, rng)}\n\n${rules()}`,
    (one, rng) => `A lawyer must know who could sign.\n${asked(one)}\n${rules()}\n\nNotices:\n${shown(one, rng)}`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [officeCount, people, eventCount, correctionCount] = at(SIZES, level - 1);
  const days = shuffled(range(DAYS).slice(FIRST_DAY), rng).slice(0, eventCount + correctionCount + QUESTIONS);
  const events = range(eventCount).map((index): Event => {
    const office = index < officeCount ? index : rng.integer(officeCount);
    const roll = index < officeCount ? 0 : rng.integer(8);
    const day = index < officeCount ? 5 + index : at(days, index);
    if (roll < 5) return { kind: "appoint", day, office, other: rng.integer(people) };
    if (roll < 7) return { kind: "resign", day, office, other: -1 };
    return { kind: "exchange", day, office, other: (office + between(rng, 1, officeCount - 1)) % officeCount };
  });
  const chosen = shuffled(range(eventCount).slice(officeCount), rng).slice(0, correctionCount);
  const corrections = chosen.map((event, index): Correction => {
    const { kind, day, other } = at(events, event);
    const isDay = kind !== "appoint" || rng.integer(2) === 0;
    return {
      event,
      day: isDay ? at(days, eventCount + index) : day,
      other: isDay ? other : (other + between(rng, 1, people - 1)) % people,
    };
  });
  const questions = days.slice(-QUESTIONS).map((day, index) => ({ office: index % officeCount, day }));
  return {
    offices: shuffled(OFFICES, rng).slice(0, officeCount),
    people: distinct(people, () => name(rng)),
    events,
    corrections,
    questions: shuffled(questions, rng),
    order: shuffled(range(eventCount + correctionCount), rng),
  };
}

function solve(one: Given): Solution | null {
  const { events, corrections, people, questions } = one;
  const fixed = events.map((event, index) => {
    const fix = corrections.find((correction) => correction.event === index);
    return fix === undefined ? event : { ...event, day: fix.day, other: fix.other };
  });
  const values = holders(one, fixed);
  if (new Set(values).size < 3 || values.filter((value) => value === VACANT).length > 2) return null;
  const latest = questions.map(({ office }) => {
    const last = events.findLast((event) => event.office === office && event.kind === "appoint");
    return last === undefined ? VACANT : at(people, last.other);
  });
  const slips = [latest, ...(corrections.length > 0 ? [holders(one, events)] : [])];
  return {
    fields: values.map((value, index) => ({
      name: `Q${index + 1}`,
      kind: "word",
      value,
      options: [...people, VACANT],
    })),
    slips,
    steps: events.length + corrections.length,
  };
}

/** The state is carried forward from event to event. */
function holders({ offices, people, questions }: Given, events: readonly Event[]): string[] {
  const order = events.toSorted((a, b) => a.day - b.day);
  return questions.map(({ office, day }) => {
    const holder: (number | null)[] = offices.map(() => null);
    for (const event of order) {
      if (event.day > day) break;
      if (event.kind === "resign") holder[event.office] = null;
      else if (event.kind === "exchange")
        [holder[event.office], holder[event.other]] = [holder[event.other] ?? null, holder[event.office] ?? null];
      else {
        for (const [other, person] of holder.entries()) if (person === event.other) holder[other] = null;
        holder[event.office] = event.other;
      }
    }
    const person = holder[office] ?? null;
    return person === null ? VACANT : at(people, person);
  });
}

/** Every month has 30 days here, as the rules say. */
export function dateOf(day: number): string {
  const year = 1870 + Math.floor(day / 360);
  return `${(day % 30) + 1} ${at(MONTHS, Math.floor((day % 360) / 30))} ${year}`;
}

function rules(): string {
  return "An office has one holder at most, and a person holds one office at most. An appointment puts the named person into the office on its day, in place of the holder, and the office that this person held before falls vacant. A resignation leaves the office vacant until the next appointment. In an exchange the holders of two offices change places (a vacancy moves as well). Changes count from their day on. A correction changes one thing in the notice that it names and leaves the rest. All months have 30 days.";
}

function asked({ offices, questions }: Given): string {
  return questions
    .map(({ office, day }, index) => `Q${index + 1}: ${at(offices, office)} on ${dateOf(day)}`)
    .join("\n");
}

function shown(one: Given, rng: Rng): string {
  const { offices, people, events, corrections, order } = one;
  return order
    .map((place, index) => {
      const fix = corrections[place - events.length];
      return `[N${index + 1}] ${fix === undefined ? notice(at(events, place)) : mended(fix)}`;
    })
    .join("\n");

  function notice({ kind, day, office, other }: Event): string {
    const [post, date] = [at(offices, office), dateOf(day)];
    if (kind === "resign")
      return rng.pick([`The ${post} laid the office down on ${date}.`, `${date}: resignation of the ${post}.`]);
    if (kind === "exchange")
      return rng.pick([
        `On ${date} the ${post} and the ${at(offices, other)} exchanged their offices.`,
        `${post} and ${at(offices, other)} swap places with effect from ${date}.`,
      ]);
    const person = at(people, other);
    return rng.pick([
      `${person} was made ${post} on ${date}.`,
      `Since ${date} the post of ${post} has been given to ${person}.`,
      `${date}: ${person} is sworn in as ${post}.`,
    ]);
  }

  function mended({ event, day, other }: Correction): string {
    const number = `N${order.indexOf(event) + 1}`;
    const before = at(events, event);
    if (day !== before.day) return `Correction: the day in ${number} should read ${dateOf(day)}.`;
    return `Correction: in ${number} the name should be ${at(people, other)}, not ${at(people, before.other)}.`;
  }
}
