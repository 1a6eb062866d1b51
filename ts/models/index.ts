/** Models by name: on the hub, in the cache, in folders. */
export { ensureModel, type LocatedModel, locateModel, type LocateOptions } from "./locate.ts";
export { type ModelReference, modelText, parseModelName } from "./model-name.ts";
export { type ModelPreview, previewModel } from "./preview.ts";
export { type DownloadProgress, type PulledModel, pullModel, type PullOptions } from "./pull.ts";
