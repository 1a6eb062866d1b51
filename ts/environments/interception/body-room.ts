/**
 * How many bytes of bodies the open requests of a server hold together, and those of one owner: a request waits until its body has room.
 *
 * The whole body is counted before its first byte is read, so that no two requests can wait for each other with a part of theirs. A request whose
 * owner has room goes before earlier ones whose owners have none.
 */
export interface Room {
  /** The body has only so many bytes. */
  shrink(bytes: number): void;
  leave(): void;
}

interface Waiting {
  readonly owner: object;
  readonly bytes: number;
  readonly enter: () => void;
}

export class BodyRoom {
  readonly #most: number;
  readonly #mostOfOne: number;
  #held = 0;
  readonly #heldBy = new Map<object, number>();
  readonly #waiting = new Set<Waiting>();

  /** `mostOfOne` is at least the largest body. */
  constructor(most: number, mostOfOne: number) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  /** Rejects with the signal's reason when it is aborted before there is room. */
  async enter(owner: object, bytes: number, signal: AbortSignal): Promise<Room> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const leaveQueue = (): void => {
        this.#waiting.delete(one);
        reject(signal.reason as Error);
      };
      const one: Waiting = {
        owner,
        bytes,
        enter: () => {
          signal.removeEventListener("abort", leaveQueue);
          resolve();
        },
      };
      signal.addEventListener("abort", leaveQueue, { once: true });
      this.#waiting.add(one);
      this.#admit();
    });
    let left = bytes;
    const shrink = (to: number): void => {
      const freed = Math.max(0, left - to);
      left -= freed;
      this.#add(owner, -freed);
      this.#admit();
    };
    return { shrink, leave: () => shrink(0) };
  }

  #admit(): void {
    for (const one of this.#waiting) {
      if ((this.#heldBy.get(one.owner) ?? 0) + one.bytes > this.#mostOfOne) continue;
      // A large body is not overtaken for ever by small ones.
      if (this.#held + one.bytes > this.#most) return;
      this.#waiting.delete(one);
      this.#add(one.owner, one.bytes);
      one.enter();
    }
  }

  #add(owner: object, bytes: number): void {
    this.#held += bytes;
    const held = (this.#heldBy.get(owner) ?? 0) + bytes;
    if (held === 0) this.#heldBy.delete(owner);
    else this.#heldBy.set(owner, held);
  }
}
