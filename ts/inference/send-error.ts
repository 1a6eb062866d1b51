/** Answers a request with an error, and says to clients that try again by themselves whether and when that helps. */
import type { FastifyReply } from "fastify";

import { toWire, type WireError } from "./errors.ts";

const TOO_MANY_REQUESTS = 429;
const NOT_IMPLEMENTED = 501;
/** A sample takes seconds, so a place may be free by then. */
const RETRY_AFTER_SECONDS = 1;

/** `bodyOf` writes the error in another API's form. */
export function sendError(
  reply: FastifyReply,
  error: unknown,
  bodyOf: (error: WireError) => unknown = ({ body }) => body,
): FastifyReply {
  const wire = toWire(error);
  if (wire.status === TOO_MANY_REQUESTS) reply.header("retry-after", RETRY_AFTER_SECONDS);
  // OpenAI's and Anthropic's packages read it; they would try all 5xx again.
  if (wire.status === NOT_IMPLEMENTED) reply.header("x-should-retry", "false");
  return reply.code(wire.status).send(bodyOf(wire));
}
