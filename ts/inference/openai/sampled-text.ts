/** The text of a completion, as the text API shows it. */
import type { Tokenizer } from "../../renderers/index.ts";
import { stopPlace } from "../../renderers/internal.ts";
import type { Completion } from "../requests/response.ts";
import type { CompletionBody } from "./request.ts";

type TextOptions = Pick<CompletionBody, "include_stop_str_in_output" | "skip_special_tokens" | "ignore_eos">;

/**
 * The tokens that are text: as in vLLM the one that ended the completion is not, unless it is asked for. Where ends of sequences do not
 * count, only a stop token with its name ended it; else a required format did, behind which nothing could follow.
 */
export function shownIds(
  { include_stop_str_in_output: withStop, ignore_eos: ignoresEos }: TextOptions,
  { tokenIds, finishReason, stopReason }: Completion,
): Uint32Array {
  const endedByEos = stopReason === null && ignoresEos !== true;
  const endedByToken = finishReason === "stop" && (endedByEos || typeof stopReason === "number");
  return endedByToken && withStop !== true ? tokenIds.subarray(0, -1) : tokenIds;
}

/** The text before the stop string that ended it, or with it. */
export function sampledText(tokenizer: Pick<Tokenizer, "decode">, body: TextOptions, completion: Completion): string {
  const skipSpecialTokens = body.skip_special_tokens ?? true;
  const ids = shownIds(body, completion);
  const text = tokenizer.decode(ids, { skipSpecialTokens });
  const { stopReason } = completion;
  if (typeof stopReason !== "string") return text;
  const at = stopPlace(text, tokenizer.decode(ids.subarray(0, -1), { skipSpecialTokens }), stopReason);
  if (at < 0) return text;
  return text.slice(0, body.include_stop_str_in_output === true ? at + stopReason.length : at);
}
