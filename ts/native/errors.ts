/** Turns the errors that cross the border (`[PRL_X] message`, written in `native/src/error.rs`) into `PrlError`. */

import { ERROR_CODES, PrlError, type ErrorCode } from "../errors.ts";

const PATTERN = /^\[(PRL_[A-Z0-9_]+)\] ([\s\S]*)$/;
/** napi's codes for an argument of the wrong type: `InvalidArg`, `StringExpected`, ... */
const ARGUMENT = /^InvalidArg$|Expected$/;

/**
 * The `PrlError` of a native error. Two kinds come from napi itself and have no code of ours: an argument of the wrong type
 * (PRL_ENGINE_INPUT) and a panic that it caught (PRL_NATIVE_PANIC). Other errors are returned unchanged.
 */
export function fromNative(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof PrlError) return error;
  const match = PATTERN.exec(error.message);
  if (match?.[1] !== undefined && match[1] in ERROR_CODES) {
    return new PrlError(match[1] as ErrorCode, match[2] ?? "", { cause: error.cause });
  }
  const status = "code" in error ? String(error.code) : "";
  if (ARGUMENT.test(status)) return new PrlError("PRL_ENGINE_INPUT", error.message, { cause: error });
  if (status === "GenericFailure") {
    return new PrlError("PRL_NATIVE_PANIC", `the native code panicked: ${error.message}`, { cause: error });
  }
  return error;
}

/** The `PrlError` that native code gave as a text in a value. */
export function carriedError(text: string): PrlError {
  const error = fromNative(new Error(text));
  if (error instanceof PrlError) return error;
  return new PrlError("PRL_NATIVE_PANIC", `the native code gave an error without a code: ${text}`);
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
