/**
 * Runs the evaluations of a config one after the other, each with many rollouts at once, in this process.
 *
 * A rollout that fails is a row with errors; the others go on. Slots (task, rollout) in `kept` are not run again. This file knows no
 * terminal and no run directory, only the given traces file.
 */
import type { EndpointEntry, EvalConfig } from "../config/index.ts";
import {
  type ConfiguredEnvironment,
  type Endpoint,
  type Episode,
  OWN_SANDBOXES,
  type SandboxSource,
  rewardOf,
  type Task,
} from "../environments/index.ts";
import {
  benchmarkId,
  checkSandboxes,
  type EnvironmentOrigin,
  findBenchmark,
  isBenchmarkId,
  locateEnvironment,
  occurrences,
} from "../environments/internal.ts";
import type { TracesFile } from "../environments/records.ts";
import { yieldInTurn } from "../async/yield.ts";
import { LinkedAbort } from "../async/linked-abort.ts";
import { seed as deriveSeed } from "../random/seed.ts";
import { PrlError } from "../errors.ts";
import { type Evaluation, openEndpoints } from "./endpoints.ts";
import { GroupScores } from "./group-scores.ts";
import { readTasks } from "./read-tasks.ts";
import { type EvaluationReport, report, type ReportOptions } from "./report.ts";

export interface EvaluationProgress {
  readonly name: string;
  readonly done: number;
  readonly total: number;
  readonly errors: number;
  /** Mean over the scored rollouts so far; NaN before the first. */
  readonly meanReward: number;
}

export interface EvaluateOptions {
  readonly traces: Pick<TracesFile, "add" | "drop">;
  /** Scored episodes of an earlier run, by id. */
  readonly kept: ReadonlyMap<string, Episode>;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: EvaluationProgress) => void;
}

/** An evaluation with its loaded environment and its endpoints. */
export interface PreparedEvaluation {
  readonly evaluation: Evaluation;
  readonly environment: ConfiguredEnvironment;
  readonly origin: EnvironmentOrigin;
  readonly endpoints: readonly Endpoint[];
}

/**
 * Prepares the evaluations and finds their mistakes before the first is run.
 *
 * @param env environment variables to read keys from. Errors: those of `loadEnvironment`, `checkSandboxes` and of opening the endpoints.
 */
export async function prepareEvaluations(
  config: EvalConfig,
  known: readonly EndpointEntry[],
  env: Readonly<Record<string, string | undefined>>,
  sandboxes: SandboxSource = OWN_SANDBOXES,
): Promise<PreparedEvaluation[]> {
  const prepared = await Promise.all(
    config.eval.map(async (evaluation) => {
      const { id, path, args } = evaluation.env;
      const { environment, origin } = await locateEnvironment({ id, path });
      return {
        evaluation,
        environment: environment.configure(args, { sandboxes }),
        origin,
        endpoints: openEndpoints(config, evaluation, known, env),
      };
    }),
  );
  await checkSandboxes(
    sandboxes,
    prepared.map(({ environment }) => environment),
  );
  return prepared;
}

/**
 * Returns reports in the order of the config and closes the endpoints. Rejects with PRL_EPISODE_CANCELLED on abort; episodes scored by
 * then are in the traces.
 */
export async function runEvaluations(
  config: EvalConfig,
  prepared: readonly PreparedEvaluation[],
  options: EvaluateOptions,
): Promise<EvaluationReport[]> {
  const reports: EvaluationReport[] = [];
  try {
    for (const one of prepared) reports.push(await run(config, one, options));
  } finally {
    await Promise.all(prepared.flatMap(({ endpoints }) => endpoints.map((endpoint) => endpoint.close())));
  }
  return reports;
}

async function run(
  config: EvalConfig,
  prepared: PreparedEvaluation,
  options: EvaluateOptions,
): Promise<EvaluationReport> {
  const { evaluation, environment } = prepared;
  const { traces, signal, onProgress } = options;
  const { name, rollouts, num_examples: wanted } = evaluation;
  const deadlineMs = config.timeout_s * 1000;
  const which = { name, split: evaluation.split, seed: config.seed, wanted, deadlineMs, signal };
  const { tasks, leftOut } = await readTasks(environment, which);
  const groups = tasks.map((): Episode[] => []);
  const slots = slotsOf(name, tasks, rollouts);
  const show = tally(name, slots.length, onProgress);
  const take = (slot: Slot, episode: Episode): void => {
    groups[slot.index]?.push(episode);
    show(episode);
  };
  const { open, done, again } = sortSlots(slots, options.kept, environment.scoresGroups);
  if (again.size > 0) await traces.drop(again);
  for (const { slot, episode } of done) take(slot, episode);
  await runSlots(config, prepared, open, {
    signal,
    take: (slot, episode) => {
      traces.add(episode);
      take(slot, episode);
    },
  });
  return report(groups, {
    name,
    env: environment.name,
    model: evaluation.model,
    rollouts,
    passThreshold: config.pass_threshold,
    rowsLeftOut: leftOut,
    price: evaluation.price,
    ...ofBenchmark(evaluation.env.id, tasks),
  });
}

/** Parts and further numbers, where the environment is a benchmark. */
function ofBenchmark(id: string | null, tasks: readonly Task[]): Pick<ReportOptions, "parts" | "derive"> {
  if (id === null || !isBenchmarkId(id)) return {};
  const { derived } = findBenchmark(id.slice(benchmarkId("").length));
  const parts = tasks.map(({ data }) => {
    const { group } = data as { group?: string };
    return group ?? null;
  });
  return { parts, ...(derived === undefined ? {} : { derive: derived }) };
}

/** One rollout of an evaluation. */
interface Slot {
  readonly task: Task;
  /** How many equal tasks come before it. */
  readonly epoch: number;
  /** Number of the task. */
  readonly index: number;
  /** Number of the rollout among those of its task. */
  readonly sample: number;
  /** Id of its episode. */
  readonly id: string;
}

function slotsOf(name: string, tasks: readonly Task[], rollouts: number): Slot[] {
  const epochs = occurrences(tasks);
  return tasks.flatMap((task, index) =>
    Array.from({ length: rollouts }, (_, sample) => ({
      task,
      epoch: epochs[index] ?? 0,
      index,
      sample,
      id: `${name}-${index}-${sample}`,
    })),
  );
}

interface SortedSlots {
  /** They are run. */
  readonly open: Slot[];
  /** They were scored by an earlier run. */
  readonly done: { slot: Slot; episode: Episode }[];
  /** Ids of scored episodes that are run again: group rewards need all rollouts of a task, and another task may have come in the place of theirs. */
  readonly again: ReadonlySet<string>;
}

function sortSlots(slots: readonly Slot[], kept: EvaluateOptions["kept"], scoresGroups: boolean): SortedSlots {
  const keptOf = ({ id, task }: Slot): Episode | null => {
    const episode = kept.get(id);
    return episode?.task.hash === task.hash ? episode : null;
  };
  const broken = new Set(scoresGroups ? slots.filter((slot) => keptOf(slot) === null).map(({ index }) => index) : []);
  const [open, done, again]: [Slot[], SortedSlots["done"], Set<string>] = [[], [], new Set()];
  for (const slot of slots) {
    const episode = keptOf(slot);
    if (episode !== null && !broken.has(slot.index)) {
      done.push({ slot, episode });
      continue;
    }
    open.push(slot);
    if (kept.has(slot.id)) again.add(slot.id);
  }
  return { open, done, again };
}

interface SlotEnd {
  readonly signal: AbortSignal;
  /** Called with each scored episode. */
  readonly take: (slot: Slot, episode: Episode) => void;
}

/** Runs the slots, as many at once as the config allows. */
async function runSlots(
  config: EvalConfig,
  prepared: PreparedEvaluation,
  open: readonly Slot[],
  { signal, take }: SlotEnd,
): Promise<void> {
  const { evaluation, environment, endpoints } = prepared;
  const scorer = new GroupScores(environment, { size: evaluation.rollouts, timeoutMs: config.timeout_s * 1000 });
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(new PrlError("PRL_EPISODE_CANCELLED", "the evaluation was stopped"));
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < open.length; at = next++) {
      const slot = open[at];
      const endpoint = endpoints[at % endpoints.length];
      if (slot === undefined || endpoint === undefined) return;
      await yieldInTurn();
      stop.signal.throwIfAborted();
      const episode = await rollOut(config, { ...prepared, endpoint }, slot, stop.signal);
      stop.signal.throwIfAborted();
      for (const ended of await scorer.add(slot.task, episode, stop.signal)) {
        stop.signal.throwIfAborted();
        take(slot, ended);
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(config.max_concurrent, open.length) }, lane));
  } finally {
    signal.removeEventListener("abort", onAbort);
    // When one lane fails, for example to write its trace, the others have to stop.
    stop.abort(new PrlError("PRL_EPISODE_CANCELLED", "the evaluation ended"));
  }
}

/** Runs one rollout with its deadline; errors of the rollout never reject. */
async function rollOut(
  config: EvalConfig,
  { evaluation, environment, endpoint }: PreparedEvaluation & { endpoint: Endpoint },
  { task, epoch, index, sample, id }: Slot,
  stopped: AbortSignal,
): Promise<Episode> {
  const { name, sampling } = evaluation;
  const late = (): PrlError =>
    new PrlError("PRL_ENVIRONMENT_TIMEOUT", `the rollout did not end within ${config.timeout_s} s`);
  const time = new LinkedAbort(stopped).abortAfter(config.timeout_s * 1000, late);
  try {
    const { episode } = await environment.run({
      episodeId: id,
      groupId: `${name}-${index}`,
      source: name,
      task,
      endpoint,
      sampling: {
        temperature: sampling.temperature,
        topP: sampling.top_p,
        topK: sampling.top_k,
        maxCompletionTokens: sampling.max_completion_tokens,
      },
      seed: deriveSeed(config.seed, "eval", name, task.key, epoch, sample, 0),
      run: { type: "eval", step: 0 },
      signal: time.signal,
    });
    return episode;
  } finally {
    time.release();
  }
}

/** Counts episodes and reports the progress. */
function tally(name: string, total: number, onProgress: EvaluateOptions["onProgress"]): (episode: Episode) => void {
  let [done, errors, scored, rewards] = [0, 0, 0, 0];
  // A display's clock begins with the start of the first rollout, not with its end.
  onProgress?.({ name, done, total, errors, meanReward: Number.NaN });
  return ({ ok, traces }) => {
    done += 1;
    if (!ok) errors += 1;
    const reward = rewardOf({ ok, traces });
    if (!Number.isNaN(reward)) {
      scored += 1;
      rewards += reward;
    }
    onProgress?.({ name, done, total, errors, meanReward: scored === 0 ? Number.NaN : rewards / scored });
  };
}
