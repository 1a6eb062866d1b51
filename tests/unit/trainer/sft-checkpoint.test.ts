import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { sftFolder } from "../../support/training/sft-run.ts";

test("a checkpoint is written when its step is logged, and exists after that: a run that continues from it logs the next step", async () => {
  const folder = await sftFolder();
  try {
    const row = {
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
      ],
    };
    const source = await folder.write("rows.jsonl", [row, row]);
    const root = join(folder.dir, "checkpoints");
    const has = (step: number, file: string) => existsSync(join(root, `step_${step}`, file));
    const seen: [number, boolean, boolean, boolean][] = [];
    const beforeLine = (step: number) => {
      const earlier = step === 1 || has(step - 1, "manifest.json");
      seen.push([step, has(step, "trainer/data.json"), has(step, "manifest.json"), earlier]);
    };
    const config = { data: { source, batch_size: 1 }, max_steps: 2 };
    const lines = await folder.train(config, { root, beforeLine });
    expect(lines.map(({ step }) => step)).toEqual([1, 2]);
    expect(seen).toEqual([
      [1, true, false, true],
      [2, true, false, true],
    ]);
    expect(has(2, "manifest.json")).toBe(true);
  } finally {
    await folder.remove();
  }
});
