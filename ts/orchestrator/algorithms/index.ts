/**
 * Advantage estimators and policy losses as pure functions: the same numbers as inside a run. Public as
 * `prl/algorithms`.
 */
export { policyLoss, type PolicyLoss, type PolicyLossInputs } from "../../native/index.ts";
export { advantages, type RewardGroups } from "./advantages.ts";
export type { AdvantageParams } from "./params.ts";
