/** Exports of `ts/algorithms` for other parts of prl. They are not public. */
export { passCurves, type PassCurve, type PassRate } from "./statistics/pass-curves.ts";
export { branchesOf } from "./branches.ts";
export { UserFunction } from "./user-function.ts";
export { type Advantage, customAdvantages, loadAdvantages, meanAdvantage } from "./custom-advantages.ts";
export { AgentBaselines } from "./estimators/rae.ts";
export { lossStreamsOf } from "./loss-streams/loss-streams.ts";
export { type HintRenderer, hintedPrompt } from "./loss-streams/opsd.ts";
export { quantileOfSorted } from "./statistics/mean-interval.ts";
