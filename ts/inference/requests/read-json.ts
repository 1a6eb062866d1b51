/**
 * Reads the JSON of a request's body. Its depth is limited, because checks, templates and error messages recurse. Whole numbers keep their digits, so that
 * tools, arguments and schemas reach prompts and grammars as they were sent; a field that takes a number refuses those beyond 2^53.
 */
import { messageOf, PrlError } from "../../errors.ts";
import { exactly } from "../../exact-json.ts";

/** Tools' schemas, the deepest that clients send, have a few tens of levels. */
export const MAX_DEPTH = 100;

/** Errors: PRL_INFERENCE_REQUEST for a text that is not JSON, is nested too deeply, or has a number beyond the largest of doubles. */
export function readJson(text: string): unknown {
  const value = parse(text);
  check(value, MAX_DEPTH);
  return exactly(text, value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const reason = messageOf(cause);
    throw new PrlError("PRL_INFERENCE_REQUEST", `body: not valid JSON: ${reason}`);
  }
}

function check(value: unknown, levels: number): void {
  // JavaScript's reader makes infinities of larger ones, which would be null in a prompt.
  if (value === Infinity || value === -Infinity) {
    const problem = `a number is beyond ${Number.MAX_VALUE}, the largest that a double holds`;
    throw new PrlError("PRL_INFERENCE_REQUEST", `body: ${problem}; send it as a text`);
  }
  if (typeof value !== "object" || value === null) return;
  if (levels === 0) {
    throw new PrlError("PRL_INFERENCE_REQUEST", `body: lists and objects are nested deeper than ${MAX_DEPTH} levels`);
  }
  const inside: unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const inner of inside) check(inner, levels - 1);
}
