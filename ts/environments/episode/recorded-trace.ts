/** A trace as an episode records it, without its tokens, for scoring it later. */
import type { EpisodeTrace } from "./episode.ts";
import type { Message } from "../../message.ts";
import type { Trace, TraceNode } from "./trace.ts";

export class RecordedTrace implements Trace {
  /** Index of its episode among those of the group. */
  readonly episode: number;
  readonly agent: string;
  /** The reward without the scores that are being computed. */
  readonly reward: number;
  readonly rewards: EpisodeTrace["rewards"];
  readonly metrics: EpisodeTrace["metrics"];
  readonly nodes: readonly TraceNode[];
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly truncated: boolean;
  readonly info: Trace["info"];

  constructor(record: EpisodeTrace, episode: number) {
    this.episode = episode;
    this.agent = record.agent;
    this.reward = record.reward ?? Number.NaN;
    this.rewards = record.rewards;
    this.metrics = record.metrics;
    this.nodes = record.nodes.map(({ message, tokens: _tokens, ...node }) => ({
      ...NO_TOKENS,
      ...node,
      // The message was parsed from JSON, so optional keys are absent, never undefined.
      message: message as Message,
    }));
    this.promptTokens = record.usage.prompt_tokens;
    this.completionTokens = record.usage.completion_tokens;
    this.truncated = record.is_truncated;
    this.info = record.info ?? {};
  }

  get lastReply(): string {
    return this.nodes.findLast((node) => node.sampled)?.message.content ?? "";
  }

  get messages(): readonly Message[] {
    const path: Message[] = [];
    for (
      let node = this.nodes.at(-1);
      node !== undefined;
      node = node.parent === null ? undefined : this.nodes[node.parent]
    ) {
      path.push(node.message);
    }
    return path.reverse();
  }

  get turns(): number {
    return this.nodes.filter((node) => node.sampled).length;
  }
}

const NO_TOKENS = {
  tokenIds: new Uint32Array(0),
  promptTokens: 0,
  logprobs: new Float32Array(0),
  policyVersions: [],
} as const;
