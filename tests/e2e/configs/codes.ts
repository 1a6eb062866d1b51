/** Each letter has a code that nothing but a hint says. */
import { defineEnvironment, reward, singleTurn, z } from "prl-lm/environments";

const LETTERS = Array.from("abcdefgh");

export default defineEnvironment({
  name: "codes",
  version: "1.0.0",
  config: z.strictObject({}),
  tasks: () =>
    LETTERS.map((letter, index) => ({ prompt: `code of ${letter}: `, answer: String((index * 3 + 1) % 10) })),
  key: (_, index) => String(index),
  rollout: singleTurn(),
  rewards: { code: reward(1, ({ task, trace }) => trace.lastReply.trim() === task.answer) },
});
