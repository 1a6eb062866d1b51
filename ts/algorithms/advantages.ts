/**
 * One entry to all advantage estimators: looks the name up, checks rewards and parameters, keeps shapes.
 *
 * An estimator sees only finite rewards: missing ones (NaN) are taken out before it and get 0 after it, so they count
 * in no mean and no standard deviation.
 */
import { PrlError } from "../errors.ts";
import { drGrpo } from "./estimators/dr-grpo.ts";
import { gdpo } from "./estimators/gdpo.ts";
import { grpo } from "./estimators/grpo.ts";
import { hierarchicalGrpo } from "./estimators/hierarchical-grpo.ts";
import { shapeRewards } from "./length-penalty.ts";
import { maxRl } from "./estimators/max-rl.ts";
import { opo } from "./estimators/opo.ts";
import { type AdvantageParams, resolveParams, type ResolvedAdvantageParams } from "./params.ts";
import { rae } from "./estimators/rae.ts";
import { reinforcePp, reinforcePpBaseline } from "./estimators/reinforce-pp.ts";
import { rloo } from "./estimators/rloo.ts";
import { validColumns } from "./rollout-columns.ts";

/** Rewards of a batch by group; NaN stands for a missing one. */
export type RewardGroups = readonly (readonly number[] | Float64Array)[];

/** Advantages of the valid rewards of a whole batch, group by group, same lengths out. */
export type AdvantageEstimator = (groups: readonly number[][], params: ResolvedAdvantageParams) => number[][];

const ESTIMATORS = new Map<string, AdvantageEstimator>([
  ["grpo", grpo],
  ["dr_grpo", drGrpo],
  ["rloo", rloo],
  ["max_rl", maxRl],
  ["reinforce_pp", reinforcePp],
  ["reinforce_pp_baseline", reinforcePpBaseline],
  ["opo", opo],
  ["gdpo", gdpo],
  ["rae", rae],
  ["hierarchical_grpo", hierarchicalGrpo],
]);

/**
 * Advantages of a batch's rewards, in f64 and in the shape given; a Float64Array group gives a Float64Array.
 *
 * Names: `grpo dr_grpo rloo max_rl reinforce_pp reinforce_pp_baseline opo gdpo rae hierarchical_grpo`; each has its formula, source and
 * departures at the head of its file, {@link AdvantageParams} says which of them reads which parameter. With a baseline from the group, a group of
 * one valid reward gets 0, or that reward itself with `singleton: "raw"`, and a group whose valid rewards are all equal gets exact zeros.
 *
 * @throws PrlError `PRL_ADVANTAGE_UNKNOWN`, `PRL_ADVANTAGE_INPUT`.
 */
export function advantages<Group extends readonly number[] | Float64Array>(
  name: string,
  rewards: readonly Group[],
  params?: AdvantageParams,
): (Group extends Float64Array ? Float64Array : number[])[];
export function advantages(
  name: string,
  rewards: RewardGroups,
  params: AdvantageParams = {},
): (number[] | Float64Array)[] {
  const estimate = findEstimator(name);
  const resolved = validColumns(name, rewards, resolveParams(name, params));
  const valid = rewards.map((group, index) => validRewards(name, group, index));
  const estimates = estimate(shapeRewards(name, valid, resolved), resolved);
  return rewards.map((group, index) => {
    const values = spread(group, estimates[index] ?? []);
    return group instanceof Float64Array ? Float64Array.from(values) : values;
  });
}

function findEstimator(name: string): AdvantageEstimator {
  const estimator = ESTIMATORS.get(name);
  if (estimator !== undefined) return estimator;
  const known = [...ESTIMATORS.keys()].join(", ");
  throw new PrlError("PRL_ADVANTAGE_UNKNOWN", `there are no advantages named "${name}"; choose one of: ${known}`);
}

function validRewards(name: string, group: readonly number[] | Float64Array, index: number): number[] {
  const valid: number[] = [];
  for (const reward of group) {
    if (Number.isNaN(reward)) continue;
    if (!Number.isFinite(reward)) {
      const rule = "a reward is a finite number, NaN when it is missing";
      const message = `advantages "${name}": group ${index} holds ${String(reward)}; ${rule}`;
      throw new PrlError("PRL_ADVANTAGE_INPUT", message);
    }
    valid.push(reward);
  }
  return valid;
}

/** Puts the estimates of the valid rewards back in their places, 0 in the others. */
function spread(group: readonly number[] | Float64Array, estimates: readonly number[]): number[] {
  let next = 0;
  return Array.from(group, (reward) => {
    if (Number.isNaN(reward)) return 0;
    const estimate = estimates[next] ?? 0;
    next += 1;
    return estimate;
  });
}
