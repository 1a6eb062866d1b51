import assert from "node:assert/strict";
import { test } from "node:test";

import { scoreGroup, validateEnvironment } from "prl-lm/environments";

import environment, { inFence } from "./index.js";

test("gold answers score full, others do not, seeds repeat, rollouts run", async () => {
  const { failures } = await validateEnvironment(environment.configure(), { tasks: 5 });
  assert.deepEqual(failures, []);
});

test("a program that is right for some calls earns their share with partial, else nothing", async () => {
  const tests = [
    { input: [[1, 2]], output: 3 },
    { input: [[5]], output: 0 },
  ];
  const task = { prompt: [{ role: "user", content: "the sum of the numbers below 5" }], tests, solution: "" };
  const rollouts = [{ task, messages: [{ role: "assistant" as const, content: inFence("return sum(numbers)") }] }];
  const [all] = await scoreGroup(environment, rollouts);
  const [share] = await scoreGroup(environment, rollouts, { partial: true });
  assert.deepEqual([all?.reward, share?.reward], [0, 0.5]);
});
