/** How a rollout reaches a policy of which only the messages are known: any chat endpoint. Knows no transport. */
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
  /** Hears the reply's text as it comes, where the client streams. */
  readonly onText?: (text: string) => void;
}

export interface Reply {
  readonly message: Message;
  /** Every attempt to call a tool, also those that could not be read. */
  readonly toolCalls: readonly ParsedToolCall[];
  readonly finishReason: "stop" | "length";
  /** As the endpoint counts; null when it does not say. */
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number } | null;
}

export interface ReplyClient {
  /** One reply. Rejects with the PRL_INFERENCE_ code of what went wrong, or with the signal's reason. */
  reply(request: ReplyRequest): Promise<Reply>;
}
