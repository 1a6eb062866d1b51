/**
 * Verification toolbox for rewards: no model, no file, no network. Public as `prl/environments/verify`.
 */
export { extractAnswer, type ExtractAnswerOptions } from "./extract-answer.ts";
export { verifyMath, type MathVerdict, type VerifyMathOptions } from "./math/verify-math.ts";
export { sequenceRatio } from "./sequence-ratio.ts";
export { stripThinking, type StripThinkingOptions } from "./strip-thinking.ts";
export { stripWhitespace } from "./strip-whitespace.ts";
