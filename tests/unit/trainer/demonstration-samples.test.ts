import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";

import { loadEnvironment, type Demonstration, type Message } from "../../../ts/environments/index.ts";
import { FAMILIES } from "../../../ts/renderers/families.ts";
import { createRenderer } from "../../../ts/renderers/renderer.ts";
import { loadRenderer, loadTokenizer, type Renderer, type Tokenizer } from "../../../ts/renderers/index.ts";
import { demonstrationSamples } from "../../../ts/trainer/sft/demonstration-samples.ts";

const MODEL = fileURLToPath(new URL("../../../configs/small-chat/model", import.meta.url));

let tokenizer: Tokenizer;
let renderer: Renderer;
beforeAll(async () => {
  [tokenizer, renderer] = await Promise.all([loadTokenizer(MODEL), loadRenderer(MODEL)]);
});

const samples = async (demonstration: Demonstration, seqLen = 4096) =>
  demonstrationSamples(demonstration, { tokenizer, renderer, seqLen });

/** The texts that carry loss. */
function learnt({ tokenIds, ceWeights = new Float32Array(0) }: Awaited<ReturnType<typeof samples>>[number]): string[] {
  const texts: number[][] = [];
  tokenIds.forEach((id, index) => {
    if (ceWeights[index] !== 1) return;
    if (index === 0 || ceWeights[index - 1] !== 1) texts.push([]);
    texts.at(-1)?.push(id);
  });
  return texts.map((ids) => tokenizer.decode(ids));
}

const user = (content: string): Message => ({ role: "user", content });
const assistant = (content: string): Message => ({ role: "assistant", content });

describe("demonstrationSamples", () => {
  it("learns the completion of a pair and the end of the sequence", async () => {
    const [sample, ...others] = await samples({ prompt: "a: ", completion: "b" });
    expect(others).toEqual([]);
    expect(sample && learnt(sample)).toEqual(["b<|im_end|>"]);
    expect(tokenizer.decode(sample?.tokenIds ?? [])).toBe("a: b<|im_end|>");
  });

  it("learns every reply of a conversation, and has the tokens of the template", async () => {
    const messages = [user("one"), assistant("two"), user("three"), assistant("four")];
    const [sample, ...others] = await samples({ messages });
    expect(others).toEqual([]);
    expect(sample && learnt(sample)).toEqual(["two<|im_end|>", "four<|im_end|>"]);
    const whole = renderer.render(messages, { addGenerationPrompt: false });
    // The template writes a line's end behind the last turn, which is never sampled.
    expect([...(sample?.tokenIds ?? [])]).toEqual([...whole].slice(0, -1));
  });

  it("begins a sample where a turn cannot extend the one before", async () => {
    const unbridged = { ...renderer, bridgeToNextTurnAsync: async () => Promise.resolve(null) };
    const messages = [user("one"), assistant("two"), user("three"), assistant("four")];
    const found = await demonstrationSamples({ messages }, { tokenizer, renderer: unbridged, seqLen: 4096 });
    expect(found.map(learnt)).toEqual([["two<|im_end|>"], ["four<|im_end|>"]]);
  });

  it("writes calls of tools as the policy has to write them", async () => {
    const environment = (await loadEnvironment("tool-lookup")).configure({ questions: ["sum"] });
    const [demonstration] = environment.demonstrations(1);
    if (demonstration === undefined) throw new Error("no demonstration");
    const [sample] = await samples(demonstration);
    const [first, second, answer] = sample === undefined ? [] : learnt(sample);
    expect(first).toMatch(
      /^<tool_call>\n\{"name": "get_manager", "arguments": \{"name":"\w+"\}\}\n<\/tool_call><\|im_end\|>$/u,
    );
    const calls = renderer.parse(tokenizer.encode(second ?? "")).toolCalls;
    expect(calls.map(({ status, name }) => [status, name])).toEqual([
      ["ok", "get_salary"],
      ["ok", "get_salary"],
    ]);
    expect(answer).toMatch(/^\\boxed\{\d+\}<\|im_end\|>$/u);
  });

  it("learns the messages of the roles that are asked for, with the token that closes each", async () => {
    const messages: Message[] = [
      { role: "system", content: "be kind" },
      user("one"),
      assistant("two"),
      { role: "tool", content: "three" },
      assistant("four"),
      user("five"),
    ];
    const of = async (roles: Partial<Record<Message["role"], boolean>>) => {
      const all = { system: false, user: false, tool: false, assistant: false, ...roles };
      const found = await demonstrationSamples({ messages }, { tokenizer, renderer, seqLen: 4096, roles: all });
      return found.flatMap((sample) => learnt(sample));
    };
    expect(await of({ assistant: true })).toEqual(["two<|im_end|>", "four<|im_end|>"]);
    expect(await of({ user: true })).toEqual(["one<|im_end|>", "five<|im_end|>"]);
    expect(await of({ system: true })).toEqual(["be kind<|im_end|>"]);
    expect((await of({ tool: true })).join("")).toContain("three");
    expect((await of({ tool: true })).join("")).not.toContain("four");
    const every = await of({ system: true, user: true, assistant: true });
    expect(every).toEqual(["be kind", "one", "two", "four", "five"].map((text) => `${text}<|im_end|>`));
  });

  it("only reads the messages before the first that is learnt", async () => {
    const messages = [user("one"), assistant("two"), user("three"), assistant("four")];
    const [sample, ...others] = await demonstrationSamples(
      { messages, learntFrom: 3 },
      { tokenizer, renderer, seqLen: 4096 },
    );
    expect(others).toEqual([]);
    expect(sample && learnt(sample)).toEqual(["four<|im_end|>"]);
  });

  it("refuses demonstrations that are too long or teach nothing", async () => {
    const refused = expect.objectContaining({ code: "PRL_PACKING_INPUT" });
    await expect(samples({ prompt: "aaaa", completion: "b" }, 5)).rejects.toThrow(refused);
    await expect(samples({ messages: [user("hello")] })).rejects.toThrow(refused);
  });

  it("tokenizes nothing on the JavaScript thread, and joins ids however many", async () => {
    const refused = (): never => {
      throw new Error("a demonstration was tokenized on the JavaScript thread");
    };
    const thread = { encode: refused, render: refused, renderReply: refused, bridgeToNextTurn: refused };
    const own = { tokenizer: { ...tokenizer, ...thread }, renderer: { ...renderer, ...thread }, seqLen: 4096 };
    const messages = [user("one"), assistant("two"), user("three"), assistant("four")];
    const [sample] = await demonstrationSamples({ messages }, own);
    expect(sample && learnt(sample)).toEqual(["two<|im_end|>", "four<|im_end|>"]);
    const [long] = await demonstrationSamples(
      { prompt: "a: ", completion: "b ".repeat(200_000) },
      { ...own, seqLen: 1e6 },
    );
    expect(long?.tokenIds.length).toBeGreaterThan(200_000);
  });

  it("refuses a template that rewrites the messages before a reply", async () => {
    const counting = `{{- messages | length -}}{%- for m in messages -%}{{- m.content + '<|im_end|>' -}}{%- endfor -%}`;
    const other = createRenderer(tokenizer, FAMILIES.chatml, counting);
    const refused = expect.objectContaining({ code: "PRL_TEMPLATE" });
    expect(() => other.renderReply([user("one")], assistant("two"))).toThrow(refused);
    await expect(other.renderReplyAsync([user("one")], assistant("two"))).rejects.toThrow(refused);
  });
});

describe("conversations of alphabet-sort", () => {
  const take = async (seed: number, count: number, args = {}): Promise<Message[][]> => {
    const found: Message[][] = [];
    for (const demonstration of (await loadEnvironment("alphabet-sort")).configure(args).demonstrations(seed)) {
      if (!("messages" in demonstration)) throw new Error("a pair");
      found.push([...demonstration.messages]);
      if (found.length === count) break;
    }
    return found;
  };

  it("follow from the seed and share no task with either split", async () => {
    expect(await take(1, 50)).toEqual(await take(1, 50));
    expect(await take(1, 50)).not.toEqual(await take(2, 50));
    const shown = new Set((await take(1, 500)).map(([first]) => first?.content));
    const environment = (await loadEnvironment("alphabet-sort")).configure();
    for (const split of ["train", "eval"] as const) {
      const { tasks } = await environment.tasks(split, 1).page(null, 500);
      const prompts = tasks.map(({ data }) => (data as { prompt: Message[] }).prompt[0]?.content);
      expect(prompts.filter((prompt) => shown.has(prompt))).toEqual([]);
    }
  });

  it("are sorted at first and in random order later", async () => {
    const sorted = (messages: Message[]): boolean =>
      messages
        .filter(({ role }) => role === "assistant")
        .every(({ content }) => content === content.split("\n").toSorted().join("\n"));
    const found = await take(1, 100, { answerNoise: 1, noiseAfter: 50 });
    expect(found.slice(0, 50).every(sorted)).toBe(true);
    expect(found.slice(50).filter(sorted).length).toBeLessThan(10);
  });
});
