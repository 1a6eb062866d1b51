/** shifting-names-chase: firms that are renamed, merged and founded anew under old names; which name has the business of one later on. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { corpus, sentence } from "../documents.ts";
import { fieldRow, type Solution } from "../../field-row.ts";

interface Event {
  kind: "found" | "rename" | "merge" | "close";
  year: number;
  /** The firm by its name then; of a founding the new one. */
  from: string;
  /** The new name. */
  to: string;
  /** The partner of a merger. */
  partner: string;
}

interface Given {
  events: Event[];
  questions: { name: string; year: number; until: number }[];
  /** Places of the events in the order of the documents. */
  order: number[];
}

/** By level: names, events, questions. */
const SIZES = [
  [5, 6, 3],
  [6, 10, 4],
  [8, 16, 4],
  [10, 24, 5],
  [13, 34, 6],
] as const;
const FEWEST_EVENTS = 6;
const FIRST_YEAR = 1801;
const CLOSED = "closed";

export const shiftingNamesChase = fieldRow<Given>({
  id: "shifting-names-chase",
  asks: "later names of firms that were renamed, merged and closed while other firms took their old names",
  draw,
  solve,
  isShared: true,
  values: () =>
    `each value is the name of the firm in the later year, or ${CLOSED} when it has ended by then without a successor`,
  wordings: [
    (one, rng) => `${shown(one, rng)}\n\n${NOTE}\n${asked(one)}`,
    (one, rng) =>
      `Shares of old firms turned up in an attic. Which firm do they belong to in the later year?\n${asked(one)}\n\nFrom the trade register (out of order):\n${shown(one, rng)}\n\n${NOTE}`,
    (one, rng) =>
      `${NOTE}\n\nNotices of a gazette, as they were cut out:\n${shown(one, rng)}\n\nFollow the business, not the name:\n${asked(one)}`,
    (one, rng) =>
      `Names wander from one business to another in these records.\n${shown(one, rng)}\nTrace each business below.\n${asked(one)}\n${NOTE}`,
  ],
});

const NOTE =
  "Every change took place on 1 January of its year, each in another year; a name stands for one firm at a time. A merger goes on as one firm, the successor of both. A name that became free could be taken by another firm later.";

function draw(rng: Rng, level: Level): Given | null {
  const [nameCount, eventCount, questionCount] = at(SIZES, level - 1);
  const names = distinct(nameCount, () => name(rng));
  const alive = new Set<string>();
  const used = new Set<string>();
  const events: Event[] = [];
  let year = FIRST_YEAR;
  for (let index = 0; index < eventCount; index++) {
    const free = names.filter((one) => !alive.has(one));
    const old = free.filter((one) => used.has(one));
    const to = free.length === 0 ? "" : rng.pick(old.length > 0 && rng.integer(3) > 0 ? old : free);
    const living = shuffled(alive, rng);
    const roll = rng.integer(12);
    const [from = "", partner = ""] = living;
    if (living.length < 2 || (roll < 3 && to !== "")) {
      if (to === "") return null;
      events.push({ kind: "found", year, from: "", to, partner: "" });
    } else if (roll < 8 && to !== "") {
      events.push({ kind: "rename", year, from, to, partner: "" });
      alive.delete(from);
    } else if (roll < 11) {
      // A merged firm may keep one of the two names.
      const kept = to !== "" && rng.integer(2) === 0 ? to : from;
      events.push({ kind: "merge", year, from, to: kept, partner });
      alive.delete(from);
      alive.delete(partner);
    } else {
      events.push({ kind: "close", year, from, to: "", partner: "" });
      alive.delete(from);
    }
    const { to: added } = at(events, index);
    if (added !== "") {
      alive.add(added);
      used.add(added);
    }
    year += between(rng, 2, 5);
  }
  const first = events.slice(0, Math.ceil(eventCount / 2)).map((event) => event.year + 1);
  const candidates = first.flatMap((from) =>
    names.map((one) => ({ name: one, year: from, until: between(rng, Math.floor((from + 3 * year) / 4), year) })),
  );
  const questions: Given["questions"] = [];
  const values = new Set<string>();
  for (const one of shuffled(candidates, rng)) {
    const value = nameLater(events, one);
    // Something happened to the firm, and there was one of this name.
    if (value === null || value === one.name || values.has(value) || questions.length === questionCount) continue;
    values.add(value);
    questions.push(one);
  }
  if (questions.length < questionCount) return null;
  return { events, questions, order: shuffled(range(eventCount), rng) };
}

function solve({ events, questions }: Given): Solution | null {
  const values = questions.map((question) => nameLater(events, question) ?? "");
  const names = [...new Set(events.map(({ to }) => to))].filter((one) => one !== "");
  const matched = questions.map(
    ({ name: firm }) => events.findLast(({ from, partner }) => from === firm || partner === firm)?.to ?? firm,
  );
  return {
    fields: values.map((value, index) => ({ name: `Q${index + 1}`, kind: "word", value, options: [...names, CLOSED] })),
    slips: [
      questions.map(({ name: firm }) => firm),
      // The shortest histories have no namesake.
      ...(events.length > FEWEST_EVENTS ? [matched.map((value) => value || CLOSED)] : []),
    ],
    steps: events.length * questions.length,
  };
}

/** Null when no firm has the name in the first year. */
function nameLater(events: readonly Event[], { name: first, year, until }: Given["questions"][number]): string | null {
  const alive = new Set<string>();
  let current: string | null = null;
  let isChosen = false;
  for (const { kind, year: when, from, to, partner } of events) {
    if (when > until) break;
    if (when > year && !isChosen) {
      if (!alive.has(first)) return null;
      [current, isChosen] = [first, true];
    }
    for (const gone of [from, partner]) alive.delete(gone);
    if (to !== "") alive.add(to);
    if (isChosen && current !== null && (current === from || current === partner))
      current = kind === "close" ? null : to;
    if (isChosen && current === null) return CLOSED;
  }
  return isChosen ? current : null;
}

function asked({ questions }: Given): string {
  return questions
    .map(
      ({ name: firm, year, until }, index) =>
        `Q${index + 1}: the firm that was called ${firm} in the middle of ${year}; its name in the middle of ${until}`,
    )
    .join("\n");
}

function shown({ events, order }: Given, rng: Rng): string {
  const texts = order.map((place) => {
    const { kind, year, from, to, partner } = at(events, place);
    if (kind === "found")
      return rng.pick([
        `a new firm was founded under the name ${to} in ${year}`,
        `${year} saw the foundation of a new firm, ${to}`,
      ]);
    if (kind === "close")
      return rng.pick([
        `in ${year} ${from} closed its doors for ever`,
        `${from} was wound up in ${year} without a successor`,
      ]);
    if (kind === "rename")
      return rng.pick([
        `from ${year} on ${from} traded as ${to}`,
        `the name ${from} was changed into ${to} in ${year}`,
        `${year}: ${to} is the new name of ${from}`,
      ]);
    return rng.pick([
      `${from} and ${partner} merged in ${year} and went on as ${to}`,
      `in ${year} ${partner} joined with ${from}; the common name was ${to}`,
    ]);
  });
  return corpus(texts.map(sentence), rng);
}
