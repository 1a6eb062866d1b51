import assert from "node:assert/strict";
import { test } from "node:test";

import { scoreGroup, validateEnvironment } from "prl-lm/environments";

import environment from "./index.js";

test("gold answers score full, others do not, seeds repeat, rollouts run", async () => {
  const { failures } = await validateEnvironment(environment.configure(), { tasks: 20 });
  assert.deepEqual(failures, []);
});

test("of a group's right answers those that come once earn more", async () => {
  const task = { prompt: [{ role: "user", content: "from 1 to 30, by 7" }], lowest: 1, highest: 30, divisor: 7 };
  const reply = (content: string) => ({ task, messages: [{ role: "assistant" as const, content }] });
  const scored = await scoreGroup(environment, [reply("7"), reply("14"), reply("7"), reply("8")]);
  assert.deepEqual(
    scored.map(({ reward }) => reward),
    [0.8, 1, 0.8, 0],
  );
});
