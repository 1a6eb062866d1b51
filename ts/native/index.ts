/** All code that uses the native addon. Only this folder imports `#native`. */

export { addon } from "./addon.ts";
export {
  loadModel,
  mergeAdapter,
  randomCheckpoint,
  type EngineStats,
  type GenerateIncrement,
  type GenerateRequest,
  type StructuredOutput,
  type LoadModelOptions,
  type Model,
  type ModelInfo,
  type RequestTimes,
  type TokenRanking,
} from "./engine.ts";
export { schemaJson } from "./formats/schema-json.ts";
export { statedDtype, weightDtype, type BaseDtype, type WeightDtype, type WeightDtypeChoice } from "./weight-dtype.ts";
export {
  type LoraOptions,
  openTrainer,
  type SavedWeights,
  type StepMetrics,
  type TrainBatch,
  type Trainer,
  type TrainerOptions,
} from "./trainer.ts";
export {
  buildBatch,
  buildBatchAsync,
  flopModel,
  PackedBatch,
  packSequences,
  readBatch,
  writeBatch,
  type Batch,
  type BatchKey,
  type BatchOptions,
  type FlopModel,
  type PackOptions,
  type RoutedExperts,
  type Sample,
} from "./packing.ts";
export { expertsFromText, expertsToText, firstExperts, noExperts } from "./batches/routed-experts.ts";
export { RolloutSamples, SampleSet, type TraceColumns, type TraceStreams } from "./batches/rollouts.ts";
export {
  decodeSafetensors,
  diffWeights,
  reshardWeights,
  digest,
  digestFile,
  encodeSafetensors,
  openSafetensors,
  readManifest,
  verifyWeights,
  WeightPublisher,
  WeightReceiver,
  writeManifest,
  writeSafetensors,
  type Canary,
  type ReceivedWeights,
  type Resharded,
  type Safetensors,
  type StagedWeights,
  type Tensor,
  type TensorDiff,
  type WeightManifest,
} from "./weights/index.ts";
export {
  listenForRollouts,
  openSpool,
  openWeightNode,
  type NetworkInbox,
  type NetworkSpool,
  type TransportOptions,
  type TransportTls,
  type WantedWeights,
  type WeightNode,
} from "./transport.ts";
export { policyLoss, type LossCounts, type PolicyLoss, type PolicyLossInputs } from "./losses/index.ts";
export type { CustomLoss, CustomLossInputs, CustomLossResult } from "./losses/custom-loss.ts";
export { ARCHITECTURES, checkArchitecture } from "./architectures.ts";
export { loadNativeTokenizer, type NativeTokenizer } from "./tokenizer.ts";
export { addonPath } from "./addon.ts";
export { addonInfo, forbidCoreDumps, nativeStandstill, raiseFileLimit, type AddonInfo } from "./system.ts";
export { connectSandboxPool, startSandboxPool } from "./sandbox/index.ts";
export type * from "./sandbox/index.ts";
export { native, nativeAsync } from "./errors.ts";
export { sandboxDaemonPath } from "./sandbox/sandbox-daemon-path.ts";
