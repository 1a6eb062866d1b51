/** The shortest reply of a group wins; replies of random weights differ in length. */
import { defineEnvironment, groupReward, singleTurn, z } from "prl-lm/environments";

export default defineEnvironment({
  name: "shortest",
  version: "1.0.0",
  config: z.strictObject({}),
  tasks: () => Array.from({ length: 50 }, (_, index) => ({ prompt: `say ${index}` })),
  rollout: singleTurn(),
  rewards: {
    shortest: groupReward(1, ({ traces }) => {
      const lengths = traces.map(({ lastReply }) => lastReply.length);
      return lengths.map((length) => length === Math.min(...lengths));
    }),
  },
});
