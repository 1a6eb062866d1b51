/**
 * Weight versions over the network: the trainer serves its version folders, each engine pulls them and serves them on.
 *
 * The trainer publishes as with the filesystem transport, into its run directory. The orchestrator sees only manifests; it tells each
 * engine which nodes to pull from and, when all of them serve a version, tells the trainer, which then need not keep it for them.
 */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { untilAborted } from "../async/deadline.ts";
import { PrlError } from "../errors.ts";
import {
  openWeightNode,
  WeightReceiver,
  type ReceivedWeights,
  type TransportOptions,
  type WeightNode,
} from "../native/index.ts";
import { filesystemWeights, MENDED_BY_FULL, type WeightFollower, type WeightSender } from "./weights.ts";

const VERSION = /^step_(\d+)$/;
/** An evaluation that holds the weights comes before the last version and may be long; beyond this the orchestrator counts as dead. */
const DELIVERY_DEADLINE_MS = 6 * 3_600_000;
/** How long the orchestrator tries to send the trainer an acknowledgement. */
const ACKNOWLEDGE_PATIENCE_MS = 10_000;

/** Publishes into `weights/` of the run directory and serves it on `listen` (`host:port`, port 0 for any). */
export async function grpcWeightSender(
  runDir: string,
  { keep }: { keep: number },
  listen: string,
  options: TransportOptions,
): Promise<WeightSender & { readonly address: string }> {
  const files = filesystemWeights(runDir, { keep });
  const node = openWeightNode(join(runDir, "weights"), options);
  const address = await node.listen(listen);
  let newest: { version: number; digest: string } | undefined;
  return {
    address,
    async publish(...version) {
      const published = await files.publish(...version);
      newest = published.manifest;
      return published;
    },
    takeOver: (version, save) => files.takeOver(version, save),
    async delivered(signal) {
      if (newest !== undefined) await untilAcknowledged(node, newest, signal);
    },
    async close() {
      await node.close();
      await files.close();
    },
  };
}

/** The node's patience is one with the network, and nothing has to come from there while the orchestrator evaluates. */
async function untilAcknowledged(
  node: WeightNode,
  { version, digest }: { version: number; digest: string },
  signal: AbortSignal,
): Promise<void> {
  const latest = performance.now() + DELIVERY_DEADLINE_MS;
  for (;;) {
    try {
      return await untilAborted(node.acknowledged(version, digest), signal);
    } catch (error) {
      const isUnheard = error instanceof PrlError && error.code === "PRL_TRANSPORT_UNREACHABLE";
      if (!isUnheard || performance.now() > latest) throw error;
    }
  }
}

/** Follows the versions of the node at `address`. */
export function grpcWeightFollower(runDir: string, address: string, options: TransportOptions): WeightFollower {
  // Followers pull nothing, so nothing is written there.
  const root = join(runDir, "received", "orchestrator");
  const node = openWeightNode(root, options);
  const patienceMs = Math.min(options.patienceMs, ACKNOWLEDGE_PATIENCE_MS);
  const acknowledging = openWeightNode(root, { ...options, patienceMs });
  return {
    async receive(version, { deadlineMs, signal }) {
      const manifest = await untilAborted(describe(node, version, address, deadlineMs), signal);
      const { digest } = manifest;
      return {
        manifest,
        source: { grpc: [address] },
        acknowledge: () => acknowledge(acknowledging, version, digest, address),
        release: async () => {},
      };
    },
    async close() {
      await Promise.all([node.close(), acknowledging.close()]);
    },
  };
}

/**
 * A lost answer must not fail a run whose trainer got the acknowledgement and has ended. When the trainer did not get it, the trainer fails
 * with an error that names it.
 */
async function acknowledge(node: WeightNode, version: number, digest: string, address: string): Promise<void> {
  try {
    await node.acknowledge(version, digest, [address]);
  } catch (error) {
    if (!(error instanceof PrlError) || error.code !== "PRL_TRANSPORT_UNREACHABLE") throw error;
  }
}

async function describe(node: WeightNode, version: number, address: string, deadlineMs: number) {
  try {
    return await node.describe({ version, waitMs: deadlineMs }, [address]);
  } catch (cause) {
    if (!(cause instanceof PrlError) || cause.code !== "PRL_TRANSPORT_VERSION") throw cause;
    const seconds = Math.round(deadlineMs / 1000);
    throw new PrlError("PRL_DEADLINE", `weight version ${version} did not come within ${seconds} s (${address})`, {
      cause,
    });
  }
}

/** An engine's end: it serves what it pulls. */
export interface WeightPuller {
  /** `host:port` of its server. */
  readonly address: string;
  /** Pulls a version from the first of `sources` that works. */
  fetch(version: number, digest: string, sources: readonly string[]): Promise<void>;
  /** The same, and returns a complete folder, which stays until it is released. */
  receive(version: number, digest: string, sources: readonly string[]): Promise<ReceivedWeights>;
  close(): Promise<void>;
}

/**
 * Pulls into `root`, which no other process uses, and serves it on `listen`. Of the versions up to the one that was pulled last the newest `keep` stay; later
 * ones are of an attempt that had come further, and stay until the run has come as far again.
 */
export async function openWeightPuller(
  root: string,
  { keep }: { keep: number },
  listen: string,
  options: TransportOptions,
): Promise<WeightPuller> {
  const node = openWeightNode(root, options);
  const address = await node.listen(listen);
  let receiver = await WeightReceiver.open(root);
  const fetch = async (version: number, digest: string, sources: readonly string[]) => {
    await node.pull({ version, digest }, sources);
    // A run that went back to a checkpoint needs this version, although later ones of the attempt before are here.
    await node.prune(keep + (await laterThan(root, version)));
  };
  return {
    address,
    fetch,
    async receive(version, digest, sources) {
      await fetch(version, digest, sources);
      try {
        return await receiver.receive(version);
      } catch (error) {
        if (!(error instanceof PrlError) || !MENDED_BY_FULL.has(error.code)) throw error;
        // A local version is damaged, so everything is pulled again, down to a full version.
        for (const name of await readdir(root)) {
          if (VERSION.test(name) || name === ".received") await rm(join(root, name), { recursive: true });
        }
        receiver = await WeightReceiver.open(root);
        await fetch(version, digest, sources);
        return receiver.receive(version);
      }
    },
    close: () => node.close(),
  };
}

/** How many versions in `root` are later than this one. */
export async function laterThan(root: string, version: number): Promise<number> {
  const names = await readdir(root);
  return names.filter((name) => Number(VERSION.exec(name)?.[1] ?? -1) > version).length;
}
