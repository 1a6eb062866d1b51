/**
 * The interface of API dialects of agent programs: a request, a reply, a problem, and the dialect that reads and writes them.
 *
 * A dialect is pure: bodies in, bodies out. It knows no connection, no rollout and no model.
 */
import { type ErrorCode, messageOf, PrlError } from "../../errors.ts";
import type { SampleOptions } from "../model/environment.ts";
import { RolloutStop } from "../model/limits.ts";
import type { Message } from "../../message.ts";
import type { SoFar } from "./reply-progress.ts";

/** One model call that an agent asks for. */
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
  /** The policy has to call a tool: any, or the one with this name. */
  readonly toolChoice: SampleOptions["toolChoice"] | null;
  /** The beginning of the reply; the answer does not repeat it. */
  readonly begun: string;
  /** The required format of the reply; null: any text. */
  readonly format: ReplyFormat | null;
}

/** JSON, with a schema or without. */
export interface ReplyFormat {
  /** The field that asks for it. */
  readonly field: string;
  /** JSON Schema. */
  readonly schema: unknown;
}

/** The part of a reply that is known before it is sampled. */
export interface ReplyHead {
  /** Hex; each dialect puts its prefix before it. */
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
}

/** A reply of the policy. */
export interface AgentReply extends ReplyHead {
  readonly message: Message;
  readonly finishReason: "stop" | "length" | "tool_calls";
  /** The text of `stop` that ended it. */
  readonly stopSequence: string | null;
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number };
}

/** The answer to the agent when there is no reply. */
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
  /** Errors: PRL_AGENT_REQUEST (malformed), PRL_AGENT_UNSUPPORTED (named). */
  read(body: unknown): AgentRequest;
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

const STATUS: Partial<Record<ErrorCode, number>> = {
  PRL_AGENT_REQUEST: 400,
  PRL_AGENT_UNSUPPORTED: 400,
  PRL_AGENT_STOPPED: 400,
  PRL_AGENT_KEY: 401,
  PRL_INFERENCE_REQUEST: 400,
  PRL_INFERENCE_CONTEXT: 400,
  PRL_INFERENCE_UNSUPPORTED: 400,
  PRL_TEMPLATE: 400,
  PRL_TEMPLATE_UNSUPPORTED: 400,
  PRL_ENVIRONMENT_UNSUPPORTED: 400,
  PRL_INFERENCE_RATE_LIMIT: 429,
  PRL_INFERENCE_TIMEOUT: 504,
  PRL_ENVIRONMENT_TIMEOUT: 504,
  PRL_EPISODE_CANCELLED: 503,
};

/** Turns an exception into a problem for the agent: failures of the model's side are a 5xx. */
export function toProblem(error: unknown): Problem {
  if (error instanceof RolloutStop) return { status: 400, code: "PRL_AGENT_STOPPED", message: error.message };
  if (!(error instanceof PrlError)) {
    return {
      status: 502,
      code: "PRL_INFERENCE_FAILED",
      message: messageOf(error),
    };
  }
  return { status: STATUS[error.code] ?? 502, code: error.code, message: error.message };
}

/** OpenAI's `{error}`, in both of its dialects. */
export function openaiError({ status, code, message }: Problem): { error: Record<string, unknown> } {
  const type = status < 500 ? (status === 429 ? "rate_limit_error" : "invalid_request_error") : "server_error";
  return { error: { message, type, param: null, code } };
}
