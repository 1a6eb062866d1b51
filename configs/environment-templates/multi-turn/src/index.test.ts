import assert from "node:assert/strict";
import { test } from "node:test";

import { scoreGroup, validateEnvironment } from "prl-lm/environments";

import environment, { halvingGame } from "./index.js";

test("gold answers score full, others do not, seeds repeat, rollouts run", async () => {
  const { failures } = await validateEnvironment(environment.configure(), { tasks: 20 });
  assert.deepEqual(failures, []);
});

test("halving finds the number in seven guesses, and several numbers in one reply are no guess", async () => {
  const prompt = [{ role: "user" as const, content: "Find my number, from 1000 to 1099." }];
  const task = { prompt, lowest: 1000, highest: 1099, secret: 1037 };
  const game = halvingGame(task);
  assert.ok(game.filter(({ role }) => role === "assistant").length <= 7);
  const several = [...prompt, { role: "assistant" as const, content: "1036 or 1037" }];
  const scored = await scoreGroup(environment, [
    { task, messages: game },
    { task, messages: several },
  ]);
  assert.deepEqual(
    scored.map(({ reward }) => reward),
    [1, 0],
  );
});
