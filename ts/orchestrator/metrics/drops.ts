/**
 * Counts the groups that were dropped since the last step, with their lengths and rewards: long samples are the first to become too old, so the lengths and rewards of
 * dropped groups are logged beside those of the batch.
 */
import { rewardOf } from "../../environments/records.ts";
import type { Group } from "../scheduling/dispatcher.ts";
import { DROP_REASONS, type DropReason } from "../scheduling/lifecycle.ts";
import { mean } from "./rollout-statistics.ts";
import { noProgress, plus, type ProgressCounts, progressOf } from "../checkpoint/progress.ts";
import { TrainStatistics } from "./train-statistics.ts";

export interface DropReport {
  /** Groups by reason. */
  groups: Record<DropReason, number>;
  /** Stale groups: how long each was under way, and the output tokens and rewards of those that had ended. */
  stale: { seconds: number[]; outputTokens: number[]; rewards: number[] };
  /** Rollouts of groups that waited for a batch when they became too old. */
  swept: number;
  /** Statistics of groups that ended and are in no batch (rejected, failed, without a signal); cancelled ones are only counted. */
  ended: TrainStatistics;
  /** Tokens, rollouts and tasks of the groups that ended. */
  progress: ProgressCounts;
}

const ENDED: ReadonlySet<DropReason> = new Set(["rejected", "errored", "empty"]);
const CANCELLED: ReadonlySet<DropReason> = new Set(["stale", "tail"]);

export class Drops {
  #report = emptyReport();

  add(reason: DropReason, groups: readonly Group[]): void {
    const { groups: counts, stale, ended } = this.#report;
    counts[reason] += groups.length;
    if (ENDED.has(reason)) {
      for (const group of groups) ended.addDropped(group);
      this.#report.progress = plus(this.#report.progress, progressOf(groups, false));
    }
    if (CANCELLED.has(reason)) for (const group of groups) ended.addCancelled(group);
    if (reason !== "stale") return;
    for (const { seconds, rollouts } of groups) {
      this.#report.swept += rollouts.length;
      stale.seconds.push(seconds);
      for (const { episode } of rollouts) {
        for (const { usage } of episode.traces) stale.outputTokens.push(usage.completion_tokens);
        const reward = rewardOf(episode);
        if (!Number.isNaN(reward)) stale.rewards.push(reward);
      }
    }
  }

  /** The report since the last call. */
  take(): DropReport {
    const report = this.#report;
    this.#report = emptyReport();
    return report;
  }
}

export function dropMetrics({ groups, stale, swept }: DropReport): Record<string, number> {
  const values: Record<string, number> = {
    "off_policy/dropped": swept,
    "off_policy/dropped_groups": groups.stale,
    "dispatcher/errored_groups": groups.errored,
  };
  if (groups.stale === 0) return values;
  values["time/dropped_group/mean"] = mean(stale.seconds);
  values["off_policy/dropped_output_tokens/mean"] = mean(stale.outputTokens);
  values["off_policy/dropped_reward/mean"] = mean(stale.rewards);
  return values;
}

export function emptyReport(): DropReport {
  const groups = Object.fromEntries(DROP_REASONS.map((reason) => [reason, 0])) as Record<DropReason, number>;
  const stale = { seconds: [], outputTokens: [], rewards: [] };
  return { groups, stale, swept: 0, ended: new TrainStatistics(), progress: noProgress() };
}
