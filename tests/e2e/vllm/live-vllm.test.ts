/** Runs on a live vLLM that stays up between them: `PRL_TEST_VLLM=<env>/bin/vllm`. */
import { access, cp, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type LiveVllm, serveVllm, VLLM, VLLM_STARTS_MS } from "../../support/vllm/live-vllm.ts";
import { descendants } from "../../../ts/launcher/processes/memory-peak.ts";
import { isAlive, prl, readJson, readJsonLines, ROOT, start, workspace } from "../../support/prl.ts";

const CONFIGS = join(import.meta.dirname, "../configs");
/** Two starts of vLLM and a run. */
const KEPT_MS = 290_000;
/** Mean of the canary, and largest difference over tokens that the current weights sampled; both engines in float32, nats. */
const BAND = 1e-4;

describe.skipIf(VLLM === undefined)("on a live vLLM (PRL_TEST_VLLM)", () => {
  let place: Awaited<ReturnType<typeof workspace>>;
  let model: string;
  let server: LiveVllm;

  const run = (config: string, name: string, ...more: string[]) =>
    prl(["rl", config, "--run.name", name, "--model.name", model, ...more], { cwd: place.dir, cache: place.cache });
  const runDir = (name: string) => join(place.dir, "outputs", name);
  const onServer = () => [
    "--orchestrator.client.base-url",
    JSON.stringify([server.url]),
    "--orchestrator.client.api",
    "vllm",
  ];
  const weightInfo = async (): Promise<unknown> => (await fetch(`${server.url}/weight_info`)).json();

  beforeAll(async () => {
    place = await workspace();
    model = join(place.dir, "model");
    await cp(join(ROOT, "configs/reverse-text/model"), model, { recursive: true });
    // On a CPU vLLM goes on with the packed copy of a tied output layer; and the context is to hold a run of some length.
    const config = await readJson<object>(join(model, "config.json"));
    const changed = { ...config, tie_word_embeddings: false, max_position_embeddings: 2048 };
    await writeFile(join(model, "config.json"), JSON.stringify(changed));
    const taught = ["sft", join(CONFIGS, "teacher.toml"), "--run.name", "teacher", "--model.name", model];
    const { code, stderr } = await prl(taught, { cwd: place.dir, cache: place.cache });
    expect(code, stderr).toBe(0);
    server = await serveVllm(join(runDir("teacher"), "model"));
  }, VLLM_STARTS_MS + 120_000);
  afterAll(async () => {
    await server?.stop();
    await place.remove();
  });

  test("a policy learns from it as a teacher: from its scores (opd) and from its traces (sft)", async () => {
    const config = join(place.dir, "distillation.toml");
    const text = await readFile(join(CONFIGS, "distillation.toml"), "utf8");
    await writeFile(config, text.replaceAll("TEACHER", server.url));
    const { code, stderr } = await run(config, "pupil");
    expect(code, stderr).toBe(0);
    const metrics = await readJsonLines<Record<string, number>>(join(runDir("pupil"), "metrics.jsonl"));
    const losses = metrics.filter((line) => line["nll"] !== undefined);
    expect(losses).toHaveLength(6);
    for (const key of ["ref_kl/kl/mean", "nll"])
      expect(losses.at(-1)?.[key]).toBeLessThan((losses[0]?.[key] ?? 0) - 0.5);
    // It serves no version of a policy: no weights were brought to it.
    expect(await weightInfo()).toEqual({ weight_version: "default" });
  });

  test.each([0, 1])(
    "a run at level %i has its weights on it after each step, and samples what it trains",
    async (level) => {
      const name = `level-${level}`;
      const more = ["--max-async-level", String(level), "--max-steps", "4", "--seed", String(3 + level)];
      const { code, stderr } = await run(join(CONFIGS, "sync.toml"), name, ...more, ...onServer());
      expect(code, stderr).toBe(0);
      const events = await readJsonLines<Record<string, unknown>>(join(runDir(name), "events.jsonl"));
      const canaries = events.filter(({ type }) => type === "canary");
      expect(canaries.map(({ version }) => version)).toEqual([0, 1, 2, 3, 4]);
      for (const { mean_abs: difference } of canaries) expect(difference).toBeLessThan(BAND);
      const metrics = await readJsonLines<Record<string, number>>(join(runDir(name), "metrics.jsonl"));
      const key = "mismatch_on_policy/max_abs_logprob_diff";
      const onPolicy = metrics.filter(
        (line) => line[key] !== undefined && (line["mismatch_on_policy/tokens"] ?? 0) > 0,
      );
      expect(onPolicy.length).toBeGreaterThan(0);
      for (const line of onPolicy) expect(line[key]).toBeLessThan(BAND);
      const { digest } = await readJson<{ digest: string }>(join(runDir(name), "weights/step_4/manifest.json"));
      expect(await weightInfo()).toEqual({ weight_version: `4 ${digest}` });
    },
  );

  test("a run starts it itself, with a tied output layer, and goes on with the right weights after kill -9", async () => {
    const args = ["rl", join(CONFIGS, "sync.toml"), "--run.name", "kept", "--max-steps", "4"];
    const backend = ["--inference.backend", "vllm", "--inference.python", join(dirname(VLLM ?? ""), "python")];
    const kept = start([...args, ...backend], { cwd: place.dir, cache: place.cache, deadlineMs: KEPT_MS });
    const version = join(runDir("kept"), "weights/step_2/manifest.json");
    const isThere = () =>
      access(version).then(
        () => true,
        () => false,
      );
    while (!(await isThere()) && kept.child.exitCode === null) await sleep(10);
    const { pid } = await readJson<{ pid: number }>(join(runDir("kept"), "run/inference-0.json"));
    const processes = await descendants(pid);
    process.kill(processes[0] ?? 0, "SIGKILL");
    const { code, stderr } = await kept.finished;
    expect([code, stderr]).toEqual([0, ""]);
    for (const one of processes) expect(isAlive(one)).toBe(false);
    const events = await readJsonLines<Record<string, unknown>>(join(runDir("kept"), "events.jsonl"));
    expect(events.filter(({ type }) => type === "restart")).toMatchObject([{ process: "inference-0" }]);
    const canaries = events.filter(({ type }) => type === "canary");
    expect(new Set(canaries.map(({ version: of }) => of))).toEqual(new Set([0, 1, 2, 3, 4]));
    for (const { mean_abs: difference } of canaries) expect(difference).toBeLessThan(BAND);
  });
});
