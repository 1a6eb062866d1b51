/** The built-in `terminal`: what the policy does in the shell is what is scored. */
import { afterAll, expect, test } from "vitest";

import { loadEnvironment, SandboxSource } from "../../../ts/environments/index.ts";
import { CHORES } from "../../../ts/environments/builtin/terminal/chores.ts";
import { call, END, policy, renderer, tokenizer } from "../../support/agent-rollout.ts";

const source = new SandboxSource();
afterAll(() => source.close());

async function rollOut(chore: string, replies: (row: { solution: string }) => string[]) {
  const environment = (await loadEnvironment("terminal")).configure({ chores: [chore] }, { sandboxes: source });
  const { tasks } = await environment.tasks("train", 5).page(null, 1);
  const [task] = tasks;
  if (task === undefined) throw new Error("no task");
  const { client, prompts } = policy(replies(task.data as { solution: string }));
  const { episode } = await environment.run({
    episodeId: "e",
    groupId: "g",
    source: "s",
    task,
    client,
    tokenizer,
    renderer,
    sampling: { temperature: 1, maxCompletionTokens: 500, topP: 1, topK: -1 },
    seed: 1,
    run: { type: "train", step: 1 },
    signal: AbortSignal.timeout(60_000),
  });
  return { episode, trace: episode.traces[0], prompts };
}

test.each(CHORES)("%s: done in the shell it scores 1", async (chore) => {
  const { episode, trace } = await rollOut(chore, ({ solution }) => [
    `${call("run", { command: "ls -R" })}${END}`,
    `${call("run", { command: solution })}${END}`,
    `Done.${END}`,
  ]);
  expect(episode.errors).toEqual([]);
  expect(trace).toMatchObject({ reward: 1, stop_condition: "agent_completed", metrics: { progress: 1 } });
});

test("a claim to be done scores 0; readable files hold neither the expected result nor the key", async () => {
  const { trace, prompts } = await rollOut("count", () => [
    `${call("run", { command: "ls; cat /tmp/agent.py | wc -l; env; echo $OPENAI_API_KEY | wc -c" })}${call("run", {})}${END}`,
    `Done.${END}`,
  ]);
  expect(trace).toMatchObject({ reward: 0, metrics: { progress: 0 } });
  expect(prompts[1]).toContain("notes");
  expect(prompts[1]).not.toContain("prl-");
  expect(prompts[1]).toContain("Error: give the command");
  expect(prompts[0]).not.toContain("answer is");
});

test("a command that never ends is stopped, and a rollout ends at its last turn", async () => {
  const { trace } = await rollOut("sum", () =>
    Array.from({ length: 20 }, () => `${call("run", { command: "true" })}${END}`),
  );
  expect(trace).toMatchObject({ reward: 0, stop_condition: "max_turns" });
  expect(trace?.nodes.filter(({ sampled }) => sampled)).toHaveLength(8);
});
