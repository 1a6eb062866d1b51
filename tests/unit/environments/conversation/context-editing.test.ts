import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import {
  type ContextEdit,
  defineEnvironment,
  type Message,
  multiTurn,
  type PolicyClient,
  pruning,
  summarizing,
  tool,
  toolUse,
} from "../../../../ts/environments/index.ts";
import { loadRenderer, loadTokenizer, type Renderer, type Tokenizer } from "../../../../ts/renderers/index.ts";
import { REVERSE_TEXT_MODEL } from "../builtin/reverse-text-model.ts";

interface Row {
  prompt: Message[];
}

const END = "<|im_end|>";
const prompt: Message[] = [
  { role: "system", content: "be brief" },
  { role: "user", content: "start" },
];
let tokenizer: Tokenizer;
let renderer: Renderer;

beforeAll(async () => {
  tokenizer = await loadTokenizer(REVERSE_TEXT_MODEL);
  renderer = await loadRenderer(REVERSE_TEXT_MODEL);
});

/** A policy that says these texts; what it saw and said is remembered. */
function policy(...texts: string[]): PolicyClient & { seen: Uint32Array[]; said: Uint32Array[] } {
  const [seen, said]: [Uint32Array[], Uint32Array[]] = [[], []];
  return {
    seen,
    said,
    generate({ tokenIds }) {
      const ids = tokenizer.encode(`${texts[seen.length] ?? "end"}${END}`);
      seen.push(tokenIds);
      said.push(ids);
      return Promise.resolve({
        tokenIds: ids,
        logprobs: Float32Array.from(ids, (_, index) => -seen.length - index / 100),
        policyVersions: [[0, seen.length]],
        finishReason: "stop",
      });
    },
  };
}

async function run(rollout: ReturnType<typeof multiTurn<Row>>, client: PolicyClient) {
  const environment = defineEnvironment({
    name: "t",
    version: "1.0.0",
    config: z.strictObject({}),
    tasks: (): Row[] => [],
    rollout,
    rewards: { one: () => 1 },
  }).configure();
  const { episode, columns } = await environment.run({
    episodeId: "e",
    groupId: "g",
    source: "s",
    task: { key: "0", hash: "", data: { prompt } },
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
  const [own] = columns;
  if (trace === undefined || own === undefined) throw new Error("no trace");
  return { trace, columns: own };
}

/** Every reply trains exactly once, behind exactly the tokens that the policy saw before it. */
function checkOwnership({ columns }: Awaited<ReturnType<typeof run>>, { seen, said }: ReturnType<typeof policy>): void {
  const { tokenIds, mask, logprobs, branchOffsets } = columns;
  const trained = tokenIds.filter((_, index) => mask[index] === 1);
  expect([...trained]).toEqual(said.flatMap((ids) => [...ids]));
  const branches = Array.from(branchOffsets.subarray(1), (end, index) => [
    ...tokenIds.subarray(branchOffsets[index], end),
  ]);
  for (const [turn, before] of seen.entries()) {
    const whole = [...before, ...(said[turn] ?? [])].join();
    const holding = branches.filter(
      (branch) => branch.slice(0, before.length + (said[turn]?.length ?? 0)).join() === whole,
    );
    expect(holding.length).toBeGreaterThan(0);
  }
  const sampledLogprobs = logprobs.filter((_, index) => mask[index] === 1);
  const expected = said.flatMap((ids, turn) => Array.from(ids, (_, index) => Math.fround(-(turn + 1) - index / 100)));
  expect([...sampledLogprobs]).toEqual(expected);
}

const talk = (edit: ContextEdit) =>
  multiTurn<Row>({
    maxTurns: 20,
    edit,
    respond: (trace) => (trace.lastReply === "bye" ? null : `to ${trace.lastReply}`),
  });

describe("summarizing", () => {
  it("goes on from notes that the policy wrote, and every token has one owner", async () => {
    const client = policy("a", "b", "N1", "c", "d", "N2", "bye");
    const result = await run(talk(summarizing({ everyTurns: 2, instruction: "notes?" })), client);
    const prompts = client.seen.map((ids) => tokenizer.decode(ids));
    expect(prompts[2]).toMatch(/start.*a.*to a.*b<\|im_end\|>\n<\|im_start\|>user\nnotes\?<\|im_end\|>/su);
    expect(prompts[3]).toContain("<|im_start|>user\nstart\n\nYour notes:\nN1\n\nto b<|im_end|>");
    expect(prompts[3]).not.toContain("to a");
    expect(prompts[5]).toContain("Your notes:\nN1");
    expect(prompts[6]).toContain("user\nstart\n\nYour notes:\nN2\n\nto d<|im_end|>");
    expect(prompts[6]).not.toContain("N1");
    expect(result.trace.metrics).toMatchObject({ branches: 3 });
    expect(result.columns.branchOffsets).toHaveLength(4);
    expect(result.trace.nodes.at(-1)?.message.content).toBe("bye");
    checkOwnership(result, client);
  });

  it("leaves short conversations alone", async () => {
    const client = policy("a", "bye");
    const result = await run(talk(summarizing()), client);
    expect(result.trace.metrics).not.toHaveProperty("branches");
    checkOwnership(result, client);
  });
});

describe("pruning", () => {
  it("forgets the turns in the middle", async () => {
    const client = policy("a", "b", "c", "bye");
    const result = await run(talk(pruning({ keepTurns: 1 })), client);
    const last = tokenizer.decode(client.seen[3] ?? new Uint32Array(0));
    for (const kept of ["be brief", "start", "c<|im_end|>", "to c"]) expect(last).toContain(kept);
    for (const gone of ["to a", "to b"]) expect(last).not.toContain(gone);
    expect(result.trace.metrics).toMatchObject({ branches: 3 });
    checkOwnership(result, client);
  });

  it("works on conversations with tools", async () => {
    const look = tool({
      description: "looks",
      parameters: z.object({}),
      execute: (_, { signal }) => String(signal.aborted),
    });
    const call = '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>';
    const client = policy(call, call, "done");
    const result = await run(toolUse<Row>({ tools: { look }, edit: pruning({ keepTurns: 1 }) }), client);
    expect(tokenizer.decode(client.seen[2] ?? new Uint32Array(0)).split("<tool_response>")).toHaveLength(2);
    checkOwnership(result, client);
  });
});
