/** A run whose policy has its weights in bfloat16: what it publishes, and that trainer and sampler agree on it. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSafetensors } from "../../ts/native/weights/index.ts";
import { prl, readJson, readJsonLines, workspace } from "../support/prl.ts";
import { runResult } from "../support/runs/run-result.ts";

const SYNC = join(import.meta.dirname, "configs/sync.toml");
const STEPS = 4;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

test("publishes bfloat16, sparse between the first and the last version, and continues with the same bits", async () => {
  const args = ["rl", SYNC, "--model.dtype", "bfloat16", "--ckpt.interval", "1", "--run.name", "half"];
  const options = { cwd: place.dir, cache: place.cache };
  const run = join(place.dir, "outputs", "half");
  const first = await prl(args, options);
  expect(first.code, first.stdout + first.stderr).toBe(0);
  const whole = await runResult(run, STEPS);

  const last = join(run, "weights", `step_${STEPS}`);
  expect(JSON.parse(await readFile(join(last, "config.json"), "utf8"))).toMatchObject({ torch_dtype: "bfloat16" });
  const file = await openSafetensors(join(last, "model.safetensors"));
  expect(new Set(file.names.map((name) => file.tensor(name).dtype))).toEqual(new Set(["BF16"]));
  file.close();

  const encodings = new Map<string, string>();
  for (const version of (await readdir(join(run, "weights"))).filter((name) => name.startsWith("step_"))) {
    const manifest = await readJson<{ encoding: string }>(join(run, "weights", version, "manifest.json"));
    encodings.set(version, manifest.encoding);
  }
  expect(encodings.get(`step_${STEPS}`)).toBe("full");
  expect([...encodings.values()]).toContain("sparse");

  // The checkpoint holds the trainer's own f32 copy.
  const masters = await openSafetensors(join(run, `checkpoints/step_${STEPS}/trainer/model.safetensors`));
  expect(new Set(masters.names.map((name) => masters.tensor(name).dtype))).toEqual(new Set(["F32"]));
  masters.close();

  const differences = (await readJsonLines<Record<string, unknown>>(join(run, "metrics.jsonl"))).flatMap(
    (line) => line["mismatch_on_policy/max_abs_logprob_diff"] ?? [],
  );
  expect(differences).toHaveLength(STEPS);
  expect(new Set(differences)).toEqual(new Set([0]));

  const resumed = await prl([...args, "--resume", "2"], options);
  expect(resumed.code, resumed.stdout + resumed.stderr).toBe(0);
  expect(await runResult(run, STEPS)).toEqual(whole);
});
