/**
 * The record of one rollout: a tree of messages in which every token has one owner.
 *
 * Invariants: the tokens of the nodes on the path from the root to a sampled node, one after the other, are exactly the
 * prompt and completion ids that the policy saw; only completion tokens are sampled (mask 1) and carry log-probabilities
 * and policy versions. A turn continues the deepest path whose messages and tokens its prompt begins with and forks where
 * either differs: nothing is patched. A branch is a path from the root to a leaf and one training sample; a sampled node
 * that several branches share trains in the first of them. This file knows no text beyond the messages and no tokenizer.
 */
import { PrlError } from "../../errors.ts";
import { type Message, sameMessage } from "../../message.ts";
import type { RoutedExperts } from "../../native/index.ts";
import { expertsOf, fillLast } from "./turn-experts.ts";
import { toTraceColumns, type TraceColumns } from "./trace-columns.ts";

export interface TraceNode {
  /** Index of the node before this one, null at a root. */
  readonly parent: number | null;
  readonly message: Message;
  /** The policy wrote this message. */
  readonly sampled: boolean;
  /** Tokens that this message adds to its parent's path. */
  readonly tokenIds: Uint32Array;
  /** How many of them come from the prompt (template scaffold, or all); the rest was sampled. */
  readonly promptTokens: number;
  /** Log-probabilities of the sampled tokens. */
  readonly logprobs: Float32Array;
  /** `[index among the sampled tokens, version]`, ascending. */
  readonly policyVersions: readonly (readonly [number, number])[];
  /** The experts of its tokens, where the engine returns them; none are recorded for the last token of a path, which no engine has computed. */
  readonly routedExperts?: RoutedExperts;
}

/** The form of a prompt besides its messages. */
export interface PromptForm {
  /** The prompt is raw text without a template. */
  readonly isText: boolean;
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
  /** The caller began the reply, forced a tool call, or gave stop strings, which the conversation does not show. */
  readonly isShaped?: boolean;
}

/** One model call. */
export interface Turn {
  /** The messages that the prompt was made from, at least one. */
  readonly prompt: readonly Message[];
  readonly promptIds: Uint32Array;
  /** Sampled tokens, the stop token included; empty when the endpoint gives none. */
  readonly completionIds: Uint32Array;
  /** Log-probability of each sampled token, same length. */
  readonly logprobs: Float32Array;
  /** `[first token, version]`, ascending from 0. Default: version 0 throughout. */
  readonly policyVersions?: readonly (readonly [number, number])[];
  /** Experts of prompt and completion, from token `routedExpertsFrom` (default 0) to the last but one. */
  readonly routedExperts?: RoutedExperts;
  readonly routedExpertsFrom?: number;
  /** For each message of the prompt the end of its tokens in `promptIds`; without it new messages own their tokens together. */
  readonly messageSpans?: readonly number[];
  /** The form of the prompt besides its messages. Default: messages for a template, and no tools. */
  readonly asked?: PromptForm;
  /** The completion as a message. */
  readonly response: Message;
  readonly finishReason?: "stop" | "length" | "abort";
  /** The stop token or text that ended it, if one did. */
  readonly stopReason?: number | string | null;
  /** Token counts of an endpoint that gives no ids. */
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number };
}

/** The place where a prompt joins the tree. */
export interface PreparedTurn {
  /** Number of messages at its beginning that are in the tree. */
  readonly matchedMessages: number;
  /** Number of tokens of those messages. */
  readonly pathTokens: number;
  /**
   * Prompt and completion of the turn that the match ends with, to be extended, and the tools that its prompt shows (`toolsText`); null when it
   * does not end with a sampled message.
   */
  readonly bridgeAnchor: {
    readonly promptIds: Uint32Array;
    readonly completionIds: Uint32Array;
    readonly tools: string;
  } | null;
}

/** The place of a turn's reply among the tokens of its trace, and how it ended: `abort` where it was cut. */
export interface TurnSpan {
  /** Index of its first sampled token. */
  readonly first: number;
  /** Index behind its last sampled token. */
  readonly end: number;
  readonly finishReason: "stop" | "length" | "abort";
  readonly stopReason: number | string | null;
}

/** One branch as a training sample. */
export interface TraceSample {
  readonly tokenIds: Uint32Array;
  /** 1 where the policy sampled the token and no earlier branch trains it. */
  readonly mask: Uint8Array;
  readonly logprobs: Float32Array;
}

/** The view of a rollout for rewards and metrics. */
export interface Trace {
  readonly nodes: readonly TraceNode[];
  /** Text of the last message that the policy wrote, "" when there is none. */
  readonly lastReply: string;
  /** Messages of the last branch, from its root. */
  readonly messages: readonly Message[];
  /** Number of model calls. */
  readonly turns: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** The last completion was cut at its token limit before it was finished. */
  readonly truncated: boolean;
  /** Facts from the rollout besides its messages, for example how an agent program ended. */
  readonly info: Readonly<Record<string, unknown>>;
}

export class TraceGraph implements Trace {
  info: Readonly<Record<string, unknown>> = {};
  readonly #nodes: TraceNode[] = [];
  readonly #children = new Map<number | null, number[]>();
  #isSealed = false;
  #asked: PromptForm | "varied" | null = null;
  #truncated = false;
  /** Tools of each sampled node's prompt; equal ones are one text. */
  readonly #tools = new Map<number, string>();
  readonly #toolTexts = new Map<string, string>();
  /** How each turn ended, in their order. */
  readonly #ends: Pick<TurnSpan, "finishReason" | "stopReason">[] = [];
  #turns = 0;
  #promptTokens = 0;
  #completionTokens = 0;

  /** Makes a conversation without tokens for scoring: its assistant messages count as sampled. */
  static ofMessages(messages: readonly Message[]): TraceGraph {
    const graph = new TraceGraph();
    let parent: number | null = null;
    for (const message of messages) {
      parent = graph.#append({ ...UNSAMPLED, parent, message, sampled: message.role === "assistant" });
    }
    graph.#turns = messages.filter(({ role }) => role === "assistant").length;
    return graph;
  }

  get nodes(): readonly TraceNode[] {
    return this.#nodes;
  }

  get lastReply(): string {
    return this.#nodes.findLast((node) => node.sampled)?.message.content ?? "";
  }

  get messages(): readonly Message[] {
    return this.#path(this.#nodes.length - 1).map((node) => node.message);
  }

  get turns(): number {
    return this.#turns;
  }

  /** The form of all prompts; null while there is none. */
  get asked(): PromptForm | "varied" | null {
    return this.#asked;
  }

  /** Prompt tokens that were sent to the policy, over all turns. */
  get promptTokens(): number {
    return this.#promptTokens;
  }

  get completionTokens(): number {
    return this.#completionTokens;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  /** Finds where a prompt would join the tree, by its messages. It changes nothing. */
  prepareTurn(prompt: readonly Message[]): PreparedTurn {
    const match = this.#match(prompt, null);
    const path = match.node === null ? [] : this.#path(match.node);
    const last = path.at(-1);
    const ids = concatenate(path.map((node) => node.tokenIds));
    const sampled = last === undefined ? 0 : last.tokenIds.length - last.promptTokens;
    const split = ids.length - sampled;
    const tools = this.#tools.get(match.node ?? -1) ?? NO_TOOLS;
    const bridgeAnchor =
      last?.sampled === true && sampled > 0
        ? { promptIds: ids.subarray(0, split), completionIds: ids.subarray(split), tools }
        : null;
    return { matchedMessages: match.messages, pathTokens: ids.length, bridgeAnchor };
  }

  /** How many tokens of a prompt need no experts any more, because the trace has them: one less than it has of the prompt. */
  recordedExperts(prompt: readonly Message[], promptIds: Uint32Array): number {
    const { node, tokens } = this.#match(prompt, promptIds);
    const path = node === null ? [] : this.#path(node);
    const isRecorded = path.every(
      ({ routedExperts, tokenIds }) => routedExperts !== undefined || tokenIds.length === 0,
    );
    return isRecorded ? Math.max(0, tokens - 1) : 0;
  }

  /** From now on it stays as it is: turns that are still added are left out. */
  seal(): void {
    this.#isSealed = true;
  }

  /**
   * Adds a turn: nodes for the messages that are new, then the sampled one, whose index it returns; -1 where it is sealed. Errors:
   * PRL_INFERENCE_FAILED when the completion's parts do not fit together.
   */
  commitTurn(turn: Turn): number {
    if (this.#isSealed) return -1;
    const { prompt, promptIds, completionIds, logprobs, response, messageSpans } = turn;
    const policyVersions = turn.policyVersions ?? (completionIds.length > 0 ? [[0, 0] as const] : []);
    checkCompletion(completionIds, logprobs, policyVersions);
    const match = this.#match(prompt, promptIds);
    let parent = match.node;
    let cursor = match.tokens;
    prompt.slice(match.messages).forEach((message, index, fresh) => {
      const isLast = index === fresh.length - 1;
      const messageEnd =
        messageSpans?.[match.messages + index] ?? (messageSpans === undefined && isLast ? promptIds.length : cursor);
      const tokenIds = promptIds.subarray(cursor, Math.max(cursor, messageEnd));
      const experts = expertsOf(turn, cursor, tokenIds.length);
      parent = this.#append({ ...UNSAMPLED, parent, message, tokenIds, promptTokens: tokenIds.length, ...experts });
      cursor += tokenIds.length;
    });
    const scaffold = promptIds.subarray(cursor);
    const experts = expertsOf(turn, cursor, scaffold.length + completionIds.length);
    if (match.node !== null) fillLast(this.#nodes[match.node], turn, match.tokens);
    const asked = turn.asked ?? { isText: false };
    if (asked.isShaped === true) this.#asked = "varied";
    else if (this.#asked === null) this.#asked = asked;
    else if (this.#asked !== "varied" && !sameForm(this.#asked, asked)) this.#asked = "varied";
    this.#truncated = turn.finishReason === "length";
    this.#ends.push({ finishReason: turn.finishReason ?? "stop", stopReason: turn.stopReason ?? null });
    this.#turns += 1;
    this.#promptTokens += turn.usage?.promptTokens ?? promptIds.length;
    this.#completionTokens += turn.usage?.completionTokens ?? completionIds.length;
    const node = this.#append({
      parent,
      message: response,
      sampled: true,
      tokenIds: concatenate([scaffold, completionIds]),
      promptTokens: scaffold.length,
      logprobs,
      policyVersions,
      ...experts,
    });
    this.#tools.set(node, this.#oneText(toolsText(asked.tools)));
    return node;
  }

  /** Paths from a root to each leaf, in the order of the leaves. */
  branches(): TraceNode[][] {
    return this.#leaves().map((leaf) => this.#path(leaf));
  }

  /** The turns of a conversation that never forked, in order; null where it has forked, or its tokens are not known. */
  turnSpans(): TurnSpan[] | null {
    const [path, ...others] = this.branches();
    if (path === undefined || others.length > 0) return null;
    const spans: TurnSpan[] = [];
    let cursor = 0;
    for (const { sampled, tokenIds, promptTokens } of path) {
      const end = cursor + tokenIds.length;
      const how = this.#ends[spans.length];
      if (sampled && how !== undefined) spans.push({ first: cursor + promptTokens, end, ...how });
      cursor = end;
    }
    return spans.length === this.#turns && cursor > 0 ? spans : null;
  }

  /** Each branch that holds sampled tokens, as a sample. */
  samples(): TraceSample[] {
    const { tokenIds, mask, logprobs, branchOffsets } = this.columns();
    return Array.from(branchOffsets.subarray(1), (end, branch) => {
      const start = branchOffsets[branch] ?? 0;
      return {
        tokenIds: tokenIds.slice(start, end),
        mask: mask.slice(start, end),
        logprobs: logprobs.slice(start, end),
      };
    }).filter((sample) => sample.mask.includes(1));
  }

  /** The token columns of all branches, one after the other. */
  columns(): TraceColumns {
    return toTraceColumns(this.branches());
  }

  /**
   * The deepest path whose messages begin `prompt` and, when given, whose tokens begin `promptIds`; of equally deep ones the newest. Every
   * sibling is tried, because an older one may match further.
   */
  #match(prompt: readonly Message[], promptIds: Uint32Array | null): Match {
    const root: Match = { node: null, messages: 0, tokens: 0 };
    let best = root;
    const open = [root];
    for (let here = open.pop(); here !== undefined; here = open.pop()) {
      if (here.messages > best.messages || (here.messages === best.messages && here.tokens > best.tokens)) best = here;
      const message = prompt[here.messages];
      if (message === undefined) continue;
      for (const child of this.#children.get(here.node) ?? []) {
        const node = this.#nodes[child];
        if (node === undefined || !sameMessage(node.message, message)) continue;
        if (promptIds !== null && !standsAt(promptIds, here.tokens, node.tokenIds)) continue;
        open.push({ node: child, messages: here.messages + 1, tokens: here.tokens + node.tokenIds.length });
      }
    }
    return best;
  }

  /** Turns have the same tools again and again, and their text may be long. */
  #oneText(text: string): string {
    const known = this.#toolTexts.get(text) ?? text;
    this.#toolTexts.set(known, known);
    return known;
  }

  #leaves(): number[] {
    return this.#nodes.flatMap((_, index) => (this.#children.has(index) ? [] : [index]));
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
    const index = this.#nodes.length;
    this.#nodes.push(node);
    const siblings = this.#children.get(node.parent);
    if (siblings === undefined) this.#children.set(node.parent, [index]);
    else siblings.push(index);
    return index;
  }
}

function sameForm(a: PromptForm, b: PromptForm): boolean {
  if (a.isText !== b.isText) return false;
  return a.tools === b.tools || toolsText(a.tools) === toolsText(b.tools);
}

/** Tools as a text that is equal for equal tools. */
export function toolsText(tools: PromptForm["tools"] = []): string {
  return JSON.stringify(tools);
}

const NO_TOOLS = toolsText();

interface Match {
  readonly node: number | null;
  readonly messages: number;
  readonly tokens: number;
}

const UNSAMPLED = {
  sampled: false,
  tokenIds: new Uint32Array(0),
  promptTokens: 0,
  logprobs: new Float32Array(0),
  policyVersions: [],
} as const;

/**
 * A turn that fits into `maxSeqLen` tokens: an overlong prompt is cut and its completion dropped (`overlongPrompt`), else the completion is
 * cut to what is left (`truncated`), with its log-probabilities and versions.
 */
export function truncateTurn(
  turn: Turn,
  maxSeqLen: number,
): { turn: Turn; overlongPrompt: boolean; truncated: boolean } {
  const overlongPrompt = turn.promptIds.length > maxSeqLen;
  const left = overlongPrompt ? 0 : maxSeqLen - turn.promptIds.length;
  const truncated = turn.completionIds.length > left;
  if (!truncated && !overlongPrompt) return { turn, overlongPrompt, truncated };
  const cut: Turn = {
    ...turn,
    promptIds: turn.promptIds.slice(0, maxSeqLen),
    completionIds: turn.completionIds.slice(0, left),
    logprobs: turn.logprobs.slice(0, left),
    ...(turn.policyVersions === undefined
      ? {}
      : { policyVersions: turn.policyVersions.filter(([first]) => first < left) }),
    ...(turn.messageSpans === undefined
      ? {}
      : { messageSpans: turn.messageSpans.map((end) => Math.min(end, maxSeqLen)) }),
    finishReason: "length",
  };
  return { turn: cut, overlongPrompt, truncated };
}

function checkCompletion(
  tokenIds: Uint32Array,
  logprobs: Float32Array,
  policyVersions: NonNullable<Turn["policyVersions"]>,
): void {
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

function standsAt(ids: Uint32Array, offset: number, part: Uint32Array): boolean {
  return part.every((id, index) => ids[offset + index] === id);
}

function concatenate(parts: readonly Uint32Array[]): Uint32Array {
  const joined = new Uint32Array(parts.reduce((length, part) => length + part.length, 0));
  let cursor = 0;
  for (const part of parts) {
    joined.set(part, cursor);
    cursor += part.length;
  }
  return joined;
}
