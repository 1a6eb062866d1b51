/** Turns the errors that cross the border (`[PRL_X] message`, written in `native/src/error.rs`) into `PrlError`. */

import { ERROR_CODES, PrlError, type ErrorCode } from "../errors.ts";

const PATTERN = /^\[(PRL_[A-Z0-9_]+)\] ([\s\S]*)$/;

/** The `PrlError` that a native error stands for; anything else is returned as it is. */
export function fromNative(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const match = PATTERN.exec(error.message);
  if (match?.[1] !== undefined && match[1] in ERROR_CODES) {
    return new PrlError(match[1] as ErrorCode, match[2] ?? "", { cause: error.cause });
  }
  return error;
}

/** Runs a synchronous native call. */
export function native<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw fromNative(error);
  }
}

/** Awaits a native promise; the error gets a JavaScript stack. */
export async function nativeAsync<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw fromNative(error);
  }
}
