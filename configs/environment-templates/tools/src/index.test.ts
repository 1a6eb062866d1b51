import assert from "node:assert/strict";
import { test } from "node:test";

import { scoreGroup, validateEnvironment } from "prl-lm/environments";

import environment from "./index.js";

test("gold answers score full, others do not, seeds repeat, rollouts run", async () => {
  const { failures } = await validateEnvironment(environment.configure({ items: 2 }), { tasks: 20 });
  assert.deepEqual(failures, []);
});

test("only the number in the tags counts", async () => {
  const task = { prompt: [{ role: "user", content: "2 apples?" }], prices: { apples: 120 }, answer: "240" };
  const reply = (content: string) => ({ task, messages: [{ role: "assistant" as const, content }] });
  const scored = await scoreGroup(environment, [
    reply("<answer>240</answer>"),
    reply("240"),
    reply("<answer>2</answer>"),
  ]);
  assert.deepEqual(
    scored.map(({ reward }) => reward),
    [1, 0, 0],
  );
});
