/** The policy's own replies in a history that an agent sends back. */
import { type Message, sameMessage } from "../../message.ts";
import type { TraceNode } from "../episode/trace.ts";

/**
 * The messages with the thinking that the agent left out: most agents send back the text of a reply and drop its thinking, so the
 * history would no longer be the one that the policy has seen. Only replies of this trace are completed, and only where everything
 * before them is the same too.
 */
export function withOwnThinking(messages: readonly Message[], nodes: readonly TraceNode[]): readonly Message[] {
  const children = new Map<number | null, number[]>();
  nodes.forEach(({ parent }, index) => {
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [index]);
    else siblings.push(index);
  });
  const completed = [...messages];
  let here: (number | null)[] = [null];
  for (const [index, message] of messages.entries()) {
    const next = here.flatMap((parent) => children.get(parent) ?? []).filter((child) => says(nodes[child], message));
    // The newest of several replies is taken: an agent continues from the reply that it got last.
    const own = nodes[Math.max(...next)];
    if (own === undefined) break;
    completed[index] = own.message;
    here = next.filter((child) => sameMessage(nodes[child]?.message ?? message, own.message));
  }
  return completed;
}

function says(node: TraceNode | undefined, message: Message): boolean {
  if (node === undefined) return false;
  const { reasoning_content: thinking, ...said } = node.message;
  const isDropped = node.sampled && thinking !== undefined && message.reasoning_content === undefined;
  return sameMessage(isDropped ? said : node.message, message);
}
