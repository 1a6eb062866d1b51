/** From an evaluation to data to a trained model: `prl eval`, `prl export sft`, the supervised stage. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { modulePath } from "../../support/compiled.ts";
import { chatCompletion, mockEndpoint, type MockEndpoint } from "../../support/mock-endpoint.ts";
import { type SftFolder, sftFolder } from "../../support/training/sft-run.ts";
import { prl } from "./run.ts";

const ENVIRONMENT = `
import { defineEnvironment, reward, tool, toolUse, z } from "${modulePath("environments/index.ts")}";
const double = tool({ description: "Doubles", parameters: z.object({ x: z.number() }), execute: ({ x }) => String(2 * x) });
export default defineEnvironment({
  name: "double", version: "1.0.0", config: z.strictObject({}),
  tasks: () => [1, 2, 3].map((x) => ({ prompt: [{ role: "user", content: "double " + x }], x })),
  rollout: toolUse({ tools: { double } }),
  rewards: { right: reward(1, ({ task, trace }) => trace.lastReply === String(2 * task.x)) },
});
`;

let folder: SftFolder;
let mock: MockEndpoint;
beforeEach(async () => {
  folder = await sftFolder();
  await writeFile(join(folder.dir, "double.mjs"), ENVIRONMENT);
});
afterEach(async () => {
  await mock.close();
  await folder.remove();
});

describe("prl export sft", () => {
  test("makes what prl sft learns of the good rollouts of prl eval", async () => {
    // Calls the tool, then answers as it did; of three tasks the last is answered wrongly.
    mock = await mockEndpoint(({ body }) => {
      const said = body["messages"] as { role: string; content: string }[];
      const last = said.at(-1);
      if (last?.role === "tool") return chatCompletion(last.content === "6" ? "7" : last.content);
      const call = { name: "double", arguments: JSON.stringify({ x: Number(last?.content.split(" ")[1]) }) };
      const completion = chatCompletion("") as { choices: { message: Record<string, unknown> }[] };
      for (const { message } of completion.choices)
        message["tool_calls"] = [{ id: "c", type: "function", function: call }];
      return completion;
    });
    const evaluated = ["eval", "./double.mjs", "-m", "m", "-b", `${mock.url}/v1`, "--json", "--run.name", "run"];
    expect((await prl(evaluated, folder.dir)).code).toBe(0);

    const all = await prl(["export", "sft", "outputs/run", "--json"], folder.dir);
    expect(JSON.parse(all.stdout)).toMatchObject({ rows: 3, traces: 3, left_out: {} });
    const good = ["export", "sft", "outputs/run", "--min-reward", "1", "--out", "good.jsonl", "--json"];
    const exported = await prl(good, folder.dir);
    expect(JSON.parse(exported.stdout)).toMatchObject({ rows: 2, left_out: { low_reward: 1 } });

    const source = join(folder.dir, "good.jsonl");
    const [first = ""] = (await readFile(source, "utf8")).split("\n");
    const row = JSON.parse(first) as { messages: { role: string }[]; tools: unknown[] };
    expect(row.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(row.tools).toMatchObject([{ function: { name: "double" } }]);

    const lines = await folder.train({
      max_steps: 6,
      seq_len: 2048,
      data: { source, batch_size: 2 },
      optim: { lr: 1e-2 },
    });
    expect(lines.at(-1)?.["loss/mean"]).toBeLessThan((lines[0]?.["loss/mean"] ?? 0) * 0.8);
    expect(lines[0]).toMatchObject({ "data/samples": 2, "data/cut": 0, "data/left_out": 0 });
  });

  test("names the argument that it does not understand", async () => {
    mock = await mockEndpoint(() => chatCompletion("x"));
    for (const args of [
      ["export"],
      ["export", "sft"],
      ["export", "other", "a"],
      ["export", "sft", "a", "--min-reward", "x"],
    ]) {
      expect(await prl(args, folder.dir)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("PRL_CLI_USAGE") as string,
      });
    }
  });
});
