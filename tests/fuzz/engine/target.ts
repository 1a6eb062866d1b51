/** A reader of foreign bytes under fuzz, as the tables in `tests/fuzz/targets` describe it, and the rules that its answers keep. */
import { PrlError } from "../../../ts/errors.ts";

export interface Target {
  /** The folder of its corpus. */
  readonly name: string;
  /** Inputs beside those of the corpus, which mutations start from; most are valid. */
  readonly starts: readonly (string | Uint8Array)[];
  /** Texts that mean something in the format. */
  readonly words: readonly string[];
  /** Reads an input. It may throw errors with a code of ours, and nothing else. */
  readonly read: (input: Uint8Array) => unknown;
  /** Longest input in bytes. Default 64 KiB. */
  readonly mostBytes?: number;
  /** How many mutated inputs the short form tries. Default 200. */
  readonly inputs?: number;
}

/** An input as the readers of files and bodies get it. */
export function textOf(input: Uint8Array): string {
  return Buffer.from(input.buffer, input.byteOffset, input.byteLength).toString("utf8");
}

/** Runs readers of the same input one after the other. The first refusal is thrown when all have run; anything else is thrown at once. */
export async function eachOf(...readers: readonly (() => unknown)[]): Promise<void> {
  let refusal: unknown = null;
  for (const reader of readers) {
    try {
      await reader();
    } catch (error) {
      if (!(error instanceof PrlError)) throw error;
      refusal ??= error;
    }
  }
  if (refusal !== null) throw refusal;
}

/** Fails the input, because the reader's answer breaks a rule: a round trip, a bound, two ways that have to agree. */
export function holds(rule: boolean, broken: string): asserts rule {
  if (!rule) throw new Error(broken);
}
