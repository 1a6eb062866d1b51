/**
 * Weight versions on their way from the trainer to the engines.
 *
 * The filesystem transport publishes folders `weights/step_<v>/` in the run directory by the rules of crates/weights/README.md: a version
 * exists when its `manifest.json` does, 16-bit weights travel as their changes, and versions that are being read stay.
 *
 * No engine misses a version: when v is the next to be loaded, batch v + max_async_level is the last that can have been shipped, so the
 * newest version is at most v + max_async_level, and `keep` is more than max_async_level (the config is checked for it).
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { PrlError } from "../errors.ts";
import { ifThere, isThere } from "../files/file-presence.ts";
import {
  readManifest,
  WeightPublisher,
  WeightReceiver,
  type Canary,
  type ReceivedWeights,
  type StagedWeights,
  type WeightManifest,
} from "../native/index.ts";
import { waitForFile } from "./rollouts.ts";

/** A version that is published, whatever its encoding. */
export interface PublishedWeights {
  dir: string;
  manifest: WeightManifest;
}

/** The source of a version for an engine: a folder, or nodes to pull it from (`host:port`, the preferred first). */
export type WeightSource = { dir: string } | { grpc: string[] };

/** A version that engines can load. */
export interface AvailableWeights {
  readonly manifest: WeightManifest;
  readonly source: WeightSource;
  /** All engines have it: the publisher does not need to wait for them any more. */
  acknowledge(): Promise<void>;
  /** No engine will load it any more, not even one that is started anew. Its folder stays until then. */
  release(): Promise<void>;
}

/** The trainer's end. */
export interface WeightSender {
  /**
   * Lets `save` write a version's folder and then makes it visible, sparse where that pays unless `full`. Versions older than the newest
   * `keep` are removed when nothing needs them any more.
   */
  publish(
    version: number,
    save: (dir: string) => Promise<StagedWeights>,
    canary: Canary | null,
    options?: { full?: boolean },
  ): Promise<PublishedWeights>;
  /**
   * Goes on from the newest version, which the trainer before this one published: lets `save` write its folder once more, so that it can be
   * served in full.
   */
  takeOver(version: number, save: (dir: string) => Promise<StagedWeights>): Promise<void>;
  /** Waits until the newest version has arrived where it is needed, or can arrive without this process. */
  delivered(signal: AbortSignal): Promise<void>;
  /** Allows other publishers in the folder. */
  close(): Promise<void>;
}

/** The orchestrator's end. */
export interface WeightFollower {
  /**
   * Waits for exactly this version and returns it with its digest. Errors: PRL_DEADLINE when it does not come in time,
   * PRL_WEIGHTS_MANIFEST when it is not the version that its folder names, PRL_WEIGHTS_SUPERSEDED when it will never be readable,
   * because a newer one exists: ask for that.
   */
  receive(version: number, options: { deadlineMs: number; signal: AbortSignal }): Promise<AvailableWeights>;
  close(): Promise<void>;
}

const MANIFEST = "manifest.json";
const VERSION = /^step_(\d+)$/;
/** Time between two checks for requests of a full version, and for the version itself. */
const FULL_REQUEST_POLL_MS = 200;
/** Errors that a full version repairs: a missing base, damaged bytes. */
export const MENDED_BY_FULL: ReadonlySet<unknown> = new Set(["PRL_WEIGHTS_BASE", "PRL_WEIGHTS_DIGEST"]);

/** Its `receive` gives complete folders, for full and for sparse versions. */
export interface FilesystemWeights extends WeightSender, WeightFollower {
  receive(...args: Parameters<WeightFollower["receive"]>): Promise<AvailableWeights & Pick<ReceivedWeights, "dir">>;
  close(): Promise<void>;
}

export function filesystemWeights(runDir: string, { keep }: { keep: number }): FilesystemWeights {
  const root = weightsFolder(runDir);
  const publisher = once(() => WeightPublisher.open(root, { keep }));
  const receiver = once(() => WeightReceiver.open(root));
  let requests: NodeJS.Timeout | undefined;
  let unserved: unknown;

  /** Between two versions a receiver may find that it needs the newest one in full. */
  const watchRequests = (weights: WeightPublisher) => {
    let isAtWork = false;
    requests ??= setInterval(() => {
      // While a version is published the publisher is not free, and each further call would keep one of the few threads for native work waiting.
      if (isAtWork) return;
      isAtWork = true;
      weights
        .serveFullRequest()
        // A request that failed stays, so this is a try again after a failure.
        .then(() => (unserved = undefined))
        .catch((error: unknown) => (unserved = error))
        .finally(() => (isAtWork = false));
    }, FULL_REQUEST_POLL_MS).unref();
  };

  return {
    async publish(version, save, canary, { full = false } = {}) {
      if (unserved !== undefined) throw unserved;
      const weights = await publisher();
      const published = await weights.publish(version, save, { canary, full });
      if (published.manifest.encoding === "sparse") watchRequests(weights);
      return published;
    },
    async takeOver(version, save) {
      const weights = await publisher();
      if (await weights.takeOver(version, save)) watchRequests(weights);
    },
    async receive(version, { deadlineMs, signal }) {
      const deadline = performance.now() + deadlineMs;
      const dir = join(root, `step_${version}`);
      await waitForFile(join(dir, MANIFEST), deadlineMs, signal, `weight version ${version}`);
      const weights = await receiver();
      const complete = async () => {
        const received = await weights.receive(version);
        return {
          ...received,
          source: { dir: received.dir },
          acknowledge: async () => {},
          release: async () => received.release(),
        };
      };
      try {
        return await complete();
      } catch (error) {
        if (!(error instanceof PrlError) || !MENDED_BY_FULL.has(error.code)) throw error;
        await weights.requestFull();
        for (;;) {
          // This check comes first: once there is a newer version, this one is already full or never will be.
          const isPast = await hasNewer(root, version);
          if ((await readManifest(dir)).encoding === "full") break;
          if (isPast) throw superseded(version, error);
          if (performance.now() > deadline) throw error;
          await delay(FULL_REQUEST_POLL_MS, undefined, { signal });
        }
        return complete();
      }
    },
    delivered: async () => {},
    async close() {
      clearInterval(requests);
      if (publisher.started) await (await publisher()).close();
    },
  };
}

/** Where the versions of a run are. */
export function weightsFolder(runDir: string): string {
  return join(runDir, "weights");
}

/** Number and digest of the newest version that is visible in the run directory; null: there is none. Errors: PRL_WEIGHTS_MANIFEST, PRL_IO. */
export async function newestVersion(runDir: string): Promise<Pick<WeightManifest, "version" | "digest"> | null> {
  const root = weightsFolder(runDir);
  const names = (await ifThere(readdir(root), root)) ?? [];
  const versions = names.flatMap((name) => VERSION.exec(name)?.[1] ?? []).map(Number);
  for (const version of versions.toSorted((a, b) => b - a)) {
    const dir = join(root, `step_${version}`);
    if (await isThere(join(dir, MANIFEST))) return readManifest(dir);
  }
  return null;
}

async function hasNewer(root: string, version: number): Promise<boolean> {
  const newer = (await readdir(root)).filter((name) => /^step_\d+$/.test(name) && Number(name.slice(5)) > version);
  for (const name of newer) if (await isThere(join(root, name, MANIFEST))) return true;
  return false;
}

function superseded(version: number, cause: PrlError): PrlError {
  const message = `weight version ${version} cannot be read, and only the newest is published in full: go on with a newer one`;
  return new PrlError("PRL_WEIGHTS_SUPERSEDED", `${message} (${cause.message})`, { cause });
}

/** Calls `open` at the first use; the same promise from then on. */
function once<T>(open: () => Promise<T>) {
  let opened: Promise<T> | undefined;
  const get = () => (opened ??= open());
  return Object.defineProperty(get, "started", { get: () => opened !== undefined }) as typeof get & {
    readonly started: boolean;
  };
}
