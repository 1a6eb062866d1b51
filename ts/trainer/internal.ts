/** What processes need of the trainer that train nothing. Nothing of it is public. */
export { assertBaseWeights, weightsDigest } from "./base-weights.ts";
