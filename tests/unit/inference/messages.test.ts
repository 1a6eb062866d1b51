/** What a conversation of the chat API becomes for a template. */
import { expect, it } from "vitest";

import { conversationOf } from "../../../ts/inference/openai/messages.ts";

const LIMITS = {
  vocabSize: 100,
  maxModelLen: 16,
  servedModelNames: [],
  returnsRoutedExperts: false,
  adapters: new Set<string>(),
};
const ofOne = (message: Record<string, unknown>) => conversationOf([message], LIMITS)[0];
const calling = (args: string) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: args } }],
});

it("thinking comes back under either name of it", () => {
  const said = { role: "assistant", content: "a" };
  expect(ofOne({ ...said, reasoning: "b" })).toMatchObject({ reasoning_content: "b" });
  expect(ofOne({ ...said, reasoning_content: "b" })).toMatchObject({ reasoning_content: "b" });
  expect(ofOne({ ...said, reasoning: "b", reasoning_content: "c" })).toMatchObject({ reasoning_content: "c" });
  expect(ofOne({ ...said, reasoning: null })).not.toHaveProperty("reasoning_content");
});

it.each([
  ["", {}],
  ['{"a": 1}', { a: 1 }],
  ["{", "{"],
])("the arguments %j are %j", (args, read) => {
  expect(ofOne(calling(args))).toMatchObject({ tool_calls: [{ function: { name: "f", arguments: read } }] });
});

it("the arguments keep the digits of large numbers", () => {
  const read = { a: 12345678901234567890n };
  expect(ofOne(calling('{"a": 12345678901234567890}'))).toMatchObject({
    tool_calls: [{ function: { arguments: read } }],
  });
});
