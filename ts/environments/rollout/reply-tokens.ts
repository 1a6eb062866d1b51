/** The tokens of one reply: its given beginning, and its text while it is sampled. */
import { PrlError } from "../../errors.ts";
import { encodeBeginning, onlyFunction } from "../../renderers/internal.ts";
import type { ReplyDelta } from "../../renderers/index.ts";
import type { SampleOptions } from "../model/environment.ts";
import type { PolicyRenderer, PolicyTokenizer } from "../model/tokenizer.ts";

interface Codec {
  readonly tokenizer: PolicyTokenizer;
  readonly renderer: PolicyRenderer;
}

export const NOTHING = new Uint32Array(0);
/** Listeners read the whole reply each time, so they are not called at every token. */
const SHOW_EVERY_MS = 30;

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

/** A sampled reply: to a text, or in a conversation behind a given beginning. */
export type SampledReply = "text" | { readonly begun: Uint32Array; readonly thinks: boolean };

/**
 * Takes sampled tokens and passes on the text that is certain; a token that completes a stop string is left to the reader of the whole
 * reply.
 */
export function listenerOf(
  { tokenizer, renderer }: Codec,
  reply: SampledReply,
  stop: readonly string[],
  tell: (delta: ReplyDelta) => void,
): (ids: readonly number[]) => void {
  const text = tokenizer.decodeStream({ skipSpecialTokens: true, stop });
  const growing = reply === "text" ? null : renderer.grow({ thinks: reply.thinks, tools: true, stop });
  const ids = reply === "text" ? [] : [...reply.begun];
  let content = "";
  let lastShown = 0;
  const news = (): ReplyDelta | null => {
    const said = content;
    content = "";
    if (growing !== null) return growing.push(ids.splice(0));
    return said === "" ? null : { content: said };
  };
  return (sampled) => {
    for (const id of sampled) {
      const said = text.push(id);
      if (growing === null) content += said;
      else if (!text.stopped) ids.push(id);
    }
    const now = performance.now();
    if (now - lastShown < SHOW_EVERY_MS) return;
    lastShown = now;
    const delta = news();
    if (delta !== null) tell(delta);
  };
}
