import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";

import { catalogueRows } from "../../../../../ts/environments/catalogue/index.ts";
import {
  callsIn,
  conversationOf,
  MOST_CALLS,
  Play,
  scoreScript,
} from "../../../../../ts/environments/catalogue/play.ts";
import { idOf } from "../../../../../ts/environments/catalogue/row-environment.ts";
import { isWorldRow, type Script, type WorldRow } from "../../../../../ts/environments/catalogue/row.ts";
import { type Environment, loadEnvironment, validateEnvironment } from "../../../../../ts/environments/index.ts";
import type { Message } from "../../../../../ts/message.ts";

const rows = (await catalogueRows(["agentic"])).flatMap((placed) => {
  const { row } = placed;
  return isWorldRow(row) ? [{ id: idOf(placed), row }] : [];
});

async function taskOf(environment: Environment, level: number) {
  const configured = environment.configure({ level });
  const [task] = (await configured.tasks("train", 1).page(null, 1)).tasks;
  if (task === undefined) throw new Error("no task");
  const { instance, prompt } = task.data as { instance: object; prompt: Message[] };
  return { configured, task, instance, prompt };
}

/** A rollout in which the policy makes these calls, `width` in each reply, and then says that it is done. */
async function rollOut(environment: Environment, script: Script, width: number) {
  const { configured, task } = await taskOf(environment, 2);
  const turns = Array.from({ length: Math.ceil(script.length / width) }, (_, turn) =>
    script.slice(turn * width, (turn + 1) * width),
  );
  let turn = 0;
  const { episode } = await configured.run({
    episodeId: randomUUID(),
    groupId: "test",
    source: configured.name,
    task,
    sampling: { temperature: 1, maxCompletionTokens: null, topP: 1, topK: -1 },
    seed: 1,
    run: { type: "train", step: 0 },
    endpoint: {
      reply: async () => {
        const calls = turns[turn++] ?? [];
        const made = calls.map(({ tool, args }, index) => ({
          id: `call_${turn}_${index}`,
          type: "function" as const,
          function: { name: tool, arguments: JSON.stringify(args) },
        }));
        return {
          message: {
            role: "assistant",
            content: "All of it is done.",
            ...(made.length === 0 ? {} : { tool_calls: made }),
          },
          toolCalls: calls.map(({ tool, args }) => ({ name: tool, arguments: { ...args }, status: "ok", raw: "" })),
          finishReason: "stop",
          usage: null,
        };
      },
    },
    signal: new AbortController().signal,
  });
  return episode;
}

describe("rows with a world", () => {
  test.each(rows)(
    "$id: a rollout earns what the script earns, however many calls are in a reply",
    async ({ id, row }) => {
      const environment = await loadEnvironment(id);
      const { instance } = await taskOf(environment, 2);
      const gold = row.gold(instance);
      for (const [script, width, reward] of [
        [gold, 1, 1],
        [gold, 4, 1],
        [[], 1, 0],
      ] as const) {
        const episode = await rollOut(environment, script, width);
        expect(episode.errors).toEqual([]);
        expect(episode.traces[0]?.reward).toBe(reward);
        expect(episode.traces[0]?.metrics).toMatchObject({
          tool_calls: script.length,
          tool_errors: 0,
          format: script.length > 0 ? 1 : 0,
        });
        const parts = Object.keys(episode.traces[0]?.metrics ?? {}).filter((name) => name.startsWith("passed/"));
        expect(parts.length > 0).toBe(row.parts !== undefined);
      }
    },
  );

  test("the mixture passes the checks of prl env validate", async () => {
    const configured = (await loadEnvironment("catalogue/agentic")).configure({ level: 1 });
    expect((await validateEnvironment(configured, { tasks: 4, seed: 4 })).failures).toEqual([]);
  });

  test("demonstrations of the mixture carry gold scripts out and have the tools of their task", async () => {
    const configured = (await loadEnvironment("catalogue/agentic")).configure({ level: 1 });
    let seen = 0;
    for (const demonstration of configured.demonstrations(3)) {
      if (!("messages" in demonstration)) throw new Error("a conversation was expected");
      const names = (demonstration.tools ?? []).map((one) => (one as { function: { name: string } }).function.name);
      const used = callsIn(demonstration.messages).map(({ tool }) => tool);
      expect(used.length).toBeGreaterThan(2);
      expect(used.filter((name) => !names.includes(name))).toEqual([]);
      if (++seen === 20) break;
    }
  });
});

describe("the calls of a conversation", () => {
  const [first] = rows;
  if (first === undefined) throw new Error("no rows");
  const { id, row }: { id: string; row: WorldRow } = first;

  test("count only where a message follows that can be their answer", async () => {
    const { instance, prompt } = await taskOf(await loadEnvironment(id), 1);
    const messages = conversationOf(row, instance, prompt, row.gold(instance));
    expect(scoreScript(row, instance, callsIn(messages))).toBe(1);
    const cut = messages.slice(0, messages.findLastIndex(({ tool_calls: calls }) => calls !== undefined) + 1);
    expect(scoreScript(row, instance, callsIn(cut))).toBeLessThan(1);
  });

  test("that are too many, too long, unknown or malformed are refused and change nothing", async () => {
    const { instance } = await taskOf(await loadEnvironment(id), 1);
    const [gold] = row.gold(instance);
    if (gold === undefined) throw new Error("no call");
    const play = new Play(row, instance);
    expect(play.call("erase_all", {}).text).toContain("there is no tool erase_all");
    expect(play.call("constructor", {}).failed).toBe(true);
    expect(play.call(gold.tool, { ...gold.args, note: "x".repeat(5_000) }).text).toContain("more than");
    expect(play.call(gold.tool, "all").failed).toBe(true);
    for (let call = 0; call < MOST_CALLS; call++) play.call(gold.tool, gold.args);
    expect(play.call(gold.tool, gold.args).text).toContain("no more than");
    const broken: Message = {
      role: "assistant",
      content: "",
      tool_calls: [{ id: "1", type: "function", function: { name: gold.tool, arguments: "{" } }],
    };
    expect(callsIn([broken, { role: "user", content: "" }])).toEqual([]);
  });
});
