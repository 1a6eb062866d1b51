import { describe, expect, it } from "vitest";

import { sftRowSchema } from "../../../ts/trainer/sft/sft-rows.ts";

const user = { role: "user", content: "a" };
const assistant = { role: "assistant", content: "b" };

describe("rows of supervised data", () => {
  it("are conversations, without the null cells of a table", () => {
    const row = {
      messages: [{ ...user, tool_calls: null, name: null }, assistant],
      tools: null,
      prompt: null,
      other: 1,
    };
    expect(sftRowSchema.parse(row)).toEqual({ messages: [user, assistant], learntFrom: 0 });
  });

  it("have prompt and completion as texts or messages", () => {
    expect(sftRowSchema.parse({ prompt: "a", completion: "b" })).toEqual({ prompt: "a", completion: "b" });
    const expected = { messages: [user, assistant], learntFrom: 1 };
    expect(sftRowSchema.parse({ prompt: [user], completion: [assistant] })).toEqual(expected);
    expect(sftRowSchema.parse({ prompt: [user], completion: "b" })).toEqual(expected);
    expect(sftRowSchema.parse({ prompt: "a", completion: [assistant] })).toEqual(expected);
  });

  it("take parts of text, arguments as objects and tools as JSON", () => {
    const call = { function: { name: "f", arguments: { x: 1 } } };
    const tools = [{ type: "function", function: { name: "f" } }];
    const said = {
      role: "assistant",
      content: [
        { type: "text", text: "b" },
        { type: "text", text: "c" },
      ],
      tool_calls: [call],
    };
    const calls = [{ id: "call_0", type: "function", function: { name: "f", arguments: '{"x":1}' } }];
    expect(sftRowSchema.parse({ messages: [user, said], tools: JSON.stringify(tools) })).toEqual({
      messages: [user, { role: "assistant", content: "bc", tool_calls: calls }],
      tools,
      learntFrom: 0,
    });
  });

  it.each([
    [{}],
    [{ prompt: "a" }],
    [{ messages: [user], prompt: "a", completion: "b" }],
    [{ messages: [] }],
    [{ messages: [{ role: "bot", content: "a" }] }],
    [{ messages: [user], tools: "no json" }],
    [{ messages: [{ role: "user", content: [{ type: "image", url: "x" }] }] }],
  ])("refuse %j", (row) => {
    expect(sftRowSchema.safeParse(row).success).toBe(false);
  });
});
