/** heap-layout: the array of a heap with several children, described tie rules and a bound. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const heapLayout = variantRow({
  id: "heap-layout",
  asks: "the array of a heap with several children a node, with described ties, keys and a bound",
  name: "heap_after",
  parameters: ["operations"],
  extras: ["largest", "last-child", "equal-rises", "key", "bounded", "replace", "raise"],
  constants: (rng) => ({
    arity: between(rng, 2, 4),
    modulus: between(rng, 7, 23),
    bound: between(rng, 6, 10),
    empty: -between(rng, 50, 90),
  }),
  stories: [
    "A priority queue is kept in an array, and other code reads that array directly, so its layout matters.",
    "To migrate a running service, the array of its heap must be reproduced cell by cell.",
    "A teacher wants to show what exactly happens in the array behind a priority queue.",
    "A debugger prints the cells of a heap; a program shall predict them.",
  ],
  rules: `
The heap is an array. The children of the cell i, counted from 0, are the cells {{arity}} * i + 1 to {{arity}} * i + {{arity}}, as far as they exist.
The key of a value is the value. #!key
The key of a value is the remainder of the value divided by {{modulus}}. #?key
A value precedes another one if its key is smaller. #!largest
A value precedes another one if its key is larger. #?largest
To rise: while the value is not in cell 0 and precedes the value of its parent, the two change places. #!equal-rises
To rise: while the value is not in cell 0 and precedes the value of its parent or has the same key, the two change places. #?equal-rises
To sink: find the first child whose value no other child precedes; if it precedes the value, the two change places; go on until it does not. #!last-child
To sink: find the last child whose value no other child precedes; if it precedes the value, the two change places; go on until it does not. #?last-child
["push", v] puts v behind the last cell and lets it rise. #!bounded
["push", v] puts v behind the last cell and lets it rise; but if there are {{bound}} values already, nothing happens. #?bounded
["pop"] adds the value of cell 0 to the taken values, moves the value of the last cell to cell 0 and lets it sink. For an empty heap {{empty}} is added to the taken values.
["swap", v] on a heap that is not empty adds the value of cell 0 to the taken values, puts v into cell 0 and lets it sink; on an empty heap it is ["push", v]. #?replace
["bump", i, d] adds d, which is not negative, to the value of cell i, if there is one; then this value rises and, where it is then, sinks. #?raise
`,
  types: `
The argument is the list of operations. The result is a list of two lists: the taken values in their order, and the array at the end.
`,
  calls(_, rng, on) {
    const kinds = ["push", "push", "push", "pop", ...(on("replace") ? ["swap"] : []), ...(on("raise") ? ["bump"] : [])];
    const one = (): Json => {
      const kind = rng.pick(kinds);
      if (kind === "pop") return [kind];
      return kind === "bump" ? [kind, rng.integer(8), between(rng, 1, 15)] : [kind, between(rng, 1, 40)];
    };
    const some = (length: number): Json[][] => range(7).map(() => [range(length).map(one)]);
    return { short: some(10), medium: some(18), long: some(28), longest: some(45) };
  },
  solve([operations]: readonly [readonly (readonly [string, number, number])[]], values, on) {
    const { arity, modulus, bound, empty } = values;
    const heap: number[] = [];
    const taken: number[] = [];
    const key = (value: number): number => (on("key") ? value % modulus : value) * (on("largest") ? -1 : 1);
    const keyAt = (cell: number): number => key(heap[cell] ?? 0);
    const swap = (a: number, b: number): void => {
      [heap[a], heap[b]] = [at(heap, b), at(heap, a)];
    };
    const rise = (from: number): number => {
      let cell = from;
      while (cell > 0) {
        const parent = Math.floor((cell - 1) / arity);
        if (on("equal-rises") ? keyAt(cell) > keyAt(parent) : keyAt(cell) >= keyAt(parent)) break;
        swap(cell, parent);
        cell = parent;
      }
      return cell;
    };
    const sink = (from: number): void => {
      for (let cell = from; ;) {
        let best = -1;
        for (let child = arity * cell + 1; child <= arity * (cell + 1) && child < heap.length; child++)
          if (best < 0 || (on("last-child") ? keyAt(child) <= keyAt(best) : keyAt(child) < keyAt(best))) best = child;
        if (best < 0 || keyAt(best) >= keyAt(cell)) return;
        swap(cell, best);
        cell = best;
      }
    };
    for (const [kind, value, by] of operations) {
      if (kind === "push" || (kind === "swap" && heap.length === 0)) {
        if (on("bounded") && heap.length >= bound) continue;
        heap.push(value);
        rise(heap.length - 1);
      } else if (kind === "pop") {
        taken.push(heap[0] ?? empty);
        const last = heap.pop();
        if (last === undefined || heap.length === 0) continue;
        heap[0] = last;
        sink(0);
      } else if (kind === "swap") {
        taken.push(at(heap, 0));
        heap[0] = value;
        sink(0);
      } else if (value < heap.length) {
        heap[value] = at(heap, value) + by;
        sink(rise(value));
      }
    }
    return [taken, heap];
  },
  python: `
def heap_after(operations):
    heap, taken = [], []

    def key(cell):
        value = heap[cell]
        value %= {{modulus}} #?key
        return value #!largest
        return -value #?largest

    def swap(a, b):
        heap[a], heap[b] = heap[b], heap[a]

    def rise(cell):
        while cell > 0:
            parent = (cell - 1) // {{arity}}
            if key(cell) >= key(parent): #!equal-rises
            if key(cell) > key(parent): #?equal-rises
                break
            swap(cell, parent)
            cell = parent
        return cell

    def sink(cell):
        while True:
            children = range({{arity}} * cell + 1, min({{arity}} * cell + {{arity}} + 1, len(heap)))
            children = children[::-1] #?last-child
            best = min(children, key=key, default=None)
            if best is None or key(best) >= key(cell):
                return
            swap(cell, best)
            cell = best

    for kind, *rest in operations:
        if kind == "push" or kind == "swap" and not heap:
            if len(heap) >= {{bound}}: #?bounded
                continue #?bounded
            heap.append(rest[0])
            rise(len(heap) - 1)
        elif kind == "pop":
            if not heap:
                taken.append({{empty}})
                continue
            taken.append(heap[0])
            last = heap.pop()
            if heap:
                heap[0] = last
                sink(0)
        elif kind == "swap": #?replace
            taken.append(heap[0]) #?replace
            heap[0] = rest[0] #?replace
            sink(0) #?replace
        elif kind == "bump" and rest[0] < len(heap): #?raise
            heap[rest[0]] += rest[1] #?raise
            sink(rise(rest[0])) #?raise
    return [taken, heap]
`,
});
