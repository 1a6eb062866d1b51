/** Bodies and queries of requests that come seldom, read by a schema. Requests to sample are read by `requests/request.ts`, field by field. */
import { z } from "zod";

import { badRequest } from "./errors.ts";

/** A part of a request as a value of its schema. Errors: PRL_INFERENCE_REQUEST naming every wrong field. */
export function readAs<Schema extends z.ZodType>(
  part: "body" | "query" | "response_format",
  schema: Schema,
  value: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw badRequest(part, z.prettifyError(parsed.error).replace(/\s+/gu, " "));
}
