/** Writes frames to the launcher, one after the other. When they can no longer be written the launcher is gone; further frames are dropped. */
import type { Writable } from "node:stream";

import { type Frame } from "../host-protocol.ts";

export class FrameWriter {
  readonly #output: Writable;
  readonly #lost = new AbortController();

  constructor(output: Writable) {
    this.#output = output;
    const lose = (): void => this.#lost.abort();
    output.on("error", lose);
    output.on("close", lose);
  }

  /** Aborted when the launcher no longer reads. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Resolves when the launcher's side has room for more. */
  async write(frame: Frame): Promise<void> {
    if (this.#lost.signal.aborted) return;
    if (this.#output.write(`${JSON.stringify(frame)}\n`)) return;
    // Both listeners go with the wait: a run over a slow connection has very many.
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#output.off("drain", done);
        this.lost.removeEventListener("abort", done);
        resolve();
      };
      this.#output.once("drain", done);
      this.lost.addEventListener("abort", done, { once: true });
    });
  }
}
