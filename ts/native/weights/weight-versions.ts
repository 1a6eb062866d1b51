/**
 * Publishing and receiving weight versions by folders, checking and comparing them. Part of the public `prl-lm/weights`; the rules are those
 * of crates/weights/README.md ("Roots").
 */

import { join } from "node:path";

import { z } from "zod";

import { checkOptions, number, only } from "../../options.ts";
import { addon } from "../addon.ts";
import { whole } from "../checks.ts";
import { nativeAsync } from "../errors.ts";
import { canaryJson, canarySchema, parseManifest, type Canary, type WeightManifest } from "./weight-manifest.ts";

/** The contents of a staged folder: the version digest of its weights, and its weight files. */
export interface StagedWeights {
  digest: string;
  shards: WeightManifest["shards"];
}

export interface WeightPublisherOptions {
  /** Newest versions that stay (default 4); those that they are built on and those that someone reads stay too. */
  keep?: number;
  /** `auto` (default) publishes 16-bit weights as their changes since the version before, where that is smaller. */
  encoding?: "auto" | "full";
}

export interface PublishOptions {
  /** The canary that engines have to reproduce. Default: none. */
  canary?: Canary | null;
  /** Publishes the version in full. Default false. */
  full?: boolean;
}

const CODE = "PRL_WEIGHTS_OPTIONS";
const publisherSchema = only<WeightPublisherOptions>({
  keep: number.optional(),
  encoding: z.enum(["auto", "full"]).optional(),
});
const publishSchema = only<PublishOptions>({
  canary: canarySchema.nullable().optional(),
  full: z.boolean().optional(),
});

/** Fills a root with `step_<version>/` folders, each visible only when it is whole. One publisher at a time works in a root. */
export class WeightPublisher {
  readonly #native: NativePublisher;

  private constructor(publisher: NativePublisher) {
    this.#native = publisher;
  }

  /**
   * Opens `root`, which is made when missing. The first version will be full, unless the one before it is taken over. Errors: PRL_WEIGHTS_IO
   * when another publisher works there.
   */
  static async open(root: string, options: WeightPublisherOptions = {}): Promise<WeightPublisher> {
    checkOptions(CODE, "WeightPublisher.open", publisherSchema, options);
    const { encoding = "auto" } = options;
    const keep = whole(CODE, "keep", options.keep ?? 4);
    const { NativeWeightPublisher } = addon();
    return new WeightPublisher(await nativeAsync(() => NativeWeightPublisher.open(root, keep, encoding === "auto")));
  }

  /**
   * Lets `save` write the version's complete Hugging Face folder (without a manifest) and publishes it, in full when `full` is set, when a
   * receiver has asked for it, or when a sparse version does not pay. When `save` or publishing fails there is no such version, except when
   * only the sync of the root or the removal of old versions failed.
   */
  async publish(
    version: number,
    save: (dir: string) => Promise<StagedWeights>,
    options: PublishOptions = {},
  ): Promise<{ dir: string; manifest: WeightManifest }> {
    checkOptions(CODE, "publish", publishSchema, options);
    const { canary = null, full = false } = options;
    const staging = await nativeAsync(() => this.#native.stage(version));
    const { digest, shards } = await save(staging);
    const scored = canary === null ? null : canaryJson(canary);
    const { dir, manifest } = await nativeAsync(() => this.#native.publish(version, digest, shards, scored, full));
    return { dir, manifest: parseManifest(manifest) };
  }

  /**
   * Goes on from the newest version, which an earlier publisher made: lets `save` write its folder once more. Then this publisher can make it full,
   * even when the root is damaged, and publishes the next version as its changes. Resolves to whether it has taken the folder: it does not
   * when every version is full anyway, or when `save` writes other files beside the weights. Errors: PRL_WEIGHTS_DIGEST for other weights.
   */
  async takeOver(version: number, save: (dir: string) => Promise<StagedWeights>): Promise<boolean> {
    const staging = await nativeAsync(() => this.#native.stageAgain(version));
    const { digest, shards } = await save(staging);
    return nativeAsync(() => this.#native.takeOver(version, digest, shards));
  }

  /**
   * Publishes a copy of a folder that someone else wrote, byte for byte: a Hugging Face folder like what `save` writes, compared with the
   * newest version of the root, also one of another publisher, or a PEFT adapter (`adapter_config.json`, `adapter_model.safetensors`),
   * which is always shipped whole. Files that lie in it directly travel, hidden ones and a manifest do not. Versions from this number
   * on are no more once the copy is whole; the folder may be one of them. Errors: PRL_WEIGHTS_ADAPTER for an adapter that is not whole,
   * or in a root of models (or the reverse).
   */
  async publishFolder(
    version: number,
    folder: string,
    options: PublishOptions = {},
  ): Promise<{ dir: string; manifest: WeightManifest }> {
    checkOptions(CODE, "publishFolder", publishSchema, options);
    const { canary = null, full = false } = options;
    const scored = canary === null ? null : canaryJson(canary);
    const { dir, manifest } = await nativeAsync(() => this.#native.publishFolder(version, folder, scored, full));
    return { dir, manifest: parseManifest(manifest) };
  }

  /** Makes the newest version full when it is sparse: same version, same digest. Resolves to whether there was something to do. */
  makeNewestFull(): Promise<boolean> {
    return nativeAsync(() => this.#native.makeNewestFull());
  }

  /** The same when a receiver has asked for it since the last call. */
  serveFullRequest(): Promise<boolean> {
    return nativeAsync(() => this.#native.serveFullRequest());
  }

  close(): Promise<void> {
    return nativeAsync(() => this.#native.close());
  }
}

/** A version as a complete folder. It stays in place until it is released or the process ends. */
export interface ReceivedWeights {
  readonly dir: string;
  readonly manifest: WeightManifest;
  release(): void;
}

const receiverSchema = only<{ stateDir?: string }>({ stateDir: z.string().optional() });

/** Gives the versions of a root as complete folders, whatever their encoding. */
export class WeightReceiver {
  readonly #native: NativeReceiver;

  private constructor(receiver: NativeReceiver) {
    this.#native = receiver;
  }

  /** Folders made of sparse versions go to `stateDir` (default `<root>/.received`), which the receivers of one machine may share. */
  static async open(root: string, options: { stateDir?: string } = {}): Promise<WeightReceiver> {
    checkOptions(CODE, "WeightReceiver.open", receiverSchema, options);
    const { stateDir = join(root, ".received") } = options;
    const { NativeWeightReceiver } = addon();
    return new WeightReceiver(await nativeAsync(() => NativeWeightReceiver.open(root, stateDir)));
  }

  /**
   * The version as a complete folder. Errors: PRL_WEIGHTS_MANIFEST when it is not published, PRL_WEIGHTS_BASE when it is sparse and what it
   * applies to is missing or damaged, PRL_WEIGHTS_DIGEST for damage; after the last two `requestFull` repairs it while it is the newest.
   */
  async receive(version: number): Promise<ReceivedWeights> {
    const received = await nativeAsync(() => this.#native.receive(version));
    return {
      dir: received.dir(),
      manifest: parseManifest(received.manifest()),
      release: () => received.release(),
    };
  }

  /** Asks the publisher to publish its newest version in full. */
  requestFull(): Promise<void> {
    return nativeAsync(() => this.#native.requestFull());
  }
}

/**
 * Checks the digests of a version's files, and its tensors against the version digest (of a sparse one: those that it promises). A file beside
 * them that the manifest does not list is PRL_WEIGHTS_MANIFEST, unless it lists none.
 */
export async function verifyWeights(dir: string): Promise<WeightManifest> {
  const { verifyWeights: verify } = addon();
  return parseManifest(await nativeAsync(() => verify(dir)));
}

/** Result of {@link reshardWeights}. */
export interface Resharded {
  /** Folders that were written, by target rank. */
  dirs: string[];
  tensors: number;
  /** Bytes that leave the source ranks, each once. */
  sentBytes: number;
  /** Bytes that the target ranks have together. */
  writtenBytes: number;
}

/** Weights that lie as ranks have them: `rank_<r>/` below `dir`, or `dir` itself where there is one rank. */
export interface ShardedWeights {
  dir: string;
  /**
   * `whole`, `fsdp:<ranks>` (rows), `tp:<ranks>` (tensor parallelism by the names of Llama and Qwen), or rules as JSON
   * (crates/weights/README.md, "Resharding").
   */
  layout: string;
}

const shardedSchema = only<ShardedWeights>({ dir: z.string(), layout: z.string() });
const reshardSchema = only<{ maxShardBytes?: number }>({ maxShardBytes: number.optional() });

/** Rewrites weights for other ranks. Errors: PRL_WEIGHTS_PLAN when parts or rules do not fit. */
export async function reshardWeights(
  from: ShardedWeights,
  to: ShardedWeights,
  options: { maxShardBytes?: number } = {},
): Promise<Resharded> {
  checkOptions(CODE, "reshardWeights: from", shardedSchema, from);
  checkOptions(CODE, "reshardWeights: to", shardedSchema, to);
  checkOptions(CODE, "reshardWeights", reshardSchema, options);
  const { maxShardBytes = 5_000_000_000 } = options;
  return nativeAsync(() => addon().reshardWeights(from.dir, from.layout, to.dir, to.layout, maxShardBytes));
}

/** How a tensor differs between two sets of weights. */
export interface TensorDiff {
  name: string;
  dtype: string;
  shape: number[];
  change: "same" | "values" | "layout" | "removed" | "added";
  /** Elements that differ, of `elements`. */
  changed: number;
  elements: number;
  /** Its bytes in a sparse version; for an adapter, which is never sparse, its size. */
  sparseBytes: number;
}

/**
 * Compares the weights of two complete folders, tensors in the order of their names. Of adapters the config is one more, of bytes. Errors:
 * PRL_WEIGHTS_ADAPTER when only one of them is an adapter.
 */
export async function diffWeights(oldDir: string, newDir: string): Promise<TensorDiff[]> {
  const { diffWeights: diff } = addon();
  return (await nativeAsync(() => diff(oldDir, newDir))) as TensorDiff[];
}

type NativePublisher = Awaited<ReturnType<ReturnType<typeof addon>["NativeWeightPublisher"]["open"]>>;
type NativeReceiver = Awaited<ReturnType<ReturnType<typeof addon>["NativeWeightReceiver"]["open"]>>;
