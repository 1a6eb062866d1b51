/** `/tokenize` and `/detokenize`, as vLLM has them. */
import type { FastifyInstance } from "fastify";
import { z } from "zod";

import type { ServerContext } from "../context.ts";
import { badRequest } from "../errors.ts";
import { conversationOf } from "../openai/messages.ts";
import { readAs } from "../read-as.ts";

const tokenizeSchema = z.strictObject({
  model: z.string().nullish(),
  prompt: z.string().optional(),
  messages: z
    .array(z.looseObject({ role: z.string() }))
    .min(1)
    .optional(),
  add_special_tokens: z.boolean().nullish(),
  add_generation_prompt: z.boolean().nullish(),
  tools: z.array(z.unknown()).nullish(),
  chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
  return_token_strs: z.boolean().nullish(),
});

const detokenizeSchema = z.strictObject({ model: z.string().nullish(), tokens: z.array(z.int().nonnegative()) });

export function registerTokenize(app: FastifyInstance, context: ServerContext): void {
  app.post("/tokenize", (request) => tokenize(context, readAs("body", tokenizeSchema, request.body)));
  app.post("/detokenize", (request) => detokenize(context, readAs("body", detokenizeSchema, request.body)));
}

async function tokenize(context: ServerContext, body: z.output<typeof tokenizeSchema>): Promise<object> {
  const { prompt, messages, tools = null, add_generation_prompt: generation } = body;
  if ((prompt === undefined) === (messages === undefined)) throw badRequest("body", "give either prompt or messages");
  const tokenizer = await context.tokenizer();
  const renderer = await context.renderer(body.chat_template_kwargs ?? {});
  // vLLM adds special tokens to a text by default, and none to a rendered template.
  const ids =
    messages === undefined
      ? await tokenizer.encodeAsync(prompt ?? "", { addSpecialTokens: body.add_special_tokens ?? true })
      : await renderer.renderAsync(conversationOf(messages, context.limits), {
          tools,
          addGenerationPrompt: generation ?? true,
        });
  const strings = body.return_token_strs === true ? await tokenizer.decodeEach(ids) : null;
  return { count: ids.length, max_model_len: context.limits.maxModelLen, tokens: [...ids], token_strs: strings };
}

async function detokenize(context: ServerContext, { tokens }: z.output<typeof detokenizeSchema>): Promise<object> {
  const wrong = tokens.findIndex((id) => id >= context.limits.vocabSize);
  if (wrong >= 0) throw badRequest(`tokens[${wrong}]`, `must be below ${context.limits.vocabSize}`);
  return { prompt: (await context.tokenizer()).decode(tokens) };
}
