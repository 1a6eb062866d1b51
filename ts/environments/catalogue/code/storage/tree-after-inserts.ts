/** tree-after-inserts: the nodes of a B-tree, level by level, after keys were inserted and leaves and parents were split. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface TreeProblem {
  /** Most keys of a node; even, so that a full node with one key more has a middle. */
  most: number;
  /** Whether the keys all stay in leaves, and inner nodes hold copies. */
  keepsInLeaves: boolean;
  keys: number[];
}
interface Node {
  keys: number[];
  children: Node[];
}

/** By level: keys, and possible sizes of nodes. */
const SIZES = [
  [5, [2]],
  [8, [2]],
  [12, [2, 4]],
  [18, [2, 4]],
  [26, [2, 4]],
] as const;

export const treeAfterInserts = itemRow<TreeProblem>({
  id: "tree-after-inserts",
  asks: "the nodes of a B-tree or B+ tree, level by level, after a series of inserts",
  form: "lines",
  make,
  prompts: [
    (one) =>
      `${rules(one)}\n\nInsert ${one.keys.join(", ")} into an empty tree. Write the levels from the root down, one a line; keys in a node are separated by spaces, nodes of a level by " | ".`,
    (one) =>
      `An index gets the keys ${one.keys.join(", ")} in this order. ${rules(one)} What does it look like in the end? One line per level (root first); put " | " between nodes and a space between keys.`,
    (one) =>
      `Draw the tree after these inserts: ${one.keys.join(", ")}.\n\n${rules(one)}\n\nAnswer with a line for every level, from the top; within a line all nodes from left to right, as in "4 9 | 15".`,
    (one) =>
      `${rules(one)} Start empty and take the keys one by one:\n${one.keys.join(" ")}\n\nGive the final nodes by level. Format: a level is a line, the root is the first line, nodes are divided by " | " and keys by blanks.`,
  ],
});

function rules({ most, keepsInLeaves }: TreeProblem): string {
  const split = keepsInLeaves
    ? `a leaf that gets ${most + 1} keys is split: its first ${most / 2} keys stay, the others form a new right leaf, and a copy of the first of them goes up to the parent. An inner node that gets ${most + 1} keys is split around its middle key, which moves up`
    : `a node that gets ${most + 1} keys is split around its middle key, which moves up to the parent`;
  return `A node of the ${keepsInLeaves ? "B+ tree" : "B-tree"} has at most ${most} keys; ${split}. A key is inserted into a leaf${keepsInLeaves ? "; keys equal to a key of an inner node are right of it" : ""}. A split root gets a new root above it.`;
}

function make(rng: Rng, level: Level) {
  const [count, sizes] = at(SIZES, level - 1);
  const keys: number[] = [];
  const isRising = rng.integer(3) === 0;
  while (keys.length < count) {
    const key = isRising ? (keys.at(-1) ?? 0) + between(rng, -6, 12) : between(rng, 1, 99);
    if (!keys.includes(key) && key > 0) keys.push(key);
  }
  const problem: TreeProblem = { most: rng.pick(sizes), keepsInLeaves: rng.integer(2) === 0, keys };
  const { items, splits } = build(problem);
  const sorted = keys.toSorted((a, b) => a - b);
  const misses = [
    build({ ...problem, keepsInLeaves: !problem.keepsInLeaves }).items,
    build({ ...problem, keys: sorted }).items,
    [sorted.join(" ")],
  ];
  if (splits < Math.min(level, 3) || misses[1]?.join() === items.join()) return null;
  return { problem, items, misses, effort: count * 2 + splits };
}

function build({ most, keepsInLeaves, keys }: TreeProblem): { items: string[]; splits: number } {
  let root: Node = { keys: [], children: [] };
  let splits = 0;
  /** The new right neighbour and the key between, where the node was split. */
  const insert = (node: Node, key: number): { key: number; right: Node } | null => {
    if (node.children.length === 0) node.keys = [...node.keys, key].toSorted((a, b) => a - b);
    else {
      const place = node.keys.filter((one) => one <= key).length;
      const split = insert(at(node.children, place), key);
      if (split === null) return null;
      node.keys.splice(place, 0, split.key);
      node.children.splice(place + 1, 0, split.right);
    }
    if (node.keys.length <= most) return null;
    splits += 1;
    const half = most / 2;
    const middle = at(node.keys, half);
    const isLeaf = node.children.length === 0;
    const right = {
      keys: node.keys.slice(isLeaf && keepsInLeaves ? half : half + 1),
      children: node.children.slice(half + 1),
    };
    node.keys = node.keys.slice(0, half);
    node.children = node.children.slice(0, half + 1);
    return { key: middle, right };
  };
  for (const key of keys) {
    const split = insert(root, key);
    if (split !== null) root = { keys: [split.key], children: [root, split.right] };
  }
  const items: string[] = [];
  for (let row = [root]; row.length > 0; row = row.flatMap(({ children }) => children))
    items.push(row.map((node) => node.keys.join(" ")).join(" | "));
  return { items, splits };
}
