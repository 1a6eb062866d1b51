/** integrity-repair: a database whose rows were changed behind the journal's back is repaired, and made to refuse writes that break its rules. */
import { z } from "zod";

import { canonicalJson } from "../../../../../canonical-json.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { defineBoxRow, type LeftBox, type Level } from "../../../row.ts";
import { changedShare } from "../../records.ts";
import { drawBooks } from "./books.ts";
import { type Probe, probesOf, type Rule, rulesOf, stageOf } from "./rules.ts";
import {
  checkProgram,
  DATABASE,
  databaseProgram,
  factsOf,
  goldSteps,
  recordFacts,
  repairCommands,
  type Skill,
} from "./scripts.ts";
import { type Repair, WORDINGS } from "./wordings.ts";

/** What is left of the database. */
interface Left {
  /** Share of the wrong rows that are right now, less those that are newly wrong. */
  readonly repaired: number;
  /** Of each rule: whether all of its hidden writes were refused or let through. */
  readonly rules: Readonly<Partial<Record<Rule, boolean>>>;
}

const MOST_BYTES = 8 << 20;
const cell = z.union([z.number(), z.string(), z.null()]);
const table = z.array(z.array(cell));
const checked = z.object({
  tables: z.array(z.tuple([z.string(), z.number(), table])),
  probes: z.array(z.tuple([z.boolean(), z.boolean(), table.nullable()])),
});

const SLIPS: Readonly<Record<string, Skill>> = {
  "repairs and adds no rules": { repair: "journal", style: null },
  "adds rules and repairs nothing": { repair: "nothing", style: "full" },
  "trusts the rows and computes totals": { repair: "totals", style: "full" },
  "does not bring removed rows back": { repair: "no deleted rows", style: "full" },
  "checks only rows that are added": { repair: "journal", style: "inserts only" },
  "adds differences to totals": { repair: "journal", style: "adds differences" },
  "overlooks missing values": { repair: "journal", style: "overlooks null" },
  "refuses every write": { repair: "journal", style: "refuses all" },
};
const BLANKETS: Readonly<Record<string, Skill>> = {
  "removes what does not add up": { repair: "mismatches removed", style: null },
  "removes everything": { repair: "all removed", style: "refuses all" },
  "computes totals and refuses every write": { repair: "totals", style: "refuses all" },
};

export const integrityRepair = defineBoxRow<Repair, Left>({
  id: "integrity-repair",
  asks: "repair a database from its journal and add constraints that refuse hidden bad writes and accept hidden good ones",
  make,
  effort: ({ journal, rules, injected }) => journal.length + 10 * rules.length + 5 * injected,
  prompts: WORDINGS,
  start: (one) => ({ files: {}, setUp: databaseProgram(one) }),
  gold: (one) => goldSteps(one, one.rules),
  slips: (one) => scripts(one, hasForged(one) ? { ...SLIPS, "believes forged entries": FORGED } : SLIPS),
  blankets: (one) => scripts(one, BLANKETS),
  look,
  grade: (_, { repaired, rules }) => {
    const share = keptShare(rules);
    return repaired === 1 && share === 1 ? 1 : 0.4 * repaired ** 2 + 0.4 * repaired ** 2 * share ** 2;
  },
  parts: (_, { repaired, rules }) => ({ repaired, rules: keptShare(rules) }),
});

const FORGED: Skill = { repair: "forged journal", style: "full" };

function make(rng: Rng, level: Level): Repair | null {
  const books = drawBooks(rng, level);
  if (books === null || stageOf(books) === null) return null;
  const one = { ...books, rules: rulesOf(level) };
  const tested = new Set(probes(one).map(({ rule }) => rule));
  return one.rules.every((rule) => tested.has(rule)) ? one : null;
}

function probes(one: Repair): Probe[] {
  const stage = stageOf(one);
  return stage === null ? [] : probesOf(one, stage, one.rules);
}

function hasForged({ journal, writers }: Repair): boolean {
  return journal.some(
    ({ seq, writer }) => !writers.some((one) => one.name === writer && one.first <= seq && seq <= one.last),
  );
}

function scripts(one: Repair, skills: Readonly<Record<string, Skill>>): Record<string, readonly string[]> {
  return Object.fromEntries(
    Object.entries(skills).map(([name, skill]) => [name, repairCommands(one, one.rules, skill)]),
  );
}

/** The hidden writes run in a sandbox that has the file alone. */
async function look(one: Repair, { read, check }: LeftBox): Promise<Left> {
  const none: Left = { repaired: 0, rules: {} };
  const [file, log] = [await read(DATABASE, MOST_BYTES), await read(`${DATABASE}-wal`, MOST_BYTES)];
  if (file === null) return none;
  const tried = probes(one);
  const printed = await check(checkProgram(one, tried), {
    [DATABASE]: file,
    ...(log === null ? {} : { [`${DATABASE}-wal`]: log }),
  });
  const found = checked.safeParse(printed === null ? null : JSON.parse(printed));
  if (!found.success) return none;
  const { tables, probes: results } = found.data;
  const rules: Partial<Record<Rule, boolean>> = {};
  for (const rule of one.rules) rules[rule] = true;
  for (const [index, { rule, value }] of tried.entries()) {
    const [isSame, hasFailed, given] = results[index] ?? [false, true, null];
    const isKept = value === undefined ? isSame : !hasFailed && canonicalJson(given) === canonicalJson(value);
    if (!isKept) rules[rule] = false;
  }
  const facts = factsOf(tables);
  const repaired = changedShare(recordFacts(one, one.broken), recordFacts(one, one.right), facts);
  return { repaired, rules };
}

function keptShare(rules: Left["rules"]): number {
  const all = Object.values(rules);
  return all.filter(Boolean).length / Math.max(1, all.length);
}
