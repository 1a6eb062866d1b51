/** When a lost trainer or orchestrator is replaced while the other one goes on, and when both go back to the checkpoint. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import type { ChildSpec, RunChild } from "../../../../ts/launcher/processes/child-process.ts";
import type { RlRun } from "../../../../ts/launcher/processes/rl-processes.ts";
import { takeOver } from "../../../../ts/launcher/processes/take-over.ts";

let runDir: string;
beforeEach(async () => {
  runDir = await mkdtemp(join(tmpdir(), "prl-take-over-"));
  await mkdir(join(runDir, "run"));
  for (const component of ["trainer", "orchestrator"]) await writeFile(ready(component), "{}");
});
afterEach(() => rm(runDir, { recursive: true, force: true }));

const ready = (component: string) => join(runDir, `run/${component}-0.json`);
const specs = ["trainer", "orchestrator"].map((component) => ({ component, index: 0 }) as ChildSpec);

interface Case {
  /** Keys of the config. */
  config?: object;
  wasReady?: boolean;
  /** How the other process ended; null: it works. */
  other?: RunChild["exit"];
}

/** The component that is started again, or the warning with which both go back. */
async function afterLossOf(component: string, { config = {}, wasReady = true, other = null }: Case = {}) {
  const base = {
    model: { name: "m" },
    orchestrator: { train: { source: [{ name: "b", env: { id: "reverse-text" } }] } },
  };
  const run = { config: rlConfigSchema.parse({ ...base, ...config }), base: { runDir } } as unknown as RlRun;
  const notes: string[] = [];
  const lost = { component, index: 0, exit: "signal SIGKILL", pauseMs: 0, losses: 1 };
  const others = [{ exit: other } as RunChild];
  const spec = await takeOver(run, specs, { lost, others, wasReady, note: (text) => notes.push(text) });
  return spec === null ? notes : spec.component;
}

const failed = (code: string) =>
  writeFile(join(runDir, "run/failure-trainer-0.json"), JSON.stringify({ pid: 1, code, message: "so it is" }));

describe("a lost trainer", () => {
  test("is started again, beside an orchestrator that is at work, lost or done, and listens where it did", async () => {
    for (const type of ["filesystem", "grpc"]) {
      const config = { weight_broadcast: { type }, rollout_transport: { type } };
      for (const other of [null, { code: 0, signal: null }, { code: null, signal: "SIGKILL" as const }])
        expect(await afterLossOf("trainer", { config, other })).toBe("trainer");
    }
    expect(existsSync(ready("trainer"))).toBe(true);
  });

  test("takes the run back when it has found out that it cannot do its steps again, and the warning says why", async () => {
    await failed("PRL_PROCESS_DIED");
    expect(await afterLossOf("trainer")).toBe("trainer");
    await failed("PRL_TRAIN_REPLAY");
    expect(await afterLossOf("trainer")).toEqual([
      "Warning: the orchestrator goes back with the trainer: [PRL_TRAIN_REPLAY] so it is",
    ]);
  });

  test("takes the run back before the run is at work", async () => {
    expect(await afterLossOf("trainer", { wasReady: false })).toEqual([expect.stringContaining("not at work yet")]);
  });
});

describe("a lost orchestrator", () => {
  test("is started again, beside a trainer that is at work or lost, and its ready file goes", async () => {
    const config = { weight_broadcast: { type: "grpc" } };
    expect(await afterLossOf("orchestrator", { config })).toBe("orchestrator");
    expect(existsSync(ready("orchestrator"))).toBe(false);
    expect(await afterLossOf("orchestrator", { config, other: { code: null, signal: "SIGKILL" } })).toBe(
      "orchestrator",
    );
  });

  test("takes the trainer back when the weights that it would begin with may be gone", async () => {
    const gone = { config: { weight_broadcast: { type: "grpc" } }, other: { code: 0, signal: null } };
    expect(await afterLossOf("orchestrator", gone)).toEqual([
      expect.stringContaining("which has the weights, has ended"),
    ]);
    const few = { config: { max_async_level: 2, weight_broadcast: { keep: 3 } } };
    expect(await afterLossOf("orchestrator", few)).toEqual([expect.stringContaining("weight_broadcast.keep is 3")]);
  });
});

test("the process of supervised training has nothing to take its place", async () => {
  expect(await afterLossOf("sft")).toEqual([]);
});
