/**
 * The orchestrator's side of the env-worker protocol (ARCHITECTURE.md, "Env-worker protocol"): tasks, rollouts, cancellation.
 *
 * `EnvWorkerSet` chooses the worker. Errors of the transport become `infra` errors of the rollout's episode, so that
 * the caller has one shape for everything that can happen to a rollout. Task lists and cancellations have separate connections: they
 * never wait behind rollouts.
 */

import type { Dispatcher } from "undici";
import { type ErrorCode, messageOf, PrlError } from "../../errors.ts";
import {
  decodeEpisode,
  failedEpisode,
  groupScoresSchema,
  type ReceivedEpisode,
  type RunRequest,
  type ScoreGroupRequest,
} from "../../environments/records.ts";
import type { GroupScores, TaskPage } from "../../environments/index.ts";
import { yieldInTurn } from "../../async/yield.ts";
import type { LoadFile } from "../../monitors/index.ts";
import { type Answer, PendingResponse } from "../../inference-client/index.ts";
import { type EnvWorker, type EnvWorkerAddress, EnvWorkerSet } from "./env-worker-set.ts";

/** A page of a source's tasks that is wanted. */
export interface WantedTasks {
  readonly source: string;
  readonly split: "train" | "eval";
  /** Where the page before it ended; null: the first page. */
  readonly after: string | null;
  /** Most tasks of the page. */
  readonly limit: number;
}

export interface EnvWorkers {
  /** Errors: PRL_ENVIRONMENT_FAILED, PRL_PROCESS_DIED; an abort rejects with its reason. */
  tasks(wanted: WantedTasks, signal: AbortSignal): Promise<TaskPage>;
  /**
   * Rejects only when a worker refuses the request. Any other failure is an error in the episode, also an answer that cannot be read
   * (PRL_EPISODE_INVALID, `infra`). An abort cancels the rollout down to
   * the engine; its episode then comes back with an error within `CANCEL_GRACE_MS`.
   *
   * @param lost how many workers this rollout was lost with; default 0
   */
  run(request: RunRequest, signal: AbortSignal, lost?: number): Promise<ReceivedEpisode>;
  /**
   * Scores that depend on all rollouts of a group that has ended. Rejects only when a worker breaks the protocol: a worker that is gone
   * is an `infra` error of the group.
   */
  scoreGroup(request: ScoreGroupRequest, signal: AbortSignal): Promise<GroupScores>;
  close(): Promise<void>;
}

/** The first page may bring a dataset over the network. A worker that hangs is noticed sooner: its heartbeats stop. */
const TASKS_DEADLINE_MS = 900_000;
/** A worker answers at the rollout's deadline at the latest; this much later it counts as dead. */
const RUN_GRACE_MS = 10_000;
/** A rollout that was lost with so many workers is doubtful: it may be what ends them. */
const DOUBTFUL_AFTER = 2;
/** A worker answers a cancelled rollout at once; after this its connection is closed, which cancels the rollout too. */
const CANCEL_GRACE_MS = 2_000;

export interface EnvWorkerConnection extends EnvWorkers {
  /** Makes these the workers; those that are no longer among them end the rollouts that they have. */
  update(addresses: readonly EnvWorkerAddress[]): void;
  load(): LoadFile;
  /** Rollouts that wait for a worker. */
  readonly waiting: number;
}

export interface EnvWorkersOptions {
  connections: number;
  replacedWithinMs?: number;
  /** Workers on other machines, which stay. */
  remote?: readonly EnvWorkerAddress[];
}

/**
 * `connections`: most rollouts under way at one worker; further ones wait here. `replacedWithinMs`: how long a rollout waits for a worker when
 * none answers, because dead ones are replaced; default 0: dead ones are not replaced.
 */
export function connectEnvWorkers(
  given: readonly (string | EnvWorkerAddress)[],
  { connections, replacedWithinMs = 0, remote = [] }: EnvWorkersOptions,
): EnvWorkerConnection {
  const own = given.map((one, i) => (typeof one === "string" ? { name: `env-worker-${i}`, url: one } : one));
  const addresses = [...own, ...remote];
  if (addresses.length === 0) throw new PrlError("PRL_PROCESS_NOT_READY", "there is no env worker");
  const workers = new EnvWorkerSet(addresses, { connections, waitMs: replacedWithinMs });
  return {
    tasks: (wanted, signal) => listTasks(workers, wanted, { replacedWithinMs, signal }),
    run: (request, signal, lost = 0) => runOn(workers, request, signal, lost >= DOUBTFUL_AFTER),
    scoreGroup: (request, signal) => scoreOn(workers, request, signal),
    update: (now) => workers.update([...now, ...remote]),
    load() {
      const inFlight = workers.inFlight();
      const rollouts = Object.values(inFlight).reduce((sum, count) => sum + count, workers.waiting);
      return { rollouts, workers: inFlight };
    },
    get waiting() {
      return workers.waiting;
    },
    close: () => workers.close(),
  };
}

/** Asks one worker after the other when they do not answer. */
async function listTasks(
  workers: EnvWorkerSet,
  { source, split, after, limit }: WantedTasks,
  { replacedWithinMs, signal }: { replacedWithinMs: number; signal: AbortSignal },
): Promise<TaskPage> {
  signal.throwIfAborted();
  const query = new URLSearchParams({ env: source, split, limit: String(limit) });
  if (after !== null) query.set("after", after);
  const what = `the tasks of "${source}" (${split})`;
  const latest = performance.now() + TASKS_DEADLINE_MS;
  try {
    for (let tried = 1; ; tried++) {
      const worker = await workers.take(source, signal);
      try {
        return await pageOf(worker, `/tasks?${query.toString()}`, what, signal);
      } catch (cause) {
        if (signal.aborted || cause instanceof PrlError) throw cause;
        workers.suspect(worker);
        const mayRetry = replacedWithinMs > 0 ? performance.now() < latest : tried < workers.size;
        if (!mayRetry) {
          throw new PrlError("PRL_PROCESS_DIED", `the env worker did not list ${what}: ${messageOf(cause)}`, { cause });
        }
      } finally {
        workers.release(worker);
      }
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

async function runOn(
  workers: EnvWorkerSet,
  request: RunRequest,
  signal: AbortSignal,
  isDoubtful: boolean,
): Promise<ReceivedEpisode> {
  if (signal.aborted) return lostRollout(request, "PRL_EPISODE_CANCELLED", messageOf(signal.reason));
  let worker: EnvWorker;
  try {
    worker = await workers.take(request.env, signal, isDoubtful);
  } catch (error) {
    return lostRollout(request, signal.aborted ? "PRL_EPISODE_CANCELLED" : "PRL_PROCESS_DIED", messageOf(error));
  }
  const pending = ask(worker.rollouts, "/run", request);
  const latest = request.deadline_ms + RUN_GRACE_MS;
  const deadline = setTimeout(() => pending.cancel(new Error(`no answer within ${latest} ms`)), latest);
  let grace: NodeJS.Timeout | undefined;
  const onAbort = () => {
    const end = () => pending.cancel(new Error("it was cancelled"));
    grace = setTimeout(end, CANCEL_GRACE_MS);
    // There is no answer to wait for from a worker that does not know the rollout, or does not answer.
    cancel(worker.control, request.episode_id).then((isAtWork) => isAtWork || end(), end);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await episodeIn(await pending.answer, request.episode_id);
  } catch (error) {
    if (error instanceof PrlError && error.code === "PRL_ENVIRONMENT_FAILED") throw error;
    if (signal.aborted) return lostRollout(request, "PRL_EPISODE_CANCELLED", messageOf(signal.reason));
    if (error instanceof PrlError) return lostRollout(request, "PRL_EPISODE_INVALID", error.message);
    workers.suspect(worker);
    return lostRollout(request, "PRL_PROCESS_DIED", `the env worker did not answer: ${messageOf(error)}`);
  } finally {
    clearTimeout(deadline);
    clearTimeout(grace);
    signal.removeEventListener("abort", onAbort);
    workers.release(worker, isDoubtful);
  }
}

async function scoreOn(workers: EnvWorkerSet, request: ScoreGroupRequest, signal: AbortSignal): Promise<GroupScores> {
  const late = AbortSignal.timeout(request.deadline_ms + RUN_GRACE_MS);
  let worker: EnvWorker | undefined;
  try {
    worker = await workers.take(request.env, signal);
    return await orderScores(worker.rollouts, request, AbortSignal.any([signal, late]));
  } catch (error) {
    // The reason of an abort may be a PrlError, too.
    if (!signal.aborted && error instanceof PrlError && worker !== undefined) throw error;
    if (!signal.aborted && worker !== undefined) workers.suspect(worker);
    const code = signal.aborted ? "PRL_EPISODE_CANCELLED" : "PRL_PROCESS_DIED";
    const message = `the env worker did not score a group: ${messageOf(signal.aborted ? signal.reason : error)}`;
    return { scores: [], error: { class: "infra", code, message } };
  } finally {
    if (worker !== undefined) workers.release(worker);
  }
}

async function pageOf(worker: EnvWorker, path: string, what: string, signal: AbortSignal): Promise<TaskPage> {
  const response = await worker.control.request({
    method: "GET",
    path,
    headersTimeout: TASKS_DEADLINE_MS,
    signal: AbortSignal.any([signal, AbortSignal.timeout(TASKS_DEADLINE_MS)]),
  });
  const text = await response.body.text();
  if (response.statusCode !== 200) throw new PrlError("PRL_ENVIRONMENT_FAILED", `${what} cannot be listed: ${text}`);
  return JSON.parse(text) as TaskPage;
}

/** Limit for an episode, with its tokens and texts. */
const MOST_BYTES = 2 ** 30;
const JSON_HEADERS = { "content-type": "application/json" };

function ask(worker: Dispatcher, path: string, request: RunRequest): PendingResponse {
  const body = JSON.stringify(request);
  return new PendingResponse(worker, { method: "POST", path, headers: JSON_HEADERS, body, mostBytes: MOST_BYTES });
}

/** Statuses of a worker that lets this orchestrator in no longer: one with another token or config has come in the place of the one that was asked. */
const ANOTHER_WORKER = new Set([401, 409]);

/** Errors: PRL_ENVIRONMENT_FAILED for a refusal, PRL_EPISODE_INVALID; any other error is of a worker that gets no rollouts for now. */
async function episodeIn({ status, body }: Answer, id: string): Promise<ReceivedEpisode> {
  if (status !== 200) {
    const answer = Buffer.from(body).toString();
    if (ANOTHER_WORKER.has(status)) throw new Error(`it refuses this orchestrator: ${answer}`);
    throw new PrlError("PRL_ENVIRONMENT_FAILED", `an env worker refused rollout ${id}: ${answer}`);
  }
  await yieldInTurn();
  return decodeEpisode(body);
}

async function orderScores(worker: Dispatcher, request: ScoreGroupRequest, signal: AbortSignal): Promise<GroupScores> {
  const body = JSON.stringify(request);
  const response = await worker.request({ method: "POST", path: "/score_group", headers: JSON_HEADERS, body, signal });
  const text = await response.body.text();
  if (response.statusCode !== 200)
    throw new PrlError("PRL_ENVIRONMENT_FAILED", `an env worker refused to score a group of "${request.env}": ${text}`);
  const parsed = groupScoresSchema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  throw new PrlError("PRL_EPISODE_INVALID", `an env worker's scores of a group are malformed: ${parsed.error.message}`);
}

/** False when the worker does not know the rollout: it has not arrived there yet, or has ended. */
async function cancel(worker: Dispatcher, episodeId: string): Promise<boolean> {
  const response = await worker.request({
    method: "POST",
    path: "/cancel",
    headers: JSON_HEADERS,
    body: JSON.stringify({ episode_id: episodeId }),
    signal: AbortSignal.timeout(CANCEL_GRACE_MS),
  });
  const { cancelled } = (await response.body.json()) as { cancelled?: boolean };
  return cancelled === true;
}

/** The episode of a rollout that was lost on its way. */
export function lostRollout(request: RunRequest, code: ErrorCode, message: string): ReceivedEpisode {
  return { episode: failedEpisode(request, { class: "infra", code, message }), samples: null };
}
