/**
 * A request being answered: it is aborted when its client goes away, when its deadline passes or when the server stops.
 *
 * `race` then releases the handler, even when the engine is paused and does not answer.
 */
import type { ServerResponse } from "node:http";

import type { FastifyReply } from "fastify";

import { untilAborted } from "../../async/deadline.ts";
import { PrlError } from "../../errors.ts";
import type { ServerContext } from "../context.ts";
import { HttpError } from "../errors.ts";

export class ActiveRequest {
  readonly #controller = new AbortController();
  readonly #response: ServerResponse;
  readonly #timer: NodeJS.Timeout;
  #markEnded: () => void = () => undefined;
  /** Resolves when the answer is on its way. */
  readonly ended = new Promise<void>((resolve) => {
    this.#markEnded = resolve;
  });
  readonly #onClose = (): void => {
    if (!this.#response.writableFinished) {
      this.abort(new HttpError(499, "PRL_INFERENCE_FAILED", "the client closed the connection"));
    }
  };

  constructor(response: ServerResponse, deadlineMs: number) {
    this.#response = response;
    this.#timer = setTimeout(() => {
      const message = `the request was not done within ${deadlineMs} ms`;
      this.abort(new PrlError("PRL_INFERENCE_TIMEOUT", message));
    }, deadlineMs);
    response.once("close", this.#onClose);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: PrlError): void {
    this.#controller.abort(reason);
  }

  /** Settles as `work` does, or rejects with the reason as soon as the request is aborted. */
  async race<T>(work: Promise<T>): Promise<T> {
    return untilAborted(work, this.signal);
  }

  /** Called when the answer is on its way, so that nothing is left to abort. */
  end(): void {
    clearTimeout(this.#timer);
    this.#response.removeListener("close", this.#onClose);
    this.#markEnded();
  }
}

/** Runs a handler as an active request of the server. Refuses when the server stops. */
export async function whileActive<Result>(
  context: ServerContext,
  reply: FastifyReply,
  handler: (active: ActiveRequest) => Promise<Result>,
): Promise<Result> {
  if (context.closing) throw new HttpError(503, "PRL_INFERENCE_FAILED", "the server is stopping");
  const active = new ActiveRequest(reply.raw, context.deadlines.generateMs);
  context.active.add(active);
  try {
    return await handler(active);
  } finally {
    active.end();
    context.active.delete(active);
  }
}
