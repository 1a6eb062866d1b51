/**
 * The folders from which control calls may load weights and adapters. A call names a folder of this machine, and without bounds it could make the server
 * read any of them.
 *
 * A path is compared after `..` and symbolic links are resolved, and what is loaded is the resolved path. Whether a path outside exists is not said.
 */
import { realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";

import { badRequest, HttpError } from "./errors.ts";

/** Longer than any path that the kernel takes. */
const LONGEST_PATH_BYTES = 4_095;
const SHOWN_CHARACTERS = 300;

export class WeightRoots {
  readonly #roots: readonly string[];

  constructor(roots: readonly string[]) {
    this.#roots = roots.map((root) => resolve(root));
  }

  /**
   * The resolved path of a folder that a call names in `field`; who reads it says whether it is there.
   *
   * @throws PrlError `PRL_INFERENCE_REQUEST` (400) when it is no path that can be resolved, `PRL_INFERENCE_FOLDER` (403) when it is outside
   */
  async resolve(field: string, path: string): Promise<string> {
    if (!isAbsolute(path)) throw badRequest(field, "must be the absolute path of a folder");
    if (path.includes("\0")) throw badRequest(field, "must have no NUL character");
    if (Buffer.byteLength(path) > LONGEST_PATH_BYTES)
      throw badRequest(field, `must have at most ${LONGEST_PATH_BYTES} bytes`);
    let found: string;
    try {
      found = await resolved(path);
    } catch (error) {
      throw badRequest(field, `cannot be resolved (${codeOf(error) ?? String(error)})`);
    }
    for (const root of this.#roots) if (isWithin(await resolved(root), found)) return found;
    const named = this.#roots.length === 0 ? "there are none" : this.#roots.join(", ");
    const advice = "a server takes more with --weights-root, or as a part of a run with inference.server.weight_roots";
    const shown = path.length > SHOWN_CHARACTERS ? `${path.slice(0, SHOWN_CHARACTERS)}...` : path;
    const message = `${field}: ${shown} is outside of the folders that this server loads weights from (${named}); ${advice}`;
    throw new HttpError(403, "PRL_INFERENCE_FOLDER", message);
  }
}

/** The path without symbolic links, as far as it exists. */
async function resolved(path: string): Promise<string> {
  let [there, rest] = [resolve(path), ""];
  for (;;) {
    try {
      return join(await realpath(there), rest);
    } catch (error) {
      if (codeOf(error) !== "ENOENT" && codeOf(error) !== "ENOTDIR") throw error;
      // The root of the file system exists, so this ends.
      [there, rest] = [dirname(there), join(basename(there), rest)];
    }
  }
}

function isWithin(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== ".." && !way.startsWith("../");
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
