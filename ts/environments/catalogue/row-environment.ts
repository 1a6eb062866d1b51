/** Makes environments of rows: one row alone, or a weighted mixture of many. */
import { z } from "zod";

import { canonicalJson } from "../../canonical-json.ts";
import { ofSplit, type Use } from "../../datasets/index.ts";
import { PrlError } from "../../errors.ts";
import type { Message } from "../../message.ts";
import { createRng, type Rng } from "../../random/rng.ts";
import { singleTurn } from "../conversation/single-turn.ts";
import { defineEnvironment, type Demonstration, type Environment } from "../model/environment.ts";
import type { Trace } from "../episode/trace.ts";
import { reward } from "../model/reward.ts";
import type { SandboxAccess } from "../sandboxes/sandboxes.ts";
import { endless } from "../model/tasks.ts";
import { asMessages, contentKeyOf, drawInstances, groupKeyOf, type LevelRange } from "./drawn.ts";
import { answerIn, asReply, scoreReply } from "./reply-answer.ts";
import {
  boxConversationOf,
  boxRollout,
  commandsIn,
  goldConversationOf,
  leftBy,
  SHELL_SCHEMAS,
} from "./box/box-play.ts";
import { callsIn, conversationOf, played, schemasOf, worldRollout } from "./play.ts";
import { type Earned, earnedByProgram } from "./score-program.ts";
import { type AnyRow, type Category, isBoxRow, isProgramRow, isWorldRow } from "./row.ts";

/** A row with its place in the catalogue. */
export interface PlacedRow {
  readonly category: Category;
  readonly family: string;
  readonly row: AnyRow;
}

/** A task as it travels; the answer follows from the instance. */
interface RowTask {
  prompt: Message[];
  /** `category/row`. */
  row: string;
  level: number;
  instance: object;
}

const VERSION = "1.0.0";
/** Time for all tests of a program, and for the wait for a free sandbox. */
const PROGRAM_TIMEOUT_MS = 600_000;

const levels = z
  .union([z.int().min(1).max(5), z.tuple([z.int().min(1).max(5), z.int().min(1).max(5)])])
  .refine((level) => typeof level === "number" || level[0] <= level[1], "the first level is above the second");
const level = levels.prefault([1, 5]).describe("difficulty from 1 to 5: one level, or the first and last of a range");
const partial = z
  .boolean()
  .default(true)
  .describe("whether an answer that is partly right earns its share, where the task has shares");
const rowConfig = z.strictObject({ level, partial });
const share = z.strictObject({
  id: z.string().min(1).describe("a task, a family or a category"),
  weight: z.number().positive().default(1).describe("how often it is drawn, compared with the others"),
  level: levels.optional().describe("difficulty of these tasks; default: that of the mixture"),
});
const mixtureConfig = z.strictObject({
  level,
  partial,
  tasks: z
    .array(share)
    .min(1)
    .optional()
    .describe("what is drawn; a family or category shares its weight among its tasks. Default: every task, equally"),
});

/** A row that is drawn with a weight. */
interface Source {
  readonly placed: PlacedRow;
  readonly weight: number;
  readonly levels: LevelRange;
}

export function idOf({ category, row }: PlacedRow): string {
  return `${category}/${row.id}`;
}

/** The environment of one row: `env = { id = "logic/keyed-maze-route", args = { level = [1, 3] } }`. */
export function familyEnvironment(placed: PlacedRow): Environment {
  const { category, family, row } = placed;
  return environmentOf({
    name: `${category}-${row.id}`,
    tags: [category, family, "catalogue", "synthetic"],
    rows: [placed],
    config: rowConfig,
    sources: (config) => [{ placed, weight: 1, levels: rangeOf(config.level) }],
  });
}

/** The environment of many rows. `name` is that of the mixture: `catalogue/logic`. */
export function mixtureEnvironment(name: string, rows: readonly PlacedRow[]): Environment {
  return environmentOf({
    name: name.replaceAll("/", "-"),
    tags: ["catalogue", "mixture", "synthetic"],
    rows,
    config: mixtureConfig,
    sources: (config) => mixed(name, rows, config),
  });
}

interface EnvironmentParts<Config> {
  readonly name: string;
  readonly tags: readonly string[];
  readonly rows: readonly PlacedRow[];
  readonly config: z.ZodType<Config>;
  readonly sources: (config: Config) => readonly Source[];
}

function environmentOf<Config extends { partial: boolean }>(parts: EnvironmentParts<Config>): Environment {
  const { name, tags, config, sources } = parts;
  const rows = new Map(parts.rows.map((placed) => [idOf(placed), placed.row]));
  const rowOf = (task: RowTask): AnyRow => {
    const row = rows.get(task.row);
    if (row !== undefined) return row;
    throw new PrlError("PRL_ENVIRONMENT_INVALID", `environment "${name}" has no task "${task.row}"`);
  };
  const contentKey = (task: RowTask): unknown => contentKeyOf(task.row, rowOf(task), task.instance);
  const runsPrograms = parts.rows.some(({ row }) => isProgramRow(row) || isBoxRow(row));
  const time = runsPrograms ? { timeoutMs: PROGRAM_TIMEOUT_MS } : {};
  // A mixture has rows without parts, and a metric has a value for every task.
  const reportsParts = parts.rows.every(({ row }) => hasParts(row));
  const scores = new WeakMap<Trace, Promise<Earned>>();
  /** Reward and metrics share one run of a program. */
  const earnedBy = (context: Scored): Promise<Earned> => {
    const known = scores.get(context.trace);
    if (known !== undefined) return known;
    const made = earnedOf(rowOf(context.task), context);
    scores.set(context.trace, made);
    return made;
  };
  const groupKey = (task: RowTask): unknown => groupKeyOf(task.row, rowOf(task), task.instance);
  const tasksFor = (settings: Config, rng: Rng, use: Use): Generator<RowTask> =>
    ofSplit(draw(sources(settings), rng), use, contentKey, groupKey);
  return defineEnvironment({
    name,
    version: VERSION,
    tags: runsPrograms ? [...tags, "sandbox"] : tags,
    ...(runsPrograms ? { requires: { sandbox: "pool" as const } } : {}),
    config,
    tasks: ({ config: settings, rng, split }) => endless(tasksFor(settings, rng, split)),
    key: (_, index) => String(index),
    contentKey: (task) => canonicalJson(contentKey(task)),
    rollout: async (context) => {
      const row = rowOf(context.task);
      if (isBoxRow(row)) return boxRollout(row, context.task)(context);
      return (isWorldRow(row) ? worldRollout(row, context.task) : singleTurn())(context);
    },
    metrics: {
      format: ({ task, trace }) => isReadable(rowOf(task), task.instance, trace),
      level: ({ task }) => task.level,
      share: { weight: 0, ...time, score: async (context) => (await earnedBy(context)).score },
      ...(reportsParts
        ? { passed: { weight: 0, ...time, score: async (context: Scored) => (await earnedBy(context)).parts } }
        : {}),
    },
    rewards: {
      correct: reward(
        1,
        async (context) => {
          const { score: earned } = await earnedBy(context);
          return context.config.partial || earned === 1 ? earned : 0;
        },
        time,
      ),
    },
    demonstrations: function* ({ config: settings, rng }): Generator<Demonstration> {
      for (const task of tasksFor(settings, rng, "demonstrations")) {
        const row = rowOf(task);
        const reply = goldOf(row, task);
        if (typeof reply === "string") yield { messages: [...task.prompt, { role: "assistant", content: reply }] };
        else yield { messages: reply, tools: isWorldRow(row) ? schemasOf(row, task.instance) : SHELL_SCHEMAS };
      }
    },
    async validate({ task, score, scoreMessages }) {
      const row = rowOf(task);
      const scored = (reply: string | readonly Message[]): Promise<number> =>
        typeof reply === "string" ? score(reply) : scoreMessages(reply);
      const gold = await scored(goldOf(row, task));
      if (gold !== 1) throw new Error(`${task.row}: the gold answer scores ${gold}`);
      for (const [slip, wrong] of wrongOf(row, task)) {
        const earned = await scored(wrong);
        if (earned >= 1) throw new Error(`${task.row}: the wrong answer ${JSON.stringify(slip)} scores ${earned}`);
      }
    },
  });
}

function hasParts(row: AnyRow): boolean {
  if (isWorldRow(row) || isBoxRow(row)) return row.parts !== undefined;
  return isProgramRow(row) && row.reportsParts === true;
}

/** The right answer as a reply, or as the conversation that carries it out. */
function goldOf(row: AnyRow, { prompt, instance }: RowTask): string | Message[] {
  if (isWorldRow(row)) return conversationOf(row, instance, prompt, row.gold(instance));
  if (isBoxRow(row)) return goldConversationOf(prompt, row.gold(instance));
  return asReply(row.gold(instance), row.place);
}

/** Wrong answers by a name for messages. */
function wrongOf(row: AnyRow, { prompt, instance }: RowTask): (readonly [name: string, reply: string | Message[]])[] {
  const rng = createRng(0);
  if (isBoxRow(row))
    return Object.entries(row.slips(instance, rng)).map(([name, commands]) => [
      name,
      boxConversationOf(prompt, commands),
    ]);
  if (!isWorldRow(row)) return row.nearMisses(instance, rng).map((wrong) => [wrong, asReply(wrong, row.place)]);
  return Object.entries(row.slips(instance, rng)).map(([name, script]) => [
    name,
    conversationOf(row, instance, prompt, script),
  ]);
}

/** Whether the reply states an answer; of a row with tools, whether one call was carried out. */
function isReadable(row: AnyRow, instance: object, trace: Trace): boolean {
  if (isBoxRow(row)) return commandsIn(trace.messages).length > 0;
  if (isWorldRow(row)) return played(row, instance, callsIn(trace.messages)).done > 0;
  return answerIn(trace.lastReply, row.place) !== null;
}

interface Scored extends Pick<SandboxAccess, "sandboxes"> {
  readonly task: RowTask;
  readonly trace: Trace;
  readonly signal: AbortSignal;
}

async function earnedOf(row: AnyRow, { task, trace, sandboxes, signal }: Scored): Promise<Earned> {
  if (isProgramRow(row)) return earnedByProgram(row, task.instance, trace.lastReply, { pool: sandboxes, signal });
  if (isBoxRow(row)) {
    const left = await leftBy(row, task.instance, trace, { pool: sandboxes, signal });
    return { score: row.grade(task.instance, left), parts: row.parts?.(task.instance, left) ?? {} };
  }
  if (!isWorldRow(row)) return { score: scoreReply(row, task.instance, trace.lastReply), parts: {} };
  const { world } = played(row, task.instance, callsIn(trace.messages));
  return { score: row.grade(task.instance, world), parts: row.parts?.(task.instance, world) ?? {} };
}

/** Tasks of the sources, drawn by weight. */
function* draw(sources: readonly Source[], rng: Rng): Generator<RowTask> {
  const streams = sources.map(({ placed, weight, levels: range }) => ({
    id: idOf(placed),
    weight,
    drawn: drawInstances(placed.row, range, rng),
  }));
  const total = streams.reduce((sum, { weight }) => sum + weight, 0);
  for (;;) {
    let left = rng.next() * total;
    const chosen = streams.find(({ weight }) => (left -= weight) < 0) ?? streams.at(-1);
    const next = chosen?.drawn.next();
    if (chosen === undefined || next === undefined || next.done === true) return;
    const { level: drawnLevel, instance, prompt } = next.value;
    yield { prompt: asMessages(prompt), row: chosen.id, level: drawnLevel, instance };
  }
}

function mixed(name: string, rows: readonly PlacedRow[], config: z.output<typeof mixtureConfig>): Source[] {
  const range = rangeOf(config.level);
  if (config.tasks === undefined) return rows.map((placed) => ({ placed, weight: 1, levels: range }));
  return config.tasks.flatMap(({ id, weight, level: own }) => {
    const meant = rows.filter((placed) =>
      [idOf(placed), placed.row.id, placed.family, `${placed.category}/${placed.family}`, placed.category].includes(id),
    );
    if (meant.length === 0) {
      const message = `arguments of environment "${name}": tasks: there is no task, family or category "${id}"; prl env list --catalogue has them`;
      throw new PrlError("PRL_CONFIG_INVALID", message);
    }
    const levelsOf = own === undefined ? range : rangeOf(own);
    return meant.map((placed) => ({ placed, weight: weight / meant.length, levels: levelsOf }));
  });
}

function rangeOf(range: z.output<typeof levels>): LevelRange {
  return typeof range === "number" ? [range, range] : range;
}
