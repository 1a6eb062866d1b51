/**
 * The shape of the catalogue: a row is one task, a family is the rows that share a generator, a category is a folder of families.
 *
 * A row knows nothing of models, rollouts and configs. Everything that it does follows from the instance and from the random numbers that
 * it gets: no clock, no locale, and no floating-point comparison decides a score.
 */
import type { z } from "zod";

import type { Rng } from "../../random/rng.ts";
import type { FileInfo, Files } from "../../sandbox/index.ts";
import type { ProgramLanguage, ProgramTest } from "../../verify/index.ts";

export const LEVELS = [1, 2, 3, 4, 5] as const;
/** 1 is within reach of a small model, 5 is hard for the best. */
export type Level = (typeof LEVELS)[number];

export const CATEGORIES = ["math", "code", "science", "logic", "research", "agentic", "instructions"] as const;
export type Category = (typeof CATEGORIES)[number];

/** Where a reply states its answer: the last closed `<answer>` block, the last `\boxed{}`, or the last fenced block of code. */
export type AnswerPlace = "answer" | "boxed" | "code";

/** What every row has. `Instance` is JSON: it travels to the env worker and back before it is scored. */
export interface RowCore<Instance extends object = object> {
  /** Lower-case words with hyphens, unique within its category. */
  readonly id: string;
  /** One line for lists. */
  readonly asks: string;
  /** An instance of about this level; null where the draw is degenerate, and another one is drawn. */
  readonly make: (rng: Rng, level: Level) => Instance | null;
  /** Work of the reference solver (nodes, steps, cases): it grows with the level. */
  readonly effort: (instance: Instance) => number;
  /** Equal for instances that are one task; it decides the split. Default: the whole instance. */
  readonly canonical?: (instance: Instance) => unknown;
  /** Equal for instances that belong to one split, such as all of one kind in one kind of surroundings. Default: each for itself. */
  readonly group?: (instance: Instance) => unknown;
  /** Four or more wordings. Each says all that scoring demands, except where the answer stands. */
  readonly prompts: readonly ((instance: Instance, rng: Rng) => string)[];
}

/** A row whose answer is text in the only reply. */
export interface RowBase<Instance extends object = object> extends RowCore<Instance> {
  readonly place: AnswerPlace;
  /** The answer is chosen from what the prompt shows, so it may occur there. */
  readonly selects?: boolean;
  /** A right answer, as it stands in its place. */
  readonly gold: (instance: Instance) => string;
  /** Three or more wrong answers that a plausible slip gives. */
  readonly nearMisses: (instance: Instance, rng: Rng) => readonly string[];
  /** The same answer as the gold one, written in other ways. */
  readonly variants?: (instance: Instance) => readonly string[];
}

/** A row that this process scores. */
export interface Row<Instance extends object = object> extends RowBase<Instance> {
  /** From 0 to 1, and 1 only for a full answer. `answer` is untrusted text of bounded length. */
  readonly score: (instance: Instance, answer: string) => number;
}

/** A row whose answer runs in a sandbox. */
export interface ProgramRow<Instance extends object = object> extends RowBase<Instance> {
  readonly exam: (instance: Instance) => Exam;
  /** Answers that try to earn something without the skill: each must earn nothing. */
  readonly cheats: (instance: Instance) => readonly string[];
  /** Every exam names its `parts`, so the row's own environment reports them. */
  readonly reportsParts?: boolean;
}

/** How a program is examined. Only inputs enter the sandbox: what is expected stays in this process. */
export interface Exam {
  readonly language: ProgramLanguage;
  /** Modules without which the program cannot run, of Python. Default: none that some builds lack. */
  readonly modules?: readonly string[];
  /** The program that runs, with the answer in it. Default: the answer. */
  readonly program?: (answer: string) => string;
  /** Why an answer is not run and earns nothing: it breaks a rule that the prompt states. Default: every answer is run. */
  readonly refuses?: (answer: string) => boolean;
  /** The function to call; without one the program reads standard input. */
  readonly functionName?: string;
  /** See `GradeProgramOptions`. */
  readonly beforeCall?: string;
  readonly tests: readonly ProgramTest[];
  /** CPU time of each test. */
  readonly timeLimitMs: number;
  /** Share of the tests that a program without the skill passes; what is above it counts, squared. Default: all tests or nothing. */
  readonly base?: number;
  /** From 0 to 1 by the tests that passed, in their order, and 1 only where all did. Default: by `base`. */
  readonly credit?: (passed: readonly boolean[]) => number;
  /** What the text that a run printed earns, from 0 to 1, for the test with this index. The score is the mean. Default: 1 for the expected output. */
  readonly earns?: (printed: string, index: number) => number;
  /** The first so many tests run alone; if one fails, the program earns nothing and the others do not run. Default: 0. */
  readonly gate?: number;
  /** What each test examines, such as a feature or a fault. The metric `passed/<part>` is the share of a part's tests that passed, or what they earn on average. */
  readonly parts?: readonly (readonly string[])[];
}

/** One call of a tool. */
export interface Call {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Calls in their order. */
export type Script = readonly Call[];

/** A tool that reads or changes a world. */
export interface WorldTool<World = unknown, Parameters extends z.ZodObject = z.ZodObject> {
  /** Text for the model. */
  readonly description: string;
  readonly parameters: Parameters;
  /** The result for the model: a text as it is, anything else as JSON. Throws `Refusal` where the world does not do it. */
  readonly run: (world: World, args: z.output<Parameters>) => unknown;
}

/** What a world answers when it does not do what a call asks for; it has not changed. The model reads the message. */
export class Refusal extends Error {}

/** A row whose answer is the state of a world that tools have changed; no word of a reply counts. */
export interface WorldRow<Instance extends object = object, World = unknown> extends RowCore<Instance> {
  readonly tools: Readonly<Record<string, WorldTool<World>>>;
  /** Names of the tools of this instance. Default: all. */
  readonly offered?: (instance: Instance) => readonly string[];
  /** The world before the first call. It follows from the instance, and its tools use no clock and no random numbers. */
  readonly world: (instance: Instance) => World;
  /** Calls that earn 1, and for which the prompt and the results of earlier calls are enough. None of them is refused, and the last is needed. */
  readonly gold: (instance: Instance) => Script;
  /** Three or more scripts of plausible slips, by name; each earns less than 1. */
  readonly slips: (instance: Instance, rng: Rng) => Readonly<Record<string, Script>>;
  /** Two or more scripts that need no skill, by name; each earns at most 0.2 on average. */
  readonly blankets: (instance: Instance) => Readonly<Record<string, Script>>;
  /** From 0 to 1, and 1 only for a full answer; 0 for the untouched world. */
  readonly grade: (instance: Instance, world: World) => number;
  /** What else is measured in the world that is left, each from 0 to 1: the row's own environment reports them as `passed/<part>`. */
  readonly parts?: (instance: Instance, world: World) => Readonly<Record<string, number>>;
}

/** A command of the gold script, and what it prints: an example to learn from shows both, and the quality gate compares them with a sandbox. */
export interface ShellStep {
  readonly command: string;
  readonly prints: string;
}

/** Commands for `sh`, in their order. */
export type Commands = readonly string[];

/** What a sandbox has before the first command. */
export interface BoxStart {
  /** Relative to the work directory. */
  readonly files: Files;
  /** A Python program for what files cannot say, such as times, links and databases. It leaves no trace of itself. */
  readonly setUp?: string;
}

/** The sandbox after the last command. No program of the policy takes part in what is read. */
export interface LeftBox {
  /** Entries below a folder, with paths relative to the work directory; null where it is no folder or has more than `most`. */
  readonly list: (path: string, most: number) => Promise<FileInfo[] | null>;
  /** A file's bytes; null where there is none, or more than `maxBytes`. */
  readonly read: (path: string, maxBytes: number) => Promise<Buffer | null>;
  /** What a Python program prints in a new sandbox that has only these files; null where it does not end well and in time. */
  readonly check: (program: string, files: Files) => Promise<string | null>;
}

/** A row whose answer is the state of a sandbox that shell commands have changed; no word of a reply counts. `Left` is JSON. */
export interface BoxRow<Instance extends object = object, Left = unknown> extends RowCore<Instance> {
  readonly start: (instance: Instance) => BoxStart;
  /** Commands that earn 1, and for which the prompt and the results of earlier commands are enough. The last is needed. */
  readonly gold: (instance: Instance) => readonly ShellStep[];
  /** Three or more scripts of plausible slips, by name; each earns less than 1. */
  readonly slips: (instance: Instance, rng: Rng) => Readonly<Record<string, Commands>>;
  /** Two or more scripts that need no skill, by name; each earns at most 0.2 on average. */
  readonly blankets: (instance: Instance) => Readonly<Record<string, Commands>>;
  /** What is graded of the state that is left, as short JSON: it is kept with the rollout's record. Equal commands give equal JSON. */
  readonly look: (instance: Instance, left: LeftBox) => Promise<Left>;
  /** From 0 to 1, and 1 only for a full answer; 0 for the untouched sandbox. */
  readonly grade: (instance: Instance, left: Left) => number;
  /** What else is measured in what is left, each from 0 to 1: the row's own environment reports them as `passed/<part>`. */
  readonly parts?: (instance: Instance, left: Left) => Readonly<Record<string, number>>;
}

export type AnyRow = Row | ProgramRow | WorldRow | BoxRow;

export interface Family<Kind extends AnyRow = Row> {
  /** Lower-case words with hyphens. */
  readonly id: string;
  readonly rows: readonly Kind[];
}

export function isProgramRow(row: AnyRow): row is ProgramRow {
  return "exam" in row;
}

export function isWorldRow(row: AnyRow): row is WorldRow {
  return "world" in row;
}

export function isBoxRow(row: AnyRow): row is BoxRow {
  return "look" in row;
}

/** Hides the type of a row's instances, so that rows of all types fit into one list. */
export function defineRow<Instance extends object>(row: Row<Instance>): Row {
  return row as unknown as Row;
}

export function defineProgramRow<Instance extends object>(row: ProgramRow<Instance>): ProgramRow {
  return row as unknown as ProgramRow;
}

/** Hides the types of a row's instances and world. */
export function defineWorldRow<Instance extends object, World>(row: WorldRow<Instance, World>): WorldRow {
  return row as unknown as WorldRow;
}

/** Hides the types of a row's instances and of what is left. */
export function defineBoxRow<Instance extends object, Left>(row: BoxRow<Instance, Left>): BoxRow {
  return row as unknown as BoxRow;
}

/** Hides the types of a tool's arguments: `run` gets what `parameters` accepts. */
export function worldTool<World, Parameters extends z.ZodObject>(tool: WorldTool<World, Parameters>): WorldTool<World> {
  return tool;
}
