/** Models by name: on the hub, in the cache, in folders. */
export { adapterBase } from "./adapter-folder.ts";
export { type ModelInfo, modelInfo } from "./info.ts";
export { type DescribedModel, describeModel } from "./describe.ts";
export { type CachedRevision, listModels, removeModel } from "./list.ts";
export { ensureModel, type LocatedModel, locateModel, type LocateOptions } from "./locate.ts";
export {
  adapterMemory,
  servingMemory,
  type ServingMemory,
  trainingMemory,
  type TrainingMemory,
  type Workload,
} from "./memory.ts";
export { type ModelReference, modelText, parseModelName } from "./model-name.ts";
export {
  type AdapterShape,
  adapterParameters,
  countParameters,
  countSparseLayers,
  defaultTargets,
  type ParameterCount,
  projectionWidths,
} from "./sizes/parameters.ts";
export { type ModelPreview, previewModel } from "./preview.ts";
export { type DownloadProgress, type PulledModel, pullModel, type PullOptions } from "./pull.ts";
export { type Experts, expertsOf, modelShape, type ModelShape, type Sizes, sizesOf } from "./sizes/shape.ts";
export { DEFAULT_DEVICE, type Device, DEVICES, reportedDevice } from "./sizes/devices.ts";
export { type StepTokens, trainingOperations } from "./sizes/operations.ts";
export { type Refusal, type Support, supportOf } from "./support.ts";
