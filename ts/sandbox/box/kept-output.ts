/** Head and tail of a stream in bounded memory, as the daemon keeps them for a run. */

export class KeptOutput {
  readonly #half: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #dropped = 0;
  #position = 0;

  /** Keeps `bytes`: half of them from the beginning, half from the end. */
  constructor(bytes: number) {
    this.#half = Math.max(1, Math.floor(bytes / 2));
  }

  /** Adds the data at `offset`; a gap before it is counted as dropped. */
  add(offset: number, data: Buffer): void {
    this.#dropped += Math.max(0, offset - this.#position);
    this.#position = offset + data.length;
    // Data after a gap cannot belong to the head.
    const room = this.#dropped > 0 ? 0 : this.#half - this.#headBytes;
    const head = data.subarray(0, room);
    if (head.length > 0) {
      this.#head.push(head);
      this.#headBytes += head.length;
    }
    const rest = data.subarray(head.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    this.#trim();
  }

  #trim(): void {
    while (this.#tailBytes > this.#half) {
      const [first] = this.#tail;
      if (first === undefined) return;
      const excess = this.#tailBytes - this.#half;
      if (first.length <= excess) this.#tail.shift();
      else this.#tail[0] = first.subarray(excess);
      const removed = Math.min(first.length, excess);
      this.#tailBytes -= removed;
      this.#dropped += removed;
    }
  }

  /** Head and tail joined, the bytes dropped, and where. */
  result(): { data: Buffer; gap: number; gapAt: number } {
    const data = Buffer.concat([...this.#head, ...this.#tail]);
    return { data, gap: this.#dropped, gapAt: this.#dropped > 0 ? this.#headBytes : data.length };
  }
}
