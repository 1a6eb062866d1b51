/** How a rollout reaches a policy that gives only messages: any chat endpoint. This file knows no transport. */
import type { ParsedToolCall } from "../../renderers/index.ts";
import type { SampleOptions } from "../model/environment.ts";
import type { Message, Prompt } from "../../message.ts";
import type { Sampling } from "./policy-client.ts";

export interface ReplyRequest extends SampleOptions {
  readonly prompt: Prompt;
  readonly sampling: Sampling;
  /** Sent where the endpoint takes one. */
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Called with the reply's text as it comes, where the client streams. */
  readonly onText?: (text: string) => void;
}

export interface Reply {
  readonly message: Message;
  /** Every attempt to call a tool, also malformed ones. */
  readonly toolCalls: readonly ParsedToolCall[];
  readonly finishReason: "stop" | "length";
  /** Token counts of the endpoint; null when it gives none. */
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number } | null;
}

export interface ReplyClient {
  /** One reply. Rejects with the PRL_INFERENCE_ code of what went wrong, or with the signal's reason. */
  reply(request: ReplyRequest): Promise<Reply>;
}
