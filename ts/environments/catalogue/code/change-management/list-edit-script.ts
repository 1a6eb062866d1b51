/** list-edit-script: a cheapest sequence of insertions, deletions and replacements that turns one list into another. */
import { between, firstDrawn } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";

interface Costs {
  insert: number;
  delete: number;
  replace: number;
}
interface Instance {
  from: string[];
  to: string[];
  costs: Costs;
  script: string[];
  cost: number;
}

/** By level: items of the first list, edits. */
const SIZES = [
  [4, 2],
  [6, 3],
  [8, 5],
  [11, 7],
  [15, 10],
] as const;
const TRIES = 40;

export const listEditScript = defineRow<Instance>({
  id: "list-edit-script",
  asks: "a cheapest script of insertions, deletions and replacements between two lists",
  place: "answer",
  make: (rng, level) => firstDrawn(TRIES, () => draw(rng, level)),
  effort: ({ from, to, script }) => from.length + to.length + 4 * script.length,
  canonical: ({ from, to, costs }) => {
    const names = new Map<string, number>();
    for (const one of [...from, ...to]) if (!names.has(one)) names.set(one, names.size);
    return [from.map((one) => names.get(one)), to.map((one) => names.get(one)), costs];
  },
  prompts: [
    (one) =>
      `Turn the list\n${one.from.join(" ")}\ninto\n${one.to.join(" ")}\nas cheaply as possible. ${commands(one)} Any cheapest script is right, a dearer one is not.`,
    (one) =>
      `${commands(one)} Find a script of least total cost that leads from the first list to the second.\n\nFirst: ${one.from.join(", ")}\nSecond: ${one.to.join(", ")}`,
    (one) =>
      `A sync program has to change\n\n[${one.from.join(", ")}]\n\nto\n\n[${one.to.join(", ")}]\n\nwith minimal cost. ${commands(one)} Write the commands one a line.`,
    (one) =>
      `Old order: ${one.from.join(" ")}\nNew order: ${one.to.join(" ")}\n\n${commands(one)} Which commands produce the new order at the lowest price? Every optimal sequence counts.`,
  ],
  gold: ({ script }) => script.join("\n"),
  nearMisses: (one) => {
    const naive = [...one.from.map(() => "delete 1"), ...one.to.map((item, index) => `insert ${index + 1} ${item}`)];
    const lines = one.script;
    return [
      naive.join("\n"),
      lines.slice(0, -1).join("\n"),
      [...lines, `insert 1 ${at(one.to, 0)}`, "delete 1"].join("\n"),
      lines.toReversed().join("\n"),
      [...lines, ...lines].join("\n"),
    ].filter((text) => text !== "" && scoreOf(one, text) < 1);
  },
  variants: ({ script }) => [
    script
      .map(
        (line) =>
          ` ${line
            .toUpperCase()
            .replace(/^(\w+)/u, (command) => command.toLowerCase())
            .toLowerCase()}`,
      )
      .join("\n"),
  ],
  score: scoreOf,
});

function commands({ costs }: Instance): string {
  return `Commands work on the list as it is at the time, positions count from 1: "insert p w" puts w in so that it gets position p (cost ${costs.insert}), "delete p" removes the item at p (cost ${costs.delete}), "replace p w" puts w in its place (cost ${costs.replace}).`;
}

function draw(rng: Rng, level: Level): Instance | null {
  const [length, edits] = at(SIZES, level - 1);
  const words = distinct(length + 3, () => word(rng, 1));
  // Some words stand several times, so that matching them is a choice.
  const from = range(length).map(() => rng.pick(words));
  const to = [...from];
  for (const _ of range(edits)) {
    const place = rng.integer(to.length);
    const kind = rng.integer(3);
    if (kind === 0) to.splice(place, 0, rng.pick(words));
    else if (kind === 1 && to.length > 2) to.splice(place, 1);
    else to[place] = rng.pick(words);
  }
  const costs = { insert: between(rng, 2, 5), delete: between(rng, 1, 5), replace: between(rng, 3, 9) };
  const { script, cost } = cheapest(from, to, costs);
  return script.length < Math.ceil(edits * 0.7) || script.length > edits + 3 ? null : { from, to, costs, script, cost };
}

/** By dynamic programming over prefixes; the script works from the end to the beginning, so that positions stay valid. */
function cheapest(from: readonly string[], to: readonly string[], costs: Costs): { script: string[]; cost: number } {
  const table = range(from.length + 1).map((a) =>
    range(to.length + 1).map((b) => (a === 0 ? b * costs.insert : b === 0 ? a * costs.delete : 0)),
  );
  const cost = (a: number, b: number): number => table[a]?.[b] ?? Infinity;
  for (let a = 1; a <= from.length; a++) {
    for (let b = 1; b <= to.length; b++) {
      const kept = from[a - 1] === to[b - 1] ? 0 : costs.replace;
      at(table, a)[b] = Math.min(
        cost(a - 1, b - 1) + kept,
        cost(a - 1, b) + costs.delete,
        cost(a, b - 1) + costs.insert,
      );
    }
  }
  const script: string[] = [];
  let [a, b] = [from.length, to.length];
  while (a > 0 || b > 0) {
    const isKept = a > 0 && b > 0 && from[a - 1] === to[b - 1];
    if (isKept && cost(a, b) === cost(a - 1, b - 1)) [a, b] = [a - 1, b - 1];
    else if (a > 0 && b > 0 && !isKept && cost(a, b) === cost(a - 1, b - 1) + costs.replace) {
      script.push(`replace ${a} ${at(to, b - 1)}`);
      [a, b] = [a - 1, b - 1];
    } else if (a > 0 && cost(a, b) === cost(a - 1, b) + costs.delete) {
      script.push(`delete ${a}`);
      a -= 1;
    } else {
      script.push(`insert ${a + 1} ${at(to, b - 1)}`);
      b -= 1;
    }
  }
  return { script, cost: cost(from.length, to.length) };
}

function scoreOf({ from, to, costs, cost }: Instance, answer: string): number {
  const list = [...from];
  let spent = 0;
  for (const line of answer.split("\n").filter((one) => one.trim() !== "")) {
    const [, command, digits, item] = /^\s*(insert|delete|replace)\s+(\d{1,3})(?:\s+([a-z]+))?\s*$/u.exec(line) ?? [];
    const place = Number(digits) - 1;
    if (
      (command !== "insert" && command !== "delete" && command !== "replace") ||
      (item === undefined) !== (command === "delete")
    )
      return 0;
    if (place < 0 || place >= list.length + Number(command === "insert")) return 0;
    list.splice(place, command === "insert" ? 0 : 1, ...(item === undefined ? [] : [item]));
    spent += costs[command];
    if (spent > cost) return 0;
  }
  return spent === cost && list.join(" ") === to.join(" ") ? 1 : 0;
}
