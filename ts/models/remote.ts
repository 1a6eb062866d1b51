/** Reads beginnings of files of the hub without downloading the rest. */
import { PrlError } from "../errors.ts";
import {
  fileUrl,
  type HubFile,
  type HubSettings,
  type HubSnapshot,
  nextPiece,
  PassingFailure,
  request,
  withRetries,
} from "../hub/index.ts";
import { CONFIG_FILE, indexOf, shardNames } from "./model-files.ts";

/** Far above the size of a real config.json or index. */
const LONGEST_TEXT = 64 * 1024 * 1024;

/** The first `bytes` bytes of a file. A server without Range requests is cut off after them. Errors: those of requests to the hub. */
export async function readStart(
  settings: HubSettings,
  snapshot: HubSnapshot,
  { path, bytes }: { readonly path: string; readonly bytes: number },
  signal?: AbortSignal,
): Promise<Buffer> {
  const what = `${path} of the model ${snapshot.repository.name}`;
  const headers = { "accept-encoding": "identity", range: `bytes=0-${bytes - 1}` };
  const asked = { url: fileUrl(settings, snapshot, path), what, headers, accept: [206], signal };
  return withRetries(settings, what, signal, async (progress) => {
    const reader = (await request(settings, asked)).body?.getReader();
    const pieces: Uint8Array[] = [];
    let have = 0;
    try {
      while (have < bytes) {
        const piece = reader === undefined ? null : await nextPiece(reader, settings.stallMs);
        if (piece === null) throw new PassingFailure(`it ended after ${have} of ${bytes} bytes`);
        pieces.push(piece);
        have += piece.length;
      }
      progress();
      return Buffer.concat(pieces).subarray(0, bytes);
    } finally {
      await reader?.cancel().catch(() => undefined);
    }
  });
}

/** A small file as text. Errors: also PRL_HUB_ANSWER when it is not small. */
export async function readText(
  settings: HubSettings,
  snapshot: HubSnapshot,
  file: HubFile,
  signal?: AbortSignal,
): Promise<string> {
  if (file.bytes > LONGEST_TEXT) {
    const what = `${file.path} of the model ${snapshot.repository.name}`;
    throw new PrlError("PRL_HUB_ANSWER", `${what} has ${file.bytes} bytes, which no such file has`);
  }
  return file.bytes === 0 ? "" : (await readStart(settings, snapshot, file, signal)).toString("utf8");
}

/** The shards of a repository; null: its weights are in one file. Errors: also PRL_WEIGHTS_FORMAT. */
export async function remoteShards(
  settings: HubSettings,
  snapshot: HubSnapshot,
  signal?: AbortSignal,
): Promise<string[] | null> {
  const index = indexOf(snapshot.files);
  if (index === null) return null;
  const text = await readText(settings, snapshot, index, signal);
  return shardNames(text, `${index.path} of the model ${snapshot.repository.name}`);
}

/** The text of config.json. Errors: also PRL_HUB_MODEL. */
export async function remoteConfig(
  settings: HubSettings,
  snapshot: HubSnapshot,
  signal?: AbortSignal,
): Promise<string> {
  const file = snapshot.files.find(({ path }) => path === CONFIG_FILE);
  if (file !== undefined) return readText(settings, snapshot, file, signal);
  const what = `the model ${snapshot.repository.name}`;
  throw new PrlError("PRL_HUB_MODEL", `${what} has no ${CONFIG_FILE}: it is no model that prl can load`);
}
