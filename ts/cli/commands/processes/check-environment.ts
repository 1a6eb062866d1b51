/**
 * `prl check-environment`: the child of `prl env test` and `prl env dev`, which runs the environment's code. The question, and what was found, go over
 * the channel that Node gives a child.
 */
import { Worker } from "node:worker_threads";

import {
  type Attempt,
  type CheckRow,
  environmentReference,
  inspectEnvironment,
  locateEnvironment,
  runGate,
  validationRows,
} from "../../../environments/internal.ts";
import {
  type ConfiguredEnvironment,
  type Environment,
  openEndpoint,
  type ReplyClient,
  SandboxSource,
} from "../../../environments/index.ts";
import { explain, PrlError } from "../../../errors.ts";
import { onlyOptions } from "../../arguments/args.ts";
import { type Command, EXIT } from "../../command.ts";
import type { EnvironmentAnswer, EnvironmentQuestion } from "../../environment-check/messages.ts";
import { sampleRollouts } from "../../environment-check/sample-rollouts.ts";

/** Tasks of each split, and where replies are scored in sandboxes. */
const TASKS = 50;
const SANDBOXED_TASKS = 5;
const PARENT_CHECK_MS = 1_000;

export const command: Command = {
  name: "check-environment",
  summary: "Run the code of an environment for prl env test or prl env dev",
  usage: "check-environment",
  hidden: true,
  run,
};

async function run(args: readonly string[]): Promise<number> {
  onlyOptions(command, args);
  if (process.send === undefined)
    throw new PrlError("PRL_CLI_USAGE", "prl check-environment is a part of prl env test and prl env dev: use these");
  process.once("disconnect", () => process.exit(EXIT.failed));
  endWithParent();
  const question = await new Promise<EnvironmentQuestion>((resolve) => {
    process.once("message", (message) => resolve(message as EnvironmentQuestion));
  });
  const sandboxes = new SandboxSource();
  try {
    await answer(question, sandboxes);
  } finally {
    await sandboxes.close();
  }
  await say({ type: "done" });
  return EXIT.done;
}

async function answer(question: EnvironmentQuestion, sandboxes: SandboxSource): Promise<void> {
  const { name, from, args } = question;
  await say({ type: "begins", attempt: { check: "module", split: null, task: null } });
  let environment: Environment;
  let configured: ConfiguredEnvironment;
  try {
    const located = await locateEnvironment(environmentReference(name), from);
    environment = located.environment;
    configured = environment.configure(args, { sandboxes });
    const { name: own, version, requires } = environment;
    const needsSandbox = requires.sandbox !== undefined;
    await say({ type: "found", environment: { name: own, version, origin: located.origin, needsSandbox } });
  } catch (error) {
    const failures = [{ split: null, task: null, message: explain(error) }];
    await say({
      type: "row",
      row: { part: "environment", check: "module", status: "failed", what: "it can be loaded", failures },
    });
    return;
  }
  await say({ type: "row", row: passedModule(environment) });
  await inspect(question, environment, configured);
  await sample(question, configured);
}

function passedModule({ name, version }: Environment): CheckRow {
  return { part: "environment", check: "module", status: "passed", what: `${name} ${version}`, failures: [] };
}

async function inspect(
  question: EnvironmentQuestion,
  environment: Environment,
  configured: ConfiguredEnvironment,
): Promise<void> {
  const { seed, deadlineMs, gate } = question;
  const tasks = question.tasks ?? (environment.requires.sandbox === undefined ? TASKS : SANDBOXED_TASKS);
  const { signal } = new AbortController();
  const begins = (attempt: Attempt): void => tell({ type: "begins", attempt });
  const report = await inspectEnvironment(configured, { tasks, seed, deadlineMs }, begins);
  for (const row of validationRows(report, configured.validates)) await say({ type: "row", row });
  if (!gate) return;
  const options = { tasks, seed, deadlineMs, signal, weights: environment.rewards, begins };
  for await (const row of runGate(configured, options)) await say({ type: "row", row });
}

async function sample(
  { samples: count, seed, deadlineMs, model }: EnvironmentQuestion,
  configured: ConfiguredEnvironment,
): Promise<void> {
  if (count === 0) return;
  const client = model === null ? null : endpointOf(model);
  const begins = (task: string): void => tell({ type: "begins", attempt: { check: "samples", split: "train", task } });
  const rollouts = sampleRollouts(configured, { count, seed, client, deadlineMs, begins });
  for await (const found of rollouts) await say({ type: "sample", sample: found });
}

function endpointOf({ url, model, keyVariable }: NonNullable<EnvironmentQuestion["model"]>): ReplyClient {
  const apiKey = keyVariable === null ? undefined : process.env[keyVariable];
  return openEndpoint({ url, model, maxRetries: 0, ...(apiKey === undefined ? {} : { apiKey }) });
}

/** Without waiting: an attempt that blocks this process has been written to the channel before it begins. */
function tell(message: EnvironmentAnswer): void {
  process.send?.(message, undefined, {}, () => undefined);
}

function say(message: EnvironmentAnswer): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, undefined, {}, (error: Error | null) => (error === null ? resolve() : reject(error)));
  });
}

/** Ends this process from a thread when its parent is gone, because code that never returns blocks the main one. */
function endWithParent(): void {
  const code = `setInterval(() => process.ppid === ${process.ppid} || process.kill(process.pid, "SIGKILL"), ${PARENT_CHECK_MS});`;
  new Worker(code, { eval: true }).unref();
}
