/** The checks of `prl env push`: those of `prl env test`, in a child, and sample rollouts, as the report that is published with the package. */
import {
  type CheckRow,
  type EnvironmentPackage,
  LONGEST_REPORT_TEXT,
  manifestOf,
  MOST_REPORTED,
  packageNeeds,
  type PackageReport,
} from "../../environments/internal.ts";
import { PrlError } from "../../errors.ts";
import { packageManifest } from "../../version.ts";
import { askEnvironment } from "./environment-child.ts";
import type { EnvironmentFound } from "./messages.ts";
import { packageRows } from "./package-rows.ts";
import type { SampleRollout } from "./sample-rollouts.ts";

/** Most failures of the validation that are named. */
const SHOWN = 3;
const DEADLINE_MS = 20_000;

export interface Examination {
  readonly args: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

/**
 * The report on a package. Checks of the gate that fail stand in the report, and the package may be published with them.
 *
 * @throws PrlError `PRL_ENVIRONMENT_FAILED` for an environment that is not valid or does not return, `PRL_ENVIRONMENT_INVALID` for needs that are
 * not declared
 */
export async function examinePackage(found: EnvironmentPackage, { args, signal }: Examination): Promise<PackageReport> {
  const rows = packageRows(found.dir);
  const samples: SampleRollout[] = [];
  const question = { name: found.dir, from: found.dir, args, tasks: null, seed: 0, deadlineMs: DEADLINE_MS };
  const stopped = await askEnvironment(
    { ...question, gate: true, samples: MOST_REPORTED.samples, model: null },
    {
      signal,
      hear: (answer) => {
        if (answer.type === "found") refuseUndeclared(found, answer.environment);
        if (answer.type === "row") rows.push(answer.row);
        if (answer.type === "sample") samples.push(answer.sample);
      },
    },
  );
  refuseFailures(found, rows);
  if (stopped !== null)
    throw new PrlError("PRL_ENVIRONMENT_FAILED", `${found.name}: ${stopped.attempt.check}: ${stopped.why}`);
  return {
    prl: packageManifest().version,
    rows: rows.map(({ part, check, status, what }) => ({ part, check, status, what: cut(what) })),
    samples: samples.map(reported),
  };
}

function refuseUndeclared({ name, dir }: EnvironmentPackage, { needsSandbox }: EnvironmentFound): void {
  if (!needsSandbox || packageNeeds(manifestOf(dir)).sandbox !== undefined) return;
  throw new PrlError(
    "PRL_ENVIRONMENT_INVALID",
    `${name} requires sandboxes and does not declare it: add "needs": { "sandbox": "any" } to "prl" in package.json`,
  );
}

function refuseFailures({ name, dir }: EnvironmentPackage, rows: readonly CheckRow[]): void {
  const failures = rows
    .filter(({ part, status }) => part === "environment" && status === "failed")
    .flatMap((row) => row.failures.map(({ message }) => `${row.check}: ${message}`));
  if (failures.length === 0) return;
  throw new PrlError(
    "PRL_ENVIRONMENT_FAILED",
    `${name} is not valid (${failures.length} failures; prl env test ${dir} lists them): ${failures.slice(0, SHOWN).join("; ")}`,
  );
}

function reported({ task, by, conversations, reward, scores }: SampleRollout): PackageReport["samples"][number] {
  return {
    task: cut(task),
    by,
    conversations: conversations.slice(0, MOST_REPORTED.conversations).map(({ agent, messages }) => ({
      agent: cut(agent),
      messages: messages.slice(0, MOST_REPORTED.messages).map(({ role, content, calls }) => ({
        role: cut(role),
        content: cut(content),
        calls: calls.slice(0, MOST_REPORTED.messages).map(cut),
      })),
    })),
    reward,
    scores: { ...scores },
  };
}

function cut(text: string): string {
  return text.length > LONGEST_REPORT_TEXT
    ? `${text.slice(0, LONGEST_REPORT_TEXT)}... (${text.length - LONGEST_REPORT_TEXT} more characters)`
    : text;
}
