/** Runs that train an adapter: what they publish, that trainer and sampler agree, resuming, merging, and serving the result; the same on projections in int8. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSafetensors } from "../../ts/native/weights/index.ts";
import { prl, readJson, readJsonLines, workspace } from "../support/prl.ts";
import { runResult } from "../support/runs/run-result.ts";

const CONFIG = join(import.meta.dirname, "configs/lora.toml");
const STEPS = 4;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

test("an RL run publishes adapters that its sampler computes bit for bit, and continues with the same bits", async () => {
  const args = ["rl", CONFIG, "--ckpt.interval", "1", "--run.name", "adapter"];
  const options = { cwd: place.dir, cache: place.cache };
  const run = join(place.dir, "outputs", "adapter");
  const first = await prl(args, options);
  expect(first.code, first.stdout + first.stderr).toBe(0);
  const whole = await runResult(run, STEPS);

  const last = join(run, "weights", `step_${STEPS}`);
  expect(await readJson(join(last, "manifest.json"))).toMatchObject({ encoding: "peft" });
  expect(await readdir(last)).toEqual(expect.arrayContaining(["adapter_config.json", "tokenizer.json"]));
  expect(await readdir(last)).not.toContain("model.safetensors");
  const config = await readJson<{ base_model_name_or_path: string }>(join(last, "adapter_config.json"));
  expect(config).toMatchObject({ peft_type: "LORA", r: 4, lora_alpha: 8 });
  const optimizer = await openSafetensors(join(run, `checkpoints/step_${STEPS}/trainer/optimizer.safetensors`));
  expect(optimizer.names.every((name) => name.includes(".lora_"))).toBe(true);
  optimizer.close();

  expect(await differences(run)).toEqual(Array<number>(STEPS).fill(0));

  const resumed = await prl([...args, "--resume", "2"], options);
  expect(resumed.code, resumed.stdout + resumed.stderr).toBe(0);
  expect(await runResult(run, STEPS)).toEqual(whole);

  const other = await prl([...args, "--resume", "--model.lora.rank", "8"], options);
  expect(other.stderr).toContain("model.lora.rank");
  expect(other.code).toBe(2);

  const merged = join(place.dir, "merged");
  const merging = await prl(["weights", "merge", last, merged], options);
  expect(merging.code, merging.stderr).toBe(0);
  const [base, sum] = await Promise.all(
    [config.base_model_name_or_path, merged].map((dir) => readFile(join(dir, "model.safetensors"))),
  );
  expect(sum?.length).toBe(base?.length);
  expect(sum?.equals(base ?? Buffer.alloc(0))).toBe(false);
  for (const model of [last, merged]) {
    // Without input the conversation ends at once, behind the loading of the model.
    const chat = await prl(["chat", model], options);
    expect(chat.code, chat.stderr).toBe(0);
  }
});

test("on projections in int8 the sampler has the trainer's bits too, and a resumed run continues with the same bits", async () => {
  const args = ["rl", CONFIG, "--model.base_dtype", "int8", "--max_steps", "3", "--ckpt.interval", "1"];
  const options = { cwd: place.dir, cache: place.cache };
  const run = join(place.dir, "outputs", "int8");
  const first = await prl([...args, "--run.name", "int8"], options);
  expect(first.code, first.stdout + first.stderr).toBe(0);
  expect(await differences(run)).toEqual([0, 0, 0]);
  const whole = await runResult(run, 3);

  const resumed = await prl([...args, "--run.name", "int8", "--resume", "2"], options);
  expect(resumed.code, resumed.stdout + resumed.stderr).toBe(0);
  expect(await runResult(run, 3)).toEqual(whole);

  const plain = ["rl", CONFIG, "--max_steps", "3", "--ckpt.interval", "1", "--run.name", "int8", "--resume"];
  const other = await prl(plain, options);
  expect(other.stderr).toContain("model.base_dtype");
  expect(other.code).toBe(2);

  const merged = join(place.dir, "merged");
  const merging = await prl(["weights", "merge", join(run, "weights/step_3"), merged], options);
  expect(merging.code, merging.stderr).toBe(0);
  const chat = await prl(["chat", merged], options);
  expect(chat.code, chat.stderr).toBe(0);
});

/** The largest difference of a sampled token's log-probability between sampler and trainer, in each step. */
async function differences(run: string): Promise<unknown[]> {
  const lines = await readJsonLines<Record<string, unknown>>(join(run, "metrics.jsonl"));
  return lines.flatMap((line) => line["mismatch_on_policy/max_abs_logprob_diff"] ?? []);
}
