/**
 * safetensors files, their digests, and weight versions. Public as `prl-lm/weights`.
 * The format's rules and the digests: crates/weights/README.md.
 */

import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { checkOptions, number, only, uint8 } from "../../options.ts";
import { addon } from "../addon.ts";
import { native, nativeAsync } from "../errors.ts";

export { readManifest, writeManifest, type Canary, type WeightManifest } from "./weight-manifest.ts";
export {
  diffWeights,
  reshardWeights,
  verifyWeights,
  WeightPublisher,
  WeightReceiver,
  type PublishOptions,
  type ReceivedWeights,
  type Resharded,
  type ShardedWeights,
  type StagedWeights,
  type TensorDiff,
  type WeightPublisherOptions,
} from "./weight-versions.ts";

export interface Tensor {
  /** As in the header: F32, BF16, U8, ... */
  dtype: string;
  shape: number[];
  /** Row-major, little endian. */
  data: Uint8Array;
}

export interface Safetensors {
  readonly names: string[];
  readonly metadata: Record<string, string>;
  /**
   * Throws PRL_WEIGHTS_TENSOR when there is none of this name. Large tensors of a file are not copied: `data` is then memory of the opened
   * file, shared by all arrays of the tensor; writing to it changes no file.
   */
  tensor(name: string): Tensor;
  close(): void;
}

/** Opens a safetensors file; header and file length are checked before it resolves. Every rejection names the file. */
export async function openSafetensors(path: string): Promise<Safetensors> {
  const { NativeSafetensors } = addon();
  const file = await nativeAsync(() => NativeSafetensors.open(path));
  return face(file);
}

/** The same over bytes in memory, which are not copied: the data of its tensors are parts of them, at any `byteOffset`. */
export function decodeSafetensors(bytes: Uint8Array): Safetensors {
  const { metadata, tensors } = native(() => addon().parseSafetensors(bytes));
  const places = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  let isOpen = true;
  return {
    names: [...places.keys()],
    metadata,
    tensor: (name) => {
      if (!isOpen) throw new PrlError("PRL_WEIGHTS_IO", "the safetensors file is closed");
      const place = places.get(name);
      if (place === undefined) {
        throw new PrlError("PRL_WEIGHTS_TENSOR", `tensor ${JSON.stringify(name)} in <memory>: there is no such tensor`);
      }
      const { dtype, shape, begin, end } = place;
      return { dtype, shape, data: bytes.subarray(begin, end) };
    },
    close: () => {
      isOpen = false;
    },
  };
}

export interface SafetensorsOptions {
  metadata?: Record<string, string>;
}

const fileSchema = only<SafetensorsOptions>({ metadata: z.record(z.string(), z.string()).optional() });
const tensorsSchema = z.record(z.string(), only<Tensor>({ dtype: z.string(), shape: z.array(number), data: uint8 }));

/**
 * Writes a safetensors file atomically (temp file, fsync, rename), tensors in the order given, data from a multiple of 64 on. Nothing is
 * copied: leave the arrays as they are until it resolves. `versionDigest` is that of a weight version with exactly these tensors.
 */
export async function writeSafetensors(
  path: string,
  tensors: Record<string, Tensor>,
  options: SafetensorsOptions = {},
): Promise<{ bytes: number; digest: string; versionDigest: string }> {
  checkOptions("PRL_WEIGHTS_OPTIONS", "writeSafetensors", fileSchema, options);
  const listed = list("writeSafetensors", tensors);
  return nativeAsync(() => addon().writeSafetensors(path, listed, options.metadata ?? {}));
}

/** The same into memory. */
export function encodeSafetensors(tensors: Record<string, Tensor>, options: SafetensorsOptions = {}): Buffer {
  checkOptions("PRL_WEIGHTS_OPTIONS", "encodeSafetensors", fileSchema, options);
  const listed = list("encodeSafetensors", tensors);
  return native(() => addon().encodeSafetensors(listed, options.metadata ?? {}));
}

/** XXH3-64 (seed 0) as 16 lower-case hex digits. */
export function digest(bytes: Uint8Array | string): string {
  return native(() => addon().digest(typeof bytes === "string" ? Buffer.from(bytes) : bytes));
}

/** Digest and length of a file of any size, read off the JavaScript thread. Errors: PRL_WEIGHTS_IO naming it. */
export async function digestFile(path: string): Promise<{ digest: string; bytes: number }> {
  return nativeAsync(() => addon().digestFile(path));
}

interface NativeFile {
  names(): string[];
  metadata(): Record<string, string>;
  tensor(name: string): Tensor;
  close(): void;
}

function face(file: NativeFile): Safetensors {
  return {
    names: native(() => file.names()),
    metadata: native(() => file.metadata()),
    tensor: (name) => native(() => file.tensor(name)),
    close: () => native(() => file.close()),
  };
}

function list(what: string, tensors: Record<string, Tensor>) {
  checkOptions("PRL_WEIGHTS_OPTIONS", `${what}'s tensors`, tensorsSchema, tensors);
  return Object.entries(tensors).map(([name, tensor]) => ({ name, ...tensor }));
}
