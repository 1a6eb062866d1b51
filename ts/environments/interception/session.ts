/**
 * One rollout's side of the interception server: accepted requests become turns of its trace, each exactly once.
 *
 * A request that an SDK sends again gets the same reply, finished or under way. Such a request says that it is a retry, has an idempotency
 * key, or has the body of a request whose answer was not received. Limits and stops are checked before each turn. This file knows no HTTP.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto";

import {
  type AgentReply,
  type AgentRequest,
  continued,
  malformed,
  type ReplyFormat,
  type ReplyHead,
  ReplyProgress,
  unsupported,
  withoutBegun,
} from "../../dialects/index.ts";
import { messageOf, PrlError } from "../../errors.ts";
import type { ReplyDelta } from "../../renderers/index.ts";
import type { SampledTurn, SampleOptions } from "../model/environment.ts";
import { RolloutStop } from "../model/limits.ts";
import type { Message, Prompt } from "../../message.ts";
import type { Trace } from "../episode/trace.ts";
import { matchJsonSchema } from "../../verify/index.ts";
import { withOwnThinking } from "./policy-replies.ts";

/** The parts of a rollout that its session needs. */
export interface SessionParts {
  readonly sample: (prompt: Prompt, options?: SampleOptions) => Promise<SampledTurn>;
  readonly trace: Trace;
  readonly countTokens: (prompt: Prompt, options?: SampleOptions) => Promise<number>;
  /** Its abort ends every request. */
  readonly signal: AbortSignal;
  /** Most model calls; then it stops as `max_turns`. Default 100. */
  readonly maxTurns?: number;
  /** Most sampled tokens, over all turns; then it stops as `max_output_tokens`. Default: no limit. */
  readonly maxOutputTokens?: number;
  /** Checked before each turn except the first: the first that is true gives the stop condition its name. */
  readonly stops?: Readonly<Record<string, (trace: Trace) => boolean | Promise<boolean>>>;
  /**
   * How requests for a format (`response_format`, `text.format`, `structured_outputs`, `guided_*`) are handled. `refused` (default): an error names the field. `checked`: they are
   * sampled like others. `enforced`: tokens that leave the format cannot come, which changes the log-probabilities that training uses
   * (`SampleOptions.jsonSchema`); a request with tools is only checked, since its reply may be a call. Both count replies in another format
   * (`format_misses`). Formats that are no JSON can only be enforced, without tools; a reply that is cut counts as a miss.
   */
  readonly formats?: "refused" | "checked" | "enforced";
  /** Called once, when the first request is refused because of a limit or stop. */
  readonly onStop?: () => void;
}

/** The parts of a request that show whether it came before. */
export interface Arrival {
  /** Digest of dialect and body. */
  readonly digest: string;
  readonly idempotencyKey: string | null;
  /** The SDK marks it as a retry. */
  readonly isRetry: boolean;
  /** A later request may name the reply in place of the conversation before it, which is kept for that. */
  readonly isContinued?: boolean;
}

/** The answer to one request, which may still be under way. */
export interface AnswerOnItsWay {
  readonly head: ReplyHead;
  /** Rejects with PRL_AGENT_STOPPED when the rollout takes no more turns, else with the turn's error. */
  readonly reply: Promise<AgentReply>;
  /** Grows only when the first request asked for a stream. */
  readonly progress: ReplyProgress;
}

/** One accepted request and its repetitions. */
interface Accepted extends AnswerOnItsWay {
  readonly digest: string;
  /** Connections that wait for the answer. */
  waiting: number;
  delivered: boolean;
}

const MAX_TURNS = 100;

export class InterceptionSession {
  /** The agent's API key; it names the rollout. */
  readonly key = `prl-${randomBytes(24).toString("base64url")}`;
  readonly #parts: SessionParts;
  readonly #accepted = new Map<string, Accepted>();
  readonly #conversations = new Map<string, readonly Message[]>();
  readonly #pending = new Set<Promise<unknown>>();
  #turns = 0;
  #retries = 0;
  #malformedCalls = 0;
  #formatMisses = 0;
  #stopCondition: string | null = null;
  #hasReportedStop = false;
  #failure: unknown = null;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /** Number of accepted requests. */
  get turns(): number {
    return this.#turns;
  }

  /** Why further requests are refused; null while they are accepted. */
  get stopCondition(): string | null {
    return this.#stopCondition;
  }

  /** The last turn's error; null when it succeeded. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * `agent_retries`: requests that repeated one; `unread_replies`: replies that no connection received whole; `malformed_calls`: attempts to
   * call a tool that could not be read; `format_misses`, where formats are checked: replies that are not the JSON that was asked for.
   *
   * An unread reply stays in the trace and trains as any other. The agent may have read a part of it and have left because of what it read:
   * to leave such replies out would choose the training data by their content. Where nothing was read the reply cannot have caused the
   * reward, and its share of the gradient is zero in expectation.
   */
  get metrics(): Readonly<Record<string, number>> {
    return {
      agent_retries: this.#retries,
      unread_replies: this.#unread,
      malformed_calls: this.#malformedCalls,
      ...((this.#parts.formats ?? "refused") !== "refused" && { format_misses: this.#formatMisses }),
    };
  }

  get #unread(): number {
    return [...this.#accepted.values()].filter(({ delivered, waiting }) => !delivered && waiting === 0).length;
  }

  /** A digest of a body, as its name. */
  static digest(dialect: string, body: Uint8Array): string {
    return createHash("sha256").update(dialect).update("\0").update(body).digest("hex");
  }

  /** `left` resolves once the connection is done with the answer, to whether it was delivered. Errors: PRL_AGENT_REQUEST. */
  answer(request: AgentRequest, arrival: Arrival, left: Promise<boolean>): AnswerOnItsWay {
    const { digest, idempotencyKey, isContinued = false } = arrival;
    const name = idempotencyKey === null ? digest : `key ${idempotencyKey}`;
    const known = this.#accepted.get(name);
    if (known !== undefined && known.digest !== digest)
      throw malformed("idempotency-key", "it was used with another body");
    const isLost = known !== undefined && known.waiting === 0 && !known.delivered;
    const repeats = known !== undefined && (arrival.isRetry || idempotencyKey !== null || isLost);
    if (repeats) this.#retries += 1;
    const accepted = repeats ? known : this.#accept(name, digest, request, isContinued);
    accepted.waiting += 1;
    void left.then((delivered) => {
      accepted.waiting -= 1;
      accepted.delivered ||= delivered;
    });
    return accepted;
  }

  /** Resolves when no turn is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#pending);
  }

  /** Tokens of a prompt. Errors: PRL_ENVIRONMENT_UNSUPPORTED where the policy gives no tokens. */
  async countTokens({ messages, tools }: AgentRequest): Promise<number> {
    return this.#parts.countTokens(messages, tools.length === 0 ? {} : { tools });
  }

  #accept(name: string, digest: string, request: AgentRequest, isContinued: boolean): Accepted {
    const head = { id: randomUUID().replaceAll("-", ""), created: Math.floor(Date.now() / 1000), model: request.model };
    const progress = new ReplyProgress(request.begun);
    const reply = this.#turn(request, head, progress, isContinued);
    const accepted = { digest, head, reply, progress, waiting: 0, delivered: false };
    this.#accepted.set(name, accepted);
    this.#pending.add(accepted.reply);
    void accepted.reply
      // A failed request is forgotten, so that a repetition is tried again.
      .catch(() => this.#accepted.get(name) === accepted && this.#accepted.delete(name))
      .finally(() => this.#pending.delete(accepted.reply));
    return accepted;
  }

  async #turn(
    request: AgentRequest,
    head: ReplyHead,
    progress: ReplyProgress,
    isContinued: boolean,
  ): Promise<AgentReply> {
    const { sample, trace, signal, formats = "refused" } = this.#parts;
    signal.throwIfAborted();
    const { format } = request;
    if (format !== null) await checkFormat(format, formats, request.tools.length > 0);
    const conversation = this.#conversation(request);
    await this.#takeTurn();
    const { tools, maxTokens, stop, toolChoice, begun } = request;
    const messages = withOwnThinking(conversation, trace.nodes);
    const options = {
      ...(tools.length === 0 ? {} : { tools }),
      ...(maxTokens === null ? {} : { maxCompletionTokens: maxTokens }),
      ...(stop.length > 0 && { stop }),
      ...(toolChoice !== null && toolChoice !== undefined && { toolChoice }),
      ...(begun !== "" && { begun }),
      ...(format !== null && formats === "enforced" && tools.length === 0 && enforced(format)),
      ...(request.stream && { onDelta: (delta: ReplyDelta) => progress.grow(delta) }),
    };
    let turn: SampledTurn;
    try {
      turn = await sample(messages, options);
      this.#failure = null;
    } catch (error) {
      // A limit of the environment ends the rollout just as a limit of the session.
      if (error instanceof RolloutStop) this.#stopCondition ??= error.stopCondition;
      else this.#failure = error;
      throw error;
    }
    this.#malformedCalls += turn.toolCalls.filter(({ status }) => status !== "ok").length;
    const { tool_calls: calls = [] } = turn.message;
    // An agent that asked for one call gets one; if it continues from that, its history differs from the policy's.
    const message =
      request.oneCall && calls.length > 1 ? { ...turn.message, tool_calls: calls.slice(0, 1) } : turn.message;
    if (format !== null && calls.length === 0) {
      // A text that was enforced to its end is right.
      const valid =
        "text" in format
          ? turn.finishReason !== "length"
          : (await matchJsonSchema(format.schema, message.content)).valid;
      if (!valid) this.#formatMisses += 1;
    }
    const reply: AgentReply = {
      ...head,
      message: { ...message, content: withoutBegun(message.content, begun) },
      stopSequence: stop.find((one) => one === turn.stopReason) ?? null,
      finishReason: turn.finishReason === "length" ? "length" : calls.length > 0 ? "tool_calls" : "stop",
      usage: turn.usage ?? { promptTokens: 0, completionTokens: turn.tokenIds.length },
    };
    if (isContinued) this.#conversations.set(reply.id, [...messages, message]);
    return reply;
  }

  /** The whole history. Instructions do not carry over from an earlier reply: those of the new request hold. */
  #conversation({ messages, follows }: AgentRequest): readonly Message[] {
    if (follows === null) return messages;
    const earlier = this.#conversations.get(follows);
    if (earlier === undefined) throw malformed("previous_response_id", "this rollout has given no such response");
    return continued(earlier, messages);
  }

  /** Counts a turn, unless a limit or a stop refuses it. */
  async #takeTurn(): Promise<void> {
    const { trace, stops = {} } = this.#parts;
    this.#checkLimits();
    if (this.#turns > 0) {
      for (const [name, holds] of Object.entries(stops)) {
        if (this.#stopCondition === null && (await holds(trace))) this.#stopCondition ??= name;
      }
    }
    // Other requests may have taken turns while the stops were checked.
    this.#checkLimits();
    if (this.#stopCondition === null) {
      this.#turns += 1;
      return;
    }
    if (!this.#hasReportedStop) this.#parts.onStop?.();
    this.#hasReportedStop = true;
    throw new PrlError("PRL_AGENT_STOPPED", `the rollout has stopped: ${this.#stopCondition}`);
  }

  #checkLimits(): void {
    const { trace, maxTurns = MAX_TURNS, maxOutputTokens = Infinity } = this.#parts;
    if (this.#turns >= maxTurns) this.#stopCondition ??= "max_turns";
    if (trace.completionTokens >= maxOutputTokens) this.#stopCondition ??= "max_output_tokens";
  }
}

/** The format as the policy keeps to it. */
function enforced(format: ReplyFormat): Pick<SampleOptions, "jsonSchema" | "textFormat"> {
  if ("text" in format) return { textFormat: format.text };
  const { field, schema } = format;
  if (typeof schema === "boolean" || (typeof schema === "object" && schema !== null)) return { jsonSchema: schema };
  throw malformed(field, "a JSON Schema is an object or a boolean");
}

/** Throws PRL_AGENT_UNSUPPORTED where formats are refused, or this one can be neither checked nor enforced. */
async function checkFormat(
  format: ReplyFormat,
  formats: NonNullable<SessionParts["formats"]>,
  hasTools: boolean,
): Promise<void> {
  const { field } = format;
  if (formats === "refused")
    throw unsupported(
      field,
      'not by default: formats "checked" samples and checks, "enforced" makes the policy keep to it',
    );
  if ("text" in format) {
    if (formats === "checked") throw unsupported(field, 'only with formats "enforced": JSON alone can be checked');
    if (hasTools) throw unsupported(field, "not together with tools, because the reply may be a call");
    return;
  }
  await matchJsonSchema(format.schema, "null").catch((cause: unknown) => {
    throw unsupported(field, messageOf(cause));
  });
}
