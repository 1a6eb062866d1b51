import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { configSchemas } from "../../../../ts/config/schema/index.ts";
import { clearLaterSteps, findResumedRun, newestRun } from "../../../../ts/launcher/run/resume-run.ts";
import { runNamePrefix } from "../../../../ts/launcher/run/run-directory.ts";
import { temporaryFolder, writeRun } from "../../cli/runs/run-fixture.ts";

const config = { ckpt: { path: null }, output_dir: ".", model: { name: "m" } } as never;

describe("--resume of a directory without the config of a run", () => {
  test.each([
    ["files of somebody else", { "notes/thesis.txt": "" }, /has no configs\/rl\.json.*start it without --resume/u],
    ["a run of another kind", { "configs/sft-run.json": {} }, /configs\/sft-run\.json is there.*a run of prl sft/u],
    [
      "what a run has made",
      { "checkpoints/step_5/manifest.json": {}, "weights/step_5/manifest.json": {} },
      /has no configs\/rl\.json.*checkpoints, weights: put the file back/u,
    ],
    ["a torn config", { "configs/rl.json": "{" }, /configs\/rl\.json.*is damaged: put back/u],
  ])("names the missing part and the remedy: %s", async (_name, files, message) => {
    const folder = await temporaryFolder();
    const runDir = await writeRun(folder, "a", files);
    const resumed = findResumedRun("rl", config, runDir, "latest");
    await expect(resumed).rejects.toMatchObject({ code: "PRL_RUN_UNKNOWN", message: expect.stringMatching(message) });
  });

  test("begins at step 0 where the run ended before it wrote its config", async () => {
    const folder = await temporaryFolder();
    const runDir = await writeRun(folder, "a", { "logs/attempt_1/launcher.log": "", "run/launcher.lock": "" });
    const resumed = await findResumedRun("rl", config, runDir, "latest");
    expect(resumed).toEqual({ checkpoint: null, runId: "a", attempt: 2, changed: [] });
  });

  test("never counts an attempt twice, also when the logs were deleted", async () => {
    const { runDir, now } = await writeCheckpointed("a", { run: "a", attempt: 3 });
    expect(await findResumedRun("rl", now, runDir, "latest")).toMatchObject({ attempt: 4, checkpoint: { step: 5 } });
  });

  test("says that there is no such directory", async () => {
    const folder = await temporaryFolder();
    const resumed = findResumedRun("rl", config, join(folder, "a"), "latest");
    await expect(resumed).rejects.toMatchObject({
      message: expect.stringMatching(/there is no run .*start it without/u),
    });
  });
});

/** A run in the directory `name` with a checkpoint of `run`, and files in `configs/`. */
async function writeCheckpointed(
  name: string,
  { run, attempt = 1, configs = {} }: { run: string; attempt?: number; configs?: Record<string, unknown> },
) {
  const folder = await temporaryFolder();
  const orchestrator = { batch_size: 8, group_size: 4, train: { source: [{ env: { id: "reverse-text" } }] } };
  const now = configSchemas.rl.parse({ model: { name: folder }, orchestrator });
  const half = { step: 5, run, attempt, files: [] };
  const manifest = { format: "prl.checkpoint.1", step: 5, run, attempt, halves: { trainer: [], orchestrator: [] } };
  const runDir = await writeRun(folder, name, {
    "configs/rl.json": now,
    "checkpoints/step_5/trainer/half.json": half,
    "checkpoints/step_5/orchestrator/half.json": half,
    "checkpoints/step_5/manifest.json": manifest,
    ...Object.fromEntries(Object.entries(configs).map(([file, content]) => [`configs/${file}`, content])),
  });
  return { runDir, now };
}

describe("--resume with a checkpoint in the run directory", () => {
  test("refuses that of another run by name", async () => {
    const { runDir, now } = await writeCheckpointed("mine", {
      run: "other",
      configs: { "trainer.json": { run_id: "mine" } },
    });
    await expect(findResumedRun("rl", now, runDir, "latest")).rejects.toMatchObject({
      code: "PRL_CHECKPOINT_FOREIGN",
      message: expect.stringMatching(/is of run other, not of mine: move it out/u),
    });
    expect(await readdir(join(runDir, "checkpoints"))).toEqual(["step_5"]);
  });

  test.each(["trainer.json", "sft.json", "orchestrator.json", "trainer-0.json", "orchestrator-0.json"])(
    "takes that of the name under which the run began, when its directory was renamed (%s)",
    async (file) => {
      const { runDir, now } = await writeCheckpointed("new", { run: "old", configs: { [file]: { run_id: "old" } } });
      const resumed = await findResumedRun("rl", now, runDir, "latest");
      expect(resumed).toMatchObject({ runId: "old", checkpoint: { step: 5 } });
    },
  );

  test("names the config that does not say what run it is of", async () => {
    const { runDir, now } = await writeCheckpointed("a", { run: "a", configs: { "trainer.json": "{" } });
    await expect(findResumedRun("rl", now, runDir, "latest")).rejects.toMatchObject({
      code: "PRL_RUN_UNKNOWN",
      message: expect.stringMatching(/configs\/trainer\.json does not say what run/u),
    });
  });
});

describe("files that a run makes again", () => {
  const files = {
    "run/inference-0.json": {},
    "run/trainer-0.json": {},
    "received/inference-0/step_4/manifest.json": {},
    "received/inference-0/.received/step_3/manifest.json": {},
    "spool/step_5/rank_0.safetensors": "",
    "weights/step_2/manifest.json": {},
    "weights/step_4/manifest.json": {},
  };

  test("are removed, with the versions of servers when none of them stays", async () => {
    const runDir = await writeRun(await temporaryFolder(), "a", files);
    await clearLaterSteps(runDir, join(runDir, "checkpoints"), 3);
    expect((await readdir(runDir)).toSorted()).toEqual(["run", "weights"]);
    expect(await readdir(join(runDir, "run"))).toEqual([]);
    expect(await readdir(join(runDir, "weights"))).toEqual(["step_2"]);
  });

  test("are removed beside the folders into which servers that stay receive", async () => {
    const runDir = await writeRun(await temporaryFolder(), "a", files);
    await clearLaterSteps(runDir, join(runDir, "checkpoints"), 3, (name) => name.startsWith("inference-"));
    expect((await readdir(runDir)).toSorted()).toEqual(["received", "run", "weights"]);
    expect(await readdir(join(runDir, "run"))).toEqual(["inference-0.json"]);
    expect((await readdir(join(runDir, "received/inference-0"))).toSorted()).toEqual([".received", "step_4"]);
  });
});

describe("--resume without a name", () => {
  test("takes the newest run, and passes over what only begins with the same name", async () => {
    const folder = await temporaryFolder();
    const prefix = runNamePrefix(["reverse-text"], "m");
    await writeRun(folder, `${prefix}notes`, { "thesis.txt": "" });
    await writeRun(folder, `${prefix}run`, { "configs/rl.json": {} });
    await writeFile(join(folder, `${prefix}plot.svg`), "");
    const here = { ckpt: { path: null }, output_dir: folder, model: { name: "m" } } as never;
    expect(await newestRun(here, ["reverse-text"])).toBe(`${prefix}run`);
    await expect(newestRun(here, ["other"])).rejects.toMatchObject({ code: "PRL_RUN_UNKNOWN" });
  });
});

describe("--resume of a run that an earlier version began", () => {
  const SOURCE = { env: { id: "reverse-text" } };
  const evaluation = { source: [SOURCE] };
  const orchestrator = { batch_size: 8, group_size: 4, train: { source: [SOURCE] }, eval: evaluation };
  const RL = configSchemas.rl.parse({ model: { name: "/model" }, orchestrator });
  const SFT = configSchemas.sft.parse({
    model: { name: "/model" },
    max_steps: 1,
    data: { source: "/rows.jsonl" },
    eval: evaluation,
  });

  /** What `--resume` says to `now` in the directory of a run of `earlier`. */
  async function resumed(kind: "rl" | "sft", earlier: object, now: typeof RL | typeof SFT) {
    const file = kind === "rl" ? "configs/rl.json" : "configs/sft-run.json";
    return findResumedRun(kind, now, await writeRun(await temporaryFolder(), "a", { [file]: earlier }), "latest");
  }

  /** A copy of a config without the keys of these dotted paths. */
  function without(resolved: object, ...paths: string[]): object {
    const copy = JSON.parse(JSON.stringify(resolved)) as object;
    for (const path of paths) {
      const [key = "", ...tables] = path.split(".").toReversed();
      const table = tables.toReversed().reduce((inner, name) => inner[name] as Table, copy as Table);
      expect(table).toHaveProperty(key);
      delete table[key];
    }
    return copy;
  }
  type Table = Record<string, unknown>;

  test("a run of this version differs in nothing", async () => {
    expect((await resumed("rl", RL, RL)).changed).toEqual([]);
    expect((await resumed("sft", SFT, SFT)).changed).toEqual([]);
  });

  test("keys that came since have their defaults, also in sources and where they must not change", async () => {
    const keys = ["trainer.optim.state_dtype", "model.base_dtype", "trainer.model.base_dtype"];
    const lists = ["orchestrator.train.source.0.ratio", "orchestrator.eval.source.0.sampling.top_p"];
    expect((await resumed("rl", without(RL, ...keys, ...lists), RL)).changed).toEqual([]);
    expect((await resumed("sft", without(SFT, "optim.state_dtype", "model.base_dtype"), SFT)).changed).toEqual([]);
  });

  test("another value than the default is named, and refused where it must not change", async () => {
    const now = configSchemas.rl.parse({ ...RL, trainer: { ...RL.trainer, optim: { state_dtype: "bfloat16" } } });
    await expect(resumed("rl", without(RL, "trainer.optim.state_dtype"), now)).rejects.toMatchObject({
      code: "PRL_RUN_DRIFT",
      message: expect.stringContaining("trainer.optim.state_dtype differ"),
    });
    const later = configSchemas.sft.parse({ ...SFT, activations: "keep" });
    expect((await resumed("sft", without(SFT, "activations"), later)).changed).toEqual(["activations"]);
  });

  test("a key that this version does not have is named", async () => {
    expect((await resumed("sft", { ...SFT, forgotten: 1 }, SFT)).changed).toEqual(["forgotten"]);
  });
});
