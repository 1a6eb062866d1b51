/** What the README shows runs. */

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { ROOT } from "../../support/prl.ts";

const readme = await readFile(join(ROOT, "README.md"), "utf8");

test("the environment of the README loads by path, gives tasks and scores its answers", async () => {
  const code = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  const dir = await mkdtemp(join(tmpdir(), "prl-readme-"));
  try {
    await writeFile(join(dir, "shout.ts"), code);
    const script = `
      const { loadEnvironment } = await import(${JSON.stringify(join(ROOT, "dist/index.js"))});
      const environment = (await loadEnvironment(${JSON.stringify(join(dir, "shout.ts"))})).configure({ letters: 4 });
      const { tasks: [task] } = await environment.tasks("train", 1).page(null, 1);
      console.log(JSON.stringify([task.data, await environment.score(task, task.data.answer)]));`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
    const [row, score] = JSON.parse(stdout) as [
      { prompt: string; answer: string },
      { reward: number; metrics: unknown },
    ];
    expect(row.prompt).toMatch(/^shout: [a-z]{4}\n$/);
    expect(score).toMatchObject({ reward: 1, metrics: { exact_match: 1 } });
  } finally {
    await rm(dir, { recursive: true });
  }
});

// That the commands and links of every document exist is held by tests/unit.
test("the README keeps its two commands", () => {
  expect(readme).toContain("npm install && npx prl rl configs/reverse-text/rl.toml");
  expect(readme).toContain("npm install && npm test");
});
