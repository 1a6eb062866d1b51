import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { loadConfig, rl, type RunEvent } from "../../../ts/index.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-rl-"));
  await mkdir(join(dir, "model"));
  await writeFile(
    join(dir, "rl.toml"),
    `max_steps = 2\n[model]\nname = "./model"\n[[orchestrator.train.source]]\nenv = { id = "reverse-text" }\n`,
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

  it("gives the summary of a failed run, on disk too, and throws its error to whoever iterates", async () => {
    const events: RunEvent[] = [];
    const run = rl(await config(), { onEvent: (event) => events.push(event) });
    await expect(drain(run)).rejects.toThrow(/config\.json/);
    const summary = await run.result;
    expect(summary).toMatchObject({ status: "failed", run: "r", steps: 0, error: { code: "PRL_CONFIG_FILE" } });
    expect(JSON.parse(await readFile(join(dir, "out", "r", "summary.json"), "utf8"))).toEqual(summary);
    expect(events[0]).toMatchObject({ type: "started", maxSteps: 2 });
  });

  it("ends as interrupted when its signal is aborted, whoever watches", async () => {
    await writeFile(join(dir, "model", "config.json"), "{}");
    await writeFile(join(dir, "model", "model.safetensors"), "");
    const run = rl(await config(), { signal: AbortSignal.abort("SIGTERM") });
    const summary = await run.result;
    expect(summary).toMatchObject({ status: "interrupted", error: { code: "PRL_RUN_INTERRUPTED" } });
    await expect(drain(run)).rejects.toMatchObject({ code: "PRL_RUN_INTERRUPTED" });
  });

  it("names an environment's mistyped argument with its place before it makes anything", async () => {
    await writeFile(
      join(dir, "rl.toml"),
      `[model]\nname = "./model"\n[[orchestrator.train.source]]\nenv = { id = "reverse-text", args = { min_lem = 3 } }\n`,
    );
    const run = rl(await config());
    await expect(run.result).rejects.toThrow(/rl\.toml:4: orchestrator\.train\.source\.0\.env: .*min_lem/);
    await expect(readFile(join(dir, "out", "r", "configs", "rl.json"))).rejects.toThrow("ENOENT");
  });
});
