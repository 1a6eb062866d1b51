import assert from "node:assert/strict";
import { test } from "node:test";

import { scoreGroup, validateEnvironment } from "prl-lm/environments";

import environment from "./index.js";

test("gold answers score full, others do not, seeds repeat, rollouts run", async () => {
  const { failures } = await validateEnvironment(environment.configure(), { tasks: 20 });
  assert.deepEqual(failures, []);
});

test("two dates are no answer, and the stand-in is recorded", async () => {
  const question = "Which date is 1 days after 2 March 2001?";
  const task = { prompt: [{ role: "user", content: question }], question, answer: "3 March 2001" };
  const reply = (content: string) => ({ task, messages: [{ role: "assistant" as const, content }] });
  const scored = await scoreGroup(environment, [reply("3 March 2001!"), reply("3 March 2001 or 4 March 2001")]);
  assert.deepEqual(
    scored.map(({ reward, metrics }) => [reward, metrics["stand_in_judge"]]),
    [
      [1, 1],
      [0, 1],
    ],
  );
});
