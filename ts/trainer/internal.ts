/** Exports for processes that train nothing themselves. They are not public. */
export { assertBaseWeights, weightsDigest } from "./base-weights.ts";
