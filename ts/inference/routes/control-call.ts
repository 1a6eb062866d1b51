/** Shared by the calls that control the engine. */
import type { FastifyRequest } from "fastify";
import type { z } from "zod";

import { withDeadline } from "../../async/deadline.ts";
import { PrlError } from "../../errors.ts";
import { badRequest } from "../errors.ts";
import { readAs } from "../read-as.ts";

/** The query of a call that takes its parameters from there. A body would have no effect, so it is refused. */
export function readQuery<Schema extends z.ZodType>(schema: Schema, { body, query }: FastifyRequest): z.output<Schema> {
  if (body !== undefined && body !== null && Object.keys(body).length > 0)
    throw badRequest("body", "must be empty: this call takes its parameters from the query");
  return readAs("query", schema, query);
}

/** `work`, or PRL_INFERENCE_TIMEOUT after `ms`; the engine still finishes the work. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  return withDeadline(work, ms, () => new PrlError("PRL_INFERENCE_TIMEOUT", `${what} was not done within ${ms} ms`));
}
