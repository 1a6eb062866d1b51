/**
 * The input that a thread is at work on, in memory that the thread which watches it shares: it is known there also when the reader hangs, or ends its
 * thread.
 */

/** Longest input in bytes. */
export const LONGEST = 256 * 1024;
const HEAD_BYTES = 8;
const SERIAL = 0;
const LENGTH = 1;

export class UnderWay {
  readonly memory: SharedArrayBuffer;
  readonly #head: Int32Array;
  readonly #bytes: Uint8Array;

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(HEAD_BYTES + LONGEST)) {
    this.memory = memory;
    this.#head = new Int32Array(memory, 0, HEAD_BYTES / Int32Array.BYTES_PER_ELEMENT);
    this.#bytes = new Uint8Array(memory, HEAD_BYTES);
  }

  begin(input: Uint8Array): void {
    this.#bytes.set(input);
    Atomics.store(this.#head, LENGTH, input.length);
    Atomics.add(this.#head, SERIAL, 1);
  }

  /** Another number for each input. */
  get serial(): number {
    return Atomics.load(this.#head, SERIAL);
  }

  get input(): Uint8Array {
    return this.#bytes.slice(0, Atomics.load(this.#head, LENGTH));
  }
}
