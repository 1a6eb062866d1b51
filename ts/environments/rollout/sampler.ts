/**
 * The `sample` function of a rollout: from prompt to tokens, one model call, and the turn in the trace.
 *
 * Texts are tokenized off the JavaScript thread, because the result of a tool may be long and other rollouts share the thread. Calls of one rollout
 * get their turns in the order in which they were made, however long their prompts are.
 */
import { PrlError } from "../../errors.ts";
import {
  argumentsText,
  joinedIds,
  opensThinking,
  parseReply,
  stoppedBy,
  textBefore,
  withTypes,
} from "../../renderers/internal.ts";
import type { ParsedCompletion } from "../../renderers/index.ts";
import type { SampledTurn, SampleOptions } from "../model/environment.ts";
import type { TurnLimits } from "../model/limits.ts";
import { type Message, type Prompt, promptMessages, type ToolCall } from "../../message.ts";
import { beginning, listenerOf, NOTHING } from "./reply-tokens.ts";
import type { PolicyClient, PolicyCompletion, Sampling, PolicyRequest } from "./policy-client.ts";
import { joinReplies, type RecordedTurns } from "../episode/partial-rollout.ts";
import { seed as deriveSeed, turnSeed } from "../../random/seed.ts";
import type { PolicyRenderer, PolicyTokenizer } from "../model/tokenizer.ts";
import { type PromptForm, toolsText, type TraceGraph } from "../episode/trace.ts";

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
  readonly countTokens: (prompt: Prompt, options?: SampleOptions) => Promise<number>;
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
  return new PolicySampler(parts, trace);
}

type Hear = ((ids: readonly number[]) => void) | null;

/** A prompt as tokens, with the beginning that its reply is given. */
interface TurnOptions extends SampleOptions {
  readonly format?: NonNullable<PolicyRequest["format"]>;
  /** The first token whose experts the trace does not have. */
  readonly routedExpertsFrom?: number;
}

interface RenderedPrompt {
  /** Everything that the engine continues, the given beginning included. */
  readonly promptIds: Uint32Array;
  readonly begunIds: Uint32Array;
  /** The sampled text begins inside the model's thinking. */
  readonly thinks: boolean;
}

/** The request to the policy in one turn. */
interface TurnRequest {
  readonly prompt: Prompt;
  readonly options: SampleOptions;
  /** Number of the turn, from 0. */
  readonly turn: number;
  readonly rendered: RenderedPrompt;
}

/** The functions are fields, because environments get them without the object. */
class PolicySampler implements Sampler {
  readonly #parts: SamplerParts;
  readonly #trace: TraceGraph;
  readonly #whileWaiting: ReturnType<typeof blameFor>["whileWaiting"];
  readonly #underWay = new Set<Promise<unknown>>();
  /** The prompt that was last begun; the next call waits for it, because a turn's number decides what it draws. */
  #lastBegun: Promise<unknown> = Promise.resolve();
  #turns = 0;
  #rerendered = 0;
  #recycled = 0;

  readonly blame: Sampler["blame"];
  readonly rerendered = (): number => this.#rerendered;
  readonly recycled = (): number => this.#recycled;

  constructor(parts: SamplerParts, trace: TraceGraph) {
    this.#parts = parts;
    this.#trace = trace;
    const { whileWaiting, blame } = blameFor(parts.signal);
    this.#whileWaiting = whileWaiting;
    this.blame = blame;
  }

  readonly sample = async (prompt: Prompt, options: SampleOptions = {}): Promise<SampledTurn> => {
    const call = this.#sampleTurn(prompt, options);
    this.#underWay.add(call);
    try {
      return await call;
    } finally {
      this.#underWay.delete(call);
    }
  };

  readonly countTokens = async (prompt: Prompt, { tools }: SampleOptions = {}): Promise<number> => {
    const { tokenizer } = this.#parts;
    return (await (typeof prompt === "string" ? tokenizer.encodeAsync(prompt) : this.#renderAnew(prompt, tools)))
      .length;
  };

  readonly settled = async (): Promise<void> => void (await Promise.allSettled(this.#underWay));

  async #sampleTurn(prompt: Prompt, options: SampleOptions): Promise<SampledTurn> {
    const { limits, signal, keepsPartial = false } = this.#parts;
    const begun = this.#lastBegun.then(async () => this.#beginTurn(prompt, options));
    this.#lastBegun = begun.catch(() => undefined);
    const request = await begun;
    const { rendered } = request;
    const hear = this.#listener(request);
    const routedExpertsFrom = this.#trace.recordedExperts(promptMessages(prompt), rendered.promptIds);
    const asked = { ...withFormat(options, rendered), routedExpertsFrom };
    const completion = await this.#reply(rendered.promptIds, request.turn, asked, hear).catch((error: unknown) =>
      limits.refused(error, this.#trace),
    );
    const isCut = completion.finishReason === "abort";
    const isKept = keepsPartial && isCut && completion.tokenIds.length > 0;
    if (!isKept) this.#refuse(completion);
    const turn = this.#commit(request, completion, routedExpertsFrom);
    if (!isKept) return turn;
    signal.throwIfAborted();
    throw aborted();
  }

  async #beginTurn(prompt: Prompt, options: SampleOptions): Promise<TurnRequest> {
    const { limits } = this.#parts;
    limits.beforeTurn(this.#trace);
    const rendered = await this.#render(prompt, options);
    limits.beforePrompt(rendered.promptIds.length);
    return { prompt, options, turn: this.#turns++, rendered };
  }

  /** Rejects a reply that cannot be recorded. */
  #refuse({ finishReason, tokenIds }: PolicyCompletion): void {
    this.#parts.signal.throwIfAborted();
    if (finishReason === "abort") throw aborted();
    if (tokenIds.length === 0) throw new PrlError("PRL_INFERENCE_FAILED", "the engine's completion has no tokens");
  }

  /** The tokens of a prompt: those of the trace as far as it goes, then those of the new messages. */
  async #render(prompt: Prompt, options: SampleOptions): Promise<RenderedPrompt> {
    const { tokenizer, renderer } = this.#parts;
    const askedIds = await this.#toIds(prompt, options);
    if (typeof prompt === "string") {
      const begunIds = ofText(options);
      return { promptIds: joinedIds(askedIds, begunIds), begunIds, thinks: false };
    }
    const { tools } = options;
    const opened = opensThinking({ tokenizer, renderer }, askedIds, prompt, tools === undefined ? {} : { tools });
    const begunIds = beginning({ tokenizer, renderer }, opened, options);
    return { promptIds: joinedIds(askedIds, begunIds), begunIds, thinks: opened && begunIds.length === 0 };
  }

  async #toIds(prompt: Prompt, { tools }: SampleOptions): Promise<Uint32Array> {
    const { tokenizer, renderer } = this.#parts;
    if (typeof prompt === "string") return tokenizer.encodeAsync(prompt);
    const { matchedMessages, bridgeAnchor } = this.#trace.prepareTurn(prompt);
    if (bridgeAnchor !== null) {
      const { promptIds, completionIds, tools: shown } = bridgeAnchor;
      const options = tools === undefined ? {} : { tools };
      // The tokens to be extended show the tools of their own turn.
      const isSame = shown === toolsText(tools);
      const fresh = prompt.slice(matchedMessages);
      const bridged = isSame ? await renderer.bridgeToNextTurnAsync(promptIds, completionIds, fresh, options) : null;
      if (bridged !== null) return bridged;
      this.#rerendered += 1;
    }
    return this.#renderAnew(prompt, tools);
  }

  async #renderAnew(messages: readonly Message[], tools: SampleOptions["tools"]): Promise<Uint32Array> {
    return this.#parts.renderer.renderAsync(messages, tools === undefined ? {} : { tools });
  }

  /** Passes on the reply's text while it is sampled; null: the environment does not listen. */
  #listener({ prompt, options: { onDelta, stop = [] }, rendered }: TurnRequest): Hear {
    if (onDelta === undefined) return null;
    const { begunIds: begun, thinks } = rendered;
    return listenerOf(this.#parts, typeof prompt === "string" ? "text" : { begun, thinks }, stop, onDelta);
  }

  /** A turn's reply: sampled, or recorded and continued where it was cut. */
  async #reply(promptIds: Uint32Array, turn: number, options: TurnOptions, hear: Hear): Promise<PolicyCompletion> {
    const { recorded = null, sampling, seed: rolloutSeed } = this.#parts;
    const seed = turnSeed(rolloutSeed, turn);
    const begun = recorded?.take(turn, promptIds) ?? null;
    if (begun === null) return this.#generate(promptIds, seed, options, hear);
    const { length } = begun.tokenIds;
    const most = limited(sampling, options).maxCompletionTokens ?? Infinity;
    const isCut = begun.finishReason === "abort";
    // A stop string may lie across the cut, and the server looks for it in what it samples; a format begins anew there.
    const isWatched = (options.stop?.length ?? 0) > 0 || options.format !== undefined;
    if (length > most || (isCut && isWatched)) {
      recorded?.leave();
      return this.#generate(promptIds, seed, options, hear);
    }
    this.#recycled += length;
    hear?.([...begun.tokenIds]);
    if (!isCut) return begun;
    if (length === most) return { ...begun, finishReason: "length" };
    const left = most === Infinity ? options : { ...options, maxCompletionTokens: most - length };
    // The first draws of the turn's seed were used for the recorded part.
    const restSeed = deriveSeed(seed, "continued", "", "", 0, 0, length);
    const rest = await this.#generate(joinedIds(promptIds, begun.tokenIds), restSeed, left, hear).catch(
      (error: unknown) => this.#keepRecorded(error),
    );
    return rest === null ? begun : joinReplies(begun, rest);
  }

  /** The recorded part of a reply is kept when the rest is lost to a cancelled rollout. */
  #keepRecorded(error: unknown): null {
    const { keepsPartial = false, signal } = this.#parts;
    if (keepsPartial && signal.aborted) return null;
    throw error;
  }

  #generate(promptIds: Uint32Array, seed: number, options: TurnOptions, hear: Hear): Promise<PolicyCompletion> {
    const { client, sampling, signal, keepsPartial = false } = this.#parts;
    return this.#whileWaiting(
      client.generate({
        tokenIds: promptIds,
        sampling: limited(sampling, options),
        seed,
        signal,
        ...(options.stop !== undefined && { stop: options.stop }),
        ...(options.format !== undefined && { format: options.format }),
        ...(options.routedExpertsFrom !== undefined && { routedExpertsFrom: options.routedExpertsFrom }),
        ...(keepsPartial && { keepsPartial }),
        ...(hear !== null && { onTokens: hear }),
      }),
    );
  }

  /** Records the turn in the trace. */
  #commit(
    { prompt, options, turn, rendered }: TurnRequest,
    completion: PolicyCompletion,
    routedExpertsFrom: number,
  ): SampledTurn {
    const { promptIds } = rendered;
    const { tokenIds: completionIds, logprobs, policyVersions, finishReason, stopReason = null } = completion;
    const { routedExperts, ...spoken } = completion;
    const text = this.#parts.tokenizer.decode(completionIds, { skipSpecialTokens: true });
    const parsed = this.#parse({ prompt, options, rendered }, completion);
    const { message, toolCalls } = toMessage(parsed, turn, options.tools ?? []);
    this.#trace.commitTurn({
      prompt: promptMessages(prompt),
      promptIds,
      completionIds,
      logprobs,
      policyVersions,
      ...(routedExperts !== undefined && { routedExperts, routedExpertsFrom }),
      response: message,
      finishReason,
      stopReason,
      asked: promptForm(prompt, options),
    });
    const usage = { promptTokens: promptIds.length, completionTokens: completionIds.length };
    return { ...spoken, text, message, toolCalls, usage };
  }

  #parse(
    { prompt, options, rendered: { begunIds, thinks } }: Omit<TurnRequest, "turn">,
    completion: PolicyCompletion,
  ): ParsedCompletion {
    const { tokenizer, renderer } = this.#parts;
    const { tokenIds, stopReason = null } = completion;
    if (typeof prompt === "string")
      return { content: textBefore(tokenizer, tokenIds, stopReason), reasoning: null, toolCalls: [] };
    const stopped = stoppedBy(stopReason, begunIds.length);
    const { toolCalls, ...said } = parseReply(renderer, joinedIds(begunIds, tokenIds), thinks, stopped);
    return { ...said, toolCalls: toolCalls.map((call) => withTypes(call, options.tools ?? [])) };
  }
}

function aborted(): PrlError {
  return new PrlError("PRL_INFERENCE_UNREACHABLE", "the engine aborted the request");
}

export function promptForm(
  prompt: Prompt,
  { tools, stop = [], toolChoice, begun = "", jsonSchema, textFormat }: SampleOptions,
): PromptForm {
  const hasFormat = jsonSchema !== undefined || textFormat !== undefined;
  const isShaped = stop.length > 0 || toolChoice !== undefined || begun !== "" || hasFormat;
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

/** The options with the format of the sampled text: behind the thinking that the prompt has opened. */
function withFormat(options: SampleOptions, { begunIds, thinks }: RenderedPrompt): TurnOptions {
  const { jsonSchema, textFormat } = options;
  const format = jsonSchema === undefined ? textFormat : { jsonSchema };
  if (format === undefined) return options;
  if (jsonSchema !== undefined && textFormat !== undefined)
    throw new PrlError("PRL_ENVIRONMENT_UNSUPPORTED", "a reply has either jsonSchema or textFormat");
  if (begunIds.length > 0) {
    const message = "jsonSchema and textFormat are of a whole reply; leave out begun and toolChoice";
    throw new PrlError("PRL_ENVIRONMENT_UNSUPPORTED", message);
  }
  return { ...options, format: { ...format, ...(thinks && { after: "</think>" }) } };
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
  tools: readonly unknown[],
): Pick<SampledTurn, "toolCalls"> & { message: Message } {
  const calls = toolCalls.flatMap((call, index): ToolCall[] =>
    call.status !== "ok" || call.name === null
      ? []
      : [
          {
            id: `call_${turn}_${index}`,
            type: "function",
            function: { name: call.name, arguments: argumentsText(call, tools) },
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
