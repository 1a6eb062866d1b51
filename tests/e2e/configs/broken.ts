/** An environment that goes wrong in the way that it is told. */
import { defineEnvironment, singleTurn, z } from "prl/environments";

const config = z.strictObject({ how: z.enum(["not", "zero", "nan", "throws"]).default("not") });

export default defineEnvironment({
  name: "broken",
  version: "1.0.0",
  config,
  tasks: () => Array.from({ length: 50 }, (_, index) => ({ prompt: `say ${index}` })),
  rollout: singleTurn(),
  rewards: {
    last: ({ trace, config: { how } }) => {
      if (how === "throws") throw new Error("nobody is at home");
      if (how === "zero") return 0;
      return how === "nan" ? Number.NaN : (trace.lastReply.codePointAt(0) ?? 0) / 1000;
    },
  },
});

/** A filter that never comes to an end. */
export function endless(): string {
  for (;;);
}
