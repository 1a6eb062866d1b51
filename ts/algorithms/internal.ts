/** What other parts of prl use of `ts/algorithms` and users do not: nothing of it is public. */
export { passCurves, type PassCurve, type PassRate } from "./statistics/pass-curves.ts";
export { branchesOf } from "./branches.ts";
export { OwnFunction } from "./custom-function.ts";
export { type Worth, customAdvantages, loadAdvantages, meanWorth } from "./custom.ts";
export { AgentBaselines } from "./estimators/rae.ts";
export { lessonOf } from "./loss-streams/loss-streams.ts";
export { type HintRenderer, hintedPrompt } from "./loss-streams/opsd.ts";
export { quantileOfSorted } from "./statistics/mean-interval.ts";
