/** A chat that is ready to be sampled: its prompt in the model's template, the beginning of the reply, its choices. */
import type { ChatMessage, Renderer, Tokenizer } from "../../renderers/index.ts";
import { encodeBeginning, joinedIds, opensThinking } from "../../renderers/internal.ts";
import type { StructuredOutput } from "../../native/index.ts";
import type { ServerContext } from "../context.ts";
import { badRequest, unsupported } from "../errors.ts";
import type { ParsedRequest } from "../requests/request.ts";
import type { ReplyOptions } from "./choice.ts";
import { conversationOf } from "./messages.ts";
import { type ChatBody, forcedCall, toGenerate } from "./request.ts";

export interface RenderedChat {
  body: ChatBody;
  messages: readonly ChatMessage[];
  promptIds: Uint32Array;
  renderer: Renderer;
  tokenizer: Tokenizer;
  /** How the reply is read. */
  options: ReplyOptions;
  /** The grammar of a forced call; null: none is forced. */
  call: string | null;
}

/** `begun`: text that begins the reply. Errors: PRL_INFERENCE_CONTEXT, PRL_INFERENCE_REQUEST, PRL_INFERENCE_UNSUPPORTED, PRL_TEMPLATE. */
export async function renderChat(context: ServerContext, body: ChatBody, begun = ""): Promise<RenderedChat> {
  const [plain, tokenizer] = await Promise.all([
    context.renderer(body.chat_template_kwargs ?? {}),
    context.tokenizer(),
  ]);
  const renderer = body.skip_special_tokens === false ? plain.withSpecialTokens() : plain;
  const tools = body.tool_choice === "none" || (body.tools ?? []).length === 0 ? null : (body.tools ?? []);
  const messages = conversationOf(body.messages, context.limits);
  const rendered = await renderer.renderAsync(messages, { tools });
  const opened = opensThinking({ tokenizer, renderer }, rendered, messages, { tools });
  const forced = forcedCall(body);
  const beginning = encodeBeginning(
    { tokenizer, renderer },
    { thinks: opened, begun, ...(forced !== undefined && { call: forced }) },
  );
  if (beginning === null) throw unsupported("tool_choice: the model's chat format has no calls of tools");
  const options = {
    tools: tools !== null,
    schemas: tools ?? [],
    oneCall: body.parallel_tool_calls === false,
    id: context.nextId(),
    begun: beginning,
    thinks: opened && beginning.length === 0,
    withStop: body.include_stop_str_in_output === true,
  };
  const call = forced === undefined ? null : renderer.callGrammar(forced, tools ?? []);
  return { body, messages, promptIds: joinedIds(rendered, beginning), renderer, tokenizer, options, call };
}

/** One request for each choice. Errors: PRL_INFERENCE_CONTEXT, PRL_INFERENCE_REQUEST. */
export function requestsOf({ limits }: ServerContext, chat: RenderedChat): ParsedRequest[] {
  const { body, promptIds, renderer } = chat;
  return toGenerate(body, promptIds, renderer.stopTokenIds, limits).map((parsed) => ({
    ...parsed,
    structuredOutput: formatOf(parsed.structuredOutput, chat),
  }));
}

/** The format of what is sampled: a forced call goes on behind its beginning, thinking comes before a required format. */
function formatOf(required: StructuredOutput | null, { call, options }: RenderedChat): StructuredOutput | null {
  if (call !== null) {
    if (required !== null)
      throw badRequest("tool_choice", "a forced call is not possible together with a required format");
    return { grammar: call };
  }
  if (required === null) return null;
  if (options.thinks) return { after: "</think>", ...required };
  if (options.begun.length > 0)
    throw badRequest("messages", "a begun reply is not possible together with a required format");
  return required;
}
