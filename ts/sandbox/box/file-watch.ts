/** Changes of a directory in a box, as they come. */

import { nativeAsync, type NativeBoxWatch } from "../../native/index.ts";
import type { FileChange } from "./box-types.ts";

export class FileWatch implements AsyncIterable<FileChange> {
  readonly #watch: NativeBoxWatch;

  /** @internal */
  constructor(watch: NativeBoxWatch) {
    this.#watch = watch;
  }

  /** Each change once; ends when what is watched is gone or the watch is closed. A lost connection rejects. */
  async *[Symbol.asyncIterator](): AsyncGenerator<FileChange, void, void> {
    try {
      for (;;) {
        const event = await nativeAsync(() => this.#watch.next());
        if (event === null || event === undefined) return;
        yield { kind: event.kind as FileChange["kind"], path: event.path };
      }
    } finally {
      this.close();
    }
  }

  close(): void {
    this.#watch.close();
  }
}
