/** Configs for models that no test can hold, resolved by --dry-run with a stand-in in the model's place of the cache; [deployment]. */
import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { prl, readJson, ROOT, workspace } from "../support/prl.ts";

const SYNC = join(import.meta.dirname, "configs/sync.toml");

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });

interface Resolved {
  model: { name: string };
  deployment: { num_train_gpus: number; num_infer_gpus: number };
  orchestrator: { batch_size: number; group_size: number; eval: { source: { name: string; group_size: number }[] } };
}

describe("configs for larger models", () => {
  test.each([
    ["hendrycks-math", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", { batch_size: 512, group_size: 8 }],
    ["intellect-math", "Qwen/QwQ-32B", { batch_size: 4096, group_size: 16 }],
  ])("%s resolves", { timeout: 180_000 }, async (name, model, orchestrator) => {
    const config = join(ROOT, "configs", name, "rl.toml");
    const missing = await prl(["rl", config, "--dry-run"], options());
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain(`there is no model folder ${join(place.cache, "models", model)}`);

    await cp(join(ROOT, "configs/small-chat/model"), join(place.cache, "models", model), { recursive: true });
    const { code, stdout, stderr } = await prl(["rl", config, "--dry-run", "--json"], options());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { config: written, run_dir: runDir } = JSON.parse(stdout) as { config: string; run_dir: string };
    const resolved = await readJson<Resolved>(written);
    expect(resolved).toMatchObject({ model: { name: model }, orchestrator });
    expect(resolved.deployment).toMatchObject({ num_train_gpus: 4, num_infer_gpus: 4 });
    expect(resolved.orchestrator.eval.source.find((source) => source.name === "aime-2024")?.group_size).toBeGreaterThan(
      8,
    );
    expect(await readdir(runDir)).toEqual(["configs"]);
  });
});

describe("[deployment]", () => {
  test(
    "is set by --trainer-gpus and --inference-gpus, and the embedded engine says that it uses none",
    { timeout: 180_000 },
    async () => {
      const args = ["rl", SYNC, "--max-steps", "1", "--orchestrator.eval", "None", "--run.name", "mine"];
      const { code, stdout } = await prl([...args, "--trainer-gpus", "2", "--inference-gpus=6"], options());
      expect(code).toBe(0);
      expect(stdout).toContain("[deployment] asks for GPUs (2 for the trainer, 6 for inference)");
      const resolved = await readJson<Resolved>(join(place.dir, "outputs/mine/configs/rl.json"));
      expect(resolved.deployment).toMatchObject({
        type: "single_node",
        num_train_gpus: 2,
        num_infer_gpus: 6,
        gpus_per_node: 8,
      });
    },
  );

  test(
    "more GPUs than the machine has are refused, and flags of another name are hinted at",
    { timeout: 180_000 },
    async () => {
      const tooMany = await prl(["rl", SYNC, "--trainer-gpus", "8", "--inference-gpus", "1"], options());
      expect(tooMany.code).toBe(2);
      expect(tooMany.stderr).toContain("9 together, more than gpus_per_node 8");
      const wrong = await prl(["rl", SYNC, "--trainer-gpu", "1"], options());
      expect(wrong.stderr).toContain("did you mean --trainer-gpus?");
    },
  );
});
