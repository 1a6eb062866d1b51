/** One rollout from its first model call to its scores; the episode says how it ended. */
import { setMaxListeners } from "node:events";

import { LinkedAbort } from "../../async/linked-abort.ts";
import { messageOf, PrlError } from "../../errors.ts";
import { type EpisodeError, toEpisodeError } from "../episode/episode.ts";
import type { EpisodeFrame } from "../episode/episode-frame.ts";
import { startClock, toFrame } from "../episode/rollout-record.ts";
import { JudgeUsage } from "../judge/judge-usage.ts";
import type {
  EndpointRolloutRequest,
  EnvironmentParts,
  RolloutRequest,
  Score,
} from "../model/configured-environment.ts";
import type { RolloutContext, RolloutEnd } from "../model/environment.ts";
import { RolloutStop, TurnLimits } from "../model/limits.ts";
import { untilAborted } from "../../async/deadline.ts";
import { scoreTraces } from "../model/score-traces.ts";
import type { RolloutSandboxes } from "../sandboxes/sandboxes.ts";
import { NO_CLIENT, NO_TOKENIZER } from "./reply-sampler.ts";
import { Seats } from "./seats.ts";

/** Time that a stopped rollout has to end its programs in the sandbox; longer than a daemon's confirmation may take. */
const STOPPED_MS = 12_000;

/** Runs and scores the rollout; it never rejects. */
export async function runRollout<Config, Row extends object, Agent extends string>(
  parts: EnvironmentParts<Config, Row, Agent>,
  request: RolloutRequest | EndpointRolloutRequest,
  sandboxes: RolloutSandboxes,
): Promise<EpisodeFrame> {
  const { definition, roles, limits } = parts;
  const time = new LinkedAbort(request.signal);
  const { signal } = time;
  const stop = (reason: RolloutStop): void => time.abort(reason);
  const { timeMs } = limits;
  if (timeMs !== undefined) time.abortAfter(timeMs, () => new RolloutStop("max_time"));
  // Every agent, tool and reward listens to the signal.
  setMaxListeners(0, request.signal, signal);
  const seats = new Seats(roles, { ...request, signal }, new TurnLimits(limits, stop));
  const clock = startClock();
  const errors: EpisodeError[] = [];
  let end: RolloutEnd = {};
  let scores: Score[] | null = null;
  const usage = new JudgeUsage();
  try {
    const context = contextOf(parts, { ...request, signal }, seats, sandboxes);
    request.signal.throwIfAborted();
    const rollout = (async () => definition.rollout(context))();
    // A rollout that is stopped while it is called has no other reader, and an error without a reader ends the process.
    rollout.catch(() => undefined);
    let ended = await endOf(untilAborted(rollout, signal), request.signal);
    // Programs in its sandbox have to end before anything there is scored.
    if (signal.aborted && sandboxes.required) ended = { ...(await lateEndOf(rollout, request.signal)), ...ended };
    time.release();
    checkRecordable(ended);
    end = ended;
    seats.end();
    for (const { trace } of seats.spoken) trace.info = end.info ?? {};
    clock.generated = performance.now();
    checkSpoken(seats, end, timeMs);
    const common = { task: context.task, config: parts.config, signal: request.signal, judges: parts.judges, usage };
    const agents = roles.map((role) => role.name);
    scores = await scoreTraces(definition, { ...common, ...sandboxes.access }, agents, seats.spoken);
    clock.scored = performance.now();
    if (sandboxes.required)
      end = { ...end, metrics: { ...end.metrics, "timing/sandbox_wait": sandboxes.waitedSeconds } };
  } catch (error) {
    errors.push(toEpisodeError(seats.blame(error)));
    // Waits for the engine's answer to the call that was cut.
    if (request.keepsPartial === true && request.signal.aborted) await seats.settled();
  }
  time.release();
  end = { ...end, metrics: { ...end.metrics, ...usage.metrics } };
  return toFrame(definition, request, seats.spoken, { clock, errors, end, scores });
}

/** The context of the environment's own rollout function. */
function contextOf<Config, Row extends object, Agent extends string>(
  { config, rowOf }: EnvironmentParts<Config, Row, Agent>,
  request: RolloutRequest | EndpointRolloutRequest,
  seats: Seats<Agent>,
  sandboxes: RolloutSandboxes,
): RolloutContext<Row, Config, Agent> {
  const { first } = seats;
  return {
    task: rowOf(request.task),
    config,
    sample: first.sample,
    countTokens: first.sampler.countTokens,
    trace: first.trace,
    agent: (name, index) => seats.seat(name, index),
    client: "endpoint" in request ? NO_CLIENT : request.client,
    tokenizer: "endpoint" in request ? NO_TOKENIZER : request.tokenizer,
    sampling: request.sampling,
    seed: request.seed,
    signal: request.signal,
    ...sandboxes.access,
  };
}

/** Refuses a rollout without a model call. */
function checkSpoken(seats: Seats<string>, end: RolloutEnd, timeMs: number | undefined): void {
  if (seats.spoken.length > 0) return;
  if (end.stopCondition === "max_time")
    throw new PrlError("PRL_ENVIRONMENT_TIMEOUT", `the rollout made no model call within its ${timeMs} ms`);
  throw new PrlError("PRL_ENVIRONMENT_FAILED", "the rollout ended without a model call");
}

/** Refuses what JSON cannot hold: the episode would be lost on its way to the orchestrator, and the rollout would be tried again. */
function checkRecordable({ metrics = {}, info }: RolloutEnd): void {
  const fail = (problem: string, cause?: unknown): never => {
    throw new PrlError("PRL_ENVIRONMENT_FAILED", `the rollout returned ${problem}`, { cause });
  };
  for (const [name, value] of Object.entries(metrics))
    if (!Number.isFinite(value)) fail(`the metric "${name}" = ${String(value)}; a metric is a finite number`);
  try {
    JSON.stringify(info);
  } catch (cause) {
    fail(`an info that is no JSON: ${messageOf(cause)}`, cause);
  }
}

/** How a rollout ended; a thrown stop is a normal end, unless the rollout was cancelled meanwhile. */
async function endOf(rollout: Promise<RolloutEnd | void>, cancelled: AbortSignal): Promise<RolloutEnd> {
  try {
    return (await rollout) ?? {};
  } catch (error) {
    cancelled.throwIfAborted();
    if (error instanceof RolloutStop) return { stopCondition: error.stopCondition };
    throw error;
  }
}

/** The end that a stopped rollout still reports. Rejects when its sandbox failed, or when it is cancelled. */
async function lateEndOf(rollout: Promise<RolloutEnd | void>, cancelled: AbortSignal): Promise<RolloutEnd> {
  const time = new LinkedAbort(cancelled).abortAfter(STOPPED_MS, () => new RolloutStop("late"));
  try {
    return (await untilAborted(rollout, time.signal)) ?? {};
  } catch (error) {
    cancelled.throwIfAborted();
    if (toEpisodeError(error).class === "infra") throw error;
    return {};
  } finally {
    time.release();
  }
}
