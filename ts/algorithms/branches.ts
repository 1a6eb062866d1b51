/** The branches of a recorded trace, in the order in which its columns have them. */
import type { EpisodeTrace } from "../environments/index.ts";

type Node = EpisodeTrace["nodes"][number];

/** Paths from a root to each leaf, in the order in which the columns have them. */
export function branchesOf(nodes: readonly Node[]): Node[][] {
  const inner = new Set(nodes.map(({ parent }) => parent));
  const leaves = nodes.filter((_, index) => !inner.has(index));
  const pathTo = (leaf: Node): Node[] => {
    const path: Node[] = [];
    for (
      let node: Node | undefined = leaf;
      node !== undefined;
      node = node.parent === null ? undefined : nodes[node.parent]
    ) {
      path.push(node);
    }
    return path.toReversed();
  };
  // A branch that an endpoint sampled has no tokens and no place in the columns.
  return leaves.map(pathTo).filter((branch) => branch.some(({ tokens = 0 }) => tokens > 0));
}
