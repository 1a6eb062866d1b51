/** The `sample` function of a rollout: from prompt to tokens, one model call, and the turn in the trace. */
import { PrlError } from "../../errors.ts";
import { opensThinking, parseReply, stoppedBy, textBefore } from "../../renderers/internal.ts";
import type { ParsedCompletion } from "../../renderers/index.ts";
import type { SampledTurn, SampleOptions } from "../model/environment.ts";
import type { TurnLimits } from "../model/limits.ts";
import { type Message, type Prompt, promptMessages, type ToolCall } from "../../message.ts";
import { beginning, joined, listenerOf, NOTHING } from "./reply-tokens.ts";
import type { PolicyClient, PolicyCompletion, Sampling } from "./policy-client.ts";
import { joinReplies, type RecordedTurns } from "../episode/partial-rollout.ts";
import { seed as deriveSeed, turnSeed } from "../../random/seed.ts";
import type { PolicyRenderer, PolicyTokenizer } from "../model/tokenizer.ts";
import type { PromptForm, TraceGraph } from "../episode/trace.ts";

/** The parts of a rollout's request that sampling needs. */
export interface SamplerParts {
  readonly client: PolicyClient;
  readonly tokenizer: PolicyTokenizer;
  readonly renderer: PolicyRenderer;
  readonly sampling: Sampling;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly limits: TurnLimits;
  /** The tokens of a cancelled call are kept. */
  readonly keepsPartial?: boolean;
  /** Recorded turns to continue from. */
  readonly recorded?: RecordedTurns | null;
}

export interface Sampler {
  readonly sample: (prompt: Prompt, options?: SampleOptions) => Promise<SampledTurn>;
  readonly countTokens: (prompt: Prompt, options?: SampleOptions) => number;
  /** Turns that followed an earlier one and could not extend its tokens, so that they begin a new branch. */
  readonly rerendered: () => number;
  /** Tokens of its turns that an earlier rollout had sampled. */
  readonly recycled: () => number;
  /** Resolves when no call is under way. */
  readonly settled: () => Promise<void>;
  /** Blames the engine for a deadline that passed while a call was under way. */
  readonly blame: (error: unknown) => unknown;
}

export function createSampler(parts: SamplerParts, trace: TraceGraph): Sampler {
  const { client, tokenizer, renderer, sampling, signal, limits, keepsPartial = false, recorded = null } = parts;
  let turns = 0;
  let rerendered = 0;
  let recycled = 0;
  const underWay = new Set<Promise<unknown>>();
  const { whileWaiting, blame } = blameFor(signal);

  const generate = (
    promptIds: Uint32Array,
    seed: number,
    options: SampleOptions,
    hear: ((ids: readonly number[]) => void) | null,
  ): Promise<PolicyCompletion> =>
    whileWaiting(
      client.generate({
        tokenIds: promptIds,
        sampling: limited(sampling, options),
        seed,
        signal,
        ...(options.stop !== undefined && { stop: options.stop }),
        ...(keepsPartial && { keepsPartial }),
        ...(hear !== null && { onTokens: hear }),
      }),
    );

  /** A turn's reply: sampled, or recorded and continued where it was cut. */
  const reply = async (
    promptIds: Uint32Array,
    turn: number,
    options: SampleOptions,
    hear: ((ids: readonly number[]) => void) | null,
  ): Promise<PolicyCompletion> => {
    const seed = turnSeed(parts.seed, turn);
    const begun = recorded?.take(turn, promptIds) ?? null;
    if (begun === null) return generate(promptIds, seed, options, hear);
    const { length } = begun.tokenIds;
    const most = limited(sampling, options).maxCompletionTokens ?? Infinity;
    const isCut = begun.finishReason === "abort";
    // A stop string may lie across the cut, and the server looks for it in what it samples.
    if (length > most || (isCut && (options.stop?.length ?? 0) > 0)) {
      recorded?.leave();
      return generate(promptIds, seed, options, hear);
    }
    recycled += length;
    hear?.([...begun.tokenIds]);
    if (!isCut) return begun;
    if (length === most) return { ...begun, finishReason: "length" };
    // The first draws of the turn's seed were used for the recorded part.
    const rest = await generate(
      joined(promptIds, begun.tokenIds),
      deriveSeed(seed, "continued", "", "", 0, 0, length),
      most === Infinity ? options : { ...options, maxCompletionTokens: most - length },
      hear,
    ).catch((error: unknown) => {
      // The recorded part is kept when the rest is lost.
      if (keepsPartial && signal.aborted) return null;
      throw error;
    });
    return rest === null ? begun : joinReplies(begun, rest);
  };

  const renderAnew = (messages: readonly Message[], tools: SampleOptions["tools"]): Uint32Array =>
    renderer.render(messages, tools === undefined ? {} : { tools });

  const countTokens = (prompt: Prompt, { tools }: SampleOptions = {}): number =>
    (typeof prompt === "string" ? tokenizer.encode(prompt) : renderAnew(prompt, tools)).length;

  const toIds = (prompt: Prompt, { tools }: SampleOptions): Uint32Array => {
    if (typeof prompt === "string") return tokenizer.encode(prompt);
    const { matchedMessages, bridgeAnchor } = trace.prepareTurn(prompt);
    if (bridgeAnchor !== null) {
      const { promptIds, completionIds } = bridgeAnchor;
      const options = tools === undefined ? {} : { tools };
      const bridged = renderer.bridgeToNextTurn(promptIds, completionIds, prompt.slice(matchedMessages), options);
      if (bridged !== null) return bridged;
      rerendered += 1;
    }
    return renderAnew(prompt, tools);
  };

  const sampleTurn = async (prompt: Prompt, options: SampleOptions): Promise<SampledTurn> => {
    limits.beforeTurn(trace);
    const askedIds = toIds(prompt, options);
    const { tools } = options;
    const opened =
      typeof prompt !== "string" &&
      opensThinking({ tokenizer, renderer }, askedIds, prompt, tools === undefined ? {} : { tools });
    const begunIds = typeof prompt === "string" ? ofText(options) : beginning({ tokenizer, renderer }, opened, options);
    const promptIds = joined(askedIds, begunIds);
    const thinks = opened && begunIds.length === 0;
    limits.beforePrompt(promptIds.length);
    const turn = turns;
    turns += 1;
    const { onDelta, stop = [] } = options;
    const sampled = typeof prompt === "string" ? "text" : { begun: begunIds, thinks };
    const hear = onDelta === undefined ? null : listenerOf({ tokenizer, renderer }, sampled, stop, onDelta);
    const completion = await reply(promptIds, turn, options, hear).catch((error: unknown) =>
      limits.refused(error, trace),
    );
    const isKept = keepsPartial && completion.finishReason === "abort" && completion.tokenIds.length > 0;
    if (!isKept) signal.throwIfAborted();
    if (!isKept && completion.finishReason === "abort")
      throw new PrlError("PRL_INFERENCE_UNREACHABLE", "the engine aborted the request");
    if (completion.tokenIds.length === 0)
      throw new PrlError("PRL_INFERENCE_FAILED", "the engine's completion has no tokens");
    const { tokenIds: completionIds, logprobs, policyVersions, finishReason, stopReason = null } = completion;
    const text = tokenizer.decode(completionIds, { skipSpecialTokens: true });
    const parsed: ParsedCompletion =
      typeof prompt === "string"
        ? { content: textBefore(tokenizer, completionIds, stopReason), reasoning: null, toolCalls: [] }
        : parseReply(renderer, joined(begunIds, completionIds), thinks, stoppedBy(stopReason, begunIds.length));
    const { message, toolCalls } = toMessage(parsed, turn);
    trace.commitTurn({
      prompt: promptMessages(prompt),
      promptIds,
      completionIds,
      logprobs,
      policyVersions,
      response: message,
      finishReason,
      stopReason,
      asked: promptForm(prompt, options),
    });
    if (isKept) {
      signal.throwIfAborted();
      throw new PrlError("PRL_INFERENCE_UNREACHABLE", "the engine aborted the request");
    }
    const usage = { promptTokens: promptIds.length, completionTokens: completionIds.length };
    return { ...completion, text, message, toolCalls, usage };
  };

  const sample = async (prompt: Prompt, options: SampleOptions = {}): Promise<SampledTurn> => {
    const call = sampleTurn(prompt, options);
    underWay.add(call);
    try {
      return await call;
    } finally {
      underWay.delete(call);
    }
  };

  return {
    sample,
    countTokens,
    rerendered: () => rerendered,
    recycled: () => recycled,
    settled: async () => void (await Promise.allSettled(underWay)),
    blame,
  };
}

export function promptForm(prompt: Prompt, { tools, stop = [], toolChoice, begun = "" }: SampleOptions): PromptForm {
  const isShaped = stop.length > 0 || toolChoice !== undefined || begun !== "";
  return {
    isText: typeof prompt === "string",
    ...(tools !== undefined && tools.length > 0 && { tools }),
    ...(isShaped && { isShaped }),
  };
}

/** The sampling with the smaller of both limits. */
export function limited(sampling: Sampling, { maxCompletionTokens: asked }: SampleOptions): Sampling {
  const { maxCompletionTokens: own } = sampling;
  if (asked === undefined || (own !== null && own <= asked)) return sampling;
  return { ...sampling, maxCompletionTokens: asked };
}

/** Records whether a call of the policy was under way when the signal was aborted. */
export function blameFor(signal: AbortSignal): {
  whileWaiting: <Result>(work: Promise<Result>) => Promise<Result>;
  blame: Sampler["blame"];
} {
  let waiting = 0;
  let abortedWaiting = false;
  signal.addEventListener("abort", () => (abortedWaiting = waiting > 0), { once: true });
  return {
    async whileWaiting(work) {
      waiting += 1;
      try {
        return await work;
      } finally {
        waiting -= 1;
      }
    },
    blame(error) {
      const isDeadline =
        error === signal.reason && error instanceof PrlError && error.code === "PRL_ENVIRONMENT_TIMEOUT";
      if (!isDeadline || !abortedWaiting) return error;
      return new PrlError("PRL_INFERENCE_TIMEOUT", `${error.message} while waiting for the engine`, { cause: error });
    },
  };
}

/** The empty beginning of a text prompt: a text holds its own beginning. */
function ofText({ begun, toolChoice }: SampleOptions): Uint32Array {
  if (begun === undefined && toolChoice === undefined) return NOTHING;
  const message = "begun and toolChoice are of conversations; a text is begun by its own end";
  throw new PrlError("PRL_ENVIRONMENT_UNSUPPORTED", message);
}

/** Well-formed calls become calls of the message; their ids have turn and index. */
function toMessage(
  { content, reasoning, toolCalls }: ParsedCompletion,
  turn: number,
): Pick<SampledTurn, "toolCalls"> & { message: Message } {
  const calls = toolCalls.flatMap((call, index): ToolCall[] =>
    call.status !== "ok" || call.name === null
      ? []
      : [
          {
            id: `call_${turn}_${index}`,
            type: "function",
            function: { name: call.name, arguments: JSON.stringify(call.arguments) },
          },
        ],
  );
  const message: Message = {
    role: "assistant",
    content,
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return { message, toolCalls };
}
