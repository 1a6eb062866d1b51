/** The checks after a chaos see what they are for: a run directory is made, broken in one way, and the violation is named. */
import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { killedBy } from "../../../../ts/cli/chaos/bystanders.ts";
import { FAULTS } from "../../../../ts/cli/chaos/catalogue.ts";
import { resultOf } from "../../../../ts/cli/chaos/history.ts";
import { violations } from "../../../../ts/cli/chaos/invariants.ts";

const STEPS = 3;
let dir: string;

const line = (component: string, step: number, more: object, attempt = 1) =>
  `${JSON.stringify({ component, attempt, step, time: step, ...more })}\n`;
const trained = (step: number, attempt = 1) => line("trainer", step, { "loss/mean": step / 8 }, attempt);
const assembled = (step: number, staleness = 0, attempt = 1) =>
  line("orchestrator", step, { "batch/rollouts": 8, "off_policy/max": staleness }, attempt);
const traces = (...ids: string[]) => ids.map((id) => `${JSON.stringify({ id, traces: [{ id: "a" }] })}\n`).join("");

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-chaos-run-"));
  await writeFile(join(dir, "summary.json"), JSON.stringify({ status: "completed", steps: STEPS }));
  for (let step = 1; step <= STEPS; step++) {
    await appendFile(join(dir, "metrics.jsonl"), trained(step) + assembled(step));
    await mkdir(join(dir, `rollouts/step_${step}`), { recursive: true });
    await writeFile(join(dir, `rollouts/step_${step}/traces.jsonl`), traces(`${step}-0`, `${step}-1`));
  }
});
afterEach(() => rm(dir, { recursive: true }));

const expected = { steps: STEPS, maxStaleness: 1, result: null, killed: null };
const metrics = (text: string) => writeFile(join(dir, "metrics.jsonl"), text);

describe("the invariants of a run", () => {
  test("hold for a run that went well, and for one that went back to a checkpoint", async () => {
    expect(await violations(dir, expected)).toEqual([]);
    // The second attempt trains step 3 again and has another loss: the last attempt counts.
    await appendFile(join(dir, "metrics.jsonl"), trained(3, 2) + assembled(3, 0, 2));
    expect(await violations(dir, expected)).toEqual([]);
  });

  test("name a step that is missing, twice there, beyond the end, or out of order", async () => {
    const orchestrator = [1, 2, 3].map((step) => assembled(step)).join("");
    await metrics(trained(1) + trained(3) + orchestrator);
    expect(await violations(dir, expected)).toEqual(["trainer: steps 2 are missing in the committed history"]);
    await metrics(trained(1) + trained(2) + trained(2) + trained(3) + orchestrator);
    expect(await violations(dir, expected)).toEqual(["trainer: steps 2 stand twice in the committed history"]);
    await metrics(trained(1) + trained(2) + trained(3) + trained(4) + orchestrator);
    expect(await violations(dir, expected)).toEqual(["trainer: steps 4 stand twice in the committed history"]);
    await metrics(trained(1) + trained(3) + trained(2) + orchestrator);
    expect(await violations(dir, expected)).toEqual(["trainer: the steps are not in order"]);
  });

  test("name tokens beyond the bound", async () => {
    await metrics([1, 2, 3].map((step) => trained(step) + assembled(step, step === 2 ? 2 : 0)).join(""));
    expect(await violations(dir, expected)).toEqual(["step 2 trained tokens 2 versions old; the bound is 1"]);
  });

  test("name a process that was started again although another kind was killed, and a way back to a checkpoint", async () => {
    const restart = (process: string, more: object = {}) =>
      `${JSON.stringify({ type: "restart", process, exit: "signal SIGKILL", deaths: 1, ...more })}\n`;
    const killed = { components: new Set(["trainer"] as const), mayGoBack: false };
    await writeFile(join(dir, "events.jsonl"), restart("trainer-0") + restart("trainer-0"));
    expect(await violations(dir, { ...expected, killed })).toEqual([]);
    const silent = restart("inference-0", { exit: "gave no sign of life for 30 s" });
    await appendFile(join(dir, "events.jsonl"), silent + restart("orchestrator-0") + restart("trainer-0", { step: 2 }));
    const found = [
      "orchestrator-0 was started again (signal SIGKILL), and only trainer was killed",
      "the end of trainer-0 took the run back to step 2: no other process may be started again",
    ];
    expect(await violations(dir, { ...expected, killed })).toEqual(found);
    expect(await violations(dir, { ...expected, killed: { ...killed, mayGoBack: true } })).toEqual(found.slice(0, 1));
    expect(await violations(dir, expected)).toEqual([]);
  });

  test("say what may be started again: the kinds that were killed, where nothing else was injected", () => {
    const fault = (name: string) => FAULTS.find((one) => one.name === name);
    const config = {
      max_async_level: 1,
      weight_broadcast: rlConfigSchema.parse({
        model: { name: "m" },
        max_steps: 1,
        orchestrator: { train: { source: [{ env: { id: "reverse-text" } }] } },
      }).weight_broadcast,
    };
    const [trainer, orchestrator, hang] = ["kill-trainer", "kill-orchestrator", "hang-trainer"].map(fault);
    expect(killedBy([trainer, trainer], config)).toEqual({ components: new Set(["trainer"]), mayGoBack: false });
    expect(killedBy([trainer, orchestrator], config)?.mayGoBack).toBe(true);
    const keepsFew = { ...config, weight_broadcast: { ...config.weight_broadcast, keep: 2 } };
    expect(killedBy([orchestrator], keepsFew)?.mayGoBack).toBe(true);
    expect(killedBy([trainer, hang], config)).toBeNull();
    expect(killedBy([], config)).toBeNull();
  });

  test("name a rollout in two batches", async () => {
    await writeFile(join(dir, "rollouts/step_3/traces.jsonl"), traces("3-0", "1-1"));
    expect(await violations(dir, expected)).toEqual(["rollout 1-1 a is in the batches of steps 1 and 3"]);
  });

  test("name a run that is not done", async () => {
    await writeFile(join(dir, "summary.json"), JSON.stringify({ status: "failed", steps: 2 }));
    expect(await violations(dir, expected)).toEqual(["summary.json says failed with 2 steps, not completed with 3"]);
    await rm(join(dir, "summary.json"));
    expect(await violations(dir, expected)).toEqual(["summary.json is missing, or no JSON object"]);
  });

  test("name what differs from an undisturbed run, times of the machine and its warm start apart", async () => {
    await appendFile(join(dir, "metrics.jsonl"), line("sft", 1, { "loss/mean": 5 }));
    const result = await resultOf(dir, STEPS);
    await metrics([1, 2, 3].map((step) => trained(step) + assembled(step)).join(""));
    await appendFile(join(dir, "metrics.jsonl"), line("orchestrator", 2, { "time/step": 9, "system/memory": 8 }));
    expect(await violations(dir, { ...expected, result })).toEqual([]);
    const other = line("trainer", 2, { "loss/mean": 0.5 }, 2);
    await appendFile(join(dir, "metrics.jsonl"), other);
    const found = await violations(dir, { ...expected, result });
    expect(found.at(-1)).toMatch(/^differs from the undisturbed run in 1 of \d+ parts: metrics of trainer 2$/u);
  });
});
