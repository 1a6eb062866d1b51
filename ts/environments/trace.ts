/**
 * The record of one rollout: a tree of messages in which every token has one owner.
 *
 * Invariants: the tokens of the nodes on the path from the root to a sampled node, one after the other, are exactly the
 * prompt and completion ids that the policy saw; only completion tokens are sampled (mask 1) and carry
 * log-probabilities and policy versions. A turn continues a leaf when messages and tokens of the leaf's path are the
 * beginning of its prompt, else it starts a branch of its own: nothing is patched. So no sampled token lies on two
 * branches. Knows no text beyond the messages and no tokenizer.
 */
import { PrlError } from "../errors.ts";
import type { Message } from "./message.ts";
import type { PolicyCompletion } from "./policy-client.ts";
import { toTraceColumns, type TraceColumns } from "./trace-columns.ts";

export interface TraceNode {
  /** Index of the node before this one, null at a root. */
  readonly parent: number | null;
  readonly message: Message;
  /** The policy wrote this message. */
  readonly sampled: boolean;
  /** What this message adds to the tokens of its parent's path. */
  readonly tokenIds: Uint32Array;
  /** How many of them come from the prompt (template scaffold, or all); the rest was sampled. */
  readonly promptTokens: number;
  /** Of the sampled tokens. */
  readonly logprobs: Float32Array;
  /** `[index among the sampled tokens, version]`, ascending. */
  readonly policyVersions: readonly (readonly [number, number])[];
}

/** One model call. */
export interface Turn {
  /** The messages that the prompt was made from, at least one. */
  readonly messages: readonly Message[];
  readonly promptIds: Uint32Array;
  readonly completion: PolicyCompletion;
  /** Text of the completion, without special tokens. */
  readonly text: string;
}

/** What rewards and metrics see of a rollout. */
export interface Trace {
  readonly nodes: readonly TraceNode[];
  /** Text of the last message that the policy wrote, "" when there is none. */
  readonly lastReply: string;
  /** Messages of the last branch, from its root. */
  readonly messages: readonly Message[];
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** The last completion ended because it was long enough, not because it was finished. */
  readonly truncated: boolean;
}

export class TraceGraph implements Trace {
  readonly #nodes: TraceNode[] = [];
  #truncated = false;
  #promptTokens = 0;
  #completionTokens = 0;

  get nodes(): readonly TraceNode[] {
    return this.#nodes;
  }

  get lastReply(): string {
    return this.#nodes.findLast((node) => node.sampled)?.message.content ?? "";
  }

  get messages(): readonly Message[] {
    return this.#path(this.#nodes.length - 1).map((node) => node.message);
  }

  /** Prompt tokens that the policy was sent, over all turns. */
  get promptTokens(): number {
    return this.#promptTokens;
  }

  get completionTokens(): number {
    return this.#completionTokens;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  /** Adds a turn: nodes for the messages that are new, then the sampled one, whose index it returns. */
  commitTurn(turn: Turn): number {
    const { messages, promptIds, completion, text } = turn;
    checkCompletion(completion);
    const anchor = this.#anchor(messages, promptIds);
    const fresh = messages.slice(anchor.messages);
    const own = promptIds.subarray(anchor.tokens);
    let parent = anchor.node;
    fresh.forEach((message, index) => {
      const tokenIds = index === fresh.length - 1 ? own : own.subarray(0, 0);
      parent = this.#append({ ...UNSAMPLED, parent, message, tokenIds, promptTokens: tokenIds.length });
    });
    const scaffold = fresh.length === 0 ? own : own.subarray(0, 0);
    this.#truncated = completion.finishReason === "length";
    this.#promptTokens += promptIds.length;
    this.#completionTokens += completion.tokenIds.length;
    return this.#append({
      parent,
      message: { role: "assistant", content: text },
      sampled: true,
      tokenIds: concatenate(scaffold, completion.tokenIds),
      promptTokens: scaffold.length,
      logprobs: completion.logprobs,
      policyVersions: completion.policyVersions,
    });
  }

  /** Paths from a root to each leaf, in the order of the leaves: each is one training sample. */
  branches(): TraceNode[][] {
    return this.#leaves().map((leaf) => this.#path(leaf));
  }

  /** The token columns of all branches, one after the other. */
  columns(): TraceColumns {
    return toTraceColumns(this.branches());
  }

  /** The leaf with the longest path that the prompt continues. */
  #anchor(
    messages: readonly Message[],
    promptIds: Uint32Array,
  ): { node: number | null; messages: number; tokens: number } {
    let best: { node: number | null; messages: number; tokens: number } = { node: null, messages: 0, tokens: 0 };
    for (const leaf of this.#leaves()) {
      const path = this.#path(leaf);
      if (!path.every((node, index) => sameMessage(node.message, messages[index]))) continue;
      const tokens = path.reduce(
        (offset, node) => (offset < 0 ? offset : matchAt(promptIds, offset, node.tokenIds)),
        0,
      );
      if (tokens > best.tokens) best = { node: leaf, messages: path.length, tokens };
    }
    return best;
  }

  #leaves(): number[] {
    const parents = new Set(this.#nodes.map((node) => node.parent));
    return this.#nodes.flatMap((_, index) => (parents.has(index) ? [] : [index]));
  }

  #path(index: number): TraceNode[] {
    const path: TraceNode[] = [];
    for (
      let node = this.#nodes[index];
      node !== undefined;
      node = node.parent === null ? undefined : this.#nodes[node.parent]
    ) {
      path.push(node);
    }
    return path.reverse();
  }

  #append(node: TraceNode): number {
    this.#nodes.push(node);
    return this.#nodes.length - 1;
  }
}

const UNSAMPLED = { sampled: false, logprobs: new Float32Array(0), policyVersions: [] } as const;

function checkCompletion({ tokenIds, logprobs, policyVersions }: PolicyCompletion): void {
  const problem =
    logprobs.length !== tokenIds.length
      ? `${logprobs.length} log-probabilities for ${tokenIds.length} tokens`
      : tokenIds.length > 0 && policyVersions[0]?.[0] !== 0
        ? "no policy version for the first token"
        : policyVersions.some(([first], index) => index > 0 && first <= (policyVersions[index - 1]?.[0] ?? 0))
          ? "its policy versions are not in order"
          : null;
  if (problem !== null) throw new PrlError("PRL_INFERENCE_FAILED", `the engine's completion is malformed: ${problem}`);
}

function sameMessage(message: Message, other: Message | undefined): boolean {
  return message.role === other?.role && message.content === other.content;
}

/** The offset after `part` when it stands in `ids` at `offset`, else -1. */
function matchAt(ids: Uint32Array, offset: number, part: Uint32Array): number {
  return part.every((id, index) => ids[offset + index] === id) ? offset + part.length : -1;
}

function concatenate(first: Uint32Array, second: Uint32Array): Uint32Array {
  const joined = new Uint32Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
