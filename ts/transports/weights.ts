/**
 * Weight versions on their way from the trainer to the engines.
 *
 * The filesystem transport publishes folders `weights/step_<v>/` in the run directory by the rules of crates/weights/README.md: a version
 * is there when its `manifest.json` is, 16-bit weights travel as what changed, and what someone reads stays.
 *
 * No engine misses a version: when v is the next to be loaded, batch v + max_async_level is the last that can have been shipped, so the
 * newest version is at most v + max_async_level, and `keep` is more than max_async_level (the config is checked for it).
 */

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { PrlError } from "../errors.ts";
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

export interface WeightTransport {
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
   * Waits for a version and gives it as a complete folder, which stays until it is released. Errors: PRL_DEADLINE when it does not come in
   * time, PRL_WEIGHTS_MANIFEST when it is not what its folder says.
   */
  receive(version: number, options: { deadlineMs: number; signal: AbortSignal }): Promise<ReceivedWeights>;
  /** Lets others publish there. */
  close(): Promise<void>;
}

const MANIFEST = "manifest.json";
/** How soon a receiver that asks for a full version is heard, and sees it. */
const FULL_REQUEST_POLL_MS = 200;
/** What a full version mends: a base that is gone, bytes that were damaged. */
const MENDED_BY_FULL: ReadonlySet<unknown> = new Set(["PRL_WEIGHTS_BASE", "PRL_WEIGHTS_DIGEST"]);

export function filesystemWeights(runDir: string, { keep }: { keep: number }): WeightTransport {
  const root = join(runDir, "weights");
  const publisher = once(() => WeightPublisher.open(root, { keep }));
  const receiver = once(() => WeightReceiver.open(root));
  let requests: NodeJS.Timeout | undefined;
  let unserved: unknown;

  /** Between two versions a receiver may find that it needs the newest one in full. */
  const watchRequests = (weights: WeightPublisher) => {
    requests ??= setInterval(() => {
      weights.serveFullRequest().catch((error: unknown) => (unserved = error));
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
    async receive(version, { deadlineMs, signal }) {
      const deadline = performance.now() + deadlineMs;
      const dir = join(root, `step_${version}`);
      await waitForFile(join(dir, MANIFEST), deadlineMs, signal, `weight version ${version}`);
      const weights = await receiver();
      try {
        return await weights.receive(version);
      } catch (error) {
        if (!(error instanceof PrlError) || !MENDED_BY_FULL.has(error.code)) throw error;
        await weights.requestFull();
        while ((await readManifest(dir)).encoding !== "full") {
          if (performance.now() > deadline) throw error;
          await delay(FULL_REQUEST_POLL_MS, undefined, { signal });
        }
        return weights.receive(version);
      }
    },
    async close() {
      clearInterval(requests);
      if (publisher.started) await (await publisher()).close();
    },
  };
}

/** Calls `open` at the first use; the same promise from then on. */
function once<T>(open: () => Promise<T>) {
  let opened: Promise<T> | undefined;
  const get = () => (opened ??= open());
  return Object.defineProperty(get, "started", { get: () => opened !== undefined }) as typeof get & {
    readonly started: boolean;
  };
}
