/** Models by name: on the hub, in the cache, in folders. */
export { adapterBase } from "./adapter-folder.ts";
export { type ModelInfo, modelInfo } from "./info.ts";
export { type CachedRevision, listModels, removeModel } from "./list.ts";
export { ensureModel, type LocatedModel, locateModel, type LocateOptions } from "./locate.ts";
export type { ServingMemory, TrainingMemory, Workload } from "./memory.ts";
export { type ModelReference, modelText, parseModelName } from "./model-name.ts";
export { type ModelPreview, previewModel } from "./preview.ts";
export { type DownloadProgress, type PulledModel, pullModel, type PullOptions } from "./pull.ts";
export type { Refusal, Support } from "./support.ts";
