/** Decides which completed groups get a place in the batch. */
import type { CurriculumBlock } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { compareTraces } from "../batch/comparisons.ts";
import type { Group } from "../scheduling/dispatcher.ts";

interface Counts {
  admitted: number;
  rejected: number;
}

/** The gates of every source of a run, and how many groups they let through since the last look. */
export class Gates {
  readonly #sources: ReadonlyMap<string, { gates: CurriculumBlock["gates"]; counts: Counts }>;

  constructor(sources: readonly { name: string; curriculum: Pick<CurriculumBlock, "gates"> }[]) {
    this.#sources = new Map(
      sources.map(({ name, curriculum: { gates } }) => [name, { gates, counts: { admitted: 0, rejected: 0 } }]),
    );
  }

  /** Whether a group with a reward is kept out; it is counted. */
  rejects(group: Group): boolean {
    const source = this.#sources.get(group.task.source);
    if (source === undefined) throw new PrlError("PRL_CONFIG_INVALID", `there is no source "${group.task.source}"`);
    const rejects = isRejected(group, source.gates);
    source.counts[rejects ? "rejected" : "admitted"] += 1;
    return rejects;
  }

  /** `curriculum/<source>/admission_rate` and what each gate rejected, for sources with groups that ended since the last call. */
  take(): Record<string, number> {
    const values: Record<string, number> = {};
    for (const [name, { gates, counts }] of this.#sources) {
      const total = counts.admitted + counts.rejected;
      if (total === 0) continue;
      values[`curriculum/${name}/admission_rate`] = counts.admitted / total;
      if (gates.advantage_range !== null) {
        values[`curriculum/${name}/gate/advantage_range/rejected`] = counts.rejected / total;
      }
      Object.assign(counts, { admitted: 0, rejected: 0 });
    }
    return values;
  }
}

/**
 * Whether the gates keep the group out: all its advantages, as rewards minus the mean of what they are compared with, lie in
 * `advantage_range`. With 0 and 0 that is DAPO's dynamic sampling: groups without a signal under any baseline of the group. A group without
 * a reward passes the gates, because it is dropped as errored, not as rejected.
 */
export function isRejected(group: Group, { advantage_range: range }: CurriculumBlock["gates"]): boolean {
  if (range === null) return false;
  const deviations = compareTraces([group]).flatMap(({ rewards }) => {
    const valid = rewards.filter((reward) => !Number.isNaN(reward));
    // Distances to the first reward: equal rewards are exactly 0 apart.
    const first = valid[0] ?? 0;
    const offset = valid.reduce((sum, reward) => sum + (reward - first), 0) / valid.length;
    return valid.map((reward) => reward - first - offset);
  });
  const isInside = (deviation: number) => deviation >= range.reject_min && deviation <= range.reject_max;
  return deviations.length > 0 && deviations.every(isInside);
}
