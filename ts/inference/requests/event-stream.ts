/** An answer as server-sent events: back-pressure, an error as the last event, `[DONE]`. */
import { once } from "node:events";

import type { FastifyReply } from "fastify";

import { toWire } from "../errors.ts";

const HEADERS = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" };

export interface EventStream {
  /** Waits while the client reads slower than is written. */
  write(json: string): Promise<void>;
  /** The same for the text of whole events. */
  send(text: string): Promise<void>;
  /** Runs `body`, sends its exception as an event, and ends the stream. */
  end(body: () => Promise<void>): Promise<void>;
}

/** How an API ends its streams. */
export interface StreamEnd {
  /** The event of an error. */
  readonly failed: (error: unknown) => string;
  /** The last event. */
  readonly last: string;
}

const OPENAI: StreamEnd = {
  failed: (error) => `data: ${JSON.stringify(toWire(error).body)}\n\n`,
  last: "data: [DONE]\n\n",
};

/** Takes the answer over from fastify; errors before this have their own status. */
export function openEventStream(
  reply: FastifyReply,
  signal: AbortSignal,
  { failed, last }: StreamEnd = OPENAI,
): EventStream {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, HEADERS);
  const send = async (text: string): Promise<void> => {
    if (!raw.write(text)) await once(raw, "drain", { signal });
  };
  return {
    send,
    write: (json) => send(`data: ${json}\n\n`),
    async end(body) {
      try {
        await body();
      } catch (error) {
        if (!raw.writableEnded && !raw.destroyed) raw.write(failed(error));
      }
      if (!raw.destroyed) raw.end(last);
    },
  };
}
