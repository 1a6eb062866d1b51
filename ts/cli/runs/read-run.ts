/**
 * Reads a run from its directory: `summary.json`, `configs/`, `metrics.jsonl`, `events.jsonl`, `run/lock-*.json`.
 *
 * Missing or broken files never make it fail: they are listed in `problems`, and everything that can be read is returned. This file knows
 * nothing of printing.
 */
import { readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";

import { explain } from "../../errors.ts";
import { ifThere, isMissing } from "../../files/file-presence.ts";
import { EVENTS_FILE, type EvaluationReport, METRICS_FILE } from "../../monitors/index.ts";
import { lockHolder } from "../../files/run-lock.ts";
import { asObject, type JsonObject, jsonLines, parseObject } from "./json-lines.ts";
import { readMetrics, type StepRecord } from "./run-metrics.ts";

/** `running`: a process holds the directory; `unfinished`: none does, and no summary was written. */
export type RunStatus = "running" | "completed" | "failed" | "interrupted" | "unfinished";

/** Name of the resolved config in `configs/` by kind. A run of `prl sft` has an `sft.json` too, which is that of its process. */
const CONFIG_FILES = { rl: "rl.json", sft: "sft-run.json", eval: "eval.json" } as const;
type RunKind = keyof typeof CONFIG_FILES;
const ENDS: readonly string[] = ["completed", "failed", "interrupted"] satisfies RunStatus[];

/** A run, with the field names of `summary.json`. */
export interface RunRecord {
  name: string;
  run_dir: string;
  /** Kind of its resolved config; null: it has none. */
  kind: RunKind | null;
  status: RunStatus;
  /** Id of the process that holds the directory. */
  pid: number | null;
  /** Start in seconds since 1970. */
  started: number;
  attempts: number;
  steps: number;
  /** Rewards of the first evaluation source when there is one, else of training steps. */
  reward: { first: number; last: number } | null;
  wall_seconds: number | null;
  /** The steps that were logged. */
  history: StepRecord[];
  evaluations: EvaluationReport[];
  /** How often each type of event was logged. */
  events: Record<string, number>;
  /** The resolved config. */
  config: JsonObject;
  /** Contents of `summary.json`; null: there is none. */
  summary: JsonObject | null;
  /** One sentence for each thing that is missing or cannot be read. */
  problems: string[];
}

export async function readRun(runDir: string): Promise<RunRecord> {
  const problems: string[] = [];
  const summary = await readDocument(join(runDir, "summary.json"), problems);
  const { kind, config } = await readConfig(runDir, problems);
  const metrics = await orProblem(readMetrics(join(runDir, METRICS_FILE), kind === "sft"), METRICS_FILE, problems);
  const events = await orProblem(readEvents(join(runDir, EVENTS_FILE)), EVENTS_FILE, problems);
  const pid = await orProblem(lockHolder(runDir), "run/lock-*.json", problems);
  const status = statusOf(pid, summary, problems);
  const attempts = Math.max(metrics?.attempts ?? 0, events?.attempts ?? 0);
  if (status === "unfinished" && summary === null) {
    if (attempts > 0) problems.push("no summary.json that can be read, and no process has the run: it was cut off");
    else problems.push(kind === null ? "it holds no run" : "it has not been started");
  }
  // The last line of a live run may be incomplete.
  noteMalformed(METRICS_FILE, metrics?.malformed ?? 0, pid, problems);
  noteMalformed(EVENTS_FILE, events?.malformed ?? 0, pid, problems);

  const history = metrics?.steps ?? [];
  const evaluations = metrics?.evaluations ?? [];
  const started = events?.started ?? (await changedAt(runDir));
  const ended = status === "running" ? Date.now() / 1000 : Math.max(metrics?.lastTime ?? 0, events?.lastTime ?? 0);
  const wall = status === "running" ? undefined : numberOf(summary?.["wall_seconds"]);
  return {
    name: basename(runDir),
    run_dir: runDir,
    kind,
    status,
    pid,
    started,
    attempts,
    steps: history.at(-1)?.step ?? numberOf(summary?.["steps"]) ?? 0,
    reward: rewardOf(evaluations, history, config) ?? evaluatedReward(summary),
    wall_seconds: wall ?? (ended > started ? ended - started : null),
    history,
    evaluations,
    events: events?.counts ?? {},
    config,
    summary,
    problems,
  };
}

async function readConfig(runDir: string, problems: string[]): Promise<Pick<RunRecord, "kind" | "config">> {
  for (const [kind, file] of Object.entries(CONFIG_FILES)) {
    const found: string[] = [];
    const config = await readDocument(join(runDir, "configs", file), found);
    problems.push(...found);
    if (config !== null || found.length > 0) return { kind: kind as RunKind, config: config ?? {} };
  }
  problems.push(`configs/ holds no ${Object.values(CONFIG_FILES).join(", ")}`);
  return { kind: null, config: {} };
}

/** A JSON object; null when it is missing or, with a problem noted, cannot be read. */
async function readDocument(path: string, problems: string[]): Promise<JsonObject | null> {
  const text = await orProblem(readFile(path, "utf8"), basename(path), problems);
  const document = text === null ? null : parseObject(text);
  if (text !== null && document === null) problems.push(`${basename(path)} is no JSON object`);
  return document;
}

async function orProblem<T>(reading: Promise<T>, name: string, problems: string[]): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (!isMissing(error)) problems.push(`${name} cannot be read: ${explain(error)}`);
    return null;
  }
}

interface Events {
  counts: Record<string, number>;
  /** When the newest attempt began. */
  started: number | undefined;
  lastTime: number | undefined;
  attempts: number;
  malformed: number;
}

async function readEvents(path: string): Promise<Events> {
  const counts = new Map<string, number>();
  const found: Events = { counts: {}, started: undefined, lastTime: undefined, attempts: 0, malformed: 0 };
  for await (const line of jsonLines(path)) {
    const [type, time] = [line?.["type"], numberOf(line?.["time"])];
    if (typeof type !== "string" || time === undefined) {
      found.malformed += 1;
      continue;
    }
    counts.set(type, (counts.get(type) ?? 0) + 1);
    found.attempts = Math.max(found.attempts, numberOf(line?.["attempt"]) ?? 0);
    found.lastTime = Math.max(found.lastTime ?? 0, time);
    if (type === "started" || found.started === undefined) found.started = time;
  }
  return { ...found, counts: Object.fromEntries(counts) };
}

function statusOf(pid: number | null, summary: JsonObject | null, problems: string[]): RunStatus {
  if (pid !== null) return "running";
  const status = summary?.["status"];
  if (summary !== null && !ENDS.includes(String(status))) problems.push("summary.json names no status");
  return ENDS.includes(String(status)) ? (status as RunStatus) : "unfinished";
}

function noteMalformed(name: string, malformed: number, pid: number | null, problems: string[]): void {
  if (malformed > (pid === null ? 0 : 1)) problems.push(`${name}: ${malformed} unreadable lines are left out`);
}

function rewardOf(evaluations: readonly EvaluationReport[], history: readonly StepRecord[], config: JsonObject) {
  const sources = evaluations.map((report) => report.source);
  const main = evaluationSources(config).find((name) => sources.includes(name)) ?? sources[0];
  const held = evaluations.filter((report) => report.source === main).map((report) => report.reward);
  const trained = history.map((step) => step.reward).filter((reward) => reward !== undefined);
  const rewards = held.length > 0 ? held : trained;
  const [first, last] = [rewards[0], rewards.at(-1)];
  return first === undefined || last === undefined ? null : { first, last };
}

/** Evaluation sources in the order of the config; the first one gives the run's reward. */
function evaluationSources(config: JsonObject): string[] {
  const sources = asObject(asObject(config["orchestrator"])?.["eval"])?.["source"];
  if (!Array.isArray(sources)) return [];
  return sources.map((source: unknown) => asObject(source)?.["name"]).filter((name) => typeof name === "string");
}

/** For `prl eval`: the first evaluation's mean reward. */
function evaluatedReward(summary: JsonObject | null): RunRecord["reward"] {
  const evaluations = summary?.["evaluations"];
  const reward = Array.isArray(evaluations)
    ? numberOf(asObject(asObject(evaluations[0])?.["reward"])?.["mean"])
    : undefined;
  return reward === undefined ? null : { first: reward, last: reward };
}

async function changedAt(path: string): Promise<number> {
  const found = await ifThere(stat(path), path);
  // It was removed while it was read.
  return found === null ? 0 : found.mtimeMs / 1000;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
