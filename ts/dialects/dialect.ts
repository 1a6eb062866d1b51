/**
 * The interface of API dialects: a request, a reply, a problem, and the dialect that reads and writes them.
 *
 * A dialect is pure: bodies in, bodies out. It knows no connection, no rollout and no model.
 */
import { type ErrorCode, PrlError } from "../errors.ts";
import { exactJson } from "../exact-json.ts";
import type { Message, TextFormat } from "../message.ts";
import type { SoFar } from "./reply-progress.ts";

/** One model call that a client asks for: an agent program in a rollout, or any program at an inference server. */
export interface AgentRequest {
  readonly messages: readonly Message[];
  /** Tools in the shape of OpenAI's chat API; empty when there are none. */
  readonly tools: readonly Readonly<Record<string, unknown>>[];
  /** The agent's name for the model; the reply has the same name. */
  readonly model: string;
  readonly stream: boolean;
  /** Most tokens that the agent wants; the rollout's own limit holds, too. */
  readonly maxTokens: number | null;
  /** The agent wants at most one tool call per reply. */
  readonly oneCall: boolean;
  /** Whether usage is sent at the end of a stream. */
  readonly streamUsage: boolean;
  /** Id without prefix of the reply that `messages` continue from; null: `messages` are the whole conversation. */
  readonly follows: string | null;
  /** Texts that end the reply. */
  readonly stop: readonly string[];
  /** The model has to call a tool: any, or the one with this name. */
  readonly toolChoice: "required" | { readonly name: string } | null;
  /** The beginning of the reply; the answer does not repeat it. */
  readonly begun: string;
  /** The required format of the reply; null: any text. */
  readonly format: ReplyFormat | null;
}

/** JSON of a JSON Schema, or a text. `field` asks for it. */
export type ReplyFormat =
  | { readonly field: string; readonly schema: unknown }
  | { readonly field: string; readonly text: TextFormat };

/** The part of a reply that is known before it is sampled. */
export interface ReplyHead {
  /** Hex; each dialect puts its prefix before it. */
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
  /** Tokens of the prompt, where they are known before the reply. */
  readonly promptTokens?: number;
  /** Fields of the request that the answer repeats, where the dialect has them. */
  readonly echoed?: Readonly<Record<string, unknown>>;
}

/** A reply of the model. */
export interface AgentReply extends ReplyHead {
  readonly message: Message;
  readonly finishReason: "stop" | "length" | "tool_calls";
  /** The text of `stop` that ended it. */
  readonly stopSequence: string | null;
  readonly usage: ReplyUsage;
}

export interface ReplyUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Those of the prompt that were not computed anew. */
  readonly cachedTokens?: number;
  /** Those of the completion that are thinking. */
  readonly reasoningTokens?: number;
}

/** The answer to the client when there is no reply. */
export interface Problem {
  /** HTTP status. */
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
}

/** One server-sent event. */
export interface StreamEvent {
  /** Its name where the dialect has names. */
  readonly event?: string;
  /** JSON, or plain text. */
  readonly data: unknown;
}

/** Writes one reply in pieces, which an SDK joins into the answer. */
export interface StreamWriter {
  /** The events for the text that is certain so far. */
  grow(soFar: SoFar): readonly StreamEvent[];
  /** The remaining events. */
  end(reply: AgentReply): readonly StreamEvent[];
}

export interface Dialect {
  readonly name: "chat completions" | "responses" | "messages";
  /** `body`: from `parseExact`. Errors: PRL_AGENT_REQUEST (malformed), PRL_AGENT_UNSUPPORTED (named). */
  read(body: unknown): AgentRequest;
  /** For `exactJson`. */
  answer(reply: AgentReply): unknown;
  stream(head: ReplyHead, request: AgentRequest): StreamWriter;
  error(problem: Problem): unknown;
  /** The event of a problem in a stream that has begun. */
  errorEvent(problem: Problem): StreamEvent;
}

export function malformed(field: string, problem: string): PrlError {
  return new PrlError("PRL_AGENT_REQUEST", `${field}: ${problem}`);
}

export function unsupported(field: string, problem: string): PrlError {
  return new PrlError("PRL_AGENT_UNSUPPORTED", `${field}: ${problem}`);
}

/** Refuses a field unless it has one of the values that change nothing. */
export function refuseUnless(field: string, value: unknown, harmless: readonly unknown[], problem: string): void {
  if (value !== undefined && value !== null && !harmless.includes(value)) throw unsupported(field, problem);
}

/** A conversation that continues an earlier one. Its instructions do not carry over: those of the new request hold. */
export function continued(earlier: readonly Message[], messages: readonly Message[]): readonly Message[] {
  const isSystem = ({ role }: Message): boolean => role === "system";
  const system = messages.filter(isSystem);
  const kept = system.length > 0 ? earlier.filter((message) => !isSystem(message)) : earlier;
  return [...system, ...kept, ...messages.filter((message) => !isSystem(message))];
}

/** The stop strings of a field that holds one or several. */
export function stopsOf(field: string, stops: unknown): string[] {
  const list = stops === undefined || stops === null ? [] : [stops].flat();
  for (const stop of list)
    if (typeof stop !== "string" || stop === "") throw malformed(field, "a stop is a text that is not empty");
  return list as string[];
}

/** A choice that forces a call; the function has to exist. */
export function forcedCall(
  field: string,
  name: string | null,
  tools: readonly Readonly<Record<string, unknown>>[],
): NonNullable<AgentRequest["toolChoice"]> {
  const names = tools.map((tool) => ((tool["function"] ?? tool) as { name?: unknown }).name);
  if (names.length === 0) throw malformed(field, "there are no tools to choose from");
  if (name === null) return "required";
  if (!names.includes(name)) throw malformed(field, `there is no tool ${JSON.stringify(name)}`);
  return { name };
}

/** OpenAI's `{error}`, in both of its dialects. */
export function openaiError({ status, code, message }: Problem): { error: Record<string, unknown> } {
  const type = status < 500 ? (status === 429 ? "rate_limit_error" : "invalid_request_error") : "server_error";
  return { error: { message, type, param: null, code } };
}

/** Events as the text of a stream. */
export function eventText(events: readonly StreamEvent[]): string {
  return events
    .map(({ event, data }) => {
      const name = event === undefined ? "" : `event: ${event}\n`;
      return `${name}data: ${typeof data === "string" ? data : exactJson(data)}\n\n`;
    })
    .join("");
}
