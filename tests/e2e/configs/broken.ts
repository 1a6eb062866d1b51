/** An environment that fails in the requested way. */
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { defineEnvironment, singleTurn, z } from "prl-lm/environments";

const config = z.strictObject({
  how: z.enum(["not", "zero", "nan", "throws"]).default("not"),
  /** A file; the process that finds it missing makes it and stands still. */
  blocks: z.string().nullable().default(null),
});

export default defineEnvironment({
  name: "broken",
  version: "1.0.0",
  config,
  tasks: () => Array.from({ length: 50 }, (_, index) => ({ prompt: `say ${index}` })),
  rollout: singleTurn(),
  rewards: {
    last: ({ trace, config: { how, blocks } }) => {
      if (blocks !== null && !existsSync(blocks)) {
        writeFileSync(blocks, "");
        standStill();
      }
      if (how === "throws") throw new Error("nobody is at home");
      if (how === "zero") return 0;
      return how === "nan" ? Number.NaN : (trace.lastReply.codePointAt(0) ?? 0) / 1000;
    },
  },
});

/** Not in JavaScript: nothing in the process can end it. */
export function standStill(): never {
  spawnSync("sleep", ["600"]);
  throw new Error("it slept for ten minutes");
}

/** A filter that never comes to an end. */
export function endless(): string {
  for (;;);
}
