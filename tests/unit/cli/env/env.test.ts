import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { prl } from "../run.ts";
import { modulePath } from "../../../support/compiled.ts";

const MODULE = `
import { defineEnvironment, singleTurn, z } from "${modulePath("environments/index.ts")}";
export default defineEnvironment({
  name: "say", version: "2.1.0", tags: ["echo"],
  config: z.strictObject({ count: z.int().default(6).describe("how many tasks"), loud: z.boolean().describe("shouted") }),
  tasks: ({ config, split }) => Array.from({ length: split === "train" ? config.count : 2 }, (_, i) => ({ prompt: "say " + i, answer: String(i) })),
  rollout: singleTurn(),
  metrics: { length: ({ trace }) => trace.lastReply.length },
  rewards: { exact: { weight: 0.5, score: ({ task, trace }) => trace.lastReply === task.answer } },
});
`;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "prl-env-"));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

/** A package as npm installs one by path: built, linked from node_modules. */
function install(name: string, manifest: Record<string, unknown> = {}): void {
  const home = join(dir, "packages", name);
  mkdirSync(join(home, "dist"), { recursive: true });
  const prlKeys = { environment: "./dist/index.js" };
  writeFileSync(
    join(home, "package.json"),
    JSON.stringify({ name, version: "2.1.0", type: "module", prl: prlKeys, ...manifest }),
  );
  writeFileSync(join(home, "dist/index.js"), MODULE);
  mkdirSync(dirname(join(dir, "node_modules", name)), { recursive: true });
  symlinkSync(home, join(dir, "node_modules", name));
}

describe("prl env info", () => {
  test("shows arguments, tasks and rewards of a package", async () => {
    install("@owner/say");
    const ran = await prl(["env", "info", "owner/say@2.1.0", "--args", '{"loud": true, "count": 3}', "--json"], dir);
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      name: "say",
      version: "2.1.0",
      origin: { kind: "package", name: "@owner/say", version: "2.1.0" },
      tags: ["echo"],
      config: [
        { key: "count", type: "integer", default: "6", description: "how many tasks" },
        { key: "loud", type: "boolean", default: "required", description: "shouted" },
      ],
      tasks: { train: { count: 3, complete: true, endless: false }, eval: { count: 2 } },
      rewards: { exact: 0.5 },
      metrics: ["length"],
      demonstrates: false,
      validates: false,
    });
    const text = await prl(["env", "info", "@owner/say", "--args", '{"loud": true}'], dir);
    expect(text.stdout).toContain("package @owner/say 2.1.0");
    expect(text.stdout).toMatch(/^ {2}count = 6 \(integer\) {2}how many tasks$/m);
  });

  test.each<[string, string[], string]>([
    ["no name", [], "expected one environment"],
    ["an unknown id", ["countdwon"], 'did you mean "countdown"?'],
    ["a package that is nearly there", ["owner/sya"], 'did you mean "@owner/say"?'],
    ["another version", ["owner/say@1.0.0"], "in version 2.1.0"],
    ["a package that is no environment", ["plain"], "is of no environment"],
    ["a package that is not built", ["unbuilt"], "npm run build"],
    ["a module that throws", ["./throws.mjs"], "out of order"],
    ["a module without an environment", ["./empty.mjs"], "no default export"],
    ["an environment without rewards", ["./unpaid.mjs"], "it has no rewards"],
    ["an argument that it does not know", ["owner/say", "--args", '{"cuont": 1, "loud": true}'], "cuont"],
    ["arguments that are no JSON", ["owner/say", "--args", "{"], "--args"],
    ["an unknown option", ["owner/say", "--arg", "{}"], "did you mean --args?"],
  ])("%s is refused with exit code 2 and says what to do", async (_, args, text) => {
    install("@owner/say");
    install("plain", { prl: undefined });
    install("unbuilt", { prl: { environment: "./dist/other.js" }, scripts: { build: "tsc" } });
    writeFileSync(join(dir, "throws.mjs"), 'throw new Error("out of order");');
    writeFileSync(join(dir, "empty.mjs"), "export const nothing = 1;");
    writeFileSync(join(dir, "unpaid.mjs"), MODULE.replace(/rewards: .*/u, "rewards: {},"));
    const ran = await prl(["env", "info", ...args], dir);
    expect(ran.stderr).toContain(text);
    expect(ran.code).toBe(2);
  });
});

test("prl env list names built-in and installed environments", async () => {
  install("@owner/say");
  install("plain", { prl: undefined });
  const { stdout } = await prl(["env", "list", "--json"], join(dir, "node_modules"));
  expect(JSON.parse(stdout)).toMatchObject({ installed: [{ id: "@owner/say", description: "" }] });
  const { builtin } = JSON.parse(stdout) as { builtin: { id: string; description: string }[] };
  expect(builtin.map(({ id }) => id)).toContain("reverse-text");
  expect(builtin.filter(({ description }) => description.length < 20)).toEqual([]);
});

test("an unknown form names the nearest", async () => {
  const { code, stderr } = await prl(["env", "infos"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('did you mean "prl env info"?')]);
});

describe("prl env validate", () => {
  /** Sound, or with one thing wrong in it. */
  const FAULTY = `
import { defineEnvironment, singleTurn, z } from "${modulePath("environments/index.ts")}";
let scored = 0;
export default defineEnvironment({
  name: "faulty", version: "1.0.0",
  config: z.strictObject({ fault: z.string().default("none") }),
  tasks: ({ config: { fault }, rng, split }) => {
    if (fault === "no tasks") return [];
    const noise = fault === "chance" ? Math.random() : 0;
    return Array.from({ length: 20 }, (_, i) => ({ prompt: fault === "one prompt" ? split : split + i, answer: String(rng.integer(1e9) + noise) }));
  },
  key: (row, index) => row.prompt + index,
  rollout: async (context) => {
    if (context.config.fault === "rollout") throw new Error("no rollout today");
    await singleTurn()(context);
  },
  rewards: { exact: async ({ task, trace, config: { fault } }) => {
    if (fault === "generous") return 1;
    if (fault === "echo") return trace.lastReply.includes(task.prompt) || trace.lastReply === task.answer;
    if (fault === "any answer") return trace.lastReply.length > 0 && trace.lastReply !== "I do not know.";
    if (fault === "moody") return trace.lastReply === task.answer ? 1 + (scored += 1) / 100 : 0;
    if (fault === "text") return "1";
    if (fault === "hangs") return new Promise(() => {});
    return trace.lastReply === task.answer;
  } },
  async validate({ task, score, config: { fault } }) {
    const gold = await score(fault === "gold" ? task.answer + "?" : task.answer);
    if (gold < 1) throw new Error("the answer scores " + gold);
  },
});
`;
  beforeEach(() => writeFileSync(join(dir, "faulty.mjs"), FAULTY));
  const validate = (fault: string, ...more: string[]) =>
    prl(["env", "validate", "./faulty.mjs", "--args", JSON.stringify({ fault }), "--tasks", "10", ...more], dir);

  test("a sound environment is valid, and its speed is printed", async () => {
    const text = await validate("none");
    expect(text.code).toBe(0);
    expect(text.stdout).toContain("valid: tasks, gold, wrong, deterministic, rollouts, duplicates, overlap, free\n");
    const { valid, tasks, perSecond } = JSON.parse((await validate("none", "--json")).stdout) as {
      valid: boolean;
      tasks: unknown;
      perSecond: Record<string, number>;
    };
    expect({ valid, tasks }).toEqual({ valid: true, tasks: { train: 10, eval: 10 } });
    expect(Object.values(perSecond).every((rate) => rate > 0)).toBe(true);
  });

  test.each<[string, string, RegExp]>([
    ["no tasks", "tasks", /there are none/],
    ["chance", "deterministic", /rng is the only randomness/],
    ["moody", "deterministic", /the same reply scores 1\.\d+ and then/],
    ["gold", "gold", /the answer scores 0/],
    ["text", "gold", /returned a string/],
    ["hangs", "gold", /did not end within 1 s/],
    ["generous", "wrong", /"" scores 1, the gold answer 1/],
    ["any answer", "wrong", /10 of 10 answers to another task get full marks/],
    ["rollout", "rollouts", /no rollout today/],
    [
      "echo",
      "free",
      /the last user message, such as "train0", gets 1\.0 of 1\.0 on average and full marks on 10 of 10/,
    ],
    ["one prompt", "duplicates", /19 of 20 tasks repeat the content of another: "train"/],
  ])("%s is a failure of %s", async (fault, check, message) => {
    const ran = await validate(fault, "--timeout-s", "1", ...(fault === "hangs" ? ["--tasks", "1"] : []));
    expect(ran.code).toBe(1);
    const row = new RegExp(`^${check} +(train|eval) .*${message.source}`, "m");
    expect(ran.stdout).toMatch(row);
    expect(ran.stdout).not.toMatch(new RegExp(`passed:.*${check}`));
    if (fault === "no tasks") expect(ran.stdout).toMatch(/passed: deterministic$/m);
  });

  test("without a validate it does not claim that gold answers count", async () => {
    writeFileSync(join(dir, "plain.mjs"), MODULE.replace("loud: z.boolean()", "loud: z.boolean().default(true)"));
    const { code, stdout } = await prl(["env", "validate", "./plain.mjs"], dir);
    expect(code).toBe(1);
    expect(stdout).toContain("note: it has no validate()");
    expect(stdout).toMatch(/^overlap +eval .*2 of the tasks looked at are in train and in eval: "say 0"/mu);
    expect(stdout).toContain("not valid: 1 failures; passed: tasks, deterministic, rollouts, duplicates\n");
  });
});
