/** The configs of `configs/gpu` resolve, fit the GPUs that they are for, and say in their heads what `prl plan` says. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Plan } from "../../../ts/plan/index.ts";
import { prl } from "../cli/run.ts";
import { budgetLines } from "./budget.ts";
import { hubOfQwen3 } from "./qwen3.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const FOLDER = "configs/gpu";
const files = readdirSync(join(ROOT, FOLDER)).filter((name) => name.endsWith(".toml"));

let root: string;
let env: Record<string, string>;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "prl-plan-"));
  env = hubOfQwen3(root);
});
afterAll(() => rmSync(root, { recursive: true }));

describe.each(files)("%s", (name) => {
  const text = readFileSync(join(ROOT, FOLDER, name), "utf8");
  const head = text.slice(0, text.indexOf("\n\n")).split("\n");
  const [, command = ""] = /`npx prl (plan [^`]+)`/u.exec(text) ?? [];

  test("fits, and its head has the numbers of the plan that it names", async () => {
    expect(command).toContain(`${FOLDER}/${name} --device `);
    const { code, stdout, stderr } = await prl([...command.split(" "), "--json"], ROOT, env);
    expect(code, stderr).toBe(0);
    const written = head.map((line) => line.replace(/^# ?/u, ""));
    for (const line of budgetLines(JSON.parse(stdout) as Plan)) expect(written).toContain(line);
  });

  test("names only GPUs that it uses", async () => {
    const { stdout } = await prl([...command.split(" "), "--json"], ROOT, env);
    const { processes } = JSON.parse(stdout) as Plan;
    expect(processes.gpus).toBe(Number(/^gpus_per_node = (\d+)$/mu.exec(text)?.[1]));
  });
});
