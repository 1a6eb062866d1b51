import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { findResumedRun } from "../../../../ts/launcher/run/resume-run.ts";
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
    expect(resumed).toEqual({ checkpoint: null, attempt: 2, changed: [] });
  });

  test("says that there is no such directory", async () => {
    const folder = await temporaryFolder();
    const resumed = findResumedRun("rl", config, join(folder, "a"), "latest");
    await expect(resumed).rejects.toMatchObject({
      message: expect.stringMatching(/there is no run .*start it without/u),
    });
  });
});
