/** Conversations of three turns, in which the environment always says the same. */
import { defineEnvironment, multiTurn, reward, z } from "prl-lm/environments";

export default defineEnvironment({
  name: "three-turns",
  version: "1.0.0",
  config: z.strictObject({ answer: z.string().default("go on") }),
  // A text would be a prompt without the template, and no beginning of the second one.
  tasks: () => [{ prompt: [{ role: "user" as const, content: "begin" }] }],
  key: () => "begin",
  rollout: multiTurn({ maxTurns: 3, respond: (_trace, _task, { config }) => config.answer }),
  rewards: { length: reward(1, ({ trace }) => trace.lastReply.length) },
});
