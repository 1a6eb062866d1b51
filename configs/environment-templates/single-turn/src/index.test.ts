import assert from "node:assert/strict";
import { test } from "node:test";

import { scoreGroup, validateEnvironment } from "prl-lm/environments";

import environment from "./index.js";

test("gold answers score full, others do not, seeds repeat, rollouts run", async () => {
  const { failures } = await validateEnvironment(environment.configure({ letters: 4 }), { tasks: 20 });
  assert.deepEqual(failures, []);
});

test("a reply that is nearly right earns something", async () => {
  const task = { prompt: "say word loudly: ", answer: "WORD" };
  const reply = (content: string) => ({ task, messages: [{ role: "assistant" as const, content }] });
  const scored = await scoreGroup(environment, [reply("WORD"), reply("WORK"), reply("word")]);
  assert.deepEqual(
    scored.map(({ reward }) => reward),
    [1, 0.75, 0],
  );
});
