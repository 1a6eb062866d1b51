/**
 * Is an environment fit to train on? Its gold answers get full marks and others do not, a seed gives the same tasks and scores every
 * time, and its rollouts run.
 *
 * Needs no model: the policy of the trial rollouts is one that knows nothing. What is slow or hangs is given up and told as a failure.
 */
import { randomUUID } from "node:crypto";

import { explain, PrlError } from "../errors.ts";
import { abortSignal, checkOptions, number, only } from "../options.ts";
import type { ConfiguredEnvironment, ScoredReply } from "./configured-environment.ts";
import type { Split } from "./environment.ts";
import type { ReplyClient } from "./reply-client.ts";
import { untilAborted } from "./reward.ts";
import type { Task } from "./tasks.ts";

export interface ValidateOptions {
  /** Tasks of each split that are looked at. Default 100. */
  tasks?: number;
  seed?: number;
  /** Longest that one task's check, one score or one rollout may take. Default 60 s. */
  deadlineMs?: number;
  signal?: AbortSignal;
}

const optionsSchema = only<ValidateOptions>({
  tasks: number.optional(),
  seed: number.optional(),
  deadlineMs: number.optional(),
  signal: abortSignal.optional(),
});

/** What is looked at: `gold` and `wrong` only where the environment has a `validate`. */
const CHECKS = ["tasks", "gold", "wrong", "deterministic", "rollouts"] as const;
export type ValidationCheck = (typeof CHECKS)[number];

export interface ValidationFailure {
  readonly check: ValidationCheck;
  readonly split: Split;
  /** Null: it is about the whole split. */
  readonly task: string | null;
  readonly message: string;
}

export interface ValidationReport {
  /** Tasks that were looked at. */
  readonly tasks: Readonly<Record<Split, number>>;
  /** Checks in which nothing failed. */
  readonly passed: readonly ValidationCheck[];
  readonly failures: readonly ValidationFailure[];
  /** What is worth knowing and may be meant so. */
  readonly notes: readonly string[];
  /** Of this process, one after the other: tasks read, replies scored, rollouts run with a policy that answers at once. */
  readonly perSecond: { readonly tasks: number; readonly scores: number; readonly rollouts: number };
}

/** What somebody says who does not know. */
const IGNORANT = ["", "I do not know."];
/** Rollouts that are tried per split. */
const TRIALS = 8;
/** Of the gold answers of other tasks, so many may be right here too (two tasks can have one answer). */
const MOST_SHARED_GOLD = 0.5;

/** Everything that is wrong is in the report; rejects only with the signal's reason. */
export async function validateEnvironment(
  environment: ConfiguredEnvironment,
  options: ValidateOptions = {},
): Promise<ValidationReport> {
  checkOptions("PRL_ENVIRONMENT_INVALID", "validateEnvironment", optionsSchema, options);
  const validation = new Validation(environment, options);
  for (const split of ["train", "eval"] as const) await validation.look(split);
  return validation.report();
}

class Validation {
  readonly #environment: ConfiguredEnvironment;
  readonly #options: Required<ValidateOptions>;
  readonly #failures: ValidationFailure[] = [];
  readonly #notes = new Set<string>();
  /** Checks that something was tried in. */
  readonly #tried = new Set<ValidationCheck>();
  readonly #seen: Record<Split, Task[]> = { train: [], eval: [] };
  readonly #work = { tasks: new Pace(), scores: new Pace(), rollouts: new Pace() };

  constructor(environment: ConfiguredEnvironment, options: ValidateOptions) {
    const { tasks = 100, seed = 0, deadlineMs = 60_000, signal = new AbortController().signal } = options;
    this.#environment = environment;
    this.#options = { tasks, seed, deadlineMs, signal };
  }

  async look(split: Split): Promise<void> {
    const tasks = await this.#read(split);
    if (tasks === null) return;
    this.#seen[split] = tasks;
    const golds = new Map<Task, ScoredReply>();
    for (const task of tasks) {
      const gold = await this.#checkGold(split, task);
      if (gold !== null) golds.set(task, gold);
    }
    await this.#checkWrong(split, golds);
    await this.#checkScoresAgain(split, golds);
    for (const task of tasks.slice(0, TRIALS)) await this.#tryRollout(split, task);
  }

  report(): ValidationReport {
    const held = new Set(this.#seen.eval.map(({ hash }) => hash));
    const shared = this.#seen.train.filter(({ hash }) => held.has(hash)).length;
    if (shared > 0) this.#notes.add(`${shared} of the tasks looked at are in train and in eval`);
    const { tasks, scores, rollouts } = this.#work;
    if (!this.#environment.validates)
      this.#notes.add("it has no validate(): nobody knows whether its gold answers count, nor others");
    if (!this.#environment.validates) this.#tried.delete("gold");
    const looked = CHECKS.filter((check) => this.#tried.has(check));
    return {
      passed: looked.filter((check) => !this.#failures.some((failure) => failure.check === check)),
      tasks: { train: this.#seen.train.length, eval: this.#seen.eval.length },
      failures: this.#failures,
      notes: [...this.#notes],
      perSecond: { tasks: tasks.perSecond, scores: scores.perSecond, rollouts: rollouts.perSecond },
    };
  }

  /** The first tasks of a split, read twice. */
  async #read(split: Split): Promise<Task[] | null> {
    const { tasks: wanted, seed } = this.#options;
    const read = async () => (await this.#environment.tasks(split, seed).page(null, wanted)).tasks;
    const tasks = await this.#attempt("tasks", split, null, () => this.#work.tasks.of(read, (found) => found.length));
    if (tasks === null) return null;
    if (tasks.length === 0) this.#fail("tasks", split, null, "there are none");
    const again = await this.#attempt("deterministic", split, null, read);
    const differs = tasks.findIndex((task, index) => {
      const other = again?.[index];
      return other !== undefined && (other.hash !== task.hash || other.key !== task.key);
    });
    if (again !== null && (differs >= 0 || again.length !== tasks.length)) {
      const where = differs >= 0 ? `task ${differs} differs` : `${tasks.length} tasks, then ${again.length}`;
      this.#fail(
        "deterministic",
        split,
        null,
        `read twice with seed ${seed}, ${where}; rng is the only randomness to use`,
      );
    }
    const keys = new Set(tasks.map(({ key }) => key)).size;
    const hashes = new Set(tasks.map(({ hash }) => hash)).size;
    if (keys < hashes) this.#fail("tasks", split, null, `${hashes} different tasks share ${keys} keys`);
    if (hashes < tasks.length)
      this.#notes.add(`${tasks.length - hashes} of ${tasks.length} ${split} tasks repeat another`);
    return tasks;
  }

  /** The best reply that the environment's own check knows. */
  async #checkGold(split: Split, task: Task): Promise<ScoredReply | null> {
    const scored = await this.#attempt("gold", split, task.key, () =>
      this.#work.scores.of(
        () => this.#environment.validate(task),
        (replies) => replies.length,
      ),
    );
    if (scored === null) return null;
    const gold = scored.toSorted((a, b) => b.reward - a.reward)[0];
    if (gold !== undefined && gold.reward > 0) return gold;
    // What checks its gold answer without a score, a program in a sandbox for one, has said that it is right.
    if (this.#environment.validates)
      this.#notes.add("its validate() has no right answer scored: whether wrong ones score as high was not tried");
    return null;
  }

  /** Neither silence nor the answer of another task is worth as much as the right one. */
  async #checkWrong(split: Split, golds: ReadonlyMap<Task, ScoredReply>): Promise<void> {
    const all = [...golds.values()];
    let [foreign, paid] = [0, 0];
    for (const [index, [task, gold]] of [...golds].entries()) {
      for (const reply of IGNORANT) {
        const reward = await this.#score("wrong", split, task, reply);
        if (reward !== null && reward >= gold.reward)
          this.#fail(
            "wrong",
            split,
            task.key,
            `${JSON.stringify(reply)} scores ${reward}, the gold answer ${gold.reward}`,
          );
      }
      const other = all[(index + 1) % all.length];
      if (other === undefined || JSON.stringify(other.reply) === JSON.stringify(gold.reply)) continue;
      const reward = await this.#score("wrong", split, task, other.reply);
      if (reward === null) continue;
      foreign += 1;
      if (reward >= gold.reward) paid += 1;
    }
    if (foreign === 0 || paid / foreign <= MOST_SHARED_GOLD) return;
    this.#fail("wrong", split, null, `${paid} of ${foreign} answers to another task get full marks`);
  }

  async #checkScoresAgain(split: Split, golds: ReadonlyMap<Task, ScoredReply>): Promise<void> {
    for (const [task, { reply, reward }] of golds) {
      const again = await this.#score("deterministic", split, task, reply);
      if (again !== null && again !== reward)
        this.#fail("deterministic", split, task.key, `the same reply scores ${reward} and then ${again}`);
    }
  }

  async #tryRollout(split: Split, task: Task): Promise<void> {
    const run = (signal: AbortSignal) =>
      this.#environment.run({
        episodeId: randomUUID(),
        groupId: "validate",
        source: this.#environment.name,
        task,
        sampling: { temperature: 1, maxCompletionTokens: null, topP: 1, topK: -1 },
        seed: this.#options.seed,
        run: { type: split, step: 0 },
        endpoint: IGNORANT_POLICY,
        signal,
      });
    const frame = await this.#attempt("rollouts", split, task.key, (signal) =>
      this.#work.rollouts.of(
        () => run(signal),
        () => 1,
      ),
    );
    const [error] = frame?.episode.errors ?? [];
    if (error === undefined) return;
    if (error.code === "PRL_ENVIRONMENT_UNSUPPORTED") this.#notes.add(`rollouts were not tried: ${error.message}`);
    else this.#fail("rollouts", split, task.key, `[${error.code}] ${error.message}`);
  }

  async #score(check: ValidationCheck, split: Split, task: Task, reply: ScoredReply["reply"]): Promise<number | null> {
    const score = await this.#attempt(check, split, task.key, () =>
      this.#work.scores.of(
        () => this.#environment.score(task, reply),
        () => 1,
      ),
    );
    return score?.reward ?? null;
  }

  /** The outcome of `work`, or null and a failure when it throws or does not end in time. */
  async #attempt<Result>(
    check: ValidationCheck,
    split: Split,
    task: string | null,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result | null> {
    const { signal, deadlineMs } = this.#options;
    this.#tried.add(check);
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort(new PrlError("PRL_ENVIRONMENT_TIMEOUT", `it did not end within ${deadlineMs / 1000} s`));
    }, deadlineMs);
    const either = AbortSignal.any([signal, late.signal]);
    try {
      return await untilAborted(() => work(either), either);
    } catch (error) {
      signal.throwIfAborted();
      this.#fail(check, split, task, explain(error));
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  #fail(check: ValidationCheck, split: Split, task: string | null, message: string): void {
    this.#failures.push({ check, split, task, message });
  }
}

const IGNORANT_POLICY: ReplyClient = {
  reply: async () => ({
    message: { role: "assistant", content: "I do not know." },
    toolCalls: [],
    finishReason: "stop",
    usage: null,
  }),
};

/** Counts what was done and how long that took. */
class Pace {
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
