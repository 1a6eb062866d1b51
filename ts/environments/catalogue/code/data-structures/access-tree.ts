/** access-tree: a search tree that rotates what is accessed, with described duplicates and deletion. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

interface Node {
  readonly key: number;
  readonly left: Node | null;
  readonly right: Node | null;
}

export const accessTree = variantRow({
  id: "access-tree",
  asks: "the shape of a search tree that rotates accessed keys upwards",
  name: "tree_after",
  parameters: ["operations"],
  extras: ["to-root", "rotate-new", "order", "successor", "miss", "mirror"],
  counts: [1, 2, 3, 4, 6],
  constants: (rng) => ({
    middle: between(rng, 10, 30),
    missing: -between(rng, 1, 50),
    stretch: between(rng, 2, 60),
  }),
  stories: [
    "A catalogue is kept in a search tree that moves popular keys upwards.",
    "The shape of a tree of keys is drawn after a series of operations.",
    "Somebody doubts that a tree which adjusts itself is still right; here is how it works.",
    "The log of an index is replayed in order to see its tree.",
  ],
  rules: `
The tree is a binary search tree of different keys, at first empty. Going down, a smaller key is in the left part and a larger one in the right part. #!order
The tree is a binary search tree of different keys, at first empty. Keys are ordered by their distance from {{middle}}, and equally distant ones by the keys themselves. Going down, an earlier key is in the left part and a later one in the right part. #?order
A rotation of a key with its parent makes the parent its child: a left child becomes the root of that part, its parent becomes its right child, and its old right part becomes the left part of the parent; for a right child it is the mirror image.
["get", k] adds the depth at which k is found to the result (the root has depth 0); then k, if it is not the root, is rotated once with its parent. #!to-root
["get", k] adds the depth at which k is found to the result (the root has depth 0); then k is rotated with its parent, again and again, until it is the root. #?to-root
If k is not there, {{missing}} is added and the tree stays as it is. #!miss
If k is not there, {{missing}} is added, and the last key on the way down is treated as if it had been found, but its depth is not added. #?miss
["put", k] adds k as a new leaf, if it is not there; otherwise nothing changes. #!rotate-new
["put", k] adds k as a new leaf, if it is not there; in any case k is then moved as by a get, but nothing is added to the result. #?rotate-new
["cut", k] removes k, if it is there. A key with two parts is replaced by the last key of its left part, which is removed from there; a key with one part by this part. #!successor
["cut", k] removes k, if it is there. A key with two parts is replaced by the first key of its right part, which is removed from there; a key with one part by this part. #?successor
["mark"] adds {{stretch}} times the depth of the deepest key to the result, and 0 for a tree of at most one key.
The shape is written as the list of the keys, each node before its left part, and the left part before the right part. #!mirror
The shape is written as the list of the keys, each node before its right part, and the right part before the left part. #?mirror
`,
  types: `
The argument is the list of operations. The result is a list of two lists: what was added, in order, and the shape of the tree at the end.
`,
  calls(_, rng) {
    const one = (): Json => {
      const kind = rng.pick(["put", "put", "put", "get", "get", "cut", "mark"]);
      return kind === "mark" ? [kind] : [kind, between(rng, 1, 18)];
    };
    const some = (length: number): Json[][] =>
      range(7).map(() => [[...range(5).map((): Json => ["put", between(rng, 1, 25)]), ...range(length).map(one)]]);
    return { short: some(8), medium: some(14), long: some(22), longest: some(40) };
  },
  solve([operations]: readonly [readonly (readonly [string, number])[]], { middle, missing, stretch }, on) {
    const place = (key: number): number => (on("order") ? Math.abs(key - middle) * 1000 + key : key);
    const before = (a: number, b: number): boolean => place(a) < place(b);
    let tree: Node | null = null;
    const out: number[] = [];
    const added = (node: Node | null, key: number): Node => {
      if (node === null) return { key, left: null, right: null };
      if (node.key === key) return node;
      return before(key, node.key)
        ? { ...node, left: added(node.left, key) }
        : { ...node, right: added(node.right, key) };
    };
    const lifted = (node: Node): Node => {
      const { left } = node;
      if (left === null) return node;
      return { ...left, right: { ...node, left: left.right } };
    };
    const liftedRight = (node: Node): Node => {
      const { right } = node;
      if (right === null) return node;
      return { ...right, left: { ...node, right: right.left } };
    };
    /** The tree with the key moved up, by one level or to the root. */
    const moved = (node: Node | null, key: number): Node | null => {
      if (node === null || node.key === key) return node;
      const isLeft = before(key, node.key);
      const child = isLeft ? node.left : node.right;
      if (child === null) return node;
      const isParent = child.key === key;
      const below = isParent ? child : moved(child, key);
      const next = isLeft ? { ...node, left: below } : { ...node, right: below };
      if (!isParent && !on("to-root")) return next;
      return isLeft ? lifted(next) : liftedRight(next);
    };
    const path = (key: number): number[] => {
      const keys: number[] = [];
      for (let node = tree; node !== null; node = before(key, node.key) ? node.left : node.right) {
        keys.push(node.key);
        if (node.key === key) break;
      }
      return keys;
    };
    const keysOf = (node: Node | null): number[] =>
      node === null ? [] : [...keysOf(node.left), node.key, ...keysOf(node.right)];
    const without = (node: Node | null, key: number): Node | null => {
      if (node === null) return null;
      if (node.key !== key)
        return before(key, node.key)
          ? { ...node, left: without(node.left, key) }
          : { ...node, right: without(node.right, key) };
      if (node.left === null || node.right === null) return node.left ?? node.right;
      if (on("successor")) {
        const next = keysOf(node.right)[0] ?? 0;
        return { key: next, left: node.left, right: without(node.right, next) };
      }
      const last = keysOf(node.left).at(-1) ?? 0;
      return { key: last, left: without(node.left, last), right: node.right };
    };
    const depth = (node: Node | null): number =>
      node === null ? 0 : 1 + Math.max(depth(node.left), depth(node.right));
    const written = (node: Node | null): number[] => {
      if (node === null) return [];
      const parts = [written(node.left), written(node.right)];
      return [node.key, ...(on("mirror") ? parts.toReversed() : parts).flat()];
    };
    for (const [kind, key] of operations) {
      if (kind === "mark") out.push(stretch * Math.max(0, depth(tree) - 1));
      if (kind === "put") {
        tree = added(tree, key);
        if (on("rotate-new")) tree = moved(tree, key);
      }
      if (kind === "cut") tree = without(tree, key);
      if (kind !== "get") continue;
      const way = path(key);
      const last = way.at(-1);
      out.push(last === key ? way.length - 1 : missing);
      if (last !== undefined && (last === key || on("miss"))) tree = moved(tree, last);
    }
    return [out, written(tree)];
  },
  python: `
def tree_after(operations):
    root, out = None, []  # a node is a list: key, left part, right part

    def side(k, node):
        return 1 if k < node[0] else 2 #!order
        return 1 if (abs(k - {{middle}}), k) < (abs(node[0] - {{middle}}), node[0]) else 2 #?order

    def way(k):
        nodes, node = [], root
        while node is not None:
            nodes.append(node)
            if node[0] == k:
                break
            node = node[side(k, node)]
        return nodes

    def hang(parent, old, new):
        nonlocal root
        if parent is None:
            root = new
        else:
            parent[1 if parent[1] is old else 2] = new

    def move(nodes):
        node, above = nodes[-1], nodes[:-1]
        while above:
            parent = above.pop()
            here = 1 if parent[1] is node else 2
            hang(above[-1] if above else None, parent, node)
            parent[here] = node[3 - here]
            node[3 - here] = parent
            break #!to-root

    def cut(k):
        nodes = way(k)
        node, parent = nodes[-1], nodes[-2] if len(nodes) > 1 else None
        if node[1] is None or node[2] is None:
            hang(parent, node, node[1] or node[2])
            return
        other = node[1] #!successor
        while other[2] is not None: #!successor
            other = other[2] #!successor
        other = node[2] #?successor
        while other[1] is not None: #?successor
            other = other[1] #?successor
        cut(other[0])
        node[0] = other[0]

    def height(node):
        return 0 if node is None else 1 + max(height(node[1]), height(node[2]))

    def shape(node):
        if node is None:
            return []
        return [node[0]] + shape(node[1]) + shape(node[2]) #!mirror
        return [node[0]] + shape(node[2]) + shape(node[1]) #?mirror

    for kind, *rest in operations:
        if kind == "mark":
            out.append({{stretch}} * max(0, height(root) - 1))
            continue
        k = rest[0]
        nodes = way(k)
        found = bool(nodes) and nodes[-1][0] == k
        if kind == "put":
            if not found:
                new = [k, None, None]
                if nodes:
                    nodes[-1][side(k, nodes[-1])] = new
                else:
                    root = new
                nodes.append(new)
            move(nodes) #?rotate-new
        elif kind == "cut":
            if found:
                cut(k)
        else:
            out.append(len(nodes) - 1 if found else {{missing}})
            if found: #!miss
            if nodes: #?miss
                move(nodes)
    return [out, shape(root)]
`,
});
