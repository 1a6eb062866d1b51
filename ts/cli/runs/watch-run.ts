/**
 * The events of another process's run, read from its directory: first past events, then new ones, until no process holds
 * the run any more. Nothing is written.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { ifThere } from "../../files/file-presence.ts";
import {
  EVENTS_FILE,
  METRICS_FILE,
  type MetricsLine,
  MetricsTail,
  readRunLoad,
  type RunEvent,
  RunFeed,
  type RunPhase,
} from "../../monitors/index.ts";
import { lockHolder } from "../../files/run-lock.ts";
import { type JsonObject, parseObject } from "./json-lines.ts";
import { LogTail } from "./log-tail.ts";
import type { RunRecord } from "./read-run.ts";

const POLL_MS = 250;

/** Hands out the events of `run`: those of its newest attempt, and the steps of earlier ones that still count. Ends with the run or the signal. */
export async function watchRun(run: RunRecord, onEvent: (event: RunEvent) => void, signal: AbortSignal): Promise<void> {
  const { run_dir: runDir, kind, config } = run;
  const own = numberOf(config["max_steps"]);
  const maxSteps = kind === "sft" ? null : own;
  const feed = new RunFeed({ maxSteps, sftSteps: kind === "sft" ? own : await warmStartSteps(runDir), onEvent });
  const metrics = new MetricsTail(join(runDir, METRICS_FILE));
  const events = new LogTail(join(runDir, EVENTS_FILE));
  onEvent({ type: "started", runDir, maxSteps });
  let shown = "";
  for (;;) {
    // This comes first, so that what was written before the run ended is still read.
    const isLive = (await lockHolder(runDir)) !== null;
    await events.poll((line) => {
      const parsed = parseObject(line);
      const event = eventOf(parsed, run.attempts);
      if (event === null) return;
      if (event.type === "restart" && event.step !== undefined)
        feed.goBack({ attempt: numberOf(parsed?.["attempt"]) ?? 1, step: event.step });
      onEvent(event);
    });
    const lines: MetricsLine[] = [];
    for await (const line of metrics.poll()) lines.push(line);
    for (const line of newestAttempts(lines)) feed.take(line);
    if (!isLive || signal.aborted) return;
    const load = await readRunLoad(runDir);
    const text = JSON.stringify(load);
    if (load !== null && text !== shown) onEvent({ type: "load", load });
    shown = text;
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Steps of the run's warm start; null: it has none. */
async function warmStartSteps(runDir: string): Promise<number | null> {
  const path = join(runDir, "configs", "warm-start.json");
  const text = await ifThere(readFile(path, "utf8"), path);
  return text === null ? null : numberOf(parseObject(text)?.["max_steps"]);
}

/** An event of the launcher; null for lines of other processes or earlier attempts, and for lines that cannot be read. */
function eventOf(line: JsonObject | null, attempts: number): RunEvent | null {
  if (line === null || line["component"] !== "launcher" || (numberOf(line["attempt"]) ?? 0) < attempts) return null;
  switch (line["type"]) {
    case "phase":
      return { type: "phase", phase: String(line["phase"]) as RunPhase };
    case "note":
      return { type: "note", message: String(line["message"]) };
    case "restart":
      return restartOf(line);
    default:
      return null;
  }
}

function restartOf(line: JsonObject): RunEvent {
  const step = numberOf(line["step"]);
  const process = String(line["process"]).replace(/-\d+$/, "");
  return { type: "restart", process, ...(step === null ? {} : { step }) };
}

/** For equal (component, step) the lines of the last attempt count; lines of one attempt add up. */
function newestAttempts(lines: readonly MetricsLine[]): MetricsLine[] {
  const newest = new Map<string, number>();
  const keyOf = ({ component, step }: MetricsLine): string => `${component}/${step}`;
  for (const line of lines) newest.set(keyOf(line), Math.max(newest.get(keyOf(line)) ?? 0, line.attempt));
  return lines.filter((line) => line.attempt === newest.get(keyOf(line)));
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
