/** Checks of the fields of a request, one for each type: a wrong value is refused by the name of its field. */
import { exactJson } from "../../../exact-json.ts";
import { badRequest } from "../../errors.ts";

export type Fields = Record<string, unknown>;

/** Null counts as absent, as in vLLM. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

export function object(value: unknown, field: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw badRequest(field, `must be a JSON object, got ${shown(value)}`);
}

export function integer(value: unknown, field: string, fallback: number, least: number): number {
  if (isAbsent(value)) return fallback;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
  const range = least === -Number.MAX_SAFE_INTEGER ? "" : ` of at least ${least}`;
  throw badRequest(field, `must be an integer${range} and at most 2^53 - 1, got ${shown(value)}`);
}

export function number(
  value: unknown,
  field: string,
  fallback: number,
  { least, most }: { least: number; most: number },
): number {
  if (isAbsent(value)) return fallback;
  if (typeof value === "number" && value >= least && value <= most) return value;
  const range = most === Number.MAX_VALUE ? `of at least ${least}` : `from ${least} to ${most}`;
  throw badRequest(field, `must be a number ${range}, got ${shown(value)}`);
}

export function flag(value: unknown, field: string): boolean {
  if (isAbsent(value)) return false;
  if (typeof value === "boolean") return value;
  throw badRequest(field, `must be true or false, got ${shown(value)}`);
}

export function text(value: unknown, field: string): string | null {
  if (isAbsent(value)) return null;
  if (typeof value === "string") return value;
  throw badRequest(field, `must be a string, got ${shown(value)}`);
}

export function isTokenId(value: unknown, vocabSize: number): value is number {
  return typeof value === "number" && value >>> 0 === value && value < vocabSize;
}

const SHOWN_CHARACTERS = 60;

export function shown(value: unknown): string {
  const json = value === undefined ? "nothing" : exactJson(value);
  return json.length <= SHOWN_CHARACTERS ? json : `${json.slice(0, SHOWN_CHARACTERS)}...`;
}
