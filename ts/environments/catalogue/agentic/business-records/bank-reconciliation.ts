/** bank-reconciliation: lines of a bank statement are matched with the entries of a ledger that they pay, and strays are flagged. */
import { z } from "zod";

import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { call, changedShare, namesOf, pageOf, pageStart, recordName, recordNames } from "../records.ts";

interface Posting {
  id: string;
  day: number;
  amount: number;
}

interface Instance {
  /** Lines of the statement and entries of the ledger. */
  lines: Posting[];
  entries: Posting[];
  /** For each line its entries; none: a stray. */
  matches: string[][];
  tried: number;
}

interface World {
  readonly instance: Instance;
  /** By line: the entries with which it is matched. */
  readonly matched: Map<string, string[]>;
  readonly flagged: Set<string>;
}

/** By level: lines, most entries of a line, strays of each side. */
const SIZES = [
  [3, 2, 1],
  [5, 2, 1],
  [7, 3, 2],
  [10, 3, 2],
  [14, 3, 3],
] as const;
const PAGE = 10;
/** Days from an entry to the line that pays it. */
const WINDOW = 5;

const tools = {
  list_statement: worldTool<World, typeof pageStart>({
    description: `Lines of the bank statement, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance }, { from }) => pageOf(instance.lines, from, PAGE),
  }),
  list_ledger: worldTool<World, typeof pageStart>({
    description: `Open entries of the ledger, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance }, { from }) => pageOf(instance.entries, from, PAGE),
  }),
  match: worldTool({
    description: "Matches a line of the statement with entries of the ledger; each can be matched once",
    parameters: z.object({ line: recordName, entries: recordNames }),
    run: ({ instance, matched, flagged }: World, { line, entries }) => {
      const used = new Set([...matched.keys(), ...[...matched.values()].flat(), ...flagged]);
      const unknown = [
        ...(instance.lines.some(({ id }) => id === line) ? [] : [line]),
        ...entries.filter((entry) => !instance.entries.some(({ id }) => id === entry)),
      ];
      if (unknown.length > 0) throw new Refusal(`there is no ${unknown[0]} on that side`);
      const again = [line, ...entries].find((id, index, all) => used.has(id) || all.indexOf(id) < index);
      if (again !== undefined) throw new Refusal(`${again} is used already`);
      matched.set(line, entries.toSorted());
      return "matched";
    },
  }),
  flag: worldTool({
    description: "Marks a line or an entry as one without a counterpart",
    parameters: z.object({ posting: recordName }),
    run: ({ instance, matched, flagged }: World, { posting }) => {
      if (![...instance.lines, ...instance.entries].some(({ id }) => id === posting))
        throw new Refusal(`there is no ${posting}`);
      if (flagged.has(posting) || matched.has(posting) || [...matched.values()].flat().includes(posting))
        throw new Refusal(`${posting} is used already`);
      flagged.add(posting);
      return "flagged";
    },
  }),
};

export const bankReconciliation = defineWorldRow<Instance, World>({
  id: "bank-reconciliation",
  asks: "match lines of a bank statement with the ledger entries that they pay together, and flag what has no counterpart",
  make,
  effort: ({ tried }) => tried,
  canonical: ({ lines, entries }) => [lines, entries].map((side) => side.map(({ day, amount }) => [day, amount])),
  prompts: [
    (one) =>
      `Reconcile the bank statement with the ledger. A line pays ${mostText(one)} whose amounts add up to it exactly, and which are dated on its day or up to ${WINDOW} days before. Each entry belongs to one line at most. Match all lines that have a counterpart and flag every line and entry that has none; there is exactly one way in which as many lines as possible are matched.`,
    (one) =>
      `Match statement and ledger: the sum of the entries (${mostText(one)}) equals the line to the cent, and no entry is later than the line or more than ${WINDOW} days older. The best solution matches the greatest number of lines and is unique. Whatever is left on either side gets a flag.`,
    (one) =>
      `Month-end. For each bank line find the ledger entries that were paid by it: ${mostText(one)}, equal in sum, booked between ${WINDOW} days before the line and its own day. Beware of amounts that fit two lines: as many lines as possible must be matched in the end, which can be done in one way only. Flag the rest, lines and entries alike.`,
    (one) =>
      `Work out which entries each payment settles. Conditions: ${mostText(one)} per payment; same total; entry date from ${WINDOW} days before to the day of the payment; nothing used twice; the largest possible number of payments explained (only one assignment does it). Then mark as flagged what stays without partner on both sides.`,
  ],
  tools,
  world: (instance) => ({ instance, matched: new Map(), flagged: new Set() }),
  gold: (instance) => script(instance, solution(instance)),
  slips: (instance) => {
    const all = solution(instance);
    const [first] = all.filter(({ tool }) => tool === "match");
    return {
      "stops before the last": script(instance, all.slice(0, -1)),
      "flags nothing": script(
        instance,
        all.filter(({ tool }) => tool === "match"),
      ),
      "one match is turned into flags": script(instance, [
        ...all.filter((one) => one !== first),
        ...(first === undefined ? [] : [call("flag", { posting: first.args["line"] })]),
      ]),
      "takes what fits first": script(instance, greedy(instance)),
    };
  },
  blankets: (instance) => ({
    "flags everything": script(
      instance,
      [...instance.lines, ...instance.entries].map(({ id }) => call("flag", { posting: id })),
    ),
    "matches by position": script(
      instance,
      range(Math.min(instance.lines.length, instance.entries.length)).map((index) =>
        call("match", { line: at(instance.lines, index).id, entries: [at(instance.entries, index).id] }),
      ),
    ),
    "matches equal amounts": script(
      instance,
      instance.lines.flatMap(({ id, amount }) => {
        const entry = instance.entries.find((one) => one.amount === amount);
        return entry === undefined ? [] : [call("match", { line: id, entries: [entry.id] })];
      }),
    ),
  }),
  grade: (instance, { matched, flagged }) => {
    const { lines, entries, matches } = instance;
    const strays = straysOf(instance);
    const facts = (line: (index: number) => unknown, isFlagged: (id: string) => boolean) => ({
      ...Object.fromEntries(lines.map(({ id }, index) => [id, line(index)])),
      ...Object.fromEntries([...lines, ...entries].map(({ id }) => [`flag ${id}`, isFlagged(id)])),
    });
    const share = changedShare(
      facts(
        () => null,
        () => false,
      ),
      facts(
        (index) => (at(matches, index).length === 0 ? null : at(matches, index)),
        (id) => strays.includes(id),
      ),
      facts(
        (index) => matched.get(at(lines, index).id) ?? null,
        (id) => flagged.has(id),
      ),
    );
    return share ** 2;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, most, strays] = at(SIZES, level - 1);
  const parts = range(count).map(() =>
    range(between(rng, 1, most)).map(() => ({ amount: 5 * between(rng, 4, 60), back: rng.integer(WINDOW + 1) })),
  );
  const days = range(count).map(() => between(rng, 2 * WINDOW, 12 + count));
  // Twins: the entry of the earlier line fits the later one as well, which has to leave it.
  for (let later = 0; later < 2 * Math.floor((count + 1) / 4); later += 2) {
    const amount = 5 * between(rng, 4, 60);
    days[later + 1] = at(days, later) - WINDOW + 1;
    parts[later] = [{ amount, back: rng.integer(3) }];
    parts[later + 1] = [{ amount, back: 1 }];
  }
  const total = parts.reduce((sum, one) => sum + one.length, 0) + strays;
  const entryNames = namesOf("entry", total, rng);
  const lineNames = namesOf("line", count + strays, rng);
  const entries: Posting[] = [];
  const drawn = parts.map((one, index) => {
    const day = at(days, index);
    const own = one.map(({ amount, back }) => {
      const entry = { id: at(entryNames, entries.length), day: day - back, amount };
      entries.push(entry);
      return entry;
    });
    return { line: { id: at(lineNames, index), day, amount: one.reduce((sum, { amount }) => sum + amount, 0) }, own };
  });
  for (const place of range(strays)) {
    entries.push({
      id: at(entryNames, total - strays + place),
      day: between(rng, 1, 12 + count),
      amount: 5 * between(rng, 4, 60),
    });
    drawn.push({
      line: {
        id: at(lineNames, count + place),
        day: between(rng, WINDOW, 12 + count),
        amount: 5 * between(rng, 10, 90),
      },
      own: [],
    });
  }
  const order = shuffled(drawn, rng);
  const draft = {
    lines: order.map(({ line }) => line),
    entries: shuffled(entries, rng),
    matches: order.map(({ own }) => own.map(({ id }) => id).toSorted()),
  };
  const choices = draft.lines.map((line) => candidates(line, draft.entries, most));
  const tried = choices.reduce((sum, some) => sum + 4 * some.length + draft.entries.length, 0);
  const instance = { ...draft, tried };
  if (!choices.some((some) => some.length > 1) || !isOnlyBest(instance, choices)) return null;
  const lazy = greedy(instance).filter(({ tool }) => tool === "match");
  const right = solution(instance).filter(({ tool }) => tool === "match");
  return JSON.stringify(lazy) === JSON.stringify(right) ? null : instance;
}

/** Sets of entries that the line can pay. */
function candidates(line: Posting, entries: readonly Posting[], most: number): string[][] {
  const near = entries.filter(
    ({ day, amount }) => day <= line.day && day >= line.day - WINDOW && amount <= line.amount,
  );
  const found: string[][] = [];
  const grow = (from: number, chosen: readonly Posting[], rest: number): void => {
    if (rest === 0) found.push(chosen.map(({ id }) => id).toSorted());
    if (rest <= 0 || chosen.length === most) return;
    for (let next = from; next < near.length; next++)
      grow(next + 1, [...chosen, at(near, next)], rest - at(near, next).amount);
  };
  grow(0, [], line.amount);
  return found;
}

/** Whether the intended matches are the only ones with the greatest number of lines; bounded. */
function isOnlyBest({ matches }: Instance, choices: readonly string[][][]): boolean {
  const wanted = matches.filter((one) => one.length > 0).length;
  let [found, nodes] = [0, 0];
  const walk = (line: number, used: ReadonlySet<string>, done: number, chosen: string): void => {
    nodes += 1;
    if (nodes > 20_000 || found > 1 || done + choices.length - line < wanted) return;
    if (line === choices.length) {
      found += done > wanted ? 2 : chosen === JSON.stringify(matches) ? 1 : 2;
      return;
    }
    for (const one of at(choices, line))
      if (one.every((id) => !used.has(id)))
        walk(line + 1, new Set([...used, ...one]), done + 1, extended(chosen, one, line));
    walk(line + 1, used, done, extended(chosen, [], line));
  };
  walk(0, new Set(), 0, "[");
  return found === 1 && nodes <= 20_000;

  function extended(text: string, one: readonly string[], line: number): string {
    return `${text}${line > 0 ? "," : ""}${JSON.stringify(one)}${line === choices.length - 1 ? "]" : ""}`;
  }
}

/** Line by line the first set that fits. */
function greedy(instance: Instance): Call[] {
  const used = new Set<string>();
  return instance.lines.flatMap((line) => {
    const fit = candidates(line, instance.entries, mostOf(instance)).find((one) => one.every((id) => !used.has(id)));
    if (fit === undefined) return [];
    for (const id of fit) used.add(id);
    return [call("match", { line: line.id, entries: fit })];
  });
}

function mostOf({ matches }: Pick<Instance, "matches">): number {
  return Math.max(2, ...matches.map((one) => one.length));
}

function straysOf({ lines, entries, matches }: Instance): string[] {
  const used = new Set(matches.flat());
  return [
    ...lines.filter((_, index) => at(matches, index).length === 0),
    ...entries.filter(({ id }) => !used.has(id)),
  ].map(({ id }) => id);
}

function solution(instance: Instance): Call[] {
  const { lines, matches } = instance;
  return [
    ...lines.flatMap(({ id }, index) =>
      at(matches, index).length === 0 ? [] : [call("match", { line: id, entries: at(matches, index) })],
    ),
    ...straysOf(instance).map((id) => call("flag", { posting: id })),
  ];
}

function script({ lines, entries }: Instance, all: readonly Call[]): Script {
  return [
    ...range(Math.ceil(lines.length / PAGE)).map((page) => call("list_statement", { from: page * PAGE })),
    ...range(Math.ceil(entries.length / PAGE)).map((page) => call("list_ledger", { from: page * PAGE })),
    ...all,
  ];
}

function mostText(instance: Instance): string {
  return `one to ${mostOf(instance)} entries`;
}
