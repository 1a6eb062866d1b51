import fc from "fast-check";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { differences, flatten } from "../../../../ts/cli/runs/config-keys.ts";
import { readRun } from "../../../../ts/cli/runs/read-run.ts";
import { evaluation, started, step, temporaryFolder, writeRun } from "./run-fixture.ts";
import { prl } from "../run.ts";

const SUMMARY = { status: "completed", steps: 2, wall_seconds: 90 };
const CONFIG = { seed: 1, output_dir: "outputs", run: { name: "a" }, trainer: { seed: 1, optim: { lr: 0.5 } } };

/** When this process started, as a lock has it. */
async function startOfThisProcess(): Promise<string> {
  const stat = await readFile("/proc/self/stat", "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

async function twoRuns(): Promise<string> {
  const folder = await temporaryFolder();
  await writeRun(folder, "old", {
    "configs/rl.json": CONFIG,
    "summary.json": SUMMARY,
    "metrics.jsonl": [evaluation("held", 0, 0.125), ...step(1, 0.25), ...step(2, 0.75), evaluation("held", 2, 0.875)],
    "events.jsonl": [started(1_000), { component: "orchestrator", attempt: 1, time: 1_001, type: "canary" }],
  });
  await writeRun(folder, "new", {
    "configs/rl.json": { ...CONFIG, seed: 2, run: { name: "b" }, trainer: { seed: 2, optim: { lr: 0.25 } } },
    "summary.json": { ...SUMMARY, status: "failed", error: { code: "PRL_IO", message: "no\u001bdisk" } },
    "metrics.jsonl": step(1, 0.5),
    "events.jsonl": [started(2_000)],
  });
  return folder;
}

describe("prl runs list", () => {
  test("newest first, with status, steps and reward of the held-out evaluation", async () => {
    const folder = await twoRuns();
    const { code, stdout } = await prl(["runs", "list", "--output-dir", folder]);
    expect(code).toBe(0);
    const lines = stdout.split("\n").slice(2);
    expect(lines[0]).toMatch(/^new +rl +failed +1 +0\.500 → 0\.500 +1m 30s +\d{4}-\d\d-\d\d \d\d:\d\d$/);
    expect(lines[1]).toMatch(/^old +rl +completed +2 +0\.125 → 0\.875 /);
    const { stdout: json } = await prl(["runs", "list", "--json"], folder);
    expect(JSON.parse(json)).toEqual({ output_dir: join(folder, "outputs"), runs: [] });
  });

  test("names the defects of half-written directories and continues", async () => {
    const folder = await temporaryFolder();
    await writeRun(folder, "empty", {});
    await writeRun(folder, "dry", { "configs/rl.json": CONFIG });
    await writeRun(folder, "torn", {
      "configs/rl.json": "{",
      "summary.json": '{"status": "comp',
      "metrics.jsonl": `${JSON.stringify(step(3, 0.5)[0])}\n{"component":"trai`,
    });
    const { code, stdout } = await prl(["runs", "list", "--output-dir", folder, "--json"]);
    expect(code).toBe(0);
    const { runs } = JSON.parse(stdout) as { runs: { name: string; problems: string[] }[] };
    expect(Object.fromEntries(runs.map((run) => [run.name, run.problems.join("; ")]))).toEqual({
      empty: "configs/ holds no rl.json, sft-run.json, eval.json; it holds no run",
      dry: "it has not been started",
      torn:
        "summary.json is no JSON object; rl.json is no JSON object; no summary.json that can be read, and no process has the " +
        "run: it was cut off; metrics.jsonl: 1 unreadable lines are left out",
    });
    expect(runs.find((run) => run.name === "torn")).toMatchObject({ kind: "rl", status: "unfinished", steps: 3 });
  });

  test("a run is running while the process of its lock lives, not when another has its number", async () => {
    const folder = await temporaryFolder();
    const lock = { pid: process.pid, started: await startOfThisProcess() };
    const files = { "configs/rl.json": CONFIG, "summary.json": SUMMARY, "metrics.jsonl": step(1, 0.5) };
    const live = await writeRun(folder, "live", { ...files, "run/lock-1.json": lock });
    const reused = await writeRun(folder, "reused", { ...files, "run/lock-1.json": { ...lock, started: "1" } });
    const dead = await writeRun(folder, "dead", { ...files, "run/lock-1.json": { ...lock, pid: 2 ** 30 } });
    expect(await readRun(live)).toMatchObject({ status: "running", pid: process.pid, problems: [] });
    expect(await readRun(reused)).toMatchObject({ status: "completed", pid: null });
    expect(await readRun(dead)).toMatchObject({ status: "completed", pid: null });
  });

  test("whatever stands in the files, a record comes back", async () => {
    const folder = await temporaryFolder();
    const content = fc.oneof(
      fc.string(),
      fc.json(),
      fc.array(fc.json()).map((lines) => lines.join("\n")),
    );
    const line = fc.record({
      component: fc.constantFrom("trainer", "sft"),
      attempt: fc.json(),
      step: fc.nat(),
      time: fc.double(),
    });
    await fc.assert(
      fc.asyncProperty(content, content, content, fc.array(fc.oneof(line, fc.jsonValue())), async (a, b, c, lines) => {
        const path = await writeRun(folder, "any", {
          "summary.json": a,
          "configs/rl.json": b,
          "run/lock-1.json": c,
          "events.jsonl": c,
          "metrics.jsonl": lines,
        });
        const record = await readRun(path);
        expect(record.name).toBe("any");
        expect((await prl(["runs", "show", "any", "--output-dir", folder])).code).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});

describe("prl runs show", () => {
  test("the end, the config in short, evaluations, events and a plot", async () => {
    const folder = await twoRuns();
    const { code, stdout } = await prl(["runs", "show", "old", "--output-dir", folder]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^status +completed$/m);
    expect(stdout).toMatch(/^events +started 1, canary 1$/m);
    expect(stdout).toMatch(/^trainer\.optim\.lr +0\.5$/m);
    expect(stdout).toMatch(/^held +2 +0\.8750 +16$/m);
    expect(stdout).toMatch(/^ *0\.8750 ┤ +●$/m);
    expect(stdout).toMatch(/^ *0\.1250 ┤●$/m);
  });

  test("an error is printed without control characters", async () => {
    const { stdout } = await prl(["runs", "show", "new", "--output-dir", await twoRuns()]);
    expect(stdout).toMatch(/^error +\[PRL_IO\] no\ufffddisk$/m);
  });

  test("of equal steps the last attempt counts, wherever its lines stand", async () => {
    const folder = await temporaryFolder();
    const lines = [...step(1, 0.1), ...step(2, 0.9, 2), ...step(2, 0.2), ...step(3, 0.3, 2)];
    const held = [evaluation("held", 2, 0.5, 2), evaluation("held", 2, 0.1, 1)];
    await writeRun(folder, "resumed", { "configs/rl.json": CONFIG, "metrics.jsonl": [...lines, ...held] });
    const { stdout } = await prl(["runs", "show", "resumed", "--json", "--output-dir", folder]);
    expect(JSON.parse(stdout)).toMatchObject({
      attempts: 2,
      history: [{ reward: 0.1 }, { reward: 0.9 }, { reward: 0.3 }],
      evaluations: [{ reward: 0.5 }],
    });
  });

  test("supervised runs show their loss; evaluation runs their mean", async () => {
    const folder = await temporaryFolder();
    const line = { component: "sft", attempt: 1, step: 1, time: 1, "loss/mean": 2.5 };
    await writeRun(folder, "s", {
      "configs/sft-run.json": { max_steps: 7, optim: { lr: 0.25 } },
      "configs/sft.json": { run_id: "s", config: { max_steps: 7, optim: { lr: 0.25 } } },
      "summary.json": SUMMARY,
      "metrics.jsonl": [line],
    });
    const { stdout } = await prl(["runs", "show", "s", "--output-dir", folder]);
    expect(stdout).toMatch(/^loss at the end +2\.5000$/m);
    expect(stdout).toMatch(/^optim\.lr +0\.25$/m);
    const summary = { status: "completed", evaluations: [{ name: "e", reward: { mean: 0.5 } }] };
    const path = await writeRun(folder, "e", { "configs/eval.json": {}, "summary.json": summary });
    expect(await readRun(path)).toMatchObject({ kind: "eval", reward: { first: 0.5, last: 0.5 }, problems: [] });
  });

  test("a run of an earlier version, which named its loss and an evaluation's metrics otherwise", async () => {
    const folder = await temporaryFolder();
    const [collected] = step(1, 0.5);
    const trained = { component: "trainer", attempt: 1, step: 1, time: 1, loss: 2.5 };
    const held = { ...evaluation("held", 1, 0.5), "eval/held/all/metrics/exact_match/mean": 0.25 };
    await writeRun(folder, "o", { "configs/rl.json": CONFIG, "metrics.jsonl": [collected, trained, held] });
    const { stdout } = await prl(["runs", "show", "o", "--output-dir", folder]);
    expect(stdout).toMatch(/^loss at the end +2\.5000$/m);
    expect(stdout).toMatch(/^held +1 +0\.5000 +16 +exact_match 0\.2500$/m);
  });

  test("an unknown run is named with the nearest one", async () => {
    const { code, stderr } = await prl(["runs", "show", "olt", "--output-dir", await twoRuns()]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/PRL_RUN_UNKNOWN.*did you mean old\?/);
  });

  test("the current folder and the one above are paths too", async () => {
    const folder = await twoRuns();
    for (const [name, cwd] of [
      [".", join(folder, "old")],
      ["..", join(folder, "old", "configs")],
    ] as const) {
      expect((await prl(["runs", "show", name], cwd)).stdout).toMatch(/^run +old$/m);
    }
  });

  test("a path is looked for where it leads, and not in the output folder", async () => {
    const folder = await twoRuns();
    const { code, stderr } = await prl(["runs", "show", "elsewhere/olt"], folder);
    expect(code).toBe(2);
    expect(stderr).toContain(`there is no run directory ${join(folder, "elsewhere/olt")}; `);
    expect(stderr).toContain(`--output-dir ${join(folder, "elsewhere")} `);
  });
});

describe("prl runs compare", () => {
  test("rewards by step and the keys that differ, shared keys once", async () => {
    const folder = await twoRuns();
    const { code, stdout } = await prl(["runs", "compare", "old", "new", "--output-dir", folder]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^1 +0\.2500 +0\.5000$/m);
    expect(stdout).toMatch(/^2 +0\.7500 +–$/m);
    const json = await prl(["runs", "compare", "old", "new", "--json", "--output-dir", folder]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      measure: "reward",
      steps: [
        { step: 1, values: [0.25, 0.5] },
        { step: 2, values: [0.75, null] },
      ],
      config: [
        { key: "seed", values: [1, 2] },
        { key: "trainer.optim.lr", values: [0.5, 0.25] },
      ],
    });
  });

  test("long runs are shown at twenty steps, the first and the last among them", async () => {
    const folder = await temporaryFolder();
    for (const name of ["a", "b"]) {
      const lines = Array.from({ length: 137 }, (_, index) => step(index + 1, index / 137)).flat();
      await writeRun(folder, name, { "configs/rl.json": CONFIG, "metrics.jsonl": lines });
    }
    const { stdout } = await prl(["runs", "compare", "a", "b", "--output-dir", folder]);
    const steps = [...stdout.matchAll(/^(\d+) /gm)].map((match) => Number(match[1]));
    expect([steps.length, steps[0], steps.at(-1)]).toEqual([20, 1, 137]);
    expect(stdout).toContain("a: ▁");
    const plot = stdout.slice(0, stdout.indexOf("● a   ○ b")).split("\n");
    expect(plot[0]).toBe("reward by step");
    expect(plot).toHaveLength(16);
    expect(plot[1]).toMatch(/○$/);
    expect(stdout).toContain("Their configs are the same.");
  });

  test("one run is not enough", async () => {
    expect(await prl(["runs", "compare", "a"])).toMatchObject({ code: 2 });
  });
});

describe("config keys", () => {
  test("blocks in lists are numbered, plain lists are values", () => {
    const config = { a: [{ b: 1 }, { b: 2 }], c: [1, 2], d: {}, e: null };
    expect([...flatten(config)]).toEqual([
      ["a.0.b", 1],
      ["a.1.b", 2],
      ["c", [1, 2]],
      ["d", {}],
      ["e", null],
    ]);
  });

  test("a key that only one has differs, and so does a section's own value", () => {
    const [a, b] = [
      { seed: 1, t: { seed: 1 } },
      { seed: 1, t: { seed: 5 }, x: 1 },
    ];
    expect(differences([a, b])).toEqual([
      { key: "t.seed", values: [1, 5] },
      { key: "x", values: [undefined, 1] },
    ]);
  });
});
