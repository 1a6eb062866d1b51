/**
 * Weight versions on their way from the trainer to the engines.
 *
 * The filesystem transport publishes complete Hugging Face folders `weights/step_<v>/` in the run directory. A version exists when its
 * `manifest.json` does, which is written last and removed first.
 *
 * No engine loses a version while it loads it: when v is the next to be loaded, batch v + max_async_level is the last that can have been
 * shipped, so the newest version is at most v + max_async_level, and `keep` is more than max_async_level (the config is checked for it).
 */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { PrlError } from "../errors.ts";
import { readManifest, writeManifest, type Canary, type WeightManifest } from "../native/index.ts";
import { waitForFile } from "./rollouts.ts";

/** A published version, ready to be loaded from `dir`. */
export interface PublishedWeights {
  dir: string;
  manifest: WeightManifest;
}

/** What the trainer reports of the files that it has written. */
export interface SavedWeights {
  digest: string;
  shards: WeightManifest["shards"];
}

export interface WeightTransport {
  /** Lets `save` write a version's folder and then makes it visible. Versions older than the newest `keep` are removed. */
  publish(
    version: number,
    save: (dir: string) => Promise<SavedWeights>,
    canary: Canary | null,
  ): Promise<PublishedWeights>;
  /** Waits for a version. Errors: PRL_DEADLINE when it does not come in time, PRL_WEIGHTS_MANIFEST when it is not what its folder says. */
  receive(version: number, options: { deadlineMs: number; signal: AbortSignal }): Promise<PublishedWeights>;
}

const FOLDER = /^step_(\d+)$/;
const MANIFEST = "manifest.json";

export function filesystemWeights(runDir: string, { keep }: { keep: number }): WeightTransport {
  const root = join(runDir, "weights");
  const folder = (version: number) => join(root, `step_${version}`);
  return {
    async publish(version, save, canary) {
      const dir = folder(version);
      // A folder of an earlier attempt: while its files are replaced there is no such version.
      await rm(join(dir, MANIFEST), { force: true });
      const { digest, shards } = await save(dir);
      const manifest: WeightManifest = {
        format: "prl-weights",
        version,
        digest,
        base: null,
        encoding: "full",
        shards,
        canary,
      };
      await writeManifest(dir, manifest);
      await removeOlderThan(root, version - keep + 1);
      return { dir, manifest };
    },
    async receive(version, { deadlineMs, signal }) {
      const dir = folder(version);
      await waitForFile(join(dir, MANIFEST), deadlineMs, signal, `weight version ${version}`);
      const manifest = await readManifest(dir);
      if (manifest.version !== version) {
        throw new PrlError(
          "PRL_WEIGHTS_MANIFEST",
          `${dir} holds version ${manifest.version}, not ${version}: remove it`,
        );
      }
      return { dir, manifest };
    },
  };
}

async function removeOlderThan(root: string, oldest: number): Promise<void> {
  for (const name of await readdir(root)) {
    const version = Number(FOLDER.exec(name)?.[1] ?? Number.NaN);
    if (!(version < oldest)) continue;
    await rm(join(root, name, MANIFEST), { force: true });
    await rm(join(root, name), { recursive: true });
  }
}
