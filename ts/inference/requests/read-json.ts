/** Reads the JSON of a request's body with a limit of its depth, because checks, templates and error messages recurse. */
import { messageOf, PrlError } from "../../errors.ts";

/** Tools' schemas, the deepest that clients send, have a few tens of levels. */
export const MAX_DEPTH = 100;

/** Errors: PRL_INFERENCE_REQUEST for a text that is not JSON, or is nested too deeply. */
export function readJson(text: string): unknown {
  const value = parse(text);
  if (isDeeperThan(MAX_DEPTH, value)) {
    throw new PrlError("PRL_INFERENCE_REQUEST", `body: lists and objects are nested deeper than ${MAX_DEPTH} levels`);
  }
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const reason = messageOf(cause);
    throw new PrlError("PRL_INFERENCE_REQUEST", `body: not valid JSON: ${reason}`);
  }
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  const inside: unknown[] = Array.isArray(value) ? value : Object.values(value);
  return inside.some((inner) => isDeeperThan(levels - 1, inner));
}
