import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { parseExact } from "../../../ts/exact-json.ts";
import { FAMILIES } from "../../../ts/renderers/families.ts";
import { createRenderer } from "../../../ts/renderers/renderer.ts";
import { readTokenizerConfig } from "../../../ts/renderers/tokenizer-config.ts";
import { encodeBeginning, opensThinking, parseReply } from "../../../ts/renderers/internal.ts";
import {
  loadRenderer,
  loadTokenizer,
  type Renderer,
  type RendererName,
  type Tokenizer,
} from "../../../ts/renderers/index.ts";
import { QWEN_LIKE_TOOLS, THINKING } from "./templates.ts";

const EXAMPLE = fileURLToPath(new URL("../../../configs/reverse-text/model", import.meta.url));
const SPECIAL: Record<string, string[]> = {
  "qwen2.5": ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<tool_call>", "</tool_call>"],
  qwen3: ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_call>", "</tool_call>"],
  chatml: ["<|im_start|>", "<|im_end|>"],
  llama3: [
    "<|begin_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|eom_id|>",
  ],
};
const dirs: string[] = [];
const loaded = new Map<string, { renderer: Renderer; tokenizer: Tokenizer; dir: string }>();

/** A byte-level tokenizer with the special tokens of a family, and a given template. */
async function folder(special: readonly string[], template?: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "prl-renderer-"));
  dirs.push(dir);
  const tokenizer = JSON.parse(await readFile(join(EXAMPLE, "tokenizer.json"), "utf8")) as {
    added_tokens: { id: number; content: string }[];
  };
  const [first] = tokenizer.added_tokens;
  tokenizer.added_tokens = special.map((content, index) => ({ ...first, id: 256 + index, content }));
  const config = {
    bos_token: special.find((token) => token.includes("begin")),
    ...(template === undefined ? {} : { chat_template: template }),
  };
  await writeFile(join(dir, "tokenizer.json"), JSON.stringify(withoutSpecial(tokenizer)));
  await writeFile(join(dir, "tokenizer_config.json"), JSON.stringify(config));
  return dir;
}

/** The example's vocabulary names its own special tokens too. */
function withoutSpecial(tokenizer: object): object {
  const model = (tokenizer as { model: { vocab: Record<string, number> } }).model;
  const vocab = Object.fromEntries(Object.entries(model.vocab).filter(([, id]) => id < 256));
  return { ...tokenizer, model: { ...model, vocab } };
}

beforeAll(async () => {
  for (const [name, special] of Object.entries(SPECIAL)) {
    const dir = await folder(special);
    const renderer = await loadRenderer(dir, { name: name as RendererName });
    loaded.set(name, { renderer, tokenizer: await loadTokenizer(dir), dir });
  }
});

afterAll(() => Promise.all(dirs.map((dir) => rm(dir, { recursive: true, force: true }))));

describe("renderReply", () => {
  it("keeps the blanks that a template leaves: the learnt text is the written text", async () => {
    const dir = await folder(SPECIAL["qwen3"] ?? [], THINKING);
    const [renderer, tokenizer] = await Promise.all([loadRenderer(dir), loadTokenizer(dir)]);
    const reply = (content: string, more = {}): string =>
      tokenizer.decode(renderer.renderReply([{ role: "user", content: "x" }], { role: "assistant", content, ...more }));
    expect(reply("    return x")).toBe("<think>\n\n</think>\n\n    return x<|im_end|>");
    expect(reply("\n\treturn x \n")).toBe("<think>\n\n</think>\n\n\treturn x \n<|im_end|>");
    expect(reply("<think>\n  a\n\tb\n</think>\n\n    c")).toBe("<think>\n  a\n\tb\n</think>\n\n    c<|im_end|>");
    expect(reply(" c", { reasoning_content: "\n  a \n" })).toBe("<think>\n  a \n</think>\n\n c<|im_end|>");
  });
});

describe("calls of a conversation", () => {
  const args = '{"a":1,"b":[2,"x"],"id":12345678901234567890}';
  const TEXT =
    "{%- for message in messages -%}{{- '<|im_start|>' + message.role + '\\n' + message.content -}}{%- for call in message.tool_calls -%}" +
    "{{- call.function.name ARGUMENTS -}}{%- endfor -%}{{- '<|im_end|>\\n' -}}{%- endfor -%}" +
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";
  const ENTRIES =
    "{%- for message in messages -%}{{- '<|im_start|>' + message.role + '\\n' + message.content -}}{%- for call in message.tool_calls -%}" +
    "{%- for name, value in call.function.arguments | items -%}{{- name + '=' + value | tojson + ';' -}}{%- endfor -%}{%- endfor -%}" +
    "{{- '<|im_end|>\\n' -}}{%- endfor -%}{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";

  it.each([
    [
      "writes them as JSON",
      QWEN_LIKE_TOOLS,
      '<tool_call>\n{"name": "f", "arguments": {"a": 1, "b": [2, "x"], "id": 12345678901234567890}}\n</tool_call>',
    ],
    ["goes through their entries", ENTRIES, 'a=1;b=[2, "x"];id=12345678901234567890;'],
    ["adds the text to another", TEXT.replace("ARGUMENTS", "+ call.function.arguments"), `f${args}`],
    ["prints the text", TEXT.replace("ARGUMENTS", "~ call.function.arguments"), `f${args}`],
  ])("have arguments as text or as objects for a template that %s", async (_, template, written) => {
    const dir = await folder(SPECIAL["qwen2.5"] ?? [], template);
    const [renderer, tokenizer] = await Promise.all([loadRenderer(dir), loadTokenizer(dir)]);
    for (const given of [args, parseExact(args)]) {
      const call = { id: "c", type: "function", function: { name: "f", arguments: given } };
      const reply = { role: "assistant", content: "", tool_calls: [call] };
      const learnt = renderer.renderReply([{ role: "user", content: "x" }], reply);
      expect(tokenizer.decode(learnt)).toBe(`${written}<|im_end|>`);
      expect(tokenizer.decode(renderer.render([{ role: "user", content: "x" }, reply]))).toContain(written);
    }
  });
});

function family(name: string) {
  const found = loaded.get(name);
  if (found === undefined) throw new Error(name);
  return found;
}

const words = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((text) => text.trim() === text && !/[<>|]/u.test(text));
const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });
const tool = (content: string) => ({ role: "tool", content });

describe("bridgeToNextTurn", () => {
  const cases = [
    ["chatml", "<|im_end|>"],
    ["qwen2.5", "<|im_end|>"],
    ["qwen3", "<|im_end|>"],
    ["llama3", "<|eot_id|>"],
  ] as const;

  it.each(cases)("%s: extends the tokens and equals the template where nothing was retokenised", (name, close) => {
    const { renderer, tokenizer } = family(name);
    const news = fc.oneof(
      fc.array(words.map(tool), { minLength: 1, maxLength: 3 }),
      ...(name === "qwen3" ? [] : [words.map((text) => [user(text)]), words.map((text) => [tool("r"), user(text)])]),
    );
    fc.assert(
      fc.property(fc.option(words), words, words, news, fc.boolean(), (system, question, reply, next, closed) => {
        const start = [...(system === null ? [] : [{ role: "system", content: system }]), user(question)];
        const prompt = renderer.render(start);
        const completion = tokenizer.encode(closed ? `${reply}${close}` : reply);
        const bridged = renderer.bridgeToNextTurn(prompt, completion, next);
        expect(bridged).not.toBeNull();
        expect([...(bridged ?? [])].slice(0, prompt.length + completion.length)).toEqual([...prompt, ...completion]);
        expect([...(bridged ?? [])]).toEqual([...renderer.render([...start, assistant(reply), ...next])]);
      }),
      { numRuns: 60 },
    );
  });

  it.each(cases)("%s: gives the same off the thread", async (name, close) => {
    const { renderer, tokenizer } = family(name);
    await fc.assert(
      fc.asyncProperty(
        words,
        words,
        words,
        fc.constantFrom("tool", "user", "assistant"),
        async (q, reply, next, role) => {
          const prompt = renderer.render([user(q)]);
          for (const ending of ["", close, `${close}x`]) {
            const completion = tokenizer.encode(reply + ending);
            const news = [{ role, content: next }];
            const bridged = await renderer.bridgeToNextTurnAsync(prompt, completion, news);
            expect(bridged).toEqual(renderer.bridgeToNextTurn(prompt, completion, news));
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  it("is refused where it would not be exact", () => {
    const { renderer, tokenizer } = family("qwen2.5");
    const prompt = renderer.render([user("hi")]);
    const ids = (text: string) => tokenizer.encode(text);
    expect(renderer.bridgeToNextTurn(prompt, ids("a<|im_end|>"), [])).toBeNull();
    expect(renderer.bridgeToNextTurn(prompt, ids("a<|im_end|>"), [assistant("b")])).toBeNull();
    expect(renderer.bridgeToNextTurn(new Uint32Array(0), ids("a<|im_end|>"), [user("b")])).toBeNull();
    expect(renderer.bridgeToNextTurn(prompt, ids("a<|endoftext|>"), [user("b")])).toBeNull();
    expect(renderer.bridgeToNextTurn(prompt, ids("a<|im_end|>b"), [user("c")])).toBeNull();
    expect(renderer.bridgeToNextTurn(prompt, ids("a<|im_end|>"), [user("b")])).not.toBeNull();
  });

  it("is refused where the template takes the new messages only behind the reply itself", async () => {
    const template =
      "{%- for message in messages -%}{%- if message.role == 'tool' and not messages[loop.index0 - 1].tool_calls -%}" +
      "{{- raise_exception('it answers no call') -}}{%- endif -%}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}" +
      "{%- endfor -%}{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";
    const dir = await folder(SPECIAL["qwen2.5"] ?? [], template);
    const [renderer, tokenizer] = await Promise.all([loadRenderer(dir), loadTokenizer(dir)]);
    const [prompt, completion] = [renderer.render([user("hi")]), tokenizer.encode("a<|im_end|>")];
    expect(renderer.bridgeToNextTurn(prompt, completion, [tool("b")])).toBeNull();
    expect(renderer.bridgeToNextTurn(prompt, completion, [user("b")])).not.toBeNull();
  });

  it("qwen3 renders anew when its template forgets thinking, unless it is kept", async () => {
    const { renderer, tokenizer, dir } = family("qwen3");
    const prompt = renderer.render([user("hi")]);
    const completion = tokenizer.encode("<think>\nhm\n</think>\n\nyes<|im_end|>");
    expect(renderer.bridgeToNextTurn(prompt, completion, [user("and?")])).toBeNull();
    expect(renderer.bridgeToNextTurn(prompt, completion, [tool("42")])).not.toBeNull();
    const keeping = await loadRenderer(dir, {
      name: "qwen3",
      earlierThinking: "keep",
      templateKwargs: { enable_thinking: false },
    });
    const bridged = keeping.bridgeToNextTurn(prompt, completion, [user("and?")]);
    expect(tokenizer.decode(bridged ?? [])).toBe(
      "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\nhm\n</think>\n\nyes<|im_end|>\n" +
        "<|im_start|>user\nand?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    );
  });

  it("a template that counts its messages is not bridged", async () => {
    const counting =
      "{% for m in messages %}{{ '<|im_start|>' ~ loop.index ~ m.content ~ '<|im_end|>' }}{% endfor %}{{ '<|im_start|>' }}";
    const renderer = await loadRenderer(await folder(["<|im_start|>", "<|im_end|>"], counting), { name: "chatml" });
    const prompt = renderer.render([user("hi")]);
    expect(renderer.bridgeToNextTurn(prompt, Uint32Array.of(65, 257), [user("b")])).toBeNull();
  });
});

describe("a model of no known family", () => {
  const GEMMA_LIKE =
    "{{ bos_token }}{% for m in messages %}{{ '<start_of_turn>' ~ ('model' if m.role == 'assistant' else m.role) ~ '\\n' }}" +
    "{{ m.content | trim }}{{ '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}";
  const TOKENS = ["<begin>", "<start_of_turn>", "<end_of_turn>", "<think>", "</think>", "<tool_call>", "</tool_call>"];

  it("is bridged by what its own template writes behind a reply", async () => {
    const dir = await folder(TOKENS, GEMMA_LIKE);
    const [renderer, tokenizer] = await Promise.all([loadRenderer(dir), loadTokenizer(dir)]);
    expect(renderer.name).toBe("default");
    expect(renderer.stopTokenIds).toContain(tokenizer.tokenToId("<end_of_turn>"));
    fc.assert(
      fc.property(words, words, words, fc.boolean(), (question, reply, next, closed) => {
        const prompt = renderer.render([user(question)]);
        const completion = tokenizer.encode(closed ? `${reply}<end_of_turn>` : reply);
        const bridged = renderer.bridgeToNextTurn(prompt, completion, [user(next)]);
        expect([...(bridged ?? [])]).toEqual([...renderer.render([user(question), assistant(reply), user(next)])]);
      }),
      { numRuns: 40 },
    );
    expect(renderer.parse(tokenizer.encode("<think>a</think>b")).reasoning).toBeNull();
    expect(renderer.callBeginning("f")).toBeNull();
  });

  it("thinks and calls tools where its template does", async () => {
    const template = `${GEMMA_LIKE}{# <think> and <tool_call> #}`;
    const dir = await folder(TOKENS, template);
    const [renderer, tokenizer] = await Promise.all([loadRenderer(dir), loadTokenizer(dir)]);
    const said = '<think>hm</think>ok<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call><end_of_turn>';
    expect(renderer.parse(tokenizer.encode(said))).toMatchObject({
      content: "ok",
      reasoning: "hm",
      toolCalls: [{ status: "ok", name: "f", arguments: { x: 1 } }],
    });
    const prompt = renderer.render([user("a")]);
    expect(renderer.bridgeToNextTurn(prompt, tokenizer.encode("b<end_of_turn>"), [user("c")])).toBeNull();
    expect(renderer.callBeginning("f")).toBe('<tool_call>\n{"name": "f", "arguments":');
  });

  it("is rendered anew where the template writes no token behind a reply, or refuses", async () => {
    for (const template of [
      "{% for m in messages %}{{ m.content }}\n{% endfor %}",
      "{{ raise_exception('never') }}",
      "{% for m in messages %}{{ m.content ~ '<end_of_turn>' ~ m.content }}{% endfor %}",
    ]) {
      const renderer = await loadRenderer(await folder(TOKENS, template));
      expect(renderer.bridgeToNextTurn(Uint32Array.of(65), Uint32Array.of(66), [user("c")])).toBeNull();
    }
  });
});

const opens = (renderer: Renderer, tokenizer: Tokenizer, content: string): boolean =>
  opensThinking({ tokenizer, renderer }, renderer.render([user(content)]), [user(content)]);

describe("parse", () => {
  const parse = (name: string, text: string) => {
    const { renderer, tokenizer } = family(name);
    return renderer.parse(tokenizer.encode(text));
  };

  it("qwen: content, thinking and every attempt to call", () => {
    expect(parse("qwen3", "<think>\na\n</think>\n\nb<|im_end|>x")).toEqual({
      content: "b",
      reasoning: "a",
      toolCalls: [],
    });
    expect(parse("qwen3", "<think>never closed <tool_call>{}</tool_call>")).toMatchObject({
      content: "",
      toolCalls: [],
    });
    expect(parse("qwen3", "<think></think>b").reasoning).toBe("");
    expect(parse("qwen3", "a</think>b")).toMatchObject({ reasoning: "a", content: "b" });
    expect(parse("qwen2.5", "a").reasoning).toBeNull();
    const calls = parse(
      "qwen2.5",
      'ok <tool_call>\n{"name": "f", "arguments": {"x": "a</b>"}}\n</tool_call><tool_call>{bad}</tool_call><tool_call>{"x": 1}</tool_call><tool_call>{"name": "g"',
    );
    expect(calls.content).toBe("ok");
    expect(calls.toolCalls.map(({ status, name }) => [status, name])).toEqual([
      ["ok", "f"],
      ["invalid_json", null],
      ["missing_name", null],
      ["unclosed_block", null],
    ]);
    expect(calls.toolCalls[0]?.arguments).toEqual({ x: "a</b>" });
    // Its arguments would be written as null.
    const infinite = parse("qwen2.5", '<tool_call>\n{"name": "f", "arguments": {"x": [1e999]}}\n</tool_call>');
    expect(infinite.toolCalls).toMatchObject([{ status: "invalid_json", name: "f", arguments: null }]);
  });

  it.each(["qwen2.5", "qwen3", "chatml"])(
    "%s: special tokens that were sampled are no text, whole and as it grows",
    (name) => {
      const { renderer, tokenizer } = family(name);
      const start = tokenizer.tokenToId("<|im_start|>") ?? -1;
      const [before, after] = [tokenizer.encode("hi "), tokenizer.encode("there")];
      const ids = Uint32Array.of(...before, start, ...after, start);
      expect(renderer.parse(ids).content).toBe("hi there");
      const growing = renderer.grow({ thinks: false, tools: false, stop: [] });
      const recognised = Array.from(ids, (id) => growing.push([id])?.content ?? "").join("");
      expect(recognised + (growing.rest(renderer.parse(ids))?.content ?? "")).toBe("hi there");
      const called = tokenizer.encode('<tool_call>{"name": "f", "arguments": {}}</tool_call>');
      const calls = renderer.parse(Uint32Array.of(start, ...called)).toolCalls;
      expect(calls.map(({ status }) => status)).toEqual(name === "chatml" ? calls.map(() => "ok") : ["ok"]);
    },
  );

  it("behind a prompt that has opened a block of thinking, all is thinking until it is closed", async () => {
    const { tokenizer } = family("qwen3");
    const opening =
      "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}";
    const renderer = createRenderer(tokenizer, FAMILIES.qwen3, opening);
    expect(opens(renderer, tokenizer, "a")).toBe(true);
    expect(opens(renderer, tokenizer, "close it with </think>")).toBe(true);
    const open = parseReply(renderer, tokenizer.encode("hm, 4"), true);
    expect(open).toEqual({ content: "", reasoning: "hm, 4", toolCalls: [] });
    const closed = parseReply(renderer, tokenizer.encode("hm</think>4<|im_end|>"), true);
    expect(closed).toEqual({ content: "4", reasoning: "hm", toolCalls: [] });
    expect(parseReply(renderer, tokenizer.encode("4"), false)).toEqual({
      content: "4",
      reasoning: null,
      toolCalls: [],
    });
    const forced = encodeBeginning({ tokenizer, renderer }, { call: "f", thinks: true });
    expect(tokenizer.decode(forced ?? [])).toBe('\n</think>\n\n<tool_call>\n{"name": "f", "arguments":');
  });

  it("a message that names the tag opens no block of thinking", () => {
    for (const name of ["qwen3", "chatml", "llama3"]) {
      const { renderer, tokenizer } = family(name);
      for (const content of ["what is <think>", "<think>", "<think>\n"])
        expect(opens(renderer, tokenizer, content), name).toBe(false);
    }
    const { tokenizer } = family("qwen3");
    const closed = createRenderer(tokenizer, FAMILIES.qwen3, FAMILIES.qwen3.template ?? "", {
      templateKwargs: { enable_thinking: false },
    });
    expect(opens(closed, tokenizer, "a")).toBe(false);
    expect(opens(closed, tokenizer, "say <think>")).toBe(false);
  });

  it("delimiters in messages or in arguments of calls open and close no block", () => {
    const named = fc.constantFrom("a", "<think>", "</think>", "say <think>\n", "</think>\n\n");
    const message = fc.oneof(
      fc.record({ role: fc.constantFrom("system", "user", "assistant"), content: named }),
      fc.record({ role: fc.constant("tool"), content: named, tool_call_id: fc.constant("c") }),
      named.map((x) => {
        const call = { id: "c", type: "function", function: { name: "f", arguments: { x } } };
        return { role: "assistant", content: "", tool_calls: [call] };
      }),
    );
    const openings = ["<|im_start|>assistant\n", ""].map(
      (turn) => `{% if add_generation_prompt %}${turn}{{ '<think>' if enable_thinking }}{% else %}<eos>{% endif %}`,
    );
    const systemFirst = [
      "{% for m in messages if m.role == 'system' %}{{ m.content }}{% endfor %}",
      "{% for m in messages if m.role != 'system' %}{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}{% endfor %}",
    ].join("");
    const { tokenizer } = family("qwen3");
    fc.assert(
      fc.property(
        fc.array(message, { minLength: 1, maxLength: 4 }),
        fc.constantFrom((FAMILIES.qwen3.template ?? "").split("{%- if add_generation_prompt")[0] ?? "", systemFirst),
        fc.constantFrom(...openings),
        fc.boolean(),
        (messages, turns, opening, enable_thinking) => {
          const options = { templateKwargs: { enable_thinking } };
          const renderer = createRenderer(tokenizer, FAMILIES.qwen3, turns + opening, options);
          expect(opensThinking({ tokenizer, renderer }, renderer.render(messages), messages)).toBe(enable_thinking);
        },
      ),
    );
  });

  it("llama: a message that is JSON calls", () => {
    const one = parse("llama3", '{"name": "f", "parameters": {"x": "}"}}; {"name": "g", "parameters": {}}<|eot_id|>');
    expect(one.toolCalls.map(({ name, arguments: args }) => [name, args])).toEqual([
      ["f", { x: "}" }],
      ["g", {}],
    ]);
    expect(parse("llama3", '{"answer": 1}')).toMatchObject({ content: '{"answer": 1}', toolCalls: [] });
    expect(parse("llama3", '{"name": "f"').toolCalls[0]?.status).toBe("invalid_json");
    expect(parse("llama3", "plain").content).toBe("plain");
  });

  it("reads the template's own output", () => {
    for (const name of ["qwen2.5", "qwen3", "llama3"]) {
      const { renderer, tokenizer } = family(name);
      const start = [user("hi")];
      const calls = [
        { function: { name: "f", arguments: { x: [1, "two"] } } },
        { function: { name: "g", arguments: {} } },
      ];
      const whole = renderer.render([...start, { role: "assistant", content: "", tool_calls: calls }], {
        addGenerationPrompt: false,
      });
      const completion = whole.subarray(renderer.render(start).length);
      expect(tokenizer.decode(completion)).not.toBe("");
      expect(renderer.parse(completion).toolCalls).toMatchObject([
        { status: "ok", name: "f", arguments: { x: [1, "two"] } },
        { status: "ok", name: "g", arguments: {} },
      ]);
    }
  });
});

describe("loadRenderer", () => {
  it("recognises the family by tokens and template", async () => {
    for (const name of ["chatml", "llama3"]) {
      expect((await loadRenderer(family(name).dir)).name).toBe(name);
    }
    const thinking =
      "{% if enable_thinking %}{% endif %}{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}";
    expect((await loadRenderer(await folder(SPECIAL["qwen3"] ?? [], thinking))).name).toBe("qwen3");
    const plain = await loadRenderer(await folder([], "{% for m in messages %}{{ m.content }}{% endfor %}"));
    expect(plain.name).toBe("default");
    expect(plain.bridgeToNextTurn(plain.render([user("a")]), Uint32Array.of(65), [user("b")])).toBeNull();
    expect(plain.parse(Uint32Array.of(65, 66))).toEqual({ content: "AB", reasoning: null, toolCalls: [] });
  });

  it("the example's folder makes other servers render as prl does without an option", async () => {
    const { chatTemplates } = await readTokenizerConfig(EXAMPLE);
    expect(chatTemplates.get("default")).toBe(FAMILIES.chatml.template);
    const [recognised, explicit] = await Promise.all([
      loadRenderer(EXAMPLE),
      loadRenderer(EXAMPLE, { name: "chatml" }),
    ]);
    expect(recognised.stopTokenIds).toEqual(explicit.stopTokenIds);
    expect(recognised.callBeginning("find")).toBe(explicit.callBeginning("find"));
  });

  it("gives the same renderer with other variables for the template, and renders off the event loop", async () => {
    const template = "{% for m in messages %}{{ greeting }} {{ m.content }}{% endfor %}";
    const renderer = await loadRenderer(await folder([], template), { templateKwargs: { greeting: "hi" } });
    const tokenizer = await loadTokenizer(await folder([], template));
    const textOf = async (one: Renderer) => tokenizer.decode(await one.renderAsync([user("a")]));
    expect(await textOf(renderer)).toBe("hi a");
    const other = renderer.withTemplateKwargs({ greeting: "yo" });
    expect(await textOf(other)).toBe("yo a");
    expect(await textOf(renderer)).toBe("hi a");
    expect([...other.render([user("a")])]).toEqual([...(await other.renderAsync([user("a")]))]);
    expect(other.name).toBe(renderer.name);
  });

  it("names the mistake", async () => {
    await expect(loadRenderer(EXAMPLE, { name: "gpt" as "chatml" })).rejects.toThrow(/there are auto, chatml/u);
    const bare = await loadRenderer(await folder([]));
    expect(() => bare.render([user("a")])).toThrow(/has no default chat template/u);
  });
});
