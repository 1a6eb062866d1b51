/**
 * The inference servers of a run as one policy: who gets rollouts, who is brought to the current weights, who is left out.
 *
 * States of an engine, and what moves it:
 *
 * | from             | what happens                                                 | to      |
 * | ---------------- | ------------------------------------------------------------ | ------- |
 * | (not there)      | its address appears                                          | joining |
 * | joining          | it has the current weights and its canary is right           | serving |
 * | serving          | a rollout did not reach it                                   | suspect |
 * | suspect          | its health answers with the weights that it was given        | serving |
 * | serving, suspect | it holds other weights; its swap is late, others are done    | joining |
 * | serving          | two probes in a row find it paused                           | joining |
 * | serving, suspect | it cannot be reached; three probes in a row are late         | out     |
 * | any of these     | its swap fails                                               | out     |
 * | out              | its health answers                                           | joining |
 * | any              | its address is gone, or another process has it               | (gone)  |
 *
 * Only a serving engine gets rollouts, and one is serving only with the current weights: a pair of version and digest. While `adopt` moves
 * it to the next ones it keeps serving: what reaches it meanwhile waits there. Rollouts on an engine that leaves service are
 * given up (`EngineLease.signal`), to be sampled elsewhere with the same seed. What cannot be mended ends the run: a canary out of band, a
 * request that an engine refuses, no engine in service for `patienceMs`, which begin again with each swap until `MOST_FAILURES` in a row have failed, an
 * engine that itself reports so many failures in a row.
 *
 * Between `sleep` and the next `adopt` the engines sleep, whatever their state: none gets rollouts, none is swapped, a late probe says nothing about
 * them, and one that appears is put to sleep.
 */
import { messageOf, PrlError } from "../../errors.ts";
import { LinkedAbort } from "../../async/linked-abort.ts";
import type { EngineHealth } from "../../inference-client/index.ts";
import type { Metrics } from "../../monitors/index.ts";
import type { AvailableWeights } from "../../transports/index.ts";
import { Changes } from "../../async/changes.ts";
import { chooseEngine } from "./engine-choice.ts";
import {
  holdingOf,
  isSame,
  isThere,
  keyOf,
  type Member,
  newMember,
  type PlacedEngine,
  unreachable,
} from "./engine-member.ts";
import { putToSleep, sourceOf, updateEngine } from "./engines.ts";

/** A rollout's place on an engine. */
export interface EngineLease {
  readonly url: string;
  /** Name that the engine knows the model by; undefined: the run's. */
  readonly model: string | undefined;
  /** Aborted with the rollout, and when the engine is taken out of service. */
  readonly signal: AbortSignal;
  /** Why the engine was taken out of service; null while it was not. */
  readonly lost: PrlError | null;
  /** The engine was not reached: it gets nothing more until its health answers. False when it is out of service. */
  suspect(): Promise<boolean>;
  release(): void;
}

export interface EngineTimes {
  /** Between two probes of an engine. */
  probeMs: number;
  /** How long a swap is awaited after other engines have done it. */
  swapMs: number;
  /** How long there may be no engine in service. */
  patienceMs: number;
  /** Pause before a failed swap is tried again; doubles with each failure. */
  backoffMs: number;
}

export const ENGINE_TIMES: EngineTimes = { probeMs: 1_000, swapMs: 300_000, patienceMs: 300_000, backoffMs: 500 };

export interface EngineFleetOptions {
  /** Allowed difference of the canary, as in `UpdateOptions`. */
  maxMeanAbs: number;
  metrics: Metrics;
  times?: Partial<EngineTimes>;
  /** Engines that share their GPU with the trainer: how many there are, and the level at which they sleep. Default: they never sleep. */
  turns?: { readonly engines: number; readonly level: number };
}

const LATE_PROBES = 3;
/** An answer may be of the time of a swap that has ended meanwhile. */
const PAUSED_PROBES = 2;
const MOST_FAILURES = 8;
const LONGEST_BACKOFF_MS = 10_000;
/** The engine, the way to it, or the weights may be better the next time. */
const PASSING: ReadonlySet<unknown> = new Set([
  "PRL_INFERENCE_UNREACHABLE",
  "PRL_INFERENCE_TIMEOUT",
  "PRL_INFERENCE_RATE_LIMIT",
  "PRL_INFERENCE_FAILED",
  "PRL_WEIGHTS_SUPERSEDED",
  "PRL_WEIGHTS_IO",
]);
/** The faults that an engine itself reports: one that reports them again and again will not get better. */
const OF_THE_ENGINE: ReadonlySet<unknown> = new Set(["PRL_INFERENCE_FAILED", "PRL_WEIGHTS_IO"]);

export class EngineFleet {
  readonly #options: EngineFleetOptions;
  readonly #times: EngineTimes;
  readonly #ending = new AbortController();
  readonly #changes = new Changes();
  #members: Member[] = [];
  #target: AvailableWeights | null = null;
  /** Why an engine will never have the target. */
  #passedOver: PrlError | null = null;
  #isAsleep = false;
  #fail: (error: unknown) => void = () => undefined;
  #probes: NodeJS.Timeout | undefined;

  constructor(engines: readonly PlacedEngine[], options: EngineFleetOptions) {
    this.#options = options;
    this.#times = { ...ENGINE_TIMES, ...options.times };
    const { metrics } = options;
    metrics.watch?.("engines_serving", "Inference servers that get rollouts.", () => this.serving);
    metrics.watch?.("engines_known", "Inference servers.", () => this.#members.length);
    this.update(engines);
  }

  /** Engines that get rollouts. */
  get serving(): number {
    return this.#members.filter(({ state }) => state === "serving").length;
  }

  /** Engines in service, for those that read their metrics. */
  get engines(): readonly PlacedEngine[] {
    return this.#members.filter(({ state }) => state === "serving");
  }

  /** Watches the engines from now on; `fail` is called with the error that ends the run. */
  start(fail: (error: unknown) => void): void {
    this.#fail = fail;
    this.#probes = setInterval(() => {
      for (const member of this.#members) this.#probe(member).catch((error: unknown) => this.#fail(error));
    }, this.#times.probeMs);
    this.#probes.unref();
  }

  /** Ends all requests of the fleet to its engines. */
  async stop(): Promise<void> {
    clearInterval(this.#probes);
    this.#ending.abort(new PrlError("PRL_RUN_INTERRUPTED", "the orchestrator has ended"));
    for (const { life } of this.#members) life.abort(this.#ending.signal.reason);
    this.#changes.announce();
    await Promise.allSettled(this.#members.flatMap(({ swapping }) => swapping ?? []));
    await this.#target?.release();
  }

  /** Makes these the engines. Those that are there already stay as they are. */
  update(placed: readonly PlacedEngine[]): void {
    const kept = this.#members.filter((member) => placed.some((one) => isSame(one, member)));
    const gone = this.#members.filter((member) => !kept.includes(member));
    const added = placed.filter((one) => !kept.some((member) => isSame(one, member)));
    for (const member of gone) this.#leave(member, "gone", "its process has ended");
    this.#members = [...kept, ...added.map(newMember)].toSorted((a, b) => a.name.localeCompare(b.name));
    for (const member of this.#members) {
      if (this.#isAsleep) void this.#silence(member);
      else if (member.state === "joining") void this.#swap(member);
    }
    if (added.length > 0) this.#changes.announce();
  }

  /**
   * A place for a rollout, on the same engine for the same key while there is room; waits while no engine is in service. Rejects with the
   * signal's reason, or with PRL_INFERENCE_UNREACHABLE, which has ended the run then.
   */
  async take(key: string, signal: AbortSignal): Promise<EngineLease> {
    const member = await this.#untilServing(signal, () =>
      chooseEngine(
        key,
        this.#members.filter(({ state }) => state === "serving" && !this.#isAsleep),
      ),
    );
    member.inFlight += 1;
    let isHeld = true;
    let lost: PrlError | null = null;
    const abort = new LinkedAbort(signal);
    const lose = (error: PrlError): void => {
      lost = error;
      abort.abort(error);
    };
    member.leases.add(lose);
    return {
      url: member.engine.url,
      model: member.engine.model,
      signal: abort.signal,
      get lost() {
        return lost;
      },
      suspect: () => this.#suspect(member),
      release: () => {
        if (isHeld) member.inFlight -= 1;
        isHeld = false;
        abort.release();
        member.leases.delete(lose);
      },
    };
  }

  /**
   * Moves the engines to these weights, which the fleet releases when the next ones have come. Resolves when every engine in service has
   * them; one that takes longer than `swapMs`, or fails, is out of service until it has caught up. Rejects as `take` does, with what the swap of
   * an engine was refused for, and with PRL_WEIGHTS_SUPERSEDED where no engine has them and one never will: the next ones are to be adopted.
   */
  async adopt(weights: AvailableWeights, signal: AbortSignal): Promise<void> {
    const previous = this.#target;
    this.#target = weights;
    this.#passedOver = null;
    this.#isAsleep = false;
    const wanted = keyOf(weights);
    const latest = performance.now() + this.#times.swapMs;
    const awaited = this.#members.filter(({ state }) => state !== "out");
    for (;;) {
      const moving = awaited.filter((member) => isThere(member) && member.state !== "out" && needs(member, wanted));
      const left = latest - performance.now();
      if (moving.length === 0 || left <= 0) break;
      for (const member of moving) void this.#swap(member);
      await this.#changes.next(left, signal);
      this.#throwIfEnded(signal);
    }
    const hasThem = (member: Member): boolean => member.state === "serving" && !needs(member, wanted);
    if (this.#passedOver !== null && !this.#members.some(hasThem)) {
      await previous?.release();
      throw this.#passedOver;
    }
    await this.#untilServing(signal, () => this.#members.find(hasThem));
    for (const member of this.#members) {
      if (member.state === "serving" && needs(member, wanted)) this.#leave(member, "joining", "its swap is late");
    }
    await previous?.release();
  }

  /**
   * Puts all engines to sleep, also those that are not in service, and waits until so many as there are to be have said that they sleep: one that
   * is started meanwhile is awaited. Errors: PRL_GPU_TURN when one is not asleep in time, and what an engine refuses the call with.
   */
  async sleep(signal: AbortSignal): Promise<void> {
    const { engines = 0 } = this.#options.turns ?? {};
    this.#isAsleep = true;
    const latest = performance.now() + this.#times.swapMs + this.#times.patienceMs;
    for (;;) {
      this.#throwIfEnded(signal);
      const awake = this.#members.filter((member) => !member.isAsleep);
      if (awake.length === 0 && this.#members.length >= engines) return;
      const left = latest - performance.now();
      if (left <= 0) throw this.#notAsleep(awake);
      const refusals = await Promise.all(awake.map((member) => this.#silence(member)));
      const refusal = refusals.find((error) => error instanceof PrlError && !PASSING.has(error.code));
      if (refusal !== undefined) throw refusal;
      if (this.#members.length < engines || this.#members.some((member) => !member.isAsleep))
        await this.#changes.next(Math.min(left, this.#times.probeMs), signal);
    }
  }

  /** Puts a member to sleep as soon as its swap has ended; what hindered it, or null. */
  async #silence(member: Member): Promise<unknown> {
    await member.swapping;
    if (member.isAsleep || !this.#isAsleep || !isThere(member) || member.swapping !== null) return null;
    const { level = 1 } = this.#options.turns ?? {};
    // A vLLM without weights does not say any more which it held.
    if (level > 1) member.held = null;
    let refusal: unknown = null;
    const silenced = putToSleep(member.engine, level, member.life.signal).then(
      () => {
        member.isAsleep = true;
      },
      (error: unknown) => {
        refusal = error;
      },
    );
    // It is no swap, and none may begin before it has ended.
    member.swapping = silenced.finally(() => {
      member.swapping = null;
      this.#changes.announce();
    });
    await member.swapping;
    return isThere(member) ? refusal : null;
  }

  #notAsleep(awake: readonly Member[]): PrlError {
    const seconds = Math.round((this.#times.swapMs + this.#times.patienceMs) / 1000);
    const names = awake.map(({ engine }) => engine.url).join(", ") || "one was not started again";
    const message = `the trainer's turn cannot begin: an inference server was not asleep within ${seconds} s (${names}); see its log, then go on with --resume`;
    return new PrlError("PRL_GPU_TURN", message);
  }

  /** Waits until `find` finds one, as long as patience lasts since an engine was last in service. */
  async #untilServing(signal: AbortSignal, find: () => Member | undefined): Promise<Member> {
    let latest = performance.now() + this.#times.patienceMs;
    for (;;) {
      this.#throwIfEnded(signal);
      const found = find();
      if (found !== undefined) return found;
      // A swap under way has its own deadlines, and so has the trainer's turn. Swaps that fail again and again do not prolong the wait.
      const isAwaited =
        this.#isAsleep || this.#members.some(({ swapping, failures }) => swapping !== null && failures < MOST_FAILURES);
      if (isAwaited) latest = performance.now() + this.#times.patienceMs;
      const left = latest - performance.now();
      if (left <= 0) {
        const seconds = Math.round(this.#times.patienceMs / 1000);
        const urls = this.#members.map(({ engine }) => engine.url).join(", ") || "none is known";
        const error = new PrlError(
          "PRL_INFERENCE_UNREACHABLE",
          `no inference server was in service for ${seconds} s (${urls}): see their logs, then go on with --resume`,
        );
        this.#fail(error);
        throw error;
      }
      await this.#changes.next(left, signal);
    }
  }

  #throwIfEnded(signal: AbortSignal): void {
    signal.throwIfAborted();
    this.#ending.signal.throwIfAborted();
  }

  /** Brings a member to the current weights and into service; joins in when that is under way. */
  #swap(member: Member): Promise<void> {
    member.swapping ??= this.#bring(member)
      // Refusals of an engine are handled there. The remaining failure is an event that cannot be written, on a full disk.
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        member.swapping = null;
        this.#changes.announce();
      });
    return member.swapping;
  }

  async #bring(member: Member): Promise<void> {
    const { metrics, maxMeanAbs } = this.#options;
    while (this.#target !== null && isThere(member) && !this.#isAsleep) {
      const target = this.#target;
      const wanted = keyOf(target);
      if (!needs(member, wanted)) break;
      try {
        // An engine that was started anew since the last probe has lost its rollouts.
        if (member.held !== null) this.#compare(member, await member.engine.admin.health(member.life.signal));
        member.held = null;
        member.isAsleep = false;
        const weights = { manifest: target.manifest, source: this.#sourceFor(member, target) };
        const sleeps = this.#options.turns !== undefined;
        await updateEngine(member.engine, weights, { maxMeanAbs, metrics, signal: member.life.signal, sleeps });
        member.held = wanted;
        member.failures = 0;
      } catch (error) {
        if (target === this.#target && isPassedOver(error)) this.#passedOver = error;
        this.#failed(member, (await this.#isReplaced(member, error, wanted)) ? unreachable(member, error) : error);
        return;
      }
    }
    if (member.held === null || member.isAsleep || !isThere(member)) return;
    if (member.state !== "serving") metrics.event("engine_in", { engine: member.engine.url, weights: member.held });
    member.state = "serving";
    member.lateProbes = 0;
    this.#changes.announce();
  }

  /** Whether the engine was started anew between swap and canary: its canary then says nothing about the swap. */
  async #isReplaced(member: Member, error: unknown, wanted: string): Promise<boolean> {
    if (!(error instanceof PrlError) || error.code !== "PRL_CANARY_OUT_OF_BAND") return false;
    try {
      return holdingOf(await member.engine.admin.health(member.life.signal)) !== wanted;
    } catch {
      return true;
    }
  }

  /**
   * When all engines move together they form a tree below the publisher. Those that have the version already stand at its top, so that one that joins late
   * gets it also when the publisher has ended.
   */
  #sourceFor(member: Member, target: AvailableWeights): AvailableWeights["source"] {
    const wanted = keyOf(target);
    const tree = this.#members
      .filter((one) => one === member || one.state === "serving" || one.state === "joining")
      .toSorted((a, b) => Number(b.held === wanted) - Number(a.held === wanted));
    const engines = tree.map(({ engine }) => engine);
    return sourceOf(engines, tree.indexOf(member), target.source);
  }

  #failed(member: Member, error: unknown): void {
    if (this.#ending.signal.aborted || member.state === "gone") return;
    const code = error instanceof PrlError ? error.code : null;
    member.failures += 1;
    if (!PASSING.has(code) || (member.failures >= MOST_FAILURES && OF_THE_ENGINE.has(code))) {
      this.#fail(error);
      return;
    }
    const pauseMs = Math.min(LONGEST_BACKOFF_MS, this.#times.backoffMs * 2 ** (member.failures - 1));
    member.retryAt = performance.now() + pauseMs;
    this.#leave(member, "out", messageOf(error));
  }

  /** True when the engine turns out to be in service. */
  async #suspect(member: Member): Promise<boolean> {
    if (member.state === "serving" && member.swapping === null) {
      member.state = "suspect";
      await this.#probe(member);
    }
    while (member.state === "suspect" && !this.#ending.signal.aborted) {
      await this.#changes.next(this.#times.probeMs, this.#ending.signal);
    }
    return member.state === "serving";
  }

  /** Asks for the engine's health, unless a request to it is under way already. */
  async #probe(member: Member): Promise<void> {
    if (member.isProbed || member.swapping !== null || !isThere(member) || this.#target === null) return;
    if (member.state === "out" && performance.now() < member.retryAt) return;
    member.isProbed = true;
    try {
      const health = await member.engine.admin.health(member.life.signal);
      if (isThere(member) && member.swapping === null) this.#answered(member, health);
    } catch (error) {
      if (isThere(member) && member.swapping === null) this.#silent(member, error);
    } finally {
      member.isProbed = false;
    }
  }

  #compare(member: Member, health: EngineHealth): void {
    const holds = holdingOf(health);
    if (member.held === null || holds === member.held || member.state === "out") return;
    this.#leave(member, "joining", `it holds other weights (${holds}) than it was given (${member.held})`);
  }

  #answered(member: Member, health: EngineHealth): void {
    member.lateProbes = 0;
    this.#compare(member, health);
    // A pause may arrive after the resume, such as that of an orchestrator that has died: nothing else would end it.
    const isPaused = health.paused && member.state === "serving" && !member.isAsleep && !this.#isAsleep;
    member.pausedProbes = isPaused ? member.pausedProbes + 1 : 0;
    if (member.pausedProbes >= PAUSED_PROBES) this.#leave(member, "joining", "it is paused, and no swap is under way");
    if (member.state === "out") member.state = "joining";
    else if (member.state === "suspect") {
      member.state = "serving";
      this.#changes.announce();
    }
    if (member.state !== "joining") return;
    // Its weights may have changed while it could not be reached.
    member.held = null;
    void this.#swap(member);
  }

  #silent(member: Member, error: unknown): void {
    if (member.state === "out") return;
    member.lateProbes += 1;
    const isGone = error instanceof PrlError && error.code === "PRL_INFERENCE_UNREACHABLE";
    // While it frees its memory it may answer late.
    const isLate = member.lateProbes >= LATE_PROBES && !this.#isAsleep;
    if (isGone || isLate) this.#leave(member, "out", messageOf(error));
  }

  #leave(member: Member, state: "joining" | "out" | "gone", reason: string): void {
    const wasThere = member.state === "serving" || member.state === "suspect";
    member.state = state;
    if (wasThere || state === "gone")
      this.#options.metrics.event("engine_out", { engine: member.engine.url, reason, rollouts: member.inFlight });
    const error = new PrlError("PRL_INFERENCE_UNREACHABLE", `${member.engine.url} is out of service: ${reason}`);
    for (const lose of member.leases) lose(error);
    member.leases.clear();
    if (state === "gone") member.life.abort(error);
    this.#changes.announce();
  }
}

/** Whether the weights are to be brought to it, or it is to be woken for them. */
function needs({ held, isAsleep }: Member, wanted: string): boolean {
  return held !== wanted || isAsleep;
}

function isPassedOver(error: unknown): error is PrlError {
  return error instanceof PrlError && error.code === "PRL_WEIGHTS_SUPERSEDED";
}
