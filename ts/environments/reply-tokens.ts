/** The tokens of one reply: what it is begun with, what it says while it is sampled, where a stop string cuts its text. */
import { PrlError } from "../errors.ts";
import {
  encodeBeginning,
  onlyFunction,
  type ParsedCompletion,
  type ReplyDelta,
  ReplyGrowth,
} from "../renderers/index.ts";
import type { SampleOptions } from "./environment.ts";
import type { PolicyRenderer, PolicyTokenizer } from "./tokenizer.ts";

interface Codec {
  readonly tokenizer: PolicyTokenizer;
  readonly renderer: PolicyRenderer;
}

export const NOTHING = new Uint32Array(0);
/** A reply is read again from its first token on, so not at every token. */
const TELL_EVERY_MS = 30;

/** Tokens to put behind the prompt, which `thinks` at its end or not, before what is sampled. Throws PRL_ENVIRONMENT_UNSUPPORTED where the model's family has no calls. */
export function beginning(
  { tokenizer, renderer }: Codec,
  thinks: boolean,
  { begun = "", toolChoice, tools = [] }: SampleOptions,
): Uint32Array {
  const call = toolChoice === "required" ? onlyFunction(tools) : toolChoice?.name;
  const ids = encodeBeginning({ tokenizer, renderer }, { begun, thinks, ...(call !== undefined && { call }) });
  if (ids !== null) return ids;
  const message = "the model's chat format has no calls of tools, so none can be required";
  throw new PrlError("PRL_ENVIRONMENT_UNSUPPORTED", message);
}

/** Hears sampled tokens and tells what the reply says for certain; `read` says what the tokens so far are. */
export function listenerOf(
  read: (tokenIds: Uint32Array) => Pick<ParsedCompletion, "content" | "reasoning">,
  { stop = [], tools = [], begun = "" }: SampleOptions,
  tell: (delta: ReplyDelta) => void,
): (ids: readonly number[]) => void {
  const growth = new ReplyGrowth([...stop, ...(tools.length > 0 ? ["<tool_call>"] : []), "<think>", "</think>"]);
  const ids: number[] = [];
  let told = 0;
  return (sampled) => {
    ids.push(...sampled);
    const now = performance.now();
    if (now - told < TELL_EVERY_MS) return;
    told = now;
    const { content, reasoning } = read(Uint32Array.from(ids));
    const delta = growth.take({ content: beforeStop(content, stop, begun.length), reasoning });
    if (delta !== null) tell(delta);
  };
}

/** What is sampled ends at the first stop string behind what was begun. */
function beforeStop(content: string, stops: readonly string[], from: number): string {
  const ends = stops.map((stop) => content.indexOf(stop, from)).filter((at) => at >= 0);
  return content.slice(0, Math.min(content.length, ...ends)).trimEnd();
}

export function joined(a: Uint32Array, b: Uint32Array): Uint32Array {
  if (a.length === 0) return b;
  const both = new Uint32Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
