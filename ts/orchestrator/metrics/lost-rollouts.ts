/**
 * Rollouts that came back without a result since the last step, under prime-rl's names: `dispatcher/{cancelled,errored}/{train,eval}` and
 * `dispatcher/{cancelled,errored}/<environment>`; the latter counts both kinds.
 */
import type { RolloutEnd } from "../scheduling/lifecycle.ts";

export class LostRollouts {
  readonly #names: readonly string[];
  #counts = new Map<string, number>();

  /** `environments`: those of training and of evaluations. */
  constructor(environments: Iterable<string>) {
    this.#names = ["train", "eval", ...environments].flatMap((of) => [`cancelled/${of}`, `errored/${of}`]);
  }

  returned(kind: "train" | "eval", environment: string, end: RolloutEnd): void {
    if (end === "ok") return;
    for (const of of new Set([kind, environment])) {
      const name = `${end}/${of}`;
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    }
  }

  /** Counts since the last call; every name is there each time. */
  take(): Record<string, number> {
    const counts = this.#counts;
    this.#counts = new Map();
    return Object.fromEntries(this.#names.map((name) => [`dispatcher/${name}`, counts.get(name) ?? 0]));
  }
}
