/** One validation under way: tries things within a deadline, and records failures and the time of each kind of work. */
import { explain, PrlError } from "../../errors.ts";
import type { ConfiguredEnvironment, ScoredReply } from "../model/configured-environment.ts";
import type { Split } from "../../datasets/index.ts";
import { untilAborted } from "../../async/deadline.ts";
import type { Task } from "../model/tasks.ts";
import type { ValidateOptions, ValidationCheck, ValidationFailure } from "./report.ts";

export type Reply = ScoredReply["reply"];

export class Inspection {
  readonly environment: ConfiguredEnvironment;
  readonly options: Required<ValidateOptions>;
  readonly failures: ValidationFailure[] = [];
  readonly notes = new Set<string>();
  /** Checks in which something was tried. */
  readonly tried = new Set<ValidationCheck>();
  readonly work = { tasks: new CallTimes(), scores: new CallTimes(), rollouts: new CallTimes() };

  constructor(environment: ConfiguredEnvironment, options: ValidateOptions) {
    const { tasks = 100, seed = 0, deadlineMs = 60_000, signal = new AbortController().signal } = options;
    this.environment = environment;
    this.options = { tasks, seed, deadlineMs, signal };
  }

  /** The reward of a reply; null and a failure when scoring it throws or does not end in time. */
  async score(check: ValidationCheck, split: Split, task: Task, reply: Reply): Promise<number | null> {
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
    check: ValidationCheck,
    split: Split,
    task: string | null,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result | null> {
    const { signal, deadlineMs } = this.options;
    this.tried.add(check);
    const late = new AbortController();
    const timer = setTimeout(() => {
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

  fail(check: ValidationCheck, split: Split, task: string | null, message: string): void {
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
