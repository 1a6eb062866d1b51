/**
 * Reads a run's steps and evaluations back from `metrics.jsonl`.
 *
 * For equal (component, step) the last attempt counts and lines of one attempt add up. Unlike the progress of a live run, a step counts
 * here also when only one of its halves is there, and a gap does not end the reading: the file may be torn anywhere.
 */
import { type EvaluationReport, type MetricsLine, RunHistory } from "../../monitors/index.ts";
import { type JsonObject, jsonLines } from "./json-lines.ts";

/** One step; absent: not logged. */
export interface StepRecord {
  step: number;
  reward?: number;
  loss?: number;
  staleness?: number;
  tokens_per_second?: number;
  seconds?: number;
}

export interface RunMetrics {
  /** Steps in order. */
  steps: StepRecord[];
  evaluations: EvaluationReport[];
  /** Time of the last line, in seconds since 1970. */
  lastTime: number | undefined;
  attempts: number;
  malformed: number;
}

/** The field that each metric of a component is read into. */
const WANTED: readonly { component: string; metric: string; field: Exclude<keyof StepRecord, "step"> }[] = [
  { component: "orchestrator", metric: "train/agg/all/agent/reward/mean", field: "reward" },
  { component: "trainer", metric: "off_policy/tokens/mean", field: "staleness" },
  // Name in runs of an earlier version.
  { component: "trainer", metric: "loss", field: "loss" },
  { component: "trainer", metric: "loss/mean", field: "loss" },
  { component: "trainer", metric: "perf/throughput", field: "tokens_per_second" },
  { component: "trainer", metric: "time/step", field: "seconds" },
];

/** @param supervised the run is supervised training alone: its steps are those of the component `sft` */
export async function readMetrics(path: string, supervised: boolean): Promise<RunMetrics> {
  const halves = new Map<string, { attempt: number; step: number; values: Partial<StepRecord> }>();
  const history = new RunHistory(null);
  let [attempts, malformed, lastTime] = [0, 0, undefined as number | undefined];
  for await (const object of jsonLines(path)) {
    const line = object === null ? null : metricsLine(object);
    if (line === null) {
      malformed += 1;
      continue;
    }
    attempts = Math.max(attempts, line.attempt);
    lastTime = Math.max(lastTime ?? 0, line.time);
    if (Object.keys(line).some((name) => name.startsWith("eval/"))) {
      history.add(line);
      continue;
    }
    const component = supervised && line.component === "sft" ? "trainer" : line.component;
    const wanted = WANTED.filter((each) => each.component === component);
    if (wanted.length === 0 || line.step < 1) continue;
    const key = `${component}/${line.step}`;
    const known = halves.get(key);
    if (known !== undefined && known.attempt > line.attempt) continue;
    const values: Partial<StepRecord> = known?.attempt === line.attempt ? known.values : {};
    for (const { metric, field } of wanted) {
      const value = line[metric];
      if (typeof value === "number") values[field] = value;
    }
    halves.set(key, { attempt: line.attempt, step: line.step, values });
  }
  const steps = new Map<number, StepRecord>();
  for (const { step, values } of halves.values()) steps.set(step, { ...steps.get(step), ...values, step });
  return {
    steps: [...steps.values()].toSorted((a, b) => a.step - b.step),
    evaluations: history.evaluations,
    lastTime,
    attempts,
    malformed,
  };
}

function metricsLine(object: JsonObject): MetricsLine | null {
  const { component, attempt, step, time } = object;
  if (typeof component !== "string" || typeof attempt !== "number") return null;
  if (typeof step !== "number" || typeof time !== "number") return null;
  return { ...object, component, attempt, step, time };
}
