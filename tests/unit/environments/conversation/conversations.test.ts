import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import {
  defineEnvironment,
  type Message,
  multiTurn,
  type PolicyClient,
  reward,
  type Rollout,
  scoreGroup,
  tool,
  toolSchemas,
  toolUse,
} from "../../../../ts/environments/index.ts";
import { loadRenderer, loadTokenizer, type Renderer, type Tokenizer } from "../../../../ts/renderers/index.ts";
import { REVERSE_TEXT_MODEL } from "../builtin/reverse-text-model.ts";

interface Row {
  prompt: Message[];
}

const END = "<|im_end|>";
let tokenizer: Tokenizer;
let renderer: Renderer;

beforeAll(async () => {
  tokenizer = await loadTokenizer(REVERSE_TEXT_MODEL);
  renderer = await loadRenderer(REVERSE_TEXT_MODEL);
});

/** A policy that says one text after the other. */
function policy(...texts: string[]): PolicyClient & { prompts: string[] } {
  const prompts: string[] = [];
  return {
    prompts,
    generate({ tokenIds }) {
      prompts.push(tokenizer.decode(tokenIds));
      const ids = tokenizer.encode(texts[prompts.length - 1] ?? END);
      return Promise.resolve({
        tokenIds: ids,
        logprobs: new Float32Array(ids.length).fill(-1),
        policyVersions: [[0, prompts.length]],
        finishReason: "stop",
      });
    },
  };
}

async function run(rollout: Rollout<Row>, client: PolicyClient) {
  const environment = defineEnvironment({
    name: "test",
    version: "1.0.0",
    config: z.strictObject({}),
    tasks: (): Row[] => [],
    rollout,
    rewards: { turns: ({ trace }) => trace.turns },
  }).configure();
  const { episode, columns } = await environment.run({
    episodeId: "e",
    groupId: "g",
    source: "s",
    task: { key: "0", hash: "", data: { prompt: [{ role: "user", content: "hi" }] } },
    client,
    tokenizer,
    renderer,
    sampling: { temperature: 1, maxCompletionTokens: 16, topP: 1, topK: -1 },
    seed: 1,
    run: { type: "train", step: 1 },
    signal: new AbortController().signal,
  });
  expect(episode.errors).toEqual([]);
  const [trace] = episode.traces;
  if (trace === undefined || columns[0] === undefined) throw new Error("no trace");
  return { trace, columns: columns[0], text: tokenizer.decode(columns[0].tokenIds) };
}

describe("multiTurn", () => {
  it("grows one sequence of tokens in which every reply trains", async () => {
    const client = policy(`one${END}`, "two without an end", `three${END}`);
    const replies: string[] = [];
    const rollout = multiTurn<Row>({
      maxTurns: 5,
      respond: (trace) => {
        replies.push(trace.lastReply);
        return trace.turns < 3 ? `more ${trace.turns}` : null;
      },
    });
    const { trace, columns, text } = await run(rollout, client);
    expect(replies).toEqual(["one", "two without an end", "three"]);
    expect(columns.branchOffsets).toHaveLength(2);
    expect(text).toBe(
      "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\none<|im_end|>\n<|im_start|>user\nmore 1<|im_end|>\n" +
        "<|im_start|>assistant\ntwo without an end<|im_end|>\n<|im_start|>user\nmore 2<|im_end|>\n<|im_start|>assistant\nthree<|im_end|>",
    );
    const sampled = columns.tokenIds.filter((_, index) => columns.mask[index] === 1);
    expect(tokenizer.decode(sampled)).toBe(`one${END}two without an endthree${END}`);
    expect(trace).toMatchObject({ stop_condition: "agent_completed", reward: 3, policy: { start: 1, end: 3 } });
  });

  it("stops by name: turns, tokens, conditions, the environment's word", async () => {
    const respond = () => "go on";
    const says = () => policy(...Array.from({ length: 20 }, () => `word${END}`));
    const conditionOf = async (rollout: Rollout<Row>) => (await run(rollout, says())).trace.stop_condition;
    expect(await conditionOf(multiTurn<Row>({ maxTurns: 2, respond }))).toBe("max_turns");
    expect(await conditionOf(multiTurn<Row>({ maxOutputTokens: 11, respond }))).toBe("max_output_tokens");
    expect(await conditionOf(multiTurn<Row>({ respond, stops: { third: (trace) => trace.turns === 3 } }))).toBe(
      "third",
    );
    expect(await conditionOf(multiTurn<Row>({ respond: () => ({ stop: "won" }) }))).toBe("won");
  });

  it("counts the turns that cannot extend the tokens of the one before", async () => {
    const rollout = multiTurn<Row>({ maxTurns: 2, respond: () => "more" });
    const { trace } = await run(rollout, policy(`one${END}and more`, `two${END}`));
    expect(trace.metrics).toMatchObject({ rerendered_turns: 1 });
    const { trace: other } = await run(rollout, policy(`one${END}`, `two${END}`));
    expect(other.metrics).not.toHaveProperty("rerendered_turns");
  });

  it("edited history starts a branch, and what both share trains once", async () => {
    const client = policy(`one${END}`, `two${END}`);
    const rollout: Rollout<Row> = async ({ task, sample }) => {
      const first = await sample(task.prompt);
      await sample([...task.prompt, { ...first.message, content: "edited" }, { role: "user", content: "and?" }]);
    };
    const { columns } = await run(rollout, client);
    expect(columns.branchOffsets).toHaveLength(3);
    const sampled = columns.tokenIds.filter((_, index) => columns.mask[index] === 1);
    expect(tokenizer.decode(sampled)).toBe(`one${END}two${END}`);
  });
});

describe("toolUse", () => {
  const call = (name: string, args: string) =>
    `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>${END}`;
  const add = tool({
    description: "adds",
    parameters: z.object({ a: z.number().describe("first"), b: z.number() }),
    execute: ({ a, b }) => a + b,
  });

  it("runs calls and shows their results, until a reply has no call", async () => {
    const client = policy(call("add", '{"a": 1, "b": 2}'), `3${END}`);
    const { trace, text } = await run(toolUse<Row>({ tools: { add } }), client);
    expect(client.prompts[0]).toContain('"properties":');
    expect(client.prompts[0]).toContain('"description":');
    expect(text).toContain("<tool_response>\n3\n</tool_response>");
    expect(trace.metrics).toMatchObject({ tool_calls: 1, tool_errors: 0, add_calls: 1 });
    expect(trace.nodes.map(({ message }) => message.role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(trace.nodes[1]?.message.tool_calls).toEqual([
      { id: "call_0_0", type: "function", function: { name: "add", arguments: '{"a":1,"b":2}' } },
    ]);
    expect(trace.nodes[2]?.message).toEqual({ role: "tool", content: "3", tool_call_id: "call_0_0" });
  });

  it("show a turn the tools of that turn, not those of the turn before", async () => {
    const client = policy(`one${END}`, `two${END}`, `three${END}`);
    const tools = toolSchemas({ add });
    const turns = [{ tools }, {}, { tools }];
    const rollout: Rollout<Row> = async ({ task, sample }) => {
      let messages = task.prompt;
      for (const options of turns) {
        const { message } = await sample(messages, options);
        messages = [...messages, message, { role: "user", content: "more" }];
      }
    };
    const { trace } = await run(rollout, client);
    expect(client.prompts.map((prompt) => prompt.includes('"adds"'))).toEqual([true, false, true]);
    expect(trace.metrics).toMatchObject({ rerendered_turns: 2 });
  });

  it("answers malformed, unknown, wrong, late and throwing calls, and the policy continues", async () => {
    const slow = tool({
      description: "never ends",
      parameters: z.object({}),
      execute: () => new Promise(() => undefined),
      timeoutMs: 20,
    });
    const broken = tool({
      description: "throws",
      parameters: z.object({}),
      execute: () => {
        throw new Error("no luck");
      },
    });
    const client = policy(
      `<tool_call>{bad}</tool_call><tool_call>\n{"name": "nothing", "arguments": {}}\n</tool_call>${END}`,
      `${call("add", '{"a": "x"}').replace(END, "")}${call("slow", "{}").replace(END, "")}${call("broken", "{}")}`,
      `done${END}`,
    );
    const { trace } = await run(toolUse<Row>({ tools: { add, slow, broken } }), client);
    const answers = trace.nodes.filter(({ message }) => message.role === "tool").map(({ message }) => message.content);
    expect(answers[0]).toMatch(/malformed \(invalid_json\)/u);
    expect(answers[1]).toMatch(/no tool nothing; there are add, slow, broken/u);
    expect(answers[2]).toMatch(/Error: .*a/su);
    expect(answers[3]).toMatch(/did not end within 20 ms/u);
    expect(answers[4]).toBe("Error: no luck");
    expect(trace.metrics).toMatchObject({ tool_calls: 5, tool_errors: 5, slow_calls: 1 });
  });

  it("tools share a state that the policy never sees, and it is closed", async () => {
    const closed: number[] = [];
    const count = tool<z.ZodObject<{}>, Row, unknown, { calls: number }>({
      description: "counts",
      parameters: z.object({}),
      execute: (_args, { state }) => (state.calls += 1),
    });
    const rollout = toolUse<Row, unknown, { calls: number }>({
      tools: { count },
      state: () => ({ calls: 40 }),
      close: ({ calls }) => void closed.push(calls),
      maxTurns: 3,
    });
    const client = policy(call("count", "{}"), call("count", "{}"), call("count", "{}"));
    const { trace } = await run(rollout, client);
    expect(trace.stop_condition).toBe("max_turns");
    expect(closed).toEqual([42]);
    expect(client.prompts.join("")).not.toContain("calls");
  });
});

describe("scoreGroup", () => {
  const environment = defineEnvironment({
    name: "shout",
    version: "1.0.0",
    config: z.strictObject({ bonus: z.number().default(1) }),
    tasks: () => [{ prompt: "say a", answer: "A" }],
    rollout: multiTurn<{ prompt: string }>({ respond: () => null }),
    rewards: {
      exact: reward(2, ({ task, trace, config }) => {
        if (trace.lastReply === "throw") throw new Error("bad");
        return trace.lastReply === task.answer ? config.bonus : 0;
      }),
    },
    metrics: { length: ({ trace }) => trace.lastReply.length },
  });

  it("scores conversations and keeps failures apart", async () => {
    const task = { prompt: "say a", answer: "A" };
    const said = (content: string): Message[] => [
      { role: "user", content: "say a" },
      { role: "assistant", content },
    ];
    const scores = await scoreGroup(environment, [
      { task, messages: said("A") },
      { task, messages: said("throw") },
      { task, messages: said("no") },
    ]);
    expect(scores[0]).toEqual({ reward: 2, metrics: { exact: 1, length: 1 } });
    expect(scores[1]?.reward).toBeNaN();
    expect(scores[1]?.error).toMatchObject({ class: "environment", code: "PRL_ENVIRONMENT_FAILED" });
    expect(scores[2]).toEqual({ reward: 0, metrics: { exact: 0, length: 2 } });
    const [doubled] = await scoreGroup(environment, [{ task, messages: said("A") }], { bonus: 2 });
    expect(doubled?.reward).toBe(4);
  });
});
