/** Every field of the request types of OpenAI's Responses and Anthropic's Messages acts, is refused by its name, or changes no answer. */
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";

import { useServing } from "../serving.ts";
import { EOS } from "../tiny-model.ts";

const serving = useServing();

/** `acts`: another reply than without the field; `same`: an equal one; `echoed`: an equal one, which repeats the field. */
type Effect = "acts" | "same" | "echoed" | "refused";
interface Row {
  effect: Effect;
  value: unknown;
  beside?: Record<string, unknown>;
}
const row =
  (effect: Effect) =>
  (value: unknown, beside = {}): Row => ({ effect, value, beside });
const [acts, same, echoed, refused] = [row("acts"), row("same"), row("echoed"), row("refused")];

const ENDS_AT_ONCE = { logit_bias: { [EOS]: 100 } };
/** The engine's sampling parameters, which neither API has. */
const EXTRA = {
  allowed_token_ids: acts([104, 105]),
  bad_words: acts(["h"], { allowed_token_ids: [104, 105] }),
  cache_salt: same("s"),
  chat_template_kwargs: same({ x: 1 }),
  frequency_penalty: acts(2),
  ignore_eos: acts(true, ENDS_AT_ONCE),
  logit_bias: acts({ "104": 100 }),
  min_p: acts(0.5),
  min_tokens: acts(4, ENDS_AT_ONCE),
  presence_penalty: acts(-2),
  priority: same(3),
  repetition_penalty: acts(1.9),
  seed: acts(6),
  stop_token_ids: acts([104], { logit_bias: { 104: 100 } }),
  top_k: acts(2),
};

const FUNCTION = { type: "function", name: "f", parameters: {}, strict: false };
const RESPONSES: Record<keyof OpenAI.Responses.ResponseCreateParams, Row> = {
  background: refused(true),
  context_management: refused([{ type: "compaction" }]),
  conversation: refused("c"),
  include: refused(["message.output_text.logprobs"]),
  input: acts("other"),
  instructions: acts("Be short."),
  max_output_tokens: acts(3),
  metadata: echoed({ a: "b" }),
  model: refused("another"),
  moderation: refused({ model: "x" }),
  parallel_tool_calls: echoed(false),
  previous_response_id: refused("resp_0"),
  prompt: refused({ id: "x" }),
  prompt_cache_key: same("k"),
  prompt_cache_options: same({}),
  prompt_cache_retention: same("24h"),
  reasoning: refused({ effort: "high" }),
  safety_identifier: same("s"),
  service_tier: same("auto"),
  store: echoed(false),
  stream: acts(true),
  stream_options: same({ include_obfuscation: false }, { stream: true }),
  temperature: acts(0),
  text: refused({ verbosity: "low" }),
  tool_choice: acts("required", { tools: [FUNCTION] }),
  tools: acts([FUNCTION]),
  top_logprobs: refused(3),
  top_p: acts(0.2),
  truncation: refused("auto"),
  user: same("u"),
};
const RESPONSES_MORE = { ...EXTRA, max_tool_calls: same(3), stop: acts(["hh"], { logit_bias: { 104: 100 } }) };

const TOOL = { name: "f", input_schema: { type: "object" } };
const MESSAGES: Record<keyof Anthropic.MessageCreateParams, Row> = {
  cache_control: same({ type: "ephemeral" }),
  container: refused("c"),
  diagnostics: refused({ previous_message_id: null }),
  inference_geo: refused("us"),
  max_tokens: acts(3),
  messages: acts([{ role: "user", content: "other" }]),
  metadata: same({ user_id: "u" }),
  model: refused("another"),
  output_config: refused({ effort: "high" }),
  service_tier: same("auto"),
  speed: refused("fast"),
  stop_sequences: acts(["hh"], { logit_bias: { 104: 100 } }),
  stream: acts(true),
  system: acts("Be short."),
  thinking: refused({ type: "enabled", budget_tokens: 1024 }),
  tool_choice: acts({ type: "any" }, { tools: [TOOL] }),
  tools: acts([TOOL]),
  user_profile_id: same("u"),
  workspace_id: same("w"),
};
// The API has them, and the types of its newest package do not.
const MESSAGES_MORE = { ...EXTRA, temperature: acts(0), top_p: acts(0.2) };
const COUNT: Record<keyof Anthropic.MessageCountTokensParams, Row> = {
  cache_control: same({ type: "ephemeral" }),
  messages: acts([{ role: "user", content: "another" }]),
  model: refused("another"),
  output_config: refused({ effort: "high" }),
  speed: refused("fast"),
  system: acts("Be short."),
  thinking: refused({ type: "enabled", budget_tokens: 1024 }),
  tool_choice: acts({ type: "any" }, { tools: [TOOL] }),
  tools: acts([TOOL]),
  user_profile_id: same("u"),
  workspace_id: same("w"),
};

const HELLO = [{ role: "user", content: "hello" }];
const SAMPLED = { model: "tiny", seed: 5 };

describe.each([
  ["/v1/responses", { ...SAMPLED, input: "hello", max_output_tokens: 24 }, { ...RESPONSES, ...RESPONSES_MORE }],
  ["/v1/messages", { ...SAMPLED, messages: HELLO, max_tokens: 24 }, { ...MESSAGES, ...MESSAGES_MORE }],
  ["/v1/messages/count_tokens", { model: "tiny", messages: HELLO }, COUNT],
])("%s", (path, base, fields) => {
  it.each(Object.entries<Row>({ ...fields, unknown_field: refused(1) }))(
    "%s",
    async (name, { effect, value, beside }) => {
      const plain = await ask(path, { ...base, ...beside });
      const answer = await ask(path, { ...base, ...beside, [name]: value });
      if (effect === "refused") {
        expect([400, 404, 501]).toContain(answer.status);
        expect(answer.text).toContain(name === "previous_response_id" ? "resp_0" : name);
        return;
      }
      expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
      if (effect === "acts") expect(answer.said).not.toEqual(plain.said);
      else expect(answer.said).toEqual(plain.said);
      if (effect === "echoed") expect(answer.body[name]).toEqual(value);
    },
  );
});

/** A conversation with a call and its result, with the fields of `more` added to its parts. */
function withCall(more: { text?: object; use?: object; result?: object; message?: object; tool?: object }): object {
  return {
    ...SAMPLED,
    max_tokens: 24,
    messages: [
      { role: "user", content: [{ type: "text", text: "hello", ...more.text }], ...more.message },
      { role: "assistant", content: [{ type: "tool_use", id: "c", name: "f", input: {}, ...more.use }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "it broke", ...more.result }] },
    ],
    tools: [{ ...TOOL, ...more.tool }],
  };
}

/** The fields of the parts of a request, by the types of the package. */
type Nested<T> = Record<Exclude<keyof T, "type">, Row | "needed">;
const CACHED = same({ type: "ephemeral" });
const TEXT: Nested<Anthropic.TextBlockParam> = { text: "needed", cache_control: CACHED, citations: same(null) };
const USE: Nested<Anthropic.ToolUseBlockParam> = {
  id: "needed",
  name: "needed",
  input: acts({ a: 1 }),
  cache_control: CACHED,
  caller: refused({ type: "code_execution_20250825", tool_id: "x" }),
  toolset_name: refused("x"),
};
const RESULT: Nested<Anthropic.ToolResultBlockParam> = {
  tool_use_id: "needed",
  cache_control: CACHED,
  content: acts("it went well"),
  is_error: acts(true),
  toolset_name: refused("x"),
};
const TOOL_FIELDS: Nested<Anthropic.Tool> = {
  name: "needed",
  allowed_callers: refused(["code_execution_20250825"]),
  cache_control: CACHED,
  defer_loading: refused(true),
  description: acts("Does it"),
  eager_input_streaming: same(true),
  input_examples: acts([{ a: 1 }]),
  input_schema: acts({ type: "object", properties: { a: {} } }),
  strict: same(true),
};

describe("the parts of /v1/messages", () => {
  const unknown = { unknown_field: refused(1) };
  const parts = {
    text: TEXT,
    use: USE,
    result: RESULT,
    tool: TOOL_FIELDS,
    message: {},
  };
  const rows = Object.entries(parts).flatMap(([part, fields]) =>
    Object.entries<Row | "needed">({ ...fields, ...unknown }).flatMap(([name, one]) =>
      one === "needed" ? [] : [{ part, name, ...one }],
    ),
  );
  it.each(rows)("$part.$name", async ({ part, name, effect, value }) => {
    const plain = await ask("/v1/messages", withCall({}));
    const answer = await ask("/v1/messages", withCall({ [part]: { [name]: value } }));
    if (effect === "refused") {
      expect([400, 501]).toContain(answer.status);
      expect(answer.text).toMatch(new RegExp(`(messages|tools)\\[\\d\\][^ ]*\\.${name}: `));
      return;
    }
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    if (effect === "acts") expect(answer.said).not.toEqual(plain.said);
    else expect(answer.said).toEqual(plain.said);
  });

  it.each([
    ["tool_choice", { type: "auto", more: 1 }, "tool_choice.more"],
    ["thinking", { type: "disabled", display: "omitted" }, "thinking.display"],
    ["system", [{ type: "text", text: "a", more: 1 }], "system[0].more"],
  ])("%s: %j is refused", async (name, value, place) => {
    const answer = await ask("/v1/messages", { ...withCall({}), [name]: value });
    expect([400, 501]).toContain(answer.status);
    expect(answer.text).toContain(`${place}: `);
  });

  it("takes examples of a tool beside a call that is forced", async () => {
    const forced = { ...withCall({ tool: { input_examples: [{}] } }), tool_choice: { type: "any" } };
    expect(await ask("/v1/messages", forced)).toMatchObject({ status: 200 });
  });
});

interface Answer {
  status: number;
  text: string;
  body: Record<string, unknown>;
  /** What the model wrote and what it cost, without ids. */
  said: unknown;
}

async function ask(path: string, request: object): Promise<Answer> {
  const response = await fetch(serving().url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  const text = await response.text();
  const { status } = response;
  if (text.startsWith("event: ")) {
    const events = text.split("\n").filter((line) => line.startsWith("event"));
    // How many pieces a text comes in depends on time.
    return { status, text, body: {}, said: events.filter((event, at) => event !== events[at - 1]) };
  }
  const body = JSON.parse(text) as Record<string, unknown>;
  const { output = [], content, status: end, stop_reason: stop, input_tokens: tokens } = body;
  const items = (output as { id: string; call_id?: string }[]).map(({ id: _id, call_id: _call, ...item }) => item);
  return { status, text, body, said: { items, content, end, stop, tokens } };
}
