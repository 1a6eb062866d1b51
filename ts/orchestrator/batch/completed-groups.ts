/**
 * Decides what becomes of each group when its last rollout has been scored: it waits for a batch, or it is dropped because none of its rollouts has a
 * reward (`errored`) or a gate keeps it out (`rejected`).
 *
 * Every group that ends with a reward is observed by the curriculum, also when it is dropped. Too many groups in a row that train nothing end
 * the run. This class knows neither versions nor when a batch is assembled.
 */
import { rewardOf } from "../../environments/records.ts";
import type { Gates } from "../curriculum/gates.ts";
import { meanReward } from "../metrics/metrics.ts";
import type { Group } from "../scheduling/dispatcher.ts";
import type { GroupPool } from "../scheduling/group-pool.ts";
import type { TrainTasks } from "../scheduling/tasks.ts";
import type { Starvation } from "./starvation.ts";

export interface CompletedGroupsOptions {
  gates: Gates;
  pool: GroupPool;
  starvation: Starvation;
  tasks: Pick<TrainTasks, "ended">;
  /** Called with the error that ends the run. */
  onFailure: (error: unknown) => void;
}

export class CompletedGroups {
  readonly #options: CompletedGroupsOptions;

  constructor(options: CompletedGroupsOptions) {
    this.#options = options;
  }

  take(group: Group): void {
    const { gates, pool, tasks } = this.#options;
    const units = pool.ended(group);
    if (!group.rollouts.some(({ episode }) => !Number.isNaN(rewardOf(episode))))
      this.#dropFruitless("errored", group, units);
    else {
      tasks.ended(group.index, group.task, meanReward(group));
      if (gates.rejects(group)) this.#dropFruitless("rejected", group, units);
      else pool.enqueue(group, units);
    }
    pool.announce();
  }

  #dropFruitless(reason: "errored" | "rejected", group: Group, units: number): void {
    const { pool, starvation, onFailure } = this.#options;
    pool.drop(reason, [group]);
    if (starvation.fruitless(units)) starvation.explain([group]).then(onFailure, onFailure);
  }
}
