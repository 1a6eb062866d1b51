/** Configs for models that no test can hold, resolved by --dry-run with a stand-in in the model's place of the cache. */
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { mockHubOf } from "../../support/hub/mock-hub.ts";
import { prl, readJson, readJsonLines, ROOT, workspace } from "../../support/prl.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace("empty");
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });

interface Resolved {
  model: { name: string };
  orchestrator: { batch_size: number; group_size: number; eval: { source: { name: string; group_size: number }[] } };
}

/** A small model that takes sequences as long as the large one's. */
async function standIn(folder: string): Promise<void> {
  await cp(join(ROOT, "configs/small-chat/model"), folder, { recursive: true });
  const file = join(folder, "config.json");
  const config = await readJson<Record<string, unknown>>(file);
  await writeFile(file, JSON.stringify({ ...config, max_position_embeddings: 40_960 }));
}

describe("configs for larger models", () => {
  test.each([
    ["hendrycks-math", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", { batch_size: 512, group_size: 8 }],
    ["intellect-math", "Qwen/QwQ-32B", { batch_size: 4096, group_size: 16 }],
  ])("%s resolves", async (name, model, orchestrator) => {
    const config = join(ROOT, "configs", name, "rl.toml");
    const env = { HF_HUB_CACHE: join(place.cache, "hf"), HF_HUB_OFFLINE: "1" };
    const missing = await prl(["rl", config, "--dry-run"], { ...options(), env });
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain(`the model ${model} is not in the cache ${join(place.cache, "hf")}`);

    await standIn(join(place.cache, "models", model));
    const { code, stdout, stderr } = await prl(["rl", config, "--dry-run", "--json"], options());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { config: written, run_dir: runDir } = JSON.parse(stdout) as { config: string; run_dir: string };
    const resolved = await readJson<Resolved>(written);
    expect(resolved).toMatchObject({ model: { name: model }, orchestrator });
    expect(resolved.orchestrator.eval.source.find((source) => source.name === "aime-2024")?.group_size).toBeGreaterThan(
      8,
    );
    expect(await readdir(runDir)).toEqual(["configs"]);
  });
});

/** Rows of our own under the names of files, columns and splits that the datasets have (as JSON lines where they are parquet). */
function publishedDatasets(): Record<string, Record<string, Buffer>> {
  const rows = (make: (i: number) => object) =>
    Buffer.from(Array.from({ length: 12 }, (_, i) => `${JSON.stringify(make(i))}\n`).join(""));
  const solved = (i: number) => ({
    problem: `What is $${i} + ${i}$?`,
    solution: `Adding gives $\\boxed{${2 * i}}$.`,
    answer: String(2 * i),
  });
  const math = (split: string) =>
    rows((i) => ({ ...solved(i), subject: "Algebra", level: 1 + (i % 5), unique_id: `${split}/algebra/${i}.json` }));
  return {
    "nlile/hendrycks-MATH-benchmark": {
      "README.md": Buffer.from("# rows"),
      "data/train-00000-of-00001.jsonl": math("train"),
      "data/test-00000-of-00001.jsonl": math("test"),
    },
    "HuggingFaceH4/MATH-500": { "README.md": Buffer.from("# rows"), "test.jsonl": math("test") },
    "HuggingFaceH4/aime_2024": {
      "data/train-00000-of-00001.jsonl": rows((i) => ({
        id: 60 + i,
        ...solved(i),
        answer: String(2 * i).padStart(3, "0"),
        url: `https://example.org/${i}`,
        year: "2024",
      })),
    },
    // Of one row neither answer nor solution says how it ends, of another only the solution does.
    "agentica-org/DeepScaleR-Preview-Dataset": {
      "default/train/0000.jsonl": rows((i) => ({
        ...solved(i),
        ...(i < 2 && { answer: "" }),
        ...(i === 0 && { solution: "" }),
      })),
    },
  };
}

describe("configs for larger models, on rows as their datasets have them", () => {
  test.each([
    ["hendrycks-math", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"],
    ["intellect-math", "Qwen/QwQ-32B"],
  ])("%s takes a step", async (name, model) => {
    const hub = await mockHubOf(publishedDatasets());
    try {
      await cp(join(ROOT, "configs/small-chat/model"), join(place.cache, "models", model), { recursive: true });
      const shipped = await readFile(join(ROOT, "configs", name, "rl.toml"), "utf8");
      const config = join(place.dir, "rl.toml");
      // A model with random weights solves nothing: no group has a signal.
      await writeFile(config, shipped.replace(/^\[.*advantage_range\]$/mu, ""));
      const small = {
        "max-steps": 1,
        "seq-len": 512,
        "orchestrator.batch-size": 8,
        "orchestrator.group-size": 4,
        "orchestrator.filter-zero-advantages": "false",
        "orchestrator.train.sampling.max-completion-tokens": 8,
        "orchestrator.eval.sampling.max-completion-tokens": 8,
        "orchestrator.eval.num-examples": 1,
      };
      const flags = Object.entries(small).flatMap(([key, value]) => [`--${key}`, String(value)]);
      const run = await prl(["rl", config, "--run.name", "mine", ...flags], {
        ...options(),
        env: { HF_ENDPOINT: hub.url },
      });
      expect(run.code, run.stderr + run.stdout).toBe(0);
      const runDir = join(place.dir, "outputs/mine");
      expect(await readJson(join(runDir, "summary.json"))).toMatchObject({ status: "completed", steps: 1 });
      const traces = await readJsonLines<{ task: { data: { problem: string; answer: string } } }>(
        join(runDir, "rollouts/step_1/traces.jsonl"),
      );
      expect(traces).toHaveLength(8);
      const metrics = await readJsonLines<Record<string, number>>(join(runDir, "metrics.jsonl"));
      const leftOut = metrics.flatMap((line) =>
        Object.entries(line).filter(([key]) => /^tasks\/.*\/left_out$/u.test(key)),
      );
      expect(leftOut.map(([, rows]) => rows)).toEqual(name === "intellect-math" ? [1] : []);
      for (const { task } of traces) {
        const added = Number(/(\d+) \+/u.exec(task.data.problem)?.[1]);
        expect(task.data.answer).toBe(String(2 * added));
        if (name === "intellect-math") expect(added).toBeGreaterThan(0);
      }
    } finally {
      await hub.close();
    }
  });
});

test("--trainer-gpus is the number of ranks, and flags of another name are hinted at", async () => {
  const { code, stderr } = await prl(["rl", SYNC, "--trainer-gpus", "2"], options());
  expect(code).toBe(2);
  expect(stderr).toContain("trainer.ranks");
  const wrong = await prl(["rl", SYNC, "--trainer-gpu", "1"], options());
  expect(wrong.stderr).toContain("did you mean --trainer-gpus?");
});
