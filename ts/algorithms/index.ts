/**
 * Advantage estimators, policy losses and the statistics of evaluations as pure functions: a run computes the same numbers. Public as
 * `prl-lm/algorithms`.
 */
export {
  policyLoss,
  type LossCounts,
  type CustomLoss,
  type CustomLossInputs,
  type CustomLossResult,
  type PolicyLoss,
  type PolicyLossInputs,
  type TraceColumns,
} from "../native/index.ts";
export type { AdvantageGroup, CustomAdvantages, RewardedTrace } from "./custom-advantages.ts";
export { advantages, type RewardGroups } from "./advantages.ts";
export type { AdvantageParams } from "./params.ts";
export { passAtK, passHatK } from "./statistics/pass-at-k.ts";
export { meanInterval, type IntervalOptions, type MeanInterval } from "./statistics/mean-interval.ts";
export { majorityVote, median, percentile, weightedMean } from "./statistics/summaries.ts";
