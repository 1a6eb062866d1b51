/** Downloads a model of the hub into the cache. */
import { mkdir, readFile, stat, statfs } from "node:fs/promises";

import { PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import {
  blobPath,
  commitOf,
  download,
  type HubFile,
  type HubSettings,
  type HubSnapshot,
  isCommit,
  listFiles,
  unfinishedPath,
} from "../hub/index.ts";
import { type CachedModel, modelRoot, writeRef } from "./hub-cache.ts";
import { chooseFiles, indexOf, missingFiles, shardNames } from "./model-files.ts";
import { modelRepository, type ModelReference, modelText } from "./model-name.ts";

/** How far a download is. */
export interface DownloadProgress {
  /** `org/name`, with the revision where it is not `main`. */
  readonly model: string;
  /** Bytes on this disk, those of earlier attempts included. */
  readonly done: number;
  readonly total: number;
}

export interface PullOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called some times a second while bytes come, and once at the end. */
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

/** A model that is whole on this disk. */
export interface PulledModel extends CachedModel {
  readonly files: readonly HubFile[];
  /** Bytes of all files. */
  readonly bytes: number;
  /** Bytes that came over the network. */
  readonly fetched: number;
}

/** The free part of a disk that a download leaves to others. */
const SPARE_BYTES = 64 * 1024 * 1024;

/**
 * Asks the hub for the revision's commit and downloads the files of it that prl needs and the cache does not have.
 *
 * Errors: PRL_HUB_OFFLINE, PRL_HUB_UNKNOWN, PRL_HUB_AUTH, PRL_HUB_UNREACHABLE, PRL_HUB_ANSWER, PRL_HUB_MODEL, PRL_HUB_DISK, PRL_HUB_SIZE,
 * PRL_HUB_DIGEST, PRL_WEIGHTS_FORMAT, PRL_IO.
 */
export async function pullModel(
  settings: HubSettings,
  reference: ModelReference,
  { signal, onProgress }: PullOptions = {},
): Promise<PulledModel> {
  const snapshot = await openModel(settings, reference, signal);
  return namingTheCache(settings, async () => {
    await mkdir(modelRoot(settings, reference), { recursive: true });
    const index = indexOf(snapshot.files);
    const indexBytes = index === null ? 0 : index.bytes - (await presentBytes(settings, snapshot, index));
    const shards = index === null ? null : await shardsOf(settings, snapshot, index, signal);
    const files = chooseFiles(`the model ${modelText(reference)}`, snapshot.files, shards);
    const present = new Map<HubFile, number>();
    for (const file of files) present.set(file, await presentBytes(settings, snapshot, file));
    const progress = new Progress(modelText(reference), present, onProgress);
    const before = progress.done;
    await checkSpace(settings, reference, progress.total - before);
    let dir = "";
    for (const file of files) {
      const onBytes = (bytes: number): void => progress.set(file, bytes);
      const path = await download(settings, snapshot, file, { signal, onBytes });
      dir = path.slice(0, -file.path.length - 1);
    }
    progress.end();
    await writeRef(settings, reference, snapshot.commit);
    const { commit } = snapshot;
    const bytes = progress.total;
    return { commit, dir, missing: await missingFiles(dir), files, bytes, fetched: bytes - before + indexBytes };
  });
}

/** The commit and the files of a revision, from the hub. Errors: PRL_HUB_OFFLINE, PRL_HUB_UNKNOWN, PRL_HUB_AUTH, PRL_HUB_UNREACHABLE, PRL_HUB_ANSWER. */
export async function openModel(
  settings: HubSettings,
  reference: ModelReference,
  signal?: AbortSignal,
): Promise<HubSnapshot> {
  const repository = modelRepository(reference);
  if (settings.offline) {
    throw new PrlError(
      "PRL_HUB_OFFLINE",
      `the model ${modelText(reference)} is not in the cache ${settings.caches.model} and HF_HUB_OFFLINE forbids to fetch it: run prl model pull once with the network, or name a folder`,
    );
  }
  const { revision } = reference;
  const commit = isCommit(revision) ? revision : await commitOf(settings, repository, revision, signal);
  return { repository, commit, files: await listFiles(settings, repository, commit, signal) };
}

async function shardsOf(
  settings: HubSettings,
  snapshot: HubSnapshot,
  index: HubFile,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const path = await download(settings, snapshot, index, { signal });
  return shardNames(await readFile(path, "utf8"), `${index.path} of the model ${snapshot.repository.name}`);
}

/** Bytes of the file that the cache has, whole or from an interrupted download. */
async function presentBytes(settings: HubSettings, snapshot: HubSnapshot, file: HubFile): Promise<number> {
  const blob = blobPath(settings, snapshot, file);
  for (const path of [blob, unfinishedPath(blob)]) {
    const found = await ifThere(stat(path), path);
    if (found !== null && found.size <= file.bytes) return found.size;
  }
  return 0;
}

async function checkSpace(settings: HubSettings, reference: ModelReference, needed: number): Promise<void> {
  const root = modelRoot(settings, reference);
  const { bavail, bsize } = await statfs(root);
  if (needed + SPARE_BYTES <= bavail * bsize) return;
  throw new PrlError(
    "PRL_HUB_DISK",
    `the model ${modelText(reference)} needs ${needed} more bytes, and the disk of ${root} has ${bavail * bsize} free: make room, or let HF_HUB_CACHE name a folder on another disk`,
  );
}

/** File system errors of `work` as errors that name the cache. */
async function namingTheCache<Result>({ caches }: HubSettings, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (cause instanceof PrlError || typeof code !== "string" || !/^E[A-Z0-9]+$/u.test(code)) throw cause;
    const advice = "HF_HUB_CACHE names another folder";
    throw new PrlError("PRL_IO", `cannot write to the cache ${caches.model} (${code}): ${advice}`, { cause });
  }
}

const REPORT_MS = 100;

/** Sums the files of a download and reports the sum some times a second; a model that is there already gives no report. */
class Progress {
  readonly #model: string;
  /** Bytes that are there. */
  readonly #bytes: Map<HubFile, number>;
  readonly #report: (progress: DownloadProgress) => void;
  readonly total: number;
  done: number;
  #reportedAt = -Infinity;
  readonly #isNeeded: boolean;

  constructor(model: string, bytes: Map<HubFile, number>, report: PullOptions["onProgress"]) {
    this.#model = model;
    this.#bytes = bytes;
    this.#report = report ?? (() => undefined);
    this.total = [...bytes.keys()].reduce((sum, file) => sum + file.bytes, 0);
    this.done = [...bytes.values()].reduce((sum, present) => sum + present, 0);
    this.#isNeeded = this.done < this.total;
    this.#show(false);
  }

  set(file: HubFile, bytes: number): void {
    this.done += bytes - (this.#bytes.get(file) ?? 0);
    this.#bytes.set(file, bytes);
    if (this.done < this.total) this.#show(false);
  }

  end(): void {
    this.#show(true);
  }

  #show(always: boolean): void {
    const now = performance.now();
    if (!this.#isNeeded || (!always && now - this.#reportedAt < REPORT_MS)) return;
    this.#reportedAt = now;
    this.#report({ model: this.#model, done: this.done, total: this.total });
  }
}
