/** Lists the files that a download of a model would bring, without downloading them. */
import { type HubSettings, hubSettings } from "../hub/index.ts";
import { chooseFiles } from "./model-files.ts";
import { type ModelReference, modelText } from "./model-name.ts";
import { openModel } from "./pull.ts";
import { remoteConfig, remoteShards } from "./remote.ts";

export interface ModelPreview {
  readonly commit: string;
  /** Number of files that prl needs. */
  readonly files: number;
  /** Their size. */
  readonly bytes: number;
  /** The text of config.json. */
  readonly config: string;
}

/** Asks the hub; nothing is written. Errors: those of `pullModel`. */
export async function previewModel(
  reference: ModelReference,
  signal?: AbortSignal,
  settings: HubSettings = hubSettings(),
): Promise<ModelPreview> {
  const snapshot = await openModel(settings, reference, signal);
  const shards = await remoteShards(settings, snapshot, signal);
  const files = chooseFiles(`the model ${modelText(reference)}`, snapshot.files, shards);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return {
    commit: snapshot.commit,
    files: files.length,
    bytes,
    config: await remoteConfig(settings, snapshot, signal),
  };
}
