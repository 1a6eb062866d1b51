/** merged-text: the text on which replicas of a collaborative editor agree after concurrent inserts and deletes. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Operation = { do: "insert"; id: string; letter: string; after: string } | { do: "delete"; id: string };
export interface TextProblem {
  operations: Operation[];
}

/** By level: inserts, deletes, sites. */
const SIZES = [
  [5, 1, 2],
  [8, 1, 2],
  [12, 3, 3],
  [18, 4, 3],
  [27, 6, 4],
] as const;
const ROOT = "start";

export const mergedText = itemRow<TextProblem>({
  id: "merged-text",
  asks: "the text of a collaborative editor after concurrent inserts behind the same letters and deletes",
  form: "lines",
  tries: 30,
  make,
  prompts: [
    (one) => `${RULES}\n\nA replica receives:\n${text(one)}\n\nWhich text does it show? Answer with the text alone.`,
    (one) =>
      `Operations of a shared document, in the order in which they reached one of the replicas:\n${text(one)}\n\n${RULES} Write the resulting text.`,
    (one) =>
      `What do all sites read after they have exchanged these operations?\n\n${text(one)}\n\n${RULES} The answer is the document as one word.`,
    (one) =>
      `Replay a sequence CRDT by its rules: ${RULES}\n\n${text(one)}\n\nGive the visible letters from left to right, without spaces.`,
  ],
});

const RULES =
  "A letter's id is a number and the name of a site, such as 7B. An insert puts its letter behind the letter with the id that it names (or behind the start), before everything that is there, except: letters that were inserted behind the same id with a larger id stay in front, each with all that was inserted behind it, directly or not. 8A is larger than 7B, and 7B is larger than 7A. A deleted letter is not shown, but still marks its place. The order of arrival does not matter.";

function text({ operations }: TextProblem): string {
  return operations
    .map((one) =>
      one.do === "delete" ? `delete ${one.id}` : `insert '${one.letter}' with id ${one.id} behind ${one.after}`,
    )
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [inserts, deletes, sites] = at(SIZES, level - 1);
  const letters = shuffled("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", rng);
  const made: { do: "insert"; id: string; letter: string; after: string }[] = [];
  const counts = range(sites).map(() => 0);
  for (const index of range(inserts)) {
    const site = rng.integer(sites);
    const after = index === 0 || rng.integer(5) === 0 ? ROOT : rng.pick(made.slice(-5)).id;
    // The number is larger than that of the letter in front, and grows at each site.
    const least = Math.max(at(counts, site), after === ROOT ? 0 : Number.parseInt(after, 10));
    counts[site] = least + 1;
    made.push({ do: "insert", id: `${least + 1}${"ABCD".charAt(site)}`, letter: at(letters, index), after });
  }
  const gone = shuffled(made, rng).slice(0, deletes);
  // An operation follows those on which it depends.
  const order = shuffled<Operation>([...made, ...gone.map(({ id }): Operation => ({ do: "delete", id }))], rng);
  const operations: Operation[] = [];
  const known = new Set([ROOT]);
  while (operations.length < order.length)
    for (const one of order) {
      const needs = one.do === "delete" ? one.id : one.after;
      if (operations.includes(one) || !known.has(needs)) continue;
      operations.push(one);
      if (one.do === "insert") known.add(one.id);
    }
  const problem = { operations };
  const right = shown(operations, (a, b) => compare(b, a));
  const rising = shown(operations, compare);
  const flat = operations.reduce<string[]>((list, one) => {
    if (one.do === "insert") list.splice(list.indexOf(one.after) + 1, 0, one.id);
    return list;
  }, []);
  const letterOf = new Map(made.map(({ id, letter }) => [id, letter]));
  const naive = flat
    .filter((id) => !gone.some((one) => one.id === id))
    .map((id) => letterOf.get(id))
    .join("");
  if (naive === right || rising === right || right.length < 3) return null;
  const siblings = made.length - new Set(made.map(({ after }) => after)).size;
  return {
    problem,
    items: [right],
    misses: [[naive], [rising], [right.split("").toReversed().join("")], [flat.map((id) => letterOf.get(id)).join("")]],
    effort: operations.length * 2 + siblings,
  };
}

function compare(a: string, b: string): number {
  const [left, right] = [Number.parseInt(a, 10), Number.parseInt(b, 10)];
  return left - right || (a.slice(-1) < b.slice(-1) ? -1 : 1);
}

/** Each letter, then all that was inserted behind it, in the order of ids. */
function shown(operations: readonly Operation[], order: (a: string, b: string) => number): string {
  const gone = new Set(operations.flatMap((one) => (one.do === "delete" ? [one.id] : [])));
  const walk = (parent: string): string => {
    const children = operations.flatMap((one) => (one.do === "insert" && one.after === parent ? [one] : []));
    return children
      .toSorted((a, b) => order(a.id, b.id))
      .map(({ id, letter }) => `${gone.has(id) ? "" : letter}${walk(id)}`)
      .join("");
  };
  return walk(ROOT);
}
