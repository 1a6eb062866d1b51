import assert from "node:assert/strict";
import { test } from "node:test";

import { type ReplyClient, validateEnvironment } from "prl-lm/environments";

import environment from "./index.js";

test("the check's own solution does the chore, seeds repeat, rollouts run", async () => {
  const { failures } = await validateEnvironment(environment.configure(), { tasks: 3 });
  assert.deepEqual(failures, []);
});

test("a policy that writes the right command is paid", async () => {
  const configured = environment.configure({ numbers: 3 });
  const [task] = (await configured.tasks("train", 1).page(null, 1)).tasks;
  assert.ok(task !== undefined);
  const { answer } = task.data as { answer: string };
  const said = ["```sh\necho " + answer + " > answer.txt\n```", "It is done."];
  const policy: ReplyClient = {
    reply: async () => ({
      message: { role: "assistant", content: said.shift() ?? "" },
      toolCalls: [],
      finishReason: "stop",
      usage: null,
    }),
  };
  const { episode } = await configured.run({
    episodeId: "1",
    groupId: "1",
    source: "test",
    task,
    sampling: { temperature: 1, maxCompletionTokens: null, topP: 1, topK: -1 },
    seed: 1,
    run: { type: "eval", step: 0 },
    endpoint: policy,
    signal: AbortSignal.timeout(120_000),
  });
  assert.deepEqual([episode.errors, episode.traces[0]?.reward], [[], 1]);
});
