/** Every component by itself: configs/debug as it is shipped, two steps of each. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { prl, ROOT, workspace } from "../support/prl.ts";

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const debug = (name: string) => join(ROOT, "configs/debug", `${name}.toml`);

interface Report {
  bench: string;
  steps: number;
  values: Record<string, { value: number; unit: string }>;
}

describe("--bench", () => {
  test.each([
    ["trainer", ["trained tokens", "publishing a version", "peak memory"]],
    ["inference", ["sampled tokens", "requests", "latency, longest"]],
    ["orchestrator", ["rollouts", "step"]],
    ["rl", ["step", "rollouts", "trained tokens, while training"]],
  ])("%s alone prints its throughput", async (name, expected) => {
    const { code, stdout } = await prl([name, "--bench", "2", debug(name), "--json"], options());
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as Report;
    expect(report).toMatchObject({ bench: name, steps: 2 });
    for (const value of expected) expect(report.values[value]?.value, value).toBeGreaterThan(0);
    if (name === "orchestrator") expect(report.values["event loop lag, p99"]?.value).toBeGreaterThanOrEqual(0);
  });

  test("shows each step and a table to people; batches have the shape that was asked for", async () => {
    const shape = ["--trainer.data.fake.batch-size", "3", "--trainer.data.fake.seq-len", "32"];
    const { stdout } = await prl(["trainer", debug("trainer"), "--bench=3", ...shape], options());
    expect(stdout.match(/^Step [123]\/3 \| Tokens\/s /gm)).toHaveLength(3);
    expect(stdout).toContain("trainer, median of 2 steps");
  });

  test("mistakes are named: too few steps, made-up batches in a run", async () => {
    const once = await prl(["trainer", "--bench", "1", debug("trainer")], options());
    expect(once.code).toBe(2);
    expect(once.stderr).toContain("the first warms up");
    const run = await prl(["rl", debug("trainer")], options());
    expect(run.code).toBe(2);
    expect(run.stderr).toContain("trainer.data.fake");
  });
});
