/**
 * Decides which rollouts are too old (ARCHITECTURE.md, "Steps, versions and staleness"): the step whose batch is being collected, the oldest
 * version that may train in that batch, and which groups become older at all.
 *
 * Steps only go up. Who cancels or drops what is too old, and when, is decided in `group-pool.ts`.
 */
import type { AlgoBlock } from "../../config/index.ts";
import { samplingTeacher } from "../batch/teacher.ts";
import type { Group } from "./dispatcher.ts";

export interface StalenessOptions {
  /** Step of the first batch. */
  step: number;
  maxOffPolicySteps: number;
  sources: readonly { name: string; algo: AlgoBlock }[];
}

export class Staleness {
  readonly #maxOffPolicySteps: number;
  /** Sources whose traces a teacher samples: they hold no version of the policy. */
  readonly #frozen: ReadonlySet<string>;
  #step: number;

  constructor({ step, maxOffPolicySteps, sources }: StalenessOptions) {
    this.#step = step;
    this.#maxOffPolicySteps = maxOffPolicySteps;
    const frozen = sources.filter(({ algo }) => samplingTeacher(algo) !== null);
    this.#frozen = new Set(frozen.map(({ name }) => name));
  }

  /** Step of the batch being collected. */
  get step(): number {
    return this.#step;
  }

  /** Oldest version whose tokens may train in that batch. */
  get oldestVersion(): number {
    return this.#step - 1 - this.#maxOffPolicySteps;
  }

  /** The batch is assembled: from now on the next one is collected. */
  advance(): void {
    this.#step++;
  }

  /** Whether a group becomes older with every step. */
  readonly ages = ({ task }: Pick<Group, "task">): boolean => !this.#frozen.has(task.source);
}
