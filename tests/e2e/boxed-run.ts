/** A run whose environment needs sandboxes. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const SYNC = join(import.meta.dirname, "configs/sync.toml");

/** Reverse-text, scored by what a program in the rollout's sandbox says. */
const ENVIRONMENT = `
import { defineEnvironment, endless, z } from "prl-lm/environments";
import { sequenceRatio } from "prl-lm/environments/verify";
import { requireRun } from "prl-lm/sandbox";
function* rows(rng) {
  for (;;) {
    const letters = Array.from({ length: 2 + rng.integer(3) }, () => rng.pick("abcdefghij"));
    yield { prompt: "reverse: " + letters.join("") + "\\n", answer: letters.toReversed().join("") };
  }
}
export default defineEnvironment({
  name: "boxed-text", version: "1.0.0", requires: { sandbox: true }, config: z.strictObject({}),
  tasks: ({ rng }) => endless(rows(rng)),
  key: (_, index) => String(index),
  rollout: async ({ task, sample }) => { await sample(task.prompt); },
  rewards: {
    similarity: async ({ task, trace, sandbox }) => {
      const { stdout } = requireRun(await (await sandbox()).exec(["cat"], { stdin: trace.lastReply }));
      return sequenceRatio(stdout.toString(), task.answer);
    },
  },
});`;

/** Writes it into a folder, and returns the path of its config. */
export async function writeBoxedRun(dir: string): Promise<string> {
  await writeFile(join(dir, "boxed.ts"), ENVIRONMENT);
  const config = join(dir, "rl.toml");
  const sync = await readFile(SYNC, "utf8");
  const own = sync
    .replaceAll(/^env = .*$/gm, 'env = { path = "./boxed.ts" }')
    .replace("../../../configs", join(import.meta.dirname, "../../configs"))
    .replace('sft = "sft.toml"', `sft = ${JSON.stringify(join(import.meta.dirname, "configs/sft.toml"))}`);
  await writeFile(config, own);
  return config;
}
