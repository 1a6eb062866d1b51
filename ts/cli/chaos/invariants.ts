/**
 * What holds at the end of a run, however often it was disturbed. Everything is read from the run directory; each violation is one sentence.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { ifThere } from "../../files/file-presence.ts";
import type { MetricsLine } from "../../monitors/index.ts";
import { asObject, jsonLines, parseObject } from "../runs/json-lines.ts";
import { disturbedBystanders, type Killed } from "./bystanders.ts";
import { committedLines, resultOf } from "./history.ts";

export interface Expected {
  readonly steps: number;
  /** Greatest staleness of what is trained. */
  readonly maxStaleness: number;
  /** Result of an undisturbed run when this one has to be the same; null when nothing is compared. */
  readonly result: ReadonlyMap<string, string> | null;
  /** What was killed, where nothing else was injected; null: any process may have been started again. */
  readonly killed: Killed | null;
}

const MOST_SHOWN = 5;

/** Violations by a run that says that it is completed; none when everything holds. */
export async function violations(runDir: string, expected: Expected): Promise<string[]> {
  const { lines } = await committedLines(runDir);
  return [
    ...(await unfinished(runDir, expected.steps)),
    ...skippedOrDoubled(lines, expected.steps),
    ...tooStale(lines, expected.maxStaleness),
    ...(await countedTwice(runDir, expected.steps)),
    ...(expected.killed === null ? [] : await disturbedBystanders(runDir, expected.killed)),
    ...(expected.result === null ? [] : differences(expected.result, await resultOf(runDir, expected.steps))),
  ];
}

async function unfinished(runDir: string, steps: number): Promise<string[]> {
  const path = join(runDir, "summary.json");
  const summary = parseObject((await ifThere(readFile(path, "utf8"), path)) ?? "");
  if (summary === null) return ["summary.json is missing, or no JSON object"];
  const found = [summary["status"], summary["steps"]];
  return found[0] === "completed" && found[1] === steps
    ? []
    : [`summary.json says ${String(found[0])} with ${String(found[1])} steps, not completed with ${steps}`];
}

/** Each step stands exactly once in the committed history of trainer and orchestrator, in order. */
export function skippedOrDoubled(lines: readonly MetricsLine[], steps: number): string[] {
  return [
    ["trainer", "loss/mean"],
    ["orchestrator", "batch/rollouts"],
  ].flatMap(([component = "", sign = ""]) => {
    const found = lines.filter((line) => line.component === component && line.step >= 1 && sign in line);
    const order = found.map(({ step }) => step);
    const counts = new Map<number, number>();
    for (const step of order) counts.set(step, (counts.get(step) ?? 0) + 1);
    const all = Array.from({ length: steps }, (_, index) => index + 1);
    const skipped = all.filter((step) => !counts.has(step));
    const doubled = [...counts].filter(([step, count]) => count > 1 || step > steps).map(([step]) => step);
    const sorted = order.toSorted((a, b) => a - b);
    return [
      ...(skipped.length > 0 ? [`${component}: steps ${listed(skipped)} are missing in the committed history`] : []),
      ...(doubled.length > 0 ? [`${component}: steps ${listed(doubled)} stand twice in the committed history`] : []),
      ...(order.some((step, index) => step !== sorted[index]) ? [`${component}: the steps are not in order`] : []),
    ];
  });
}

/** No token of a trained batch is older than the bound. */
export function tooStale(lines: readonly MetricsLine[], most: number): string[] {
  return lines.flatMap(({ step, "off_policy/max": staleness }) =>
    typeof staleness === "number" && staleness > most
      ? [`step ${step} trained tokens ${staleness} versions old; the bound is ${most}`]
      : [],
  );
}

/** No rollout is in two batches. */
async function countedTwice(runDir: string, steps: number): Promise<string[]> {
  const stepOf = new Map<string, number>();
  const found: string[] = [];
  for (let step = 1; step <= steps; step++) {
    for await (const line of jsonLines(join(runDir, `rollouts/step_${step}/traces.jsonl`))) {
      if (line === null) {
        found.push(`rollouts/step_${step}/traces.jsonl has a line that is no JSON object`);
        continue;
      }
      for (const trace of Array.isArray(line["traces"]) ? line["traces"] : []) {
        const id = `${String(line["id"])} ${String(asObject(trace)?.["id"])}`;
        const earlier = stepOf.get(id);
        if (earlier !== undefined) found.push(`rollout ${id} is in the batches of steps ${earlier} and ${step}`);
        stepOf.set(id, step);
      }
    }
  }
  return found.slice(0, MOST_SHOWN);
}

function differences(expected: ReadonlyMap<string, string>, found: ReadonlyMap<string, string>): string[] {
  const keys = [...new Set([...expected.keys(), ...found.keys()])];
  const differing = keys.filter((key) => expected.get(key) !== found.get(key));
  return differing.length === 0
    ? []
    : [`differs from the undisturbed run in ${differing.length} of ${keys.length} parts: ${listed(differing)}`];
}

function listed(items: readonly unknown[]): string {
  const more = items.length - MOST_SHOWN;
  return `${items.slice(0, MOST_SHOWN).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
