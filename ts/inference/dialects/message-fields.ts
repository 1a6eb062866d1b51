/**
 * The fields of Anthropic's messages below the top: each acts, changes no answer, or is refused by its name.
 *
 * `ts/dialects/messages.ts` reads those that act, and ignores all others, because agents in rollouts send whatever their service offers. A server
 * says what it cannot do. Types of blocks and tools that do not exist here are refused there.
 */
import { badRequest } from "../errors.ts";
import { refuseUnlessNeutral } from "../openai/neutral.ts";

/** A field that acts, or one that changes no answer whatever it holds. */
const ANY = null;
/** Fields by name: any value, or the values that change nothing. */
type Fields = Readonly<Record<string, readonly unknown[] | typeof ANY>>;

/** Prompts that begin alike always share the cache. */
const CACHE: Fields = { type: ANY, cache_control: ANY };
const DIRECT = [{ type: "direct" }];

const BLOCKS: Readonly<Record<string, Fields>> = {
  // The text says what it cites.
  text: { ...CACHE, text: ANY, citations: ANY },
  // Nothing checks the signature, and nothing can read what was redacted.
  thinking: { ...CACHE, thinking: ANY, signature: ANY },
  redacted_thinking: { ...CACHE, data: ANY },
  tool_use: { ...CACHE, id: ANY, name: ANY, input: ANY, caller: DIRECT, toolset_name: [] },
  tool_result: { ...CACHE, tool_use_id: ANY, content: ANY, is_error: ANY, toolset_name: [] },
};

const TOOL: Fields = {
  ...CACHE,
  name: ANY,
  description: ANY,
  input_schema: ANY,
  input_examples: ANY,
  // Calls come at the end of a stream.
  eager_input_streaming: ANY,
  allowed_callers: [["direct"]],
  defer_loading: [false],
  // The arguments of a forced call always match the schema, and those of others are free.
  strict: ANY,
};

const MESSAGE: Fields = { role: ANY, content: ANY };
const CHOICE: Fields = { type: ANY, name: ANY, disable_parallel_tool_use: ANY };
const THINKING: Fields = { type: ANY, budget_tokens: ANY, display: ["summarized"] };

/** Errors: PRL_INFERENCE_REQUEST for an unknown field, PRL_INFERENCE_UNSUPPORTED for one that would have to do something. */
export function checkMessageFields(request: Readonly<Record<string, unknown>>): void {
  for (const [at, message] of entries(request["messages"])) {
    const place = `messages[${at}]`;
    check(place, message, MESSAGE);
    checkBlocks(`${place}.content`, message["content"]);
  }
  checkBlocks("system", request["system"]);
  for (const [at, tool] of entries(request["tools"])) {
    if ((tool["type"] ?? "custom") === "custom") check(`tools[${at}]`, tool, TOOL);
  }
  for (const [name, fields] of [
    ["tool_choice", CHOICE],
    ["thinking", THINKING],
  ] as const) {
    const value = request[name];
    if (isObject(value)) check(name, value, fields);
  }
}

function checkBlocks(place: string, content: unknown): void {
  for (const [at, block] of entries(content)) {
    const type = String(block["type"]);
    const known = Object.hasOwn(BLOCKS, type) ? BLOCKS[type] : undefined;
    if (known === undefined) continue;
    check(`${place}[${at}]`, block, known);
    if (type === "tool_result") checkBlocks(`${place}[${at}].content`, block["content"]);
  }
}

function check(place: string, value: Readonly<Record<string, unknown>>, fields: Fields): void {
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(fields, name)) {
      throw badRequest(`${place}.${name}`, `unknown field; known are ${Object.keys(fields).join(", ")}`);
    }
    const neutral = fields[name] ?? null;
    if (neutral !== null) refuseUnlessNeutral({ [`${place}.${name}`]: value[name] }, { [`${place}.${name}`]: neutral });
  }
}

function entries(list: unknown): [number, Record<string, unknown>][] {
  if (!Array.isArray(list)) return [];
  return [...list.entries()].filter((entry): entry is [number, Record<string, unknown>] => isObject(entry[1]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
