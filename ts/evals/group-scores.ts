/** Holds back the episodes of a task until the last of them has ended, when the environment has group rewards. */
import type { ConfiguredEnvironment, Episode, Task } from "../environments/index.ts";
import { withGroupScores } from "../environments/records.ts";
import { PrlError } from "../errors.ts";

export class GroupScores {
  readonly #environment: Pick<ConfiguredEnvironment, "scoresGroups" | "scoreGroup">;
  readonly #size: number;
  readonly #timeoutMs: number;
  readonly #held = new Map<Task, Episode[]>();

  /** @param size rollouts of a task; `timeoutMs` is for the rewards of one group. */
  constructor(
    environment: Pick<ConfiguredEnvironment, "scoresGroups" | "scoreGroup">,
    { size, timeoutMs }: { size: number; timeoutMs: number },
  ) {
    this.#environment = environment;
    this.#size = size;
    this.#timeoutMs = timeoutMs;
  }

  /** The episodes that are complete now: the episode itself, or with the last one its whole group. Never rejects. */
  async add(task: Task, episode: Episode, stopped: AbortSignal): Promise<Episode[]> {
    if (!this.#environment.scoresGroups) return [episode];
    const group = [...(this.#held.get(task) ?? []), episode];
    this.#held.set(task, group);
    if (group.length < this.#size) return [];
    this.#held.delete(task);
    const late = new AbortController();
    const error = new PrlError("PRL_ENVIRONMENT_TIMEOUT", `its rewards did not end within ${this.#timeoutMs} ms`);
    const timer = setTimeout(() => late.abort(error), this.#timeoutMs);
    try {
      const signal = AbortSignal.any([stopped, late.signal]);
      return withGroupScores(group, await this.#environment.scoreGroup(task, group, signal));
    } finally {
      clearTimeout(timer);
    }
  }
}
