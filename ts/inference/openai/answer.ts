/** What the answers of both OpenAI endpoints have in common: head, sampling, usage. */
import type { ActiveRequest } from "../active-request.ts";
import { CompletionCursor, joinCompletions } from "../completion.ts";
import type { ServerContext } from "../context.ts";
import type { ParsedRequest } from "../request.ts";
import type { Completion, Usage } from "../response.ts";
import { sample } from "../sample.ts";
import type { ChatBody, CompletionBody } from "./request.ts";

export interface Head {
  id: string;
  object: string;
  created: number;
  model: string;
}

export function headOf(
  context: ServerContext,
  body: ChatBody | CompletionBody,
  kind: "chatcmpl" | "cmpl",
  object: string,
): Head {
  const model = body.model ?? context.modelNames[0] ?? "";
  return { id: `${kind}-${context.nextId()}`, object, created: Math.floor(Date.now() / 1000), model };
}

export interface Sampled {
  completion: Completion;
  usage: Usage;
}

/** One choice, sampled to its end. */
export async function whole(context: ServerContext, parsed: ParsedRequest, active: ActiveRequest): Promise<Sampled> {
  const cursor = new CompletionCursor();
  const chunks: Completion[] = [];
  for await (const chunk of sample(context, parsed, context.nextId(), cursor, active.signal)) chunks.push(chunk);
  const completion = joinCompletions(chunks);
  const usage = {
    promptTokens: parsed.promptTokenIds.length,
    completionTokens: completion.tokenIds.length,
    cachedTokens: cursor.cachedTokens,
  };
  return { completion, usage };
}

/** Usage over all prompts and choices; choices of one prompt share it. */
export function total(sampled: readonly Sampled[], choices: number): object {
  const prompt = sampled
    .filter((_, index) => index % choices === 0)
    .reduce((sum, { usage }) => sum + usage.promptTokens, 0);
  const completion = sampled.reduce((sum, { usage }) => sum + usage.completionTokens, 0);
  const cached = sampled.reduce((sum, { usage }) => sum + usage.cachedTokens, 0);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
  };
}
