import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { checkpointDisk } from "../../../ts/trainer/checkpoint-disk.ts";
import { trainMetrics } from "../../../ts/trainer/train-metrics.ts";
import { sftFolder } from "../../support/training/sft-run.ts";

const step = { loss: 2, tokens: 7, "entropy/all": 0.5, "mismatch_kl/all": 0.125, is_masked: 0.25, nll: 3 };
const byEnvironment = { "entropy/0": 0.25, "entropy/1": 1, "mismatch_kl/1": 0.5 };

test("the engine's metrics of a step have prime-rl's names, and those of environments their own", () => {
  const all = {
    "loss/mean": 2,
    tokens: 7,
    "entropy/all/mean": 0.5,
    "mismatch_kl/all/mean": 0.125,
    "is_masked/mean": 0.25,
    nll: 3,
    "kl_ent_ratio/mean": 0.25,
  };
  expect(trainMetrics({ ...step, ...byEnvironment }, ["a", "b"])).toEqual({
    ...all,
    "entropy/a/mean": 0.25,
    "entropy/b/mean": 1,
    "mismatch_kl/b/mean": 0.5,
  });
  expect(trainMetrics({ ...step, ...byEnvironment }, ["a"])).toEqual(all);
  expect(trainMetrics({ "mismatch_kl/all": 1, "entropy/all": 0 }, [])).not.toHaveProperty("kl_ent_ratio/mean");
});

test("the disk of checkpoints is that of the folder they will be in", async () => {
  const dir = await mkdtemp(join(tmpdir(), "prl-disk-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  const disk = await checkpointDisk(join(dir, "run/checkpoints"));
  const { blocks, bsize } = await statfs(dir);
  const value = (name: string): number => disk[`system/ckpt_disk_${name}`] ?? Number.NaN;
  expect(value("total_gib")).toBe((blocks * bsize) / 1024 ** 3);
  expect(value("free_ratio")).toBe(value("free_gib") / value("total_gib"));
  // Some of a disk may be kept for its administrator.
  expect(value("used_gib") + value("free_gib")).toBeLessThanOrEqual(value("total_gib"));
  expect(value("used_gib")).toBeGreaterThan(0);
});

test("a supervised step says how much was taken of its data, and what took how long", async () => {
  const folder = await sftFolder();
  onTestFinished(() => folder.remove());
  const source = await folder.write("rows.jsonl", [{ prompt: "a", completion: "b" }]);
  const lines = await folder.train({ max_steps: 3, data: { source, batch_size: 2 } });
  expect(lines.map((line) => line["progress/num_samples"])).toEqual([2, 4, 6]);
  for (const line of lines) {
    const parts = ["load_data", "forward_backward", "broadcast_weights", "save_ckpt"].map(
      (of) => line[`time/${of}`] ?? -1,
    );
    expect(Math.min(...parts)).toBeGreaterThanOrEqual(0);
    expect(parts.reduce((sum, part) => sum + part, 0)).toBeLessThanOrEqual(Number(line["time/step"]) + 1e-9);
    expect(line["perf/peak_memory"]).toBeGreaterThan(0.01);
  }
});
