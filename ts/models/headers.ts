/** Describes a model's weights by the headers of its safetensors files, without reading the weights. */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import type { HubSettings, HubSnapshot } from "../hub/index.ts";
import { readStart } from "./remote.ts";

export interface TensorShape {
  readonly name: string;
  /** As in the header: F32, BF16, ... */
  readonly dtype: string;
  readonly shape: readonly number[];
}

const LENGTH_BYTES = 8;
/** The limit of the format. */
const LONGEST_HEADER = 100_000_000;
/** Covers the header of most files, so that one request is enough. */
const FIRST_BYTES = 64 * 1024;

const headerSchema = z.record(
  z.string(),
  z.object({ dtype: z.string(), shape: z.array(z.int().nonnegative()) }).or(z.record(z.string(), z.string())),
);

/** Gives the first bytes of a file, at least as many as asked for, or all of a shorter one. */
type Start = (bytes: number) => Promise<Buffer>;

/** Tensors of a file in a folder. Errors: PRL_WEIGHTS_FORMAT, PRL_IO. */
export async function localTensors(dir: string, name: string): Promise<TensorShape[]> {
  const path = join(dir, name);
  try {
    const file = await open(path);
    try {
      return await tensorsOf(path, async (bytes) => {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
        return buffer.subarray(0, bytesRead);
      });
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw cause instanceof PrlError ? cause : new PrlError("PRL_IO", `cannot read ${path}`, { cause });
  }
}

/** Tensors of a file on the hub, by Range requests. Errors: PRL_WEIGHTS_FORMAT, those of requests to the hub. */
export async function remoteTensors(
  settings: HubSettings,
  snapshot: HubSnapshot,
  name: string,
  signal?: AbortSignal,
): Promise<TensorShape[]> {
  const all = snapshot.files.find(({ path }) => path === name)?.bytes ?? 0;
  const read: Start = (bytes) => readStart(settings, snapshot, { path: name, bytes: Math.min(bytes, all) }, signal);
  return tensorsOf(`${name} of the model ${snapshot.repository.name}`, read);
}

async function tensorsOf(place: string, start: Start): Promise<TensorShape[]> {
  const wrong = (problem: string, cause?: unknown): PrlError =>
    new PrlError("PRL_WEIGHTS_FORMAT", `${place}: ${problem}: it is no file of safetensors`, { cause });
  const first = await start(FIRST_BYTES);
  if (first.length < LENGTH_BYTES) throw wrong(`it has ${first.length} bytes`);
  const length = Number(first.readBigUInt64LE(0));
  if (length > LONGEST_HEADER) throw wrong(`its header would have ${length} bytes`);
  const end = LENGTH_BYTES + length;
  const bytes = first.length >= end ? first : await start(end);
  if (bytes.length < end) throw wrong("its header is cut off");
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8", LENGTH_BYTES, end));
  } catch (cause) {
    throw wrong("its header is not valid JSON", cause);
  }
  const header = headerSchema.safeParse(value);
  if (!header.success) throw wrong(z.prettifyError(header.error));
  return Object.entries(header.data).flatMap(([name, entry]) => {
    const { dtype, shape } = entry;
    return name === "__metadata__" || typeof dtype !== "string" || !Array.isArray(shape)
      ? []
      : [{ name, dtype, shape }];
  });
}
