/** The `sample` function of a rollout whose policy gives messages and no tokens: the trace's nodes hold no token ids. */
import { PrlError } from "../../errors.ts";
import type { SampledTurn, SampleOptions } from "../model/environment.ts";
import type { TurnLimits } from "../model/limits.ts";
import { type Prompt, promptMessages } from "../../message.ts";
import type { PolicyClient, Sampling } from "./policy-client.ts";
import type { ReplyClient } from "./reply-client.ts";
import { blameFor, limited, promptForm, type Sampler } from "./sampler.ts";
import { turnSeed } from "../../random/seed.ts";
import type { PolicyTokenizer } from "../model/tokenizer.ts";
import type { TraceGraph } from "../episode/trace.ts";

export interface ReplySamplerParts {
  readonly endpoint: ReplyClient;
  readonly sampling: Sampling;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly limits: TurnLimits;
}

export function createReplySampler(parts: ReplySamplerParts, trace: TraceGraph): Sampler {
  const { endpoint, sampling, signal, limits } = parts;
  const { whileWaiting, blame } = blameFor(signal);
  let turns = 0;
  let lastTokens = 0;

  const sample = async (prompt: Prompt, options: SampleOptions = {}): Promise<SampledTurn> => {
    limits.beforeTurn(trace);
    const { begun, onDelta } = options;
    if (begun !== undefined && begun !== "")
      throw new PrlError(
        "PRL_ENVIRONMENT_UNSUPPORTED",
        "a model behind an endpoint cannot go on from a reply that is begun",
      );
    const goesOn =
      trace.turns > 0 && trace.prepareTurn(promptMessages(prompt)).matchedMessages >= trace.messages.length;
    if (goesOn) limits.beforePrompt(lastTokens);
    const seed = turnSeed(parts.seed, turns);
    turns += 1;
    const reply = await whileWaiting(
      endpoint.reply({
        prompt,
        ...options,
        ...(onDelta !== undefined && { onText: (content: string) => onDelta({ content }) }),
        sampling: limited(sampling, options),
        seed,
        signal,
      }),
    ).catch((error: unknown) => limits.refused(error, trace));
    signal.throwIfAborted();
    const { message, toolCalls, finishReason, usage } = reply;
    lastTokens = usage === null ? 0 : usage.promptTokens + usage.completionTokens;
    const completion = {
      tokenIds: new Uint32Array(0),
      logprobs: new Float32Array(0),
      policyVersions: [],
      finishReason,
    };
    trace.commitTurn({
      prompt: promptMessages(prompt),
      promptIds: new Uint32Array(0),
      completionIds: completion.tokenIds,
      logprobs: completion.logprobs,
      response: message,
      asked: promptForm(prompt, options),
      finishReason,
      ...(usage === null ? {} : { usage }),
    });
    return { ...completion, text: message.content, message, toolCalls, usage };
  };
  return {
    sample,
    countTokens: async () => noTokens(),
    rerendered: () => 0,
    recycled: () => 0,
    settled: async () => undefined,
    blame,
  };
}

function noTokens(): never {
  throw new PrlError(
    "PRL_ENVIRONMENT_UNSUPPORTED",
    "this environment works on token ids, and the model behind an endpoint gives messages only: use context.sample",
  );
}

/** Stand in for a rollout's `client` and `tokenizer` when there are no tokens; they throw an error that says so. */
export const NO_CLIENT: PolicyClient = { generate: async () => noTokens() };
export const NO_TOKENIZER: PolicyTokenizer = {
  encode: noTokens,
  encodeAsync: async () => noTokens(),
  decode: noTokens,
  decodeStream: noTokens,
  applyChatTemplate: noTokens,
};
