/**
 * An inference server in virtual time: continuous batching with a KV cache, without tokens.
 *
 * All running sequences get a token with each decoding step, so the server counts one progress, in tokens, and a sequence ends when the
 * progress has grown by its length. The time of a step follows from the running sequences and their tokens, and is computed anew when one
 * begins or ends, when the cache is full, and at least every `STRETCH` tokens. A prompt holds up all sequences while it is computed; a prompt that a running sequence
 * of its group has is found in the cache. What does not fit waits, first come, first served; when the cache is full the youngest sequence is
 * pushed out and computed again later, what it had sampled being a part of its prompt then. A pause keeps everything.
 */
import { MinHeap } from "../min-heap.ts";
import type { VirtualClock } from "../virtual-clock.ts";

export interface ServerCosts {
  /** Most sequences that run together. */
  readonly sequences: number;
  /** Tokens that the KV cache holds. */
  readonly kvTokens: number;
  readonly sharesPrompts: boolean;
  /** Seconds of a decoding step with so many sequences that have so many tokens together. */
  readonly decode: (sequences: number, tokens: number) => number;
  /** Seconds of a prompt. */
  readonly prefill: (tokens: number) => number;
}

export interface Sequence {
  /** Sequences with the same name have the same prompt. */
  readonly group: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Called once, with the versions that sampled the first and the last token. */
  readonly onEnd: (versions: { start: number; end: number }) => void;
}

/** Sums since the beginning. */
export interface ServerTotals {
  /** Seconds with a running sequence. */
  readonly busy: number;
  /** Seconds times running sequences. */
  readonly sequences: number;
  readonly paused: number;
  readonly preemptions: number;
}

/** A sequence that has not ended. */
interface Held {
  readonly sequence: Sequence;
  /** Tokens sampled before it was pushed out. */
  sampled: number;
  startVersion: number | null;
  /** Null while it waits. */
  run: Run | null;
}

/** A sequence from its beginning, or from its return, to its end or to when it is pushed out. */
interface Run {
  readonly held: Held;
  /** Progress of the server at its beginning. */
  readonly from: number;
}

/** Most tokens between two computations of the time of a step. */
const STRETCH = 1024;
const ROUNDING = 1e-6;
/** Ended runs are forgotten when there are this many more of them than running ones. */
const FORGOTTEN = 64;

export class SimulatedServer {
  /** Version of its weights. */
  version = 0;
  readonly #clock: VirtualClock;
  readonly #costs: ServerCosts;
  /** By the progress at which they end; those that were stopped are skipped. */
  readonly #ends = new MinHeap<Run>();
  /** In the order in which they began; those that were stopped are skipped. */
  #begun: Run[] = [];
  #waiting: Held[] = [];
  /** Running sequences of each group. */
  readonly #prompts = new Map<string, number>();
  #running = 0;
  /** Tokens in the KV cache, as of `#progress`. */
  #tokens = 0;
  #progress = 0;
  /** Time of the progress. */
  #at = 0;
  #stepSeconds = 0;
  /** A prompt is computed until then. */
  #promptUntil = 0;
  #isPaused = false;
  /** The newest plan of the next event; older ones do nothing. */
  #plan = 0;
  readonly #totals = { busy: 0, sequences: 0, paused: 0, preemptions: 0 };

  constructor(clock: VirtualClock, costs: ServerCosts) {
    this.#clock = clock;
    this.#costs = costs;
  }

  totals(): ServerTotals {
    this.#advance();
    return { ...this.#totals };
  }

  load(): { running: number; waiting: number; kvUsage: number; preemptions: number } {
    this.#advance();
    const kvUsage = Math.min(1, this.#tokens / this.#costs.kvTokens);
    const { preemptions } = this.#totals;
    return { running: this.#running, waiting: this.#waiting.length, kvUsage, preemptions };
  }

  /** Returns what takes the sequence off the server; it is not called back then. */
  add(sequence: Sequence): () => void {
    const held: Held = { sequence, sampled: 0, startVersion: null, run: null };
    this.#change(() => this.#waiting.push(held));
    return () =>
      this.#change(() => {
        if (held.run === null) this.#waiting = this.#waiting.filter((one) => one !== held);
        else this.#stop(held.run);
      });
  }

  pause(): void {
    this.#change(() => (this.#isPaused = true));
  }

  resume(): void {
    this.#change(() => (this.#isPaused = false));
  }

  /** Brings the server to now, changes it, and plans what happens next. */
  #change(what: () => void): void {
    this.#advance();
    what();
    if (!this.#isPaused) this.#begin();
    this.#planNext();
  }

  #advance(): void {
    const { now } = this.#clock;
    const from = this.#at;
    const seconds = now - from;
    this.#at = now;
    if (seconds <= 0) return;
    if (this.#isPaused) {
      this.#totals.paused += seconds;
      if (this.#promptUntil > from) this.#promptUntil += seconds;
      return;
    }
    if (this.#running === 0) return;
    this.#totals.busy += seconds;
    this.#totals.sequences += seconds * this.#running;
    const decoding = now - Math.max(from, this.#promptUntil);
    if (decoding > 0) this.#grow(decoding / this.#stepSeconds);
  }

  #grow(tokens: number): void {
    this.#progress += tokens;
    this.#tokens += tokens * this.#running;
  }

  /** Begins what waits and fits. */
  #begin(): void {
    const { sequences, kvTokens, sharesPrompts, prefill } = this.#costs;
    let begun = 0;
    for (const held of this.#waiting) {
      const { group, promptTokens, completionTokens } = held.sequence;
      const tokens = promptTokens + held.sampled;
      if (this.#running >= sequences || (this.#running > 0 && this.#tokens + tokens > kvTokens)) break;
      const alike = this.#prompts.get(group) ?? 0;
      const computed = sharesPrompts && alike > 0 ? held.sampled : tokens;
      if (computed > 0) this.#promptUntil = Math.max(this.#promptUntil, this.#at) + prefill(computed);
      this.#prompts.set(group, alike + 1);
      held.startVersion ??= this.version;
      held.run = { held, from: this.#progress };
      this.#ends.push(this.#progress + completionTokens - held.sampled, held.run);
      this.#begun.push(held.run);
      this.#running += 1;
      this.#tokens += tokens;
      begun += 1;
    }
    if (begun > 0) this.#waiting = this.#waiting.slice(begun);
    if (this.#begun.length > 2 * this.#running + FORGOTTEN) this.#begun = this.#begun.filter(isRunning);
  }

  #stop({ held, from }: Run): void {
    const { group, promptTokens } = held.sequence;
    const alike = (this.#prompts.get(group) ?? 1) - 1;
    if (alike === 0) this.#prompts.delete(group);
    else this.#prompts.set(group, alike);
    held.sampled += this.#progress - from;
    held.run = null;
    this.#running -= 1;
    this.#tokens = this.#running === 0 ? 0 : this.#tokens - promptTokens - held.sampled;
  }

  #planNext(): void {
    const plan = ++this.#plan;
    for (let run = this.#ends.least; run !== undefined && !isRunning(run); run = this.#ends.least) this.#ends.pop();
    const end = this.#ends.leastKey;
    if (end === undefined || this.#isPaused) return;
    const room = this.#running > 1 ? (this.#costs.kvTokens - this.#tokens) / this.#running : Infinity;
    const target = Math.min(end, this.#progress + Math.min(STRETCH, Math.max(0, room) + 1));
    this.#stepSeconds = this.#costs.decode(this.#running, this.#tokens);
    const seconds = (target - this.#progress) * this.#stepSeconds;
    this.#clock.at(Math.max(this.#at, this.#promptUntil) + seconds, () => {
      if (plan === this.#plan) this.#reach(target);
    });
  }

  /** The progress has come to `target`: some sequences end, and the youngest ones are pushed out when the cache is too full. */
  #reach(target: number): void {
    this.#change(() => {
      this.#grow(target - this.#progress);
      while ((this.#ends.leastKey ?? Infinity) <= target + ROUNDING) {
        const run = this.#ends.pop();
        if (run === undefined || !isRunning(run)) continue;
        const { held } = run;
        this.#stop(run);
        held.sequence.onEnd({ start: held.startVersion ?? this.version, end: this.version });
      }
      while (this.#tokens > this.#costs.kvTokens && this.#running > 1) this.#pushOutYoungest();
    });
  }

  #pushOutYoungest(): void {
    for (let run = this.#begun.pop(); run !== undefined; run = this.#begun.pop()) {
      if (!isRunning(run)) continue;
      this.#stop(run);
      this.#waiting.unshift(run.held);
      this.#totals.preemptions += 1;
      return;
    }
  }
}

function isRunning(run: Run): boolean {
  return run.held.run === run;
}
