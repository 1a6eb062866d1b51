/** What "An environment in an afternoon" shows compiles, is valid and runs. */
import { execFile } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

import { chatCompletion, mockEndpoint, type MockEndpoint } from "../../support/mock-endpoint.ts";
import { prl, ROOT, workspace } from "../../support/prl.ts";

let place: Awaited<ReturnType<typeof workspace>>;
let endpoint: MockEndpoint;
let files: string[];
let commands: string[];
beforeAll(async () => {
  place = await workspace();
  endpoint = await mockEndpoint(() => chatCompletion("<answer>12:00</answer>"));
  const page = await readFile(join(ROOT, "ts/environments/in-an-afternoon.md"), "utf8");
  const blocks = (language: string) =>
    [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map((match) => match[1] ?? "");
  files = [];
  for (const code of blocks("ts")) {
    const name = /^\/\/ (\w+\.ts)\n/.exec(code)?.[1] ?? "";
    await writeFile(join(place.dir, name), code);
    files.push(name);
  }
  for (const config of blocks("toml")) {
    const name = /^# (\w+\.toml)\n/.exec(config)?.[1] ?? "";
    await writeFile(join(place.dir, name), config);
  }
  commands = blocks("sh").flatMap((block) => block.trim().split("\n"));
  const quiz = Array.from({ length: 40 }, (_, i) => `"What is ${i} + ${i}?",${2 * i}\n`).join("");
  await writeFile(join(place.dir, "quiz.csv"), `question,answer\n${quiz}`);
  await writeFile(join(place.dir, "package.json"), '{"type": "module"}');
  await mkdir(join(place.dir, "node_modules"));
  await symlink(ROOT, join(place.dir, "node_modules/prl-lm"));
});
afterAll(async () => {
  await endpoint.close();
  await place.remove();
});
const here = (...args: string[]) => prl(args, { cwd: place.dir, cache: place.cache });

test("the modules compile, strictly", async () => {
  expect(files).toEqual(["clock.ts", "quiz.ts", "desk.ts", "thirds.ts"]);
  const strict = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2023"];
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  await promisify(execFile)(process.execPath, [tsc, ...strict, ...files], { cwd: place.dir });
});

test("all of them are valid", async () => {
  for (const file of files) {
    const { code, stdout } = await here("env", "validate", `./${file}`, "--tasks", "10");
    expect([file, code, stdout]).toEqual([
      file,
      0,
      expect.stringMatching(/^valid: tasks, gold, (wrong, )?deterministic/mu),
    ]);
  }
});

test("the config of the page resolves, with a model of this repository in place of the hub's", async () => {
  const model = join(ROOT, "configs/small-chat/model");
  const short = ["--seq-len", "256", "--orchestrator.train.sampling.max-completion-tokens", "64"];
  const { code, stderr } = await here("rl", "clock.toml", "--dry-run", "--model", model, ...short);
  expect([code, stderr]).toEqual([0, ""]);
});

test("the commands of the page work as it says", async () => {
  expect(commands).toHaveLength(4);
  for (const command of commands) {
    const words = command.replace("http://127.0.0.1:8000", endpoint.url).split(/\s+/);
    expect(words.shift()).toBe("prl");
    const ran = await here(...words);
    expect([command, ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([command, 0, ""]);
  }
  expect(endpoint.requests).toHaveLength(80);
});
