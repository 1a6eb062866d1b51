/** Server-sent events as they come over the wire: pieces of bytes in, events out. `eventsource-parser` reads the lines. */
import { createParser } from "eventsource-parser";

import { PrlError } from "../errors.ts";

/** Most characters of an event that has not ended yet. */
const LARGEST_EVENT = 64 * 1024 * 1024;

export interface ServerEvent {
  /** "message" where the stream names none. */
  readonly event: string;
  readonly data: string;
}

/** Parses pieces that may be cut anywhere. Text behind the last blank line is not an event. */
export class EventStreamParser {
  readonly #decoder = new TextDecoder();
  readonly #events: ServerEvent[] = [];
  readonly #parser: ReturnType<typeof createParser>;

  constructor(largestEvent: number = LARGEST_EVENT) {
    this.#parser = createParser({
      maxBufferSize: largestEvent,
      onEvent: ({ event = "message", data }) => this.#events.push({ event, data }),
      // Unknown fields are allowed: a client ignores them.
      onError: ({ type }) => {
        if (type !== "max-buffer-size-exceeded") return;
        throw new PrlError("PRL_INFERENCE_FAILED", `an event of the stream has more than ${largestEvent} characters`);
      },
    });
  }

  /** The events that these bytes complete. Errors: PRL_INFERENCE_FAILED for an event that is too large. */
  push(bytes: Uint8Array): ServerEvent[] {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
    return this.#events.splice(0);
  }
}
