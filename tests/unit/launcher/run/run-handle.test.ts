import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { loadConfig, rl, type RunEvent } from "../../../../ts/index.ts";
import { encodeSafetensors } from "../../../../ts/native/index.ts";

const MODEL = join(import.meta.dirname, "../../../../configs/reverse-text/model");

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-rl-"));
  await cp(MODEL, join(dir, "model"), { recursive: true });
  await writeFile(
    join(dir, "rl.toml"),
    `max_steps = 2\n[model]\nname = "./model"\n[orchestrator]\ngroup_size = 2\n[[orchestrator.train.source]]\nenv = { id = "reverse-text" }\n`,
  );
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

const config = () =>
  loadConfig([join(dir, "rl.toml")], { output_dir: join(dir, "out"), "run.name": "r" }, { kind: "rl", env: {} });

async function drain(steps: AsyncIterable<unknown>): Promise<void> {
  for await (const step of steps) expect(step).toBeDefined();
}

describe("rl", () => {
  it("rejects result and iteration when the run gets no directory", async () => {
    await mkdir(join(dir, "out", "r", "weights"), { recursive: true });
    const run = rl(await config());
    await expect(run.result).rejects.toMatchObject({ code: "PRL_RUN_EXISTS" });
    await expect(drain(run)).rejects.toMatchObject({ code: "PRL_RUN_EXISTS" });
  });

  it("makes no directory for a model that the engine refuses", async () => {
    const file = join(dir, "model", "config.json");
    const model = JSON.parse(await readFile(file, "utf8")) as object;
    await writeFile(file, JSON.stringify({ ...model, logit_scale: 3 }));
    const run = rl(await config());
    await expect(run.result).rejects.toMatchObject({ code: "PRL_ENGINE_CONFIG_UNSUPPORTED" });
    await expect(readdir(join(dir, "out"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("gives the summary of a failed run, on disk too, and throws its error to an iterator", async () => {
    // Only who loads the weights finds out that they are of another model.
    const tensor = { dtype: "F32", shape: [1], data: new Uint8Array(4) };
    await writeFile(join(dir, "model", "model.safetensors"), encodeSafetensors({ x: tensor }));
    const events: RunEvent[] = [];
    const run = rl(await config(), { onEvent: (event) => events.push(event) });
    await expect(drain(run)).rejects.toThrow(/tensor/);
    const summary = await run.result;
    expect(summary).toMatchObject({
      status: "failed",
      run: "r",
      steps: 0,
      error: { code: "PRL_ENGINE_WEIGHTS" },
    });
    expect(JSON.parse(await readFile(join(dir, "out", "r", "summary.json"), "utf8"))).toEqual(summary);
    expect(events[0]).toMatchObject({ type: "started", maxSteps: 2 });
  });

  it("ends as interrupted when its signal is aborted, with any watcher", async () => {
    const abort = new AbortController();
    const onEvent = ({ type }: RunEvent) => (type === "phase" ? abort.abort("SIGTERM") : undefined);
    const run = rl(await config(), { signal: abort.signal, onEvent });
    const summary = await run.result;
    expect(summary).toMatchObject({ status: "interrupted", error: { code: "PRL_RUN_INTERRUPTED" } });
    await expect(drain(run)).rejects.toMatchObject({ code: "PRL_RUN_INTERRUPTED" });
  });

  it("makes nothing when its signal is aborted before it starts", async () => {
    const run = rl(await config(), { signal: AbortSignal.abort("SIGTERM") });
    await expect(run.result).rejects.toMatchObject({ code: "PRL_RUN_INTERRUPTED" });
    await expect(readdir(join(dir, "out"))).rejects.toThrow("ENOENT");
  });

  it("names an environment's mistyped argument with its place before it makes anything", async () => {
    await writeFile(
      join(dir, "rl.toml"),
      `[model]\nname = "./model"\n[[orchestrator.train.source]]\nenv = { id = "reverse-text", args = { min_lem = 3 } }\n`,
    );
    const run = rl(await config());
    await expect(run.result).rejects.toThrow(
      /rl\.toml:4: orchestrator\.train\.source\.0\.env\.args\.min_lem: .*"min_len"/,
    );
    await expect(readFile(join(dir, "out", "r", "configs", "rl.json"))).rejects.toThrow("ENOENT");
  });
});
