/**
 * A draw among n weighted items, O(log n) for a draw and for a change: a Fenwick tree over the weights.
 *
 * The sums are rebuilt from the weights after as many changes as there are items, so that rounding never adds up.
 */
export class WeightedDraw {
  readonly #weights: Float64Array;
  readonly #tree: Float64Array;
  #changes = 0;

  constructor(weights: Float64Array) {
    this.#weights = weights.slice();
    this.#tree = new Float64Array(weights.length + 1);
    this.#rebuild();
  }

  weight(item: number): number {
    return this.#weights[item] ?? 0;
  }

  /** `weight` is finite and at least 0. */
  set(item: number, weight: number): void {
    const change = weight - this.weight(item);
    this.#weights[item] = weight;
    if (change === 0) return;
    for (let node = item + 1; node < this.#tree.length; node += node & -node) this.#add(node, change);
    if (++this.#changes >= this.#weights.length) this.#rebuild();
  }

  /** The item at `share` (from 0 to below 1) of the total weight; -1 when all weights are 0. */
  draw(share: number): number {
    const total = this.#total();
    if (total <= 0) return this.#heavyFrom(0);
    let rest = share * total;
    let node = 0;
    for (let step = 2 ** Math.floor(Math.log2(this.#tree.length)); step >= 1; step /= 2) {
      const next = node + step;
      const sum = this.#tree[next];
      if (sum === undefined || sum > rest) continue;
      node = next;
      rest -= sum;
    }
    return this.#heavyFrom(node);
  }

  /** The nearest item with a weight above 0, from `item` on, else before it: by rounding the search may end on an item of weight 0. */
  #heavyFrom(item: number): number {
    for (let index = item; index < this.#weights.length; index++) if (this.weight(index) > 0) return index;
    for (let index = item - 1; index >= 0; index--) if (this.weight(index) > 0) return index;
    return -1;
  }

  #total(): number {
    let sum = 0;
    for (let node = this.#weights.length; node > 0; node -= node & -node) sum += this.#tree[node] ?? 0;
    return sum;
  }

  #add(node: number, change: number): void {
    this.#tree[node] = (this.#tree[node] ?? 0) + change;
  }

  #rebuild(): void {
    this.#changes = 0;
    this.#tree.fill(0);
    for (let node = 1; node < this.#tree.length; node++) {
      this.#add(node, this.#weights[node - 1] ?? 0);
      const parent = node + (node & -node);
      if (parent < this.#tree.length) this.#add(parent, this.#tree[node] ?? 0);
    }
  }
}
