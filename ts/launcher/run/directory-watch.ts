/**
 * Checks that a run's directory still is the one that the run began in.
 *
 * When a directory is removed or moved, the processes would make it again at its old path, half-filled; so the run ends. The
 * directory is held open: it is compared with what is at its path, and the kernel knows where it went.
 */
import { type FileHandle, open, readlink, stat } from "node:fs/promises";

import { PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";

export class DirectoryWatch {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #identity: string;

  private constructor(path: string, handle: FileHandle, identity: string) {
    this.#path = path;
    this.#handle = handle;
    this.#identity = identity;
  }

  /** @throws PrlError `PRL_IO` */
  static async open(path: string): Promise<DirectoryWatch> {
    try {
      const handle = await open(path, "r");
      return new DirectoryWatch(path, handle, identityOf(await handle.stat()));
    } catch (cause) {
      throw new PrlError("PRL_IO", `cannot open the run directory ${path}`, { cause });
    }
  }

  /** @throws PrlError `PRL_RUN_GONE`; `PRL_IO` when the path cannot be read */
  async check(): Promise<void> {
    if (await this.#isInPlace()) return;
    const place = await this.place();
    const what = place === null ? "was removed" : `was moved to ${place}`;
    const rest = place === null ? "" : "; what it wrote until then is there";
    throw new PrlError("PRL_RUN_GONE", `the run directory ${this.#path} ${what} while the run was at work${rest}`);
  }

  /** Where the directory is now; null when it was removed, or when the system does not say. */
  async place(): Promise<string | null> {
    if (await this.#isInPlace()) return this.#path;
    const link = `/proc/self/fd/${this.#handle.fd}`;
    const place = await ifThere(readlink(link), link);
    if (place === null) return null;
    const there = await ifThere(stat(place), place);
    return there !== null && identityOf(there) === this.#identity ? place : null;
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #isInPlace(): Promise<boolean> {
    const there = await ifThere(stat(this.#path), this.#path);
    return there !== null && identityOf(there) === this.#identity;
  }
}

function identityOf({ dev, ino }: { dev: number; ino: number }): string {
  return `${dev}:${ino}`;
}
