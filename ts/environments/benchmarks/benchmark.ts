/**
 * The definition of a benchmark: its published data, the ways to ask its questions, and how replies are scored.
 *
 * Every scorer runs in every mode and is recorded under its name; the mode decides how a question is asked and which score is the result. A
 * definition knows no endpoint, no cache and no run.
 */
import type { z } from "zod";

import type { PinnedData, PlacedRow } from "../../datasets/index.ts";
import { PrlError } from "../../errors.ts";
import type { Message } from "../../message.ts";
import type { OtherSource } from "./benchmark-data.ts";
import type { JudgeAccess } from "../judge/judge.ts";
import type { Requirements, SandboxAccess } from "../sandboxes/sandboxes.ts";

/** `paper`: prompt and scoring of the benchmark's authors; `lm-eval`: those of lm-evaluation-harness 0.4.13, for equal numbers. */
export const MODES = ["paper", "lm-eval"] as const;
export type Mode = (typeof MODES)[number];

/** A question as it travels in a task. `gold` and `group` are JSON. */
export interface Question<Gold> {
  readonly prompt: string | readonly Message[];
  /** The inputs of the scorers. */
  readonly gold: Gold;
  /** A part of the benchmark that results are also given for: a subject, a level. */
  readonly group?: string;
  /** Functions that the model may call, in the shape of the chat API. */
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
}

/** The settings that all questions of a mode share. */
export interface AskContext<Row> {
  /** Worked examples, in the order in which they are shown. */
  readonly shots: readonly Row[];
  /** Draws orders: equal for equal seeds. */
  readonly shuffle: (items: unknown[]) => void;
  /** `chat`: the whole text becomes one user message; `text`: the model continues it. */
  readonly form: "chat" | "text";
  /** Place of the row: its file and its line. */
  readonly at: string;
}

/** Where worked examples come from. */
export interface Shots<Row> {
  readonly count: number;
  /** A split of the same data, or a file that the user gives, because the examples were published without a data set. */
  readonly from: "file" | PinnedData;
  /** How a file is made, for the message that asks for it. */
  readonly advice?: string;
  /**
   * `draw`: by Python's generator from seed 1234, new ones for each question; `first`: the first ones; `first-of-group`: the first ones of the
   * question's group.
   */
  readonly choose: "draw" | "first" | "first-of-group";
  readonly groupOf?: (row: Row) => string;
}

/** One way to run the benchmark. */
export interface Protocol<Row, Gold> {
  /** Where prompt and scoring were published, and what differs. */
  readonly source: string;
  readonly form: "chat" | "text";
  readonly ask: (row: Row, context: AskContext<Row>) => Question<Gold>;
  readonly shots?: Shots<Row>;
  /** Texts that end a reply. */
  readonly stop?: readonly string[];
  /** The published sampling. */
  readonly sampling: { readonly temperature: number; readonly maxCompletionTokens: number };
  /** Rollouts per question, where the published number is a mean over several. Default 1. */
  readonly rollouts?: number;
  /** Name of the scorer that is the result. */
  readonly primary: string;
}

export interface ScoringContext extends Pick<SandboxAccess, "sandboxes">, JudgeAccess {
  /** A file with the judge's prompt; null: the benchmark's own. */
  readonly judgePrompt: string | null;
  /** Parts that several scores of one reply share are made once. */
  readonly once: <Made>(key: string, make: () => Promise<Made>) => Promise<Made>;
  /** Aborted when the time of the score is up. */
  readonly signal: AbortSignal;
  /** Where the rows come from, for scorers that read them again. */
  readonly source: OtherSource;
}

/** A score from 0 to 1 of a reply, or a number that is recorded beside the scores. */
export type Scorer<Gold> = (
  reply: string,
  gold: Gold,
  context: ScoringContext,
) => number | boolean | Promise<number | boolean>;

export interface Benchmark<Row extends object = never, Gold = unknown> {
  /** `benchmark/<name>` is the id of its environment. */
  readonly name: string;
  readonly title: string;
  /** One line for lists. */
  readonly summary: string;
  /** The paper or page that published it. */
  readonly paper: string;
  readonly data: PinnedData;
  /** Reads the rows of the files, where they are not one row each line: the shape is checked afterwards. */
  readonly readRows?: (files: readonly string[]) => AsyncGenerator<PlacedRow<unknown>>;
  /** The published row. */
  readonly row: z.ZodType<Row>;
  /** `lm-eval` is absent where lm-evaluation-harness 0.4.13 does not have the benchmark. */
  readonly modes: { readonly paper: Protocol<Row, Gold>; readonly "lm-eval"?: Protocol<Row, Gold> };
  readonly scorers: Readonly<Record<string, Scorer<Gold>>>;
  /** Set when a judge model scores. */
  readonly needsJudge?: boolean;
  /** Numbers of the whole evaluation that follow from the means of the scores. */
  readonly derived?: (means: Readonly<Record<string, number>>) => Record<string, number>;
  /** The input of a scorer: the text of the reply, or its calls as JSON, `[{"name": ..., "arguments": "..."}]`. Default `text`. */
  readonly scored?: "text" | "calls";
  /** The day of a question, `2025-01-31`, where the benchmark grows: `since` and `until` choose by it. */
  readonly dayOf?: (row: Row) => string;
  /** The answer that votes count (cons@k), in one spelling for equal answers; null: no answer. Absent: answers are no short texts. */
  readonly answer?: (reply: string, gold: Gold) => string | null;
  /** Longest time of one score. Default 30 s. */
  readonly scoreTimeoutMs?: number;
  readonly requires?: Requirements;
  /** A reply that is right by both protocols and one that is not, for `prl env validate`; absent where none follows from the gold. */
  readonly examples?: (gold: Gold) => { readonly right: string; readonly wrong: string };
}

/** Any benchmark, with its row and gold hidden. */
export type AnyBenchmark = Benchmark<never, never>;

/** Keeps the types of row and gold together while a definition is written. */
export function defineBenchmark<Row extends object, Gold>(definition: Benchmark<Row, Gold>): AnyBenchmark {
  return definition as unknown as AnyBenchmark;
}

/** The protocol of a mode. Errors: PRL_CONFIG_INVALID for a mode that the benchmark does not have. */
export function protocolOf<Row extends object, Gold>(
  { name, modes }: Pick<Benchmark<Row, Gold>, "name" | "modes">,
  mode: Mode,
): Protocol<Row, Gold> {
  const protocol = modes[mode];
  if (protocol !== undefined) return protocol;
  throw new PrlError(
    "PRL_CONFIG_INVALID",
    `benchmark "${name}" has no mode ${mode}: lm-evaluation-harness 0.4.13 does not have it; use --mode paper`,
  );
}
