/** Checks the options of a public function: an unknown key, or a value of the wrong kind, is refused by its name. */
import { z } from "zod";

import { PrlError, type ErrorCode } from "./errors.ts";

/** A schema for each key of `T`: one that is added to the type and not to its shape does not compile. */
export type Shape<T> = { readonly [Key in keyof Required<T>]: z.ZodType };

/** Most problems in one message, and most characters of a quoted name. */
const SHOWN_PROBLEMS = 5;
const SHOWN_CHARACTERS = 60;

/** An object that has only keys of `shape`. */
export function only<T>(shape: Shape<T>) {
  const known = Object.keys(shape).join(", ");
  const error = (issue: { code?: string | undefined }) =>
    issue.code === "unrecognized_keys" ? `is unknown; known are ${known}` : undefined;
  return z.strictObject(shape, { error });
}

/** A number whose range is checked where it is used. */
export const number = z.custom<number>((value) => typeof value === "number", "must be a number");
/** Numbers of a typed array or a list, each of which is checked where it is used. */
export const numbers = z.custom<ArrayLike<number>>(
  (value) => Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView)),
  "must be a list of numbers or a typed array",
);
export const float32 = z.instanceof(Float32Array, { error: "must be a Float32Array" });
export const uint32 = z.instanceof(Uint32Array, { error: "must be a Uint32Array" });
export const uint16 = z.instanceof(Uint16Array, { error: "must be a Uint16Array" });
export const uint8 = z.instanceof(Uint8Array, { error: "must be a Uint8Array" });
/** A function; its parameters cannot be checked. */
export const callback = z.custom<(...args: never[]) => unknown>(
  (value) => typeof value === "function",
  "must be a function",
);
/** An object whose keys are the caller's. */
export const table = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "must be an object",
);
export const abortSignal = z.instanceof(AbortSignal, { error: "must be an AbortSignal" });

/** Errors: `code`, naming `what` and each wrong key. */
export function checkOptions(code: ErrorCode, what: string, schema: z.ZodType, value: unknown): void {
  const parsed = schema.safeParse(value);
  if (parsed.success) return;
  const problems = parsed.error.issues.flatMap((issue) => {
    const place = placeOf(issue.path);
    if (issue.code !== "unrecognized_keys") return [`${place === "" ? "" : `${place}: `}${issue.message}`];
    return issue.keys.map((key) => `${place === "" ? "" : `${place}.`}${shortened(key)} ${issue.message}`);
  });
  const more = problems.length - SHOWN_PROBLEMS;
  const shown = problems.slice(0, SHOWN_PROBLEMS).join("; ");
  throw new PrlError(code, `${what}: ${shown}${more > 0 ? `; and ${more} more` : ""}`);
}

/** `["optim", "betas", 0]` as `optim.betas[0]`. */
function placeOf(path: readonly PropertyKey[]): string {
  return path
    .map((key, index) => (typeof key === "number" ? `[${key}]` : `${index === 0 ? "" : "."}${shortened(String(key))}`))
    .join("");
}

/** A name that a caller chose, as messages quote it. */
export function shortened(name: string): string {
  return name.length <= SHOWN_CHARACTERS ? name : `${name.slice(0, SHOWN_CHARACTERS)}...`;
}

/** Errors: `code`, naming the first number in `value`, at any depth, that JSON cannot represent: it would become null. */
export function checkFinite(code: ErrorCode, what: string, value: unknown): void {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new PrlError(code, `${what} is ${value}: give a finite number`);
  }
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    checkFinite(code, Array.isArray(value) ? `${what}[${key}]` : `${what}.${key}`, inner);
  }
}
