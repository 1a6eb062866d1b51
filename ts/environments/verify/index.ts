/**
 * Verification toolbox for rewards: pure functions over text, no model, no file, no network. Public as
 * `prl/environments/verify`.
 */
export { sequenceRatio } from "./sequence-ratio.ts";
export { stripWhitespace } from "./strip-whitespace.ts";
