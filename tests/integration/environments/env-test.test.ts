/** `prl env test` names what is wrong with a package, and code that ends or blocks the process that it runs in. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type Ran, runAll } from "../../support/command-lines.ts";

const MODULE = `
import { defineEnvironment, singleTurn, z } from "prl-lm/environments";
export default defineEnvironment({
  name: "say", version: "1.0.0",
  config: z.strictObject({ fault: z.string().default("none") }),
  tasks: ({ split }) => Array.from({ length: 8 }, (_, i) => ({ prompt: "say " + split + i, answer: "n" + split + i })),
  rollout: singleTurn(),
  rewards: { exact: ({ task, trace, config: { fault } }) => {
    if (fault === "blocks" && trace.lastReply === "I do not know.") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    if (fault === "ends") process.exit(0);
    return trace.lastReply === task.answer;
  } },
  async validate({ task, score }) {
    if ((await score(task.answer)) !== 1 || (await score(task.answer + "!")) !== 0) throw new Error("scored wrongly");
  },
});
`;

/** What is wrong with each package, and the check that says so. */
const PACKAGES: Readonly<Record<string, readonly [manifest: object, check: string, message: RegExp]>> = {
  api: [{ prl: { environment: "./index.mjs", api: 7 } }, "manifest", /version 7 of the environments API/u],
  scripts: [{ scripts: { postinstall: "true" } }, "scripts", /"postinstall", which would run where it is installed/u],
  shadow: [{ name: "sudoku" }, "name", /the built-in environment sudoku/u],
  needs: [{ prl: { environment: "./index.mjs", needs: { gpu: 1 } } }, "needs", /prl\.needs/u],
  circle: [{ dependencies: { circle: "*" } }, "circle", /in a circle: circle/u],
  keyword: [{ keywords: [] }, "publishing", /has not the keyword/u],
};

interface Row {
  part: string;
  check: string;
  status: string;
  failures: { split: string | null; task: string | null; message: string }[];
}

let dir: string;
let ran: Ran[];
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "prl-env-test-"));
  const manifest = {
    version: "1.0.0",
    type: "module",
    keywords: ["prl-environment"],
    prl: { environment: "./index.mjs" },
  };
  for (const [name, [wrong]] of Object.entries({ ...PACKAGES, sound: [{}] as const })) {
    mkdirSync(join(dir, name));
    writeFileSync(join(dir, name, "package.json"), JSON.stringify({ name, ...manifest, ...wrong }));
    writeFileSync(join(dir, name, "index.mjs"), name === "sound" ? MODULE : "export default 1;");
  }
  const fault = (name: string) => ["--args", JSON.stringify({ fault: name }), "--timeout-s", "10", "--json"];
  ran = await runAll([
    ...Object.keys(PACKAGES).map((name) => ({ args: ["env", "test", `./${name}`, "--json"], cwd: dir })),
    { args: ["env", "test", "./sound", "--json"], cwd: dir },
    { args: ["env", "test", "./sound", ...fault("blocks")], cwd: dir },
    { args: ["env", "test", "./sound", ...fault("ends")], cwd: dir },
    { args: ["env", "test", "./nowhere"], cwd: dir },
    { args: ["env", "test", "./sound", "./sound"], cwd: dir },
    { args: ["env", "test", "./sound"], cwd: dir },
  ]);
});
afterAll(() => rmSync(dir, { recursive: true }));

const rowsOf = (at: number): Row[] => (JSON.parse(ran[at]?.stdout ?? "") as { rows: Row[] }).rows;
const failed = (at: number): Row[] => rowsOf(at).filter(({ status }) => status === "failed");

test.each(Object.entries(PACKAGES).map(([name, [, check, message]], at) => [name, at, check, message] as const))(
  "a package that is wrong in its %s",
  (_, at, check, message) => {
    expect(ran[at]?.code).toBe(1);
    const [first] = failed(at).filter(({ part }) => part === "package");
    expect([first?.check, first?.failures[0]?.message]).toEqual([check, expect.stringMatching(message)]);
    // Its module exports no environment, which is a failure of the module and not of the package.
    expect(failed(at).filter(({ part }) => part === "environment")).toMatchObject([{ check: "module" }]);
  },
);

const SOUND = Object.keys(PACKAGES).length;

test("a sound one passes, as JSON and as a table", () => {
  expect([ran[SOUND]?.code, failed(SOUND)]).toEqual([0, []]);
  const table = ran.at(-1);
  expect([table?.code, table?.stderr]).toEqual([0, ""]);
  expect(table?.stdout).toMatch(/^gate +candidates +passed +at most 0\.00 by the gold answer between two others/mu);
  expect(table?.stdout).toMatch(/^gate +guess +passed|^gate +guess +not checked/mu);
  expect(table?.stdout).toMatch(/\n\n\d+ passed, \d+ not checked, none failed\n$/u);
});

test("a verifier that never returns is named with its check and its task, and the rest is not passed", () => {
  expect(ran[SOUND + 1]?.code).toBe(1);
  const [row] = failed(SOUND + 1);
  expect(row).toMatchObject({ part: "environment", check: "wrong", failures: [{ split: "train" }] });
  expect(row?.failures[0]?.message).toContain("its code did not return within 10 s");
  expect(row?.failures[0]?.task).not.toBeNull();
  const rest = rowsOf(SOUND + 1).filter(({ part }) => part === "gate");
  expect(new Set(rest.map(({ status }) => status))).toEqual(new Set(["not checked"]));
});

test("a verifier that ends the process is named too", () => {
  expect(ran[SOUND + 2]?.code).toBe(1);
  expect(failed(SOUND + 2)).toMatchObject([
    { check: "gold", failures: [{ message: expect.stringContaining("ended the process (exit code 0)") as string }] },
  ]);
});

test("a place where there is nothing, and two places, are refused", () => {
  const [nowhere, two] = [ran[SOUND + 3], ran[SOUND + 4]];
  expect([nowhere?.code, nowhere?.stderr]).toEqual([2, expect.stringContaining("there is no ")]);
  expect([two?.code, two?.stderr]).toEqual([2, expect.stringContaining("expected one environment")]);
});
