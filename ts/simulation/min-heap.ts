/** A binary heap: the item with the least key first, of equal keys the one that was added first. */

interface Entry<Item> {
  readonly key: number;
  readonly order: number;
  readonly item: Item;
}

export class MinHeap<Item> {
  readonly #entries: Entry<Item>[] = [];
  #added = 0;

  get size(): number {
    return this.#entries.length;
  }

  /** Undefined when it is empty. */
  get leastKey(): number | undefined {
    return this.#entries[0]?.key;
  }

  /** The first item, which stays. */
  get least(): Item | undefined {
    return this.#entries[0]?.item;
  }

  push(key: number, item: Item): void {
    const entries = this.#entries;
    const entry = { key, order: this.#added++, item };
    let at = entries.length;
    entries.push(entry);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = entries[above];
      if (parent === undefined || !isBefore(entry, parent)) break;
      entries[at] = parent;
      at = above;
    }
    entries[at] = entry;
  }

  /** Removes and returns the first item; undefined when it is empty. */
  pop(): Item | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (first === undefined || last === undefined || first === last) return first?.item;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      const [left, right] = [entries[below], entries[below + 1]];
      if (left === undefined) break;
      if (right !== undefined && isBefore(right, left)) below += 1;
      const child = entries[below];
      if (child === undefined || !isBefore(child, last)) break;
      entries[at] = child;
      at = below;
    }
    entries[at] = last;
    return first.item;
  }
}

function isBefore<Item>(a: Entry<Item>, b: Entry<Item>): boolean {
  return a.key === b.key ? a.order < b.order : a.key < b.key;
}
