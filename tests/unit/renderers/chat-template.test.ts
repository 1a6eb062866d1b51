import { describe, expect, it } from "vitest";

import { renderChat, renderChatWithSpans, type ChatMessage } from "../../../ts/renderers/chat-template.ts";
import { createDecodeStream } from "../../../ts/renderers/decode-stream.ts";
import { tokensInSpans } from "../../../ts/renderers/token-spans.ts";
import { CHATML, LLAMA2_LIKE, QWEN_LIKE_TOOLS } from "./templates.ts";

const CONVERSATION: ChatMessage[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: 'Hi <b>&"you"' },
  { role: "assistant", content: "Hello 😀" },
  { role: "user", content: "Bye" },
];

describe("renderChat", () => {
  it("renders ChatML with a generation prompt only when asked to", () => {
    const text =
      '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi <b>&"you"<|im_end|>\n' +
      "<|im_start|>assistant\nHello 😀<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n";
    expect(renderChat(CHATML, CONVERSATION)).toBe(text);
    expect(renderChat(CHATML, CONVERSATION, { addGenerationPrompt: true })).toBe(`${text}<|im_start|>assistant\n`);
  });

  it("gives special tokens to the template and lets it strip and join", () => {
    const specialTokens = { bos_token: "<s>", eos_token: "</s>" };
    expect(renderChat(LLAMA2_LIKE, CONVERSATION, { specialTokens })).toBe(
      '<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi <b>&"you" [/INST] Hello 😀 </s><s>[INST] Bye [/INST]',
    );
  });

  it("prints tools as Python's json.dumps does", () => {
    const tools = [{ type: "function", function: { name: "add", parameters: { a: 1, b: ["x"], c: null, d: true } } }];
    const call: ChatMessage = {
      role: "assistant",
      content: "",
      tool_calls: [{ function: { name: "add", arguments: { a: 1.5 } } }],
    };
    const text = renderChat(QWEN_LIKE_TOOLS, [{ role: "user", content: "1+1" }, call], { tools });
    expect(text).toContain(
      '\n{"type": "function", "function": {"name": "add", "parameters": {"a": 1, "b": ["x"], "c": null, "d": true}}}\n',
    );
    expect(text).toContain('<tool_call>\n{"name": "add", "arguments": {"a": 1.5}}\n</tool_call>');
  });

  it("passes further variables on", () => {
    const render = (enable: boolean) =>
      renderChat(QWEN_LIKE_TOOLS, [{ role: "user", content: "x" }], {
        addGenerationPrompt: true,
        templateKwargs: { enable_thinking: enable },
      });
    expect(render(false).endsWith("<|im_start|>assistant\n<think>\n\n</think>\n\n")).toBe(true);
    expect(render(true).endsWith("<|im_start|>assistant\n")).toBe(true);
  });

  it("throws PRL_TEMPLATE with the words of the template's own raise_exception", () => {
    const messages: ChatMessage[] = [{ role: "assistant", content: "first" }];
    expect(() => renderChat(LLAMA2_LIKE, messages, { specialTokens: { bos_token: "<s>", eos_token: "</s>" } })).toThrow(
      expect.objectContaining({ code: "PRL_TEMPLATE", message: expect.stringContaining("roles must alternate") }),
    );
  });

  it("throws PRL_TEMPLATE for a template that is no Jinja", () => {
    expect(() => renderChat("{% if %}", [])).toThrow(expect.objectContaining({ code: "PRL_TEMPLATE" }));
  });
});

describe("errors of a template", () => {
  it("ends by a budget and names the template and the line", () => {
    const template = "x\n{% for a in range(100000) %}{% for b in range(1000) %}{{ b }}{% endfor %}{% endfor %}";
    expect(() => renderChat(template, [], { templateName: 'the chat template "default" of /models/m' })).toThrow(
      expect.objectContaining({
        code: "PRL_TEMPLATE",
        message: expect.stringMatching(/^the chat template "default" of \/models\/m failed: line 2: it does not end/),
      }),
    );
  });

  it("is refused as PRL_TEMPLATE_UNSUPPORTED where jinja2 has it and this renderer has not", () => {
    expect(() => renderChat("{{ messages | pprint }}", [])).toThrow(
      expect.objectContaining({ code: "PRL_TEMPLATE_UNSUPPORTED", message: expect.stringContaining("'pprint'") }),
    );
  });
});

describe("renderChatWithSpans", () => {
  const template =
    "{% for message in messages %}\n" +
    "  {% if message.role == 'assistant' %}\n" +
    "A:{% generation %}{{ message.content }}<end>{% endgeneration %}\n\n" +
    "  {% else %}\n" +
    "U:{{ message.content }}\n" +
    "  {% endif %}\n" +
    "{% endfor %}";

  it("finds the assistant's spans without changing the text", () => {
    const messages: ChatMessage[] = [
      { role: "user", content: "a" },
      { role: "assistant", content: "bé" },
      { role: "user", content: "c" },
      { role: "assistant", content: "d" },
    ];
    const { text, spans } = renderChatWithSpans(template, messages);
    expect(text).toBe(renderChat(template, messages));
    expect(spans.map(({ start, end }) => text.slice(start, end))).toEqual(["bé<end>", "d<end>"]);
  });

  it.each(["{%- generation -%}", "{% generation -%}", "{%- generation %}", "{% generation %}\n", "  {% generation %}"])(
    "keeps the whitespace control of %j",
    (tag) => {
      const source = `x  ${tag}  {{ messages[0].content }}  {%- endgeneration -%}  y`;
      const { text, spans } = renderChatWithSpans(source, [{ role: "user", content: "hey" }]);
      expect(text).toBe(renderChat(source, [{ role: "user", content: "hey" }]));
      expect(spans.map(({ start, end }) => text.slice(start, end).trim())).toEqual(["hey"]);
    },
  );

  it("finds blocks inside of macros, and variables of a block stay in it", () => {
    const source =
      "{% macro reply(m) %}{% generation %}{% set a = m.content %}{{ a }}{% endgeneration %}{{ a }}!{% endmacro %}" +
      "{% for m in messages %}{{ reply(m) }}{% endfor %}";
    const { text, spans } = renderChatWithSpans(source, [{ role: "assistant", content: "  x" }]);
    expect(text).toBe("  x!");
    expect(spans).toEqual([{ start: 0, end: 3 }]);
  });

  it("refuses a template without generation blocks", () => {
    expect(() => renderChatWithSpans(CHATML, CONVERSATION)).toThrow(expect.objectContaining({ code: "PRL_TEMPLATE" }));
  });
});

describe("tokensInSpans", () => {
  const decode = (ids: number[]) => new TextDecoder().decode(Uint8Array.from(ids));

  it("marks every token of every character in the spans", () => {
    const text = "aé😀b";
    const ids = Uint32Array.from(new TextEncoder().encode(text));
    const mask = tokensInSpans(
      text,
      ids,
      [
        { start: 1, end: 2 },
        { start: 4, end: 5 },
      ],
      createDecodeStream(decode),
    );
    expect([...mask]).toEqual([0, 1, 1, 0, 0, 0, 0, 1]);
  });

  it("refuses a tokenizer that does not give its text back", () => {
    const ids = Uint32Array.of(97);
    expect(() => tokensInSpans("A", ids, [], createDecodeStream(decode))).toThrow(
      expect.objectContaining({ code: "PRL_TOKENIZER_UNSUPPORTED" }),
    );
  });
});
