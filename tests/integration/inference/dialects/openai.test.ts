import OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";

import { useServing } from "../serving.ts";
import { EOS } from "../tiny-model.ts";

const serving = useServing();
let openai: OpenAI;

beforeAll(() => {
  openai = new OpenAI({ baseURL: `${serving().url}/v1`, apiKey: "none", maxRetries: 0 });
});

const HELLO = [{ role: "user" as const, content: "hello" }];
const PROMPT_TEXT = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n";

describe("chat completions with the openai package", () => {
  it("samples the same as the generate endpoint does for the rendered conversation", async () => {
    const chat = await openai.chat.completions.create({
      model: "tiny",
      messages: HELLO,
      max_tokens: 24,
      seed: 7,
      logprobs: true,
    });
    expect(chat).toMatchObject({
      object: "chat.completion",
      model: "tiny",
      choices: [{ index: 0, message: { role: "assistant" } }],
    });
    const { tokens } = await tokenize({ messages: HELLO });
    const { tokens: written } = await tokenize({ prompt: PROMPT_TEXT, add_special_tokens: false });
    expect(tokens).toEqual(written);
    const same = await serving().client.generate({
      tokenIds: tokens,
      sampling: { seed: 7, maxTokens: 24, stopTokenIds: [259, EOS] },
    });
    expect(chat.usage).toMatchObject({ prompt_tokens: tokens.length, completion_tokens: same.tokenIds.length });
    const logprobs = chat.choices[0]?.logprobs?.content ?? [];
    expect(logprobs.map(({ logprob }) => Math.fround(logprob))).toEqual([...same.logprobs]);
    expect(chat.choices[0]?.finish_reason).toBe(same.finishReason);
  });

  it("refuse a conversation of more tokens than fit onto a stack by its length", async () => {
    const messages = [{ role: "user" as const, content: "a".repeat(400_000) }];
    const long = openai.chat.completions.create({ model: "tiny", messages, max_tokens: 1 });
    await expect(long).rejects.toMatchObject({ status: 400, code: "PRL_INFERENCE_CONTEXT" });
  });

  it("streams to the same text, usage last", async () => {
    const request = { model: "tiny", messages: HELLO, max_tokens: 40, seed: 3 };
    const whole = await openai.chat.completions.create(request);
    const stream = await openai.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let finish: string | null = null;
    let usage: unknown;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      finish = chunk.choices[0]?.finish_reason ?? finish;
      usage = chunk.usage ?? usage;
    }
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(finish).toBe(whole.choices[0]?.finish_reason);
    expect(usage).toMatchObject({ completion_tokens: whole.usage?.completion_tokens });
  });

  it("several choices differ and a seed repeats them", async () => {
    const request = { model: "tiny", messages: HELLO, max_tokens: 16, n: 4, seed: 11 };
    const [first, second] = [
      await openai.chat.completions.create(request),
      await openai.chat.completions.create(request),
    ];
    expect(first.choices).toHaveLength(4);
    const texts = first.choices.map(({ message }) => message.content);
    expect(new Set(texts).size).toBeGreaterThan(1);
    expect(second.choices.map(({ message }) => message.content)).toEqual(texts);
  });

  it("counts a prompt once for all its choices, and so its cached tokens", async () => {
    const messages = [
      { role: "user" as const, content: "a prompt of several blocks of the cache, which four choices share" },
    ];
    const { usage } = await openai.chat.completions.create({ model: "tiny", messages, max_tokens: 2, n: 4 });
    const { prompt_tokens: count = 0, prompt_tokens_details: details } = usage ?? {};
    expect(details?.cached_tokens).toBeLessThan(count);
    const token_ids = (await tokenize({ messages })).tokens;
    const body = { token_ids, sampling_params: { max_tokens: 2, n: 4 } };
    expect(await post("/inference/v1/generate", body)).toMatchObject({
      usage: { prompt_tokens: count, prompt_tokens_details: { cached_tokens: count - 1 } },
    });
  });

  it("a stop string ends it and is left out", async () => {
    const request = { model: "tiny", messages: HELLO, max_tokens: 64, temperature: 0 };
    const whole = (await openai.chat.completions.create(request)).choices[0]?.message.content ?? "";
    const stop = whole.slice(2, 4);
    expect(stop).toHaveLength(2);
    const cut = await openai.chat.completions.create({ ...request, stop: [stop] });
    expect(cut.choices[0]?.message.content).toBe(whole.slice(0, whole.indexOf(stop)).trim());
    expect(cut.choices[0]?.finish_reason).toBe("stop");
  });

  it("takes tools, tool messages and content parts into the prompt", async () => {
    const tools = [
      { type: "function" as const, function: { name: "add", parameters: { type: "object", properties: {} } } },
    ];
    const messages = [
      { role: "user" as const, content: [{ type: "text" as const, text: "1 + 1" }] },
      {
        role: "assistant" as const,
        content: null,
        tool_calls: [{ id: "c", type: "function" as const, function: { name: "add", arguments: '{"a": 1}' } }],
      },
      { role: "tool" as const, content: "2", tool_call_id: "c" },
    ];
    const { tokens } = await tokenize({ messages, tools });
    const { prompt } = await post<{ prompt: string }>("/detokenize", { tokens });
    expect(prompt).toContain('"name": "add"');
    expect(prompt).toContain('<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>');
    expect(prompt).toContain("<tool_response>\n2\n</tool_response>");
    const chat = await openai.chat.completions.create({ model: "tiny", messages, tools, max_tokens: 2 });
    expect(chat.usage?.prompt_tokens).toBe(tokens.length);
  });

  it("a forced call is begun for the policy, which goes on with it", async () => {
    const tools = ["add", "sub"].map((name) => ({ type: "function" as const, function: { name, parameters: {} } }));
    const request = { model: "tiny", messages: HELLO, tools, max_tokens: 4, temperature: 0 };
    const promptTokens = async (tool_choice: OpenAI.Chat.ChatCompletionToolChoiceOption) =>
      (await openai.chat.completions.create({ ...request, tool_choice })).usage?.prompt_tokens ?? 0;
    const free = await promptTokens("auto");
    const lengthOf = async (prompt: string) => (await tokenize({ prompt, add_special_tokens: false })).tokens.length;
    expect((await promptTokens("required")) - free).toBe(await lengthOf('<tool_call>\n{"name": "'));
    const named = { type: "function" as const, function: { name: "sub" } };
    expect((await promptTokens(named)) - free).toBe(await lengthOf('<tool_call>\n{"name": "sub", "arguments":'));
  });

  it.each([
    ["a wrong model", { model: "gpt-4" }, 404, /not served here/],
    ["no messages", { messages: [] }, 400, /messages/],
    [
      "an image",
      { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }] },
      501,
      /only parts of text/,
    ],
    ["a response format", { response_format: { type: "xml" } }, 501, /response_format/],
    ["a forced call without tools", { tool_choice: "required" }, 400, /no tools/],
    ["another tool choice", { tool_choice: { type: "allowed_tools" } }, 501, /tool_choice/],
    ["a number as stop_token_ids", { stop_token_ids: 622 }, 400, /stop_token_ids/],
    ["a text as ignore_eos", { ignore_eos: "yes" }, 400, /ignore_eos/],
    ["an effort", { reasoning_effort: "high" }, 501, /reasoning_effort.*chat_template_kwargs/],
    ["a verbosity", { verbosity: "low" }, 501, /verbosity/],
    ["functions", { functions: [{ name: "f" }] }, 501, /functions.*use tools/],
    ["audio", { modalities: ["text", "audio"] }, 501, /modalities/],
    ["a search of the web", { web_search_options: {} }, 501, /web_search_options/],
    ["a template", { chat_template: "{{ 1 }}" }, 501, /chat_template/],
    ["a reply to be continued", { continue_final_message: true }, 501, /continue_final_message/],
    [
      "special tokens without spaces",
      { skip_special_tokens: false, spaces_between_special_tokens: false },
      501,
      /spaces_between_special_tokens/,
    ],
    ["a prompt of which nothing is left", { truncate_prompt_tokens: 0 }, 400, /token_ids/],
    ["21 top log-probabilities", { logprobs: true, top_logprobs: 21 }, 400, /logprobs/],
    ["those of the whole vocabulary", { logprobs: true, top_logprobs: -1 }, 501, /logprobs/],
    ["top log-probabilities without any", { top_logprobs: 1 }, 400, /logprobs: true/],
    ["a negative count", { logprobs: true, top_logprobs: -2 }, 400, /top_logprobs/],
    ["options of a stream without one", { stream_options: { include_usage: true } }, 400, /stream_options/],
    ["more messages than tokens", { messages: Array.from({ length: 600 }, () => HELLO[0]) }, 400, /600 messages/],
    ["too many choices", { n: 129 }, 400, /n/],
    ["no seed for the second choice", { n: 2, seed: Number.MAX_SAFE_INTEGER }, 400, /seed/],
    ["a penalty that is too large", { presence_penalty: 2.5 }, 400, /presence_penalty/],
    ["a bias of an unknown token", { logit_bias: { 260: 1 } }, 400, /logit_bias/],
    ["an unknown field", { temperatur: 1 }, 400, /temperatur/],
    ["too many tokens", { messages: [{ role: "user", content: "a".repeat(600) }] }, 400, /max_model_len/],
  ])("refuses %s", async (_name, change, status, message) => {
    const request = { model: "tiny", messages: HELLO, ...change } as OpenAI.Chat.ChatCompletionCreateParamsNonStreaming;
    const failed = openai.chat.completions.create(request);
    await expect(failed).rejects.toMatchObject({ status });
    await expect(failed).rejects.toThrow(message);
  });
});

describe("fields that change no answer", () => {
  const request = { model: "tiny", messages: HELLO, max_tokens: 8, seed: 5 };

  it("are accepted: fields about an account or a provider, and the defaults of missing features", async () => {
    const plain = await openai.chat.completions.create(request);
    const more = {
      user: "u",
      metadata: { a: "b" },
      store: false,
      service_tier: "auto",
      safety_identifier: "s",
      prompt_cache_key: "k",
      prompt_cache_retention: "24h",
      prediction: { type: "content", content: "x" },
      session_id: "1",
      logit_bias: {},
      presence_penalty: 0,
      response_format: { type: "text" },
      modalities: ["text"],
      verbosity: "medium",
      reasoning_effort: null,
      functions: [],
      function_call: "none",
      add_generation_prompt: true,
      continue_final_message: false,
      skip_special_tokens: true,
      spaces_between_special_tokens: true,
      include_reasoning: true,
      echo: false,
      length_penalty: 1,
      use_beam_search: false,
      parallel_tool_calls: true,
      chat_template_kwargs: {},
      documents: null,
    };
    const same = await openai.chat.completions.create({ ...request, ...more } as typeof request);
    expect(same.choices).toEqual(plain.choices);
  });

  it("a stream reports its usage in each chunk when asked", async () => {
    const options = { include_usage: true, continuous_usage_stats: true, include_obfuscation: false };
    const stream = await openai.chat.completions.create({ ...request, stream: true, stream_options: options });
    const counts: (number | undefined)[] = [];
    for await (const { usage } of stream) counts.push(usage?.completion_tokens);
    expect(counts.every((count) => count !== undefined)).toBe(true);
    expect(counts).toEqual(counts.toSorted((a, b) => Number(a) - Number(b)));
  });
});

describe("vLLM's additions", () => {
  const request = {
    max_tokens: 12,
    seed: 7,
    return_token_ids: true,
    ignore_eos: true,
    logprobs: true,
    top_logprobs: 1,
  };
  interface Choice {
    token_ids: number[];
    stop_reason: number | string | null;
    logprobs: { content: { token: string; top_logprobs: { token: string }[] }[] };
  }
  const ask = async (path: string, body: object): Promise<string> =>
    (await fetch(`${serving().url}${path}`, { ...JSON_POST, body: JSON.stringify(body) })).text();

  it("gives a conversation's token ids and the token that ended it, whole and streamed", async () => {
    const { tokens } = await tokenize({ messages: HELLO });
    const text = await ask("/v1/chat/completions", { ...request, messages: HELLO });
    const answer = JSON.parse(text) as { prompt_token_ids: number[]; choices: [Choice] };
    expect(answer.prompt_token_ids).toEqual(tokens);
    const [{ token_ids: ids, logprobs, stop_reason: stopped }] = answer.choices;
    expect(ids).toHaveLength(12);
    expect(stopped).toBeNull();
    for (const { token, top_logprobs: top } of logprobs.content) expect(top).toMatchObject([{ token }]);
    const third = ids[2] ?? 0;
    const other = await ask("/v1/chat/completions", { ...request, messages: HELLO, stop_token_ids: [third] });
    expect(JSON.parse(other)).toMatchObject({ choices: [{ finish_reason: "stop", stop_reason: third }] });
    const stream = await ask("/v1/chat/completions", { ...request, messages: HELLO, stream: true });
    const chunks = eventsOf<{ prompt_token_ids?: number[]; choices: [Partial<Choice>] }>(stream);
    expect(chunks.flatMap((chunk) => chunk.prompt_token_ids ?? [])).toEqual(tokens);
    expect(chunks.flatMap(({ choices: [choice] }) => choice.token_ids ?? [])).toEqual(ids);
  });

  it("gives a completion's token ids, whole and streamed", async () => {
    const { logprobs: _, top_logprobs: __, ...plain } = request;
    const body = { ...plain, prompt: "abc", logprobs: 1, return_tokens_as_token_ids: true };
    const whole = JSON.parse(await ask("/v1/completions", body)) as { choices: [Record<string, unknown>] };
    const [{ prompt_token_ids: prompt, token_ids: ids, logprobs }] = whole.choices;
    expect(prompt).toEqual([...Buffer.from("abc")]);
    const { tokens, token_logprobs: values, top_logprobs: top } = logprobs as Record<string, unknown[]>;
    for (const [i, token] of (tokens ?? []).entries()) expect(top?.[i]).toMatchObject({ [String(token)]: values?.[i] });
    const chunks = eventsOf<{ choices: [{ token_ids?: number[]; prompt_token_ids?: number[] }] }>(
      await ask("/v1/completions", { ...body, stream: true }),
    );
    expect(chunks.flatMap(({ choices: [choice] }) => choice.prompt_token_ids ?? [])).toEqual(prompt);
    expect(chunks.flatMap(({ choices: [choice] }) => choice.token_ids ?? [])).toEqual(ids);
  });
});

const JSON_POST = { method: "POST", headers: { "content-type": "application/json" } };

function eventsOf<T>(text: string): T[] {
  const events = text.split("\n\n").filter((event) => event.startsWith("data: {"));
  return events.map((event) => JSON.parse(event.slice("data: ".length)) as T);
}

describe("completions with the openai package", () => {
  it("takes texts and token ids, one choice for each", async () => {
    const ids = [...Buffer.from("abc")];
    const request = { model: "tiny", max_tokens: 8, temperature: 0 };
    const texts = await openai.completions.create({ ...request, prompt: ["abc", "xyz"] });
    expect(texts.choices.map(({ index }) => index)).toEqual([0, 1]);
    expect(texts.usage?.prompt_tokens).toBe(6);
    const one = await openai.completions.create({ ...request, prompt: ids, logprobs: 0 });
    expect(one.choices[0]?.text).toBe(texts.choices[0]?.text);
    expect(one.choices[0]?.logprobs?.token_logprobs).toHaveLength(one.usage?.completion_tokens ?? -1);
  });

  it("streams to the same text", async () => {
    const request = { model: "tiny", prompt: "abc", max_tokens: 32, seed: 5 };
    const whole = await openai.completions.create(request);
    let text = "";
    for await (const chunk of await openai.completions.create({ ...request, stream: true }))
      text += chunk.choices[0]?.text ?? "";
    expect(text).toBe(whole.choices[0]?.text);
  });

  it("streams a stop string that only the end of the text completes", async () => {
    // Half of a character, which is held back until nothing more comes.
    const request = { model: "tiny", prompt: "a", max_tokens: 1, logit_bias: { 195: 100 }, stop: "\uFFFD" };
    const shown = { ...request, include_stop_str_in_output: true };
    expect((await openai.completions.create(shown)).choices[0]?.text).toBe("\uFFFD");
    let text = "";
    for await (const chunk of await openai.completions.create({ ...shown, stream: true }))
      text += chunk.choices[0]?.text ?? "";
    expect(text).toBe("\uFFFD");
  });
});

describe("completions that are refused", () => {
  it.each([
    ["21 log-probabilities", { logprobs: 21 }, 400, /logprobs/],
    ["a bad word without tokens", { bad_words: [""] }, 400, /bad_words/],
    ["the best of several", { best_of: 2 }, 501, /best_of.*use n/],
    ["a suffix", { suffix: "x" }, 501, /suffix/],
    [
      "special tokens without spaces",
      { skip_special_tokens: false, spaces_between_special_tokens: false },
      501,
      /spaces_between_special_tokens/,
    ],
    ["a number as stop_token_ids", { stop_token_ids: 622 }, 400, /stop_token_ids/],
    [
      "more samples than one request may have",
      { prompt: Array.from({ length: 100 }, () => [1]), n: 100 },
      400,
      /4096 samples/,
    ],
    ["a token beyond 32 bits", { prompt: [97, 2 ** 32 + 98] }, 400, /prompt/],
    ["an unknown field", { topp: 1 }, 400, /topp/],
  ])("%s", async (_name, change, status, message) => {
    const answer = await serving().post("/v1/completions", { model: "tiny", prompt: "abc", max_tokens: 2, ...change });
    expect({ status: answer.status, body: JSON.stringify(answer.body) }).toEqual({
      status,
      body: expect.stringMatching(message),
    });
  });
});

describe("tokenize and detokenize", () => {
  it("are inverse, count, and refuse invalid token ids", async () => {
    const { count, tokens, max_model_len: most } = await tokenize({ prompt: "grün 😀" });
    expect(tokens).toEqual([...Buffer.from("grün 😀")]);
    expect([count, most]).toEqual([tokens.length, 512]);
    expect(await post("/detokenize", { tokens })).toEqual({ prompt: "grün 😀" });
    expect((await serving().post("/detokenize", { tokens: [260] })).status).toBe(400);
    expect((await serving().post("/tokenize", {})).status).toBe(400);
  });
});

async function post<Result>(path: string, body: unknown): Promise<Result> {
  const { status, body: answer } = await serving().post(path, body);
  expect(status).toBe(200);
  return answer as Result;
}

function tokenize(body: object): Promise<{ tokens: number[]; count: number; max_model_len: number }> {
  return post("/tokenize", body);
}
