/** The samples of one request: each is a request whose seed is one higher than that of the one before. */
import { badRequest } from "../errors.ts";
import type { ParsedRequest } from "./request.ts";

/** Errors: PRL_INFERENCE_REQUEST when there are not enough seeds. */
export function choicesOf(parsed: ParsedRequest): ParsedRequest[] {
  const { seed } = parsed;
  if (seed === null) return Array.from({ length: parsed.choices }, () => parsed);
  if (seed + parsed.choices - 1 > Number.MAX_SAFE_INTEGER) {
    throw badRequest("seed", "leaves no seeds below 2^53 for the further choices");
  }
  return Array.from({ length: parsed.choices }, (_, choice) => ({ ...parsed, seed: seed + choice }));
}
