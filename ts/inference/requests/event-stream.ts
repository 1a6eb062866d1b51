/** An answer as server-sent events: back-pressure, an error as the last event, `[DONE]`. */
import { once } from "node:events";

import type { FastifyReply } from "fastify";

import { toWire } from "../errors.ts";

const HEADERS = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" };

export interface EventStream {
  /** Waits while the client reads slower than is written. */
  write(json: string): Promise<void>;
  /** Runs `body`, sends its exception as an event, and ends the stream. */
  end(body: () => Promise<void>): Promise<void>;
}

/** Takes the answer over from fastify; errors before this have their own status. */
export function openEventStream(reply: FastifyReply, signal: AbortSignal): EventStream {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, HEADERS);
  return {
    async write(json) {
      if (!raw.write(`data: ${json}\n\n`)) await once(raw, "drain", { signal });
    },
    async end(body) {
      try {
        await body();
      } catch (error) {
        if (!raw.writableEnded && !raw.destroyed) raw.write(`data: ${JSON.stringify(toWire(error).body)}\n\n`);
      }
      if (!raw.destroyed) raw.end("data: [DONE]\n\n");
    },
  };
}
