/** One validation under way: tries things within a deadline, and records failures and the time of each kind of work. */
import { explain, PrlError } from "../../errors.ts";
import type { ConfiguredEnvironment, ScoredReply } from "../model/configured-environment.ts";
import type { Split } from "../../datasets/index.ts";
import { untilAborted } from "../../async/deadline.ts";
import type { Task } from "../model/tasks.ts";
import type { ValidateOptions, ValidationCheck, ValidationFailure } from "./report.ts";
import type { Attempt } from "../gate/gate-report.ts";

export type Reply = ScoredReply["reply"];

/** Calls that did not end in time, after which nothing more is tried: each costs its whole deadline. */
const MOST_LATE = 3;

export class Inspection<Check extends string = ValidationCheck> {
  readonly environment: ConfiguredEnvironment;
  readonly options: Required<ValidateOptions>;
  readonly failures: (Omit<ValidationFailure, "check"> & { readonly check: Check })[] = [];
  readonly notes = new Set<string>();
  /** Checks in which something was tried. */
  readonly tried = new Set<Check>();
  readonly work = { tasks: new CallTimes(), scores: new CallTimes(), rollouts: new CallTimes() };

  readonly #begins: (attempt: Attempt) => void;
  #late = 0;

  /** `begins` is called before anything of the environment runs. */
  constructor(
    environment: ConfiguredEnvironment,
    options: ValidateOptions,
    begins: (attempt: Attempt) => void = () => undefined,
  ) {
    this.#begins = begins;
    const { tasks = 100, seed = 0, deadlineMs = 60_000, signal = new AbortController().signal } = options;
    this.environment = environment;
    this.options = { tasks, seed, deadlineMs, signal };
  }

  /** The reward of a reply; null and a failure when scoring it throws or does not end in time. */
  async score(check: Check, split: Split, task: Task, reply: Reply): Promise<number | null> {
    const score = await this.attempt(check, split, task.key, () =>
      this.work.scores.of(
        () => this.environment.score(task, reply),
        () => 1,
      ),
    );
    return score?.reward ?? null;
  }

  /** The outcome of `work`, or null and a failure when it throws or does not end in time. */
  async attempt<Result>(
    check: Check,
    split: Split,
    task: string | null,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result | null> {
    const { signal, deadlineMs } = this.options;
    if (this.#late >= MOST_LATE) return null;
    this.tried.add(check);
    this.#begins({ check, split, task });
    const late = new AbortController();
    const timer = setTimeout(() => {
      this.#late += 1;
      if (this.#late === MOST_LATE) this.notes.add(`${MOST_LATE} calls did not end in time: nothing more was tried`);
      late.abort(new PrlError("PRL_ENVIRONMENT_TIMEOUT", `it did not end within ${deadlineMs / 1000} s`));
    }, deadlineMs);
    const either = AbortSignal.any([signal, late.signal]);
    try {
      return await untilAborted(() => work(either), either);
    } catch (error) {
      signal.throwIfAborted();
      this.fail(check, split, task, explain(error));
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  fail(check: Check, split: Split, task: string | null, message: string): void {
    this.failures.push({ check, split, task, message });
  }
}

/** Counts calls and their time. */
class CallTimes {
  #count = 0;
  #milliseconds = 0;

  async of<Result>(work: () => Promise<Result>, count: (result: Result) => number): Promise<Result> {
    const begun = performance.now();
    const result = await work();
    this.#milliseconds += performance.now() - begun;
    this.#count += count(result);
    return result;
  }

  get perSecond(): number {
    return this.#milliseconds === 0 ? 0 : (1000 * this.#count) / this.#milliseconds;
  }
}
