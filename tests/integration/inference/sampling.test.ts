/** What requests change about sampling, and what they see of it: the same whole and streamed, with the openai package and without. */
import OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";

import { PROMPT, useServing } from "./serving.ts";

const serving = useServing();
let openai: OpenAI;
beforeAll(() => {
  openai = new OpenAI({ baseURL: `${serving().url}/v1`, apiKey: "none", maxRetries: 0 });
});

const HELLO = [{ role: "user" as const, content: "hello" }];
const LETTERS = Object.fromEntries(Array.from({ length: 26 }, (_, letter) => [97 + letter, 100]));

interface Entry {
  token_id: number;
  logprob: number;
  rank: number;
}
interface Generated {
  choices: { index: number; token_ids: number[]; logprobs: { content: (Entry & { top_logprobs: Entry[] })[] } }[];
  prompt_logprobs: (Record<string, { logprob: number; rank: number; decoded_token: string | null }> | null)[];
}
const generate = async (sampling_params: object, more: object = {}): Promise<Generated> => {
  const answer = await serving().post("/inference/v1/generate", { token_ids: PROMPT, sampling_params, ...more });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body as unknown as Generated;
};

describe("several choices", () => {
  it("of a chat are the same streamed as whole", async () => {
    const request = { model: "tiny", messages: HELLO, max_tokens: 20, n: 3, seed: 4, logprobs: true, top_logprobs: 2 };
    const whole = await openai.chat.completions.create(request);
    const texts = ["", "", ""];
    const logprobs: unknown[][] = [[], [], []];
    const ends: (string | null)[] = [];
    const stream = await openai.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      usage = chunk.usage ?? usage;
      for (const { index, delta, finish_reason: end, logprobs: some } of chunk.choices) {
        texts[index] += delta.content ?? "";
        logprobs[index]?.push(...(some?.content ?? []));
        if (end !== null) ends[index] = end;
      }
    }
    expect(texts).toEqual(whole.choices.map(({ message }) => message.content));
    expect(ends).toEqual(whole.choices.map((choice) => choice.finish_reason));
    expect(logprobs).toEqual(whole.choices.map((choice) => choice.logprobs?.content));
    expect(usage).toMatchObject({ ...whole.usage, prompt_tokens_details: expect.anything() });
  });

  it("of several texts are the same streamed as whole, log-probabilities and offsets included", async () => {
    const request = { model: "tiny", prompt: ["abc", "xyz"], max_tokens: 12, n: 2, seed: 9, logprobs: 2, echo: true };
    const whole = await openai.completions.create(request);
    const got = whole.choices.map(() => ({ text: "", tokens: [] as string[], offsets: [] as number[] }));
    for await (const { choices } of await openai.completions.create({ ...request, stream: true })) {
      for (const { index, text, logprobs } of choices) {
        const one = got[index];
        if (one === undefined) throw new Error(`no choice ${index}`);
        one.text += text;
        one.tokens.push(...(logprobs?.tokens ?? []));
        one.offsets.push(...(logprobs?.text_offset ?? []));
      }
    }
    expect(got).toEqual(
      whole.choices.map(({ text, logprobs }) => ({ text, tokens: logprobs?.tokens, offsets: logprobs?.text_offset })),
    );
    expect(whole.choices.map(({ text }) => text.slice(0, 3))).toEqual(["abc", "abc", "xyz", "xyz"]);
  });

  it("of token ids have seeds one apart, whole and streamed", async () => {
    const params = { n: 3, seed: 8, max_tokens: 10, logprobs: 0 };
    const { choices } = await generate(params);
    const alone = await Promise.all([8, 9, 10].map((seed) => generate({ ...params, n: 1, seed })));
    expect(choices.map((choice) => choice.token_ids)).toEqual(alone.map((one) => one.choices[0]?.token_ids));
    const response = await fetch(`${serving().url}/inference/v1/generate`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token_ids: PROMPT, sampling_params: params, stream: true }),
    });
    const ids: number[][] = [[], [], []];
    for (const event of (await response.text()).split("\n\n").filter((line) => line.startsWith("data: {"))) {
      for (const choice of (JSON.parse(event.slice(6)) as Generated).choices)
        ids[choice.index]?.push(...choice.token_ids);
    }
    expect(ids).toEqual(choices.map((choice) => choice.token_ids));
  });
});

describe("log-probabilities of other tokens", () => {
  it("are ranked, with the sampled token first", async () => {
    const { choices } = await generate({ seed: 3, max_tokens: 30, logprobs: 5 });
    for (const { token_id: id, logprob, rank, top_logprobs: top } of choices[0]?.logprobs.content ?? []) {
      expect(top).toHaveLength(5);
      expect(top[0]).toEqual({ token_id: id, logprob, rank });
      const others = top.slice(1).map((entry) => entry.logprob);
      expect(others).toEqual(others.toSorted((a, b) => b - a));
      const above = others.filter((other) => other > logprob).length;
      if (rank <= 5) expect(above).toBe(rank - 1);
      else expect(above).toBe(4);
    }
  });

  it("of a prompt are those of its tokens at temperature 1, with text at the OpenAI endpoints", async () => {
    const scored = await serving().client.promptLogprobs(PROMPT);
    const { prompt_logprobs: plain } = await generate({
      max_tokens: 1,
      prompt_logprobs: 3,
      temperature: 0.2,
      logit_bias: { 5: 9 },
    });
    expect(plain[0]).toBeNull();
    for (const [t, entries] of plain.entries()) {
      if (entries === null) continue;
      const own = entries[String(PROMPT[t])];
      expect(Math.fround(own?.logprob ?? Number.NaN)).toBe(scored.logprobs[t]);
      const others = Object.values(entries).filter(({ rank }) => rank <= 3);
      expect(new Set(others.map(({ rank }) => rank))).toEqual(new Set([1, 2, 3]));
      expect(own?.rank).toBeGreaterThan(0);
    }
    const { body } = await serving().post("/v1/completions", { prompt: PROMPT, max_tokens: 1, prompt_logprobs: 0 });
    const [choice] = body["choices"] as { prompt_logprobs: Generated["prompt_logprobs"] }[];
    const texts = choice?.prompt_logprobs.slice(1).map((entries) => Object.values(entries ?? {})[0]?.decoded_token);
    expect(texts?.join("")).toBe("ello");
  });

  it("of an echoed prompt come before those of its continuation, or alone", async () => {
    const request = { model: "tiny", prompt: "hello", logprobs: 1, echo: true, seed: 2 };
    const only = await openai.completions.create({ ...request, max_tokens: 0 });
    expect(only.choices[0]).toMatchObject({ text: "hello", finish_reason: "length" });
    expect(only.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 0 });
    const scored = await serving().client.promptLogprobs(PROMPT);
    const values = only.choices[0]?.logprobs?.token_logprobs ?? [];
    expect(values.map((value) => (value === null ? 0 : Math.fround(value)))).toEqual([...scored.logprobs]);
    expect(only.choices[0]?.logprobs?.top_logprobs?.[0]).toBeNull();
    const scores = { prompt: PROMPT, max_tokens: 0, prompt_logprobs: 0 };
    const { body } = await serving().post("/v1/completions", scores);
    expect(body).toMatchObject({ choices: [{ text: "", finish_reason: "length" }], usage: { completion_tokens: 0 } });
    const [choice] = body["choices"] as { prompt_logprobs: Generated["prompt_logprobs"] }[];
    expect(choice?.prompt_logprobs).toHaveLength(PROMPT.length);
    const more = await openai.completions.create({ ...request, max_tokens: 6 });
    const plain = await openai.completions.create({ ...request, max_tokens: 6, echo: false });
    expect(more.choices[0]?.text).toBe(`hello${plain.choices[0]?.text}`);
    expect(more.choices[0]?.logprobs?.token_logprobs).toEqual([
      ...values,
      ...(plain.choices[0]?.logprobs?.token_logprobs ?? []),
    ]);
  });
});

describe("controls", () => {
  const complete = async (more: object): Promise<string> => {
    const request = { model: "tiny", prompt: "hello", max_tokens: 60, seed: 1, ...more };
    return (
      (await openai.completions.create(request as OpenAI.CompletionCreateParamsNonStreaming)).choices[0]?.text ?? ""
    );
  };

  it("biases have text keys, and are kept between -100 and 100", async () => {
    expect(await complete({ logit_bias: { "122": 100 } })).toBe("z".repeat(60));
    expect(await complete({ logit_bias: { "122": 1e30 } })).toBe("z".repeat(60));
  });

  it("only allowed tokens come, and no bad words, with a space before them or not", async () => {
    expect(await complete({ allowed_token_ids: [97, 98] })).toMatch(/^[ab]{60}$/u);
    const text = await complete({ allowed_token_ids: [97, 98], bad_words: ["aa", "abb"] });
    expect(text).toMatch(/^[ab]{60}$/u);
    expect(text).not.toMatch(/aa|abb/u);
    const failed = complete({ allowed_token_ids: [97], bad_words: ["a"] });
    await expect(failed).rejects.toThrow(/allowed_token_ids, bad_words and min_tokens together exclude every token/u);
  });

  it("a strong penalty lets no letter come twice; min_p of 1 takes the most probable", async () => {
    const letters = await complete({
      logit_bias: LETTERS,
      presence_penalty: 2,
      temperature: 0,
      repetition_penalty: 1e6,
      max_tokens: 20,
    });
    expect(new Set(letters)).toHaveLength(20);
    expect(await complete({ min_p: 1 })).toBe(await complete({ temperature: 0 }));
  });

  it("the stop string is part of the text where that is asked for, streamed too", async () => {
    const request = { logit_bias: { "122": 100 }, stop: ["zzz"] };
    expect(await complete(request)).toBe("");
    expect(await complete({ ...request, include_stop_str_in_output: true })).toBe("zzz");
    const chat = { model: "tiny", messages: HELLO, max_tokens: 9, ...request, include_stop_str_in_output: true };
    expect((await openai.chat.completions.create(chat)).choices[0]?.message.content).toBe("zzz");
    let text = "";
    for await (const chunk of await openai.chat.completions.create({ ...chat, stream: true }))
      text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toBe("zzz");
    expect(await complete({ logit_bias: { "122": 100 }, stop_token_ids: [122] })).toBe("");
    const withToken = { logit_bias: { "122": 100 }, stop_token_ids: [122], include_stop_str_in_output: true };
    expect(await complete(withToken)).toBe("z");
  });

  it("a stop string ends a text only after min_tokens, and what came before it stays", async () => {
    const letters = { logit_bias: { "122": 100 }, min_tokens: 5, stop: ["zzz"] };
    expect(await complete(letters)).toBe("zzz");
    expect(await complete({ ...letters, include_stop_str_in_output: true })).toBe("zzzzzz");
    const request = { model: "tiny", max_tokens: 9, ...letters };
    const chat = { ...request, messages: HELLO };
    expect((await openai.chat.completions.create(chat)).choices[0]?.message.content).toBe("zzz");
    const streamed = { chat: "", text: "" };
    for await (const chunk of await openai.chat.completions.create({ ...chat, stream: true }))
      streamed.chat += chunk.choices[0]?.delta.content ?? "";
    for await (const chunk of await openai.completions.create({ ...request, prompt: "hello", stream: true }))
      streamed.text += chunk.choices[0]?.text ?? "";
    expect(streamed).toEqual({ chat: "zzz", text: "zzz" });
  });

  it("special tokens of a chat are text where that is asked for, streamed too", async () => {
    const chat = { model: "tiny", messages: HELLO, max_tokens: 9, seed: 3, logit_bias: { "258": 100, "104": 100 } };
    const shown = { ...chat, skip_special_tokens: false };
    const plain = (await openai.chat.completions.create(chat)).choices[0]?.message.content ?? "";
    const whole = (await openai.chat.completions.create(shown)).choices[0]?.message.content ?? "";
    expect(whole).toContain("<|im_start|>");
    expect(whole.replaceAll("<|im_start|>", "")).toBe(plain);
    let text = "";
    for await (const chunk of await openai.chat.completions.create({ ...shown, stream: true }))
      text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toBe(whole);
    const stopped = { ...shown, stop: ["<|im_start|>"] };
    expect((await openai.chat.completions.create(stopped)).choices[0]?.message.content).toBe(
      whole.slice(0, whole.indexOf("<|im_start|>")),
    );
  });

  it("a prompt is cut at its beginning, or at its end", async () => {
    const idsOf = async (more: object): Promise<unknown> => {
      const request = { prompt: "hello", max_tokens: 1, return_token_ids: true, ...more };
      const { body } = await serving().post("/v1/completions", request);
      return (body["choices"] as { prompt_token_ids: number[] }[])[0]?.prompt_token_ids;
    };
    expect(await idsOf({ truncate_prompt_tokens: 2 })).toEqual(PROMPT.slice(-2));
    expect(await idsOf({ truncate_prompt_tokens: 2, truncation_side: "right" })).toEqual(PROMPT.slice(0, 2));
    expect(await idsOf({ truncate_prompt_tokens: -1, max_tokens: 510 })).toEqual(PROMPT.slice(-2));
  });

  it("an assistant's message is repeated before its continuation", async () => {
    const request = {
      model: "tiny",
      messages: [...HELLO, { role: "assistant" as const, content: "Well, " }],
      max_tokens: 5,
      seed: 1,
      echo: true,
    };
    const { choices } = await openai.chat.completions.create(request);
    expect(choices[0]?.message.content).toMatch(/^Well, /u);
    let text = "";
    for await (const chunk of await openai.chat.completions.create({ ...request, stream: true }))
      text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toBe(choices[0]?.message.content);
  });

  it("of an echoed prompt need no room for a token where none is sampled", async () => {
    const most =
      (await openai.models.list()).data.map((one) => (one as { max_model_len?: number }).max_model_len)[0] ?? 0;
    const request = { model: "tiny", logprobs: 0, echo: true, max_tokens: 0 };
    const full = Array.from({ length: most }, () => 5);
    const { choices } = await openai.completions.create({ ...request, prompt: full });
    expect(choices[0]?.logprobs?.token_logprobs).toHaveLength(most);
    const cut = { truncate_prompt_tokens: -1, prompt: [...full, 5] };
    const { usage } = await openai.completions.create({ ...request, ...cut });
    expect(usage).toMatchObject({ prompt_tokens: most, completion_tokens: 0 });
    const long = openai.completions.create({ ...request, prompt: [...full, 5] });
    await expect(long).rejects.toMatchObject({ status: 400, code: "PRL_INFERENCE_CONTEXT" });
  });

  it("alone are refused by name without an echo, and in a chat", async () => {
    const nothing = { model: "tiny", max_tokens: 0 };
    const plain = openai.completions.create({ ...nothing, prompt: "hello" });
    await expect(plain).rejects.toThrow(/max_tokens: must be at least 1 .*with echo/u);
    const messages = [{ role: "user" as const, content: "hello" }];
    for (const more of [{}, { prompt_logprobs: 0 }, { echo: true }]) {
      const chat = openai.chat.completions.create({ ...nothing, messages, ...more });
      await expect(chat).rejects.toThrow(/max_tokens: must be at least 1 in a chat/u);
    }
  });
});
