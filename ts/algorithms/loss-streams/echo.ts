/**
 * ECHO: the policy gradient on what the policy said (advantages as `grpo`), and beside it cross-entropy on the answers that it got:
 * L = L_rl + sum_t alpha_role(t) * -log p(x_t) / N_ce, over the tokens of messages that came after the first reply.
 *
 * Source: prime-rl's `echo` (the outputs of tools, alpha 0.1). A message that several branches share is learnt in the first of them.
 *
 * Departure: all tokens that a message adds are learnt, including the template's tokens around its text; prime-rl learns the text alone.
 */
import type { EpisodeTrace } from "../../environments/index.ts";
import type { TraceColumns } from "../../native/index.ts";
import { branchesOf } from "../branches.ts";

/** Weight of the cross-entropy by role. */
export type EchoRoles = Readonly<Partial<Record<string, number>>>;

const DEFAULT_ROLES: EchoRoles = { tool: 0.1 };

type Node = EpisodeTrace["nodes"][number];

/** Weights of the cross-entropy over a trace's tokens; null when no message counts. */
export function echoWeights(nodes: readonly Node[], columns: TraceColumns, roles: EchoRoles): Float32Array | null {
  const alphas = Object.keys(roles).length === 0 ? DEFAULT_ROLES : roles;
  const weights = new Float32Array(columns.tokenIds.length);
  const learnt = new Set<Node>();
  let cursor = 0;
  for (const branch of branchesOf(nodes)) {
    let hasReplied = false;
    for (const node of branch) {
      const end = cursor + (node.tokens ?? 0);
      const alpha = node.sampled ? 0 : (alphas[node.message.role] ?? 0);
      if (hasReplied && alpha > 0 && !learnt.has(node)) {
        learnt.add(node);
        weights.fill(alpha, cursor, end);
      }
      hasReplied ||= node.sampled;
      cursor = end;
    }
  }
  return learnt.size === 0 ? null : weights;
}
