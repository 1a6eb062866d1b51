/** How batches, weights and sampling requests travel between the processes of a run. */
export { filesystemRollouts, rolloutsDir, type RolloutTransport } from "./rollouts.ts";
export { filesystemWeights, type PublishedWeights, type WeightTransport } from "./weights.ts";
export {
  InferenceClient,
  type Completion,
  type GenerateOptions,
  type InferenceClientOptions,
  type PromptLogprobs,
  type SamplingOptions,
} from "./inference-client.ts";
export { exchange, InferenceHttpError, type Exchange } from "./http-json.ts";
