/** The configs of `configs/gpu` resolve, fit the GPUs that they are for or say why not, and say in their heads what `prl plan` says. */
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
/** Configs that cannot run yet, with what `prl plan` refuses them for. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  "mixture-100b-64x8gpu.toml": [
    "the run needs 512 GPUs (128 for trainer.ranks, 384 for the inference servers), and the machine has 8",
    "prl does not train and sample glm4_moe yet",
  ],
};
/** Machines of a config that has several for the run itself. */
const MACHINES: Readonly<Record<string, number>> = { "mixture-100b-64x8gpu.toml": 64 };
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

  test("fits or is refused, and its head has the numbers of the plan that it names", async () => {
    expect(command).toContain(`${FOLDER}/${name} --device `);
    const { code, stdout, stderr } = await prl([...command.split(" "), "--json"], ROOT, env);
    const refused = REFUSED[name] ?? [];
    expect(code, stderr).toBe(refused.length === 0 ? 0 : 2);
    const { problems } = JSON.parse(stdout) as Plan;
    expect(problems).toHaveLength(refused.length);
    for (const [index, problem] of refused.entries()) expect(problems[index]).toContain(problem);
    expect(text.includes("cannot run it yet")).toBe(refused.length > 0);
    const written = head.map((line) => line.replace(/^# ?/u, ""));
    for (const line of budgetLines(JSON.parse(stdout) as Plan)) expect(written).toContain(line);
  });

  test("names only GPUs that it uses", async () => {
    const { stdout } = await prl([...command.split(" "), "--json"], ROOT, env);
    const { processes } = JSON.parse(stdout) as Plan;
    const perMachine = Number(/^gpus_per_node = (\d+)$/mu.exec(text)?.[1]);
    expect(processes.gpus).toBe(perMachine * (MACHINES[name] ?? 1));
  });
});
