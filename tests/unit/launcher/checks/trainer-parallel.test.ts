/** A model whose sizes ranks cannot share is named with the key, before a run has a directory. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { checkServerParallel } from "../../../../ts/launcher/checks/server-parallel.ts";
import { checkTrainerParallel } from "../../../../ts/launcher/checks/trainer-parallel.ts";
import { QWEN3 } from "../../plan/qwen3.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-parallel-"));
  const narrow = { ...QWEN3["Qwen/Qwen3-30B-A3B"], moe_intermediate_size: 766 };
  for (const [name, shape] of Object.entries({ ...QWEN3, "narrow experts": narrow })) {
    const dir = join(root, name);
    await mkdir(dir, { recursive: true });
    const { architectures = ["Qwen3ForCausalLM"] } = shape as { architectures?: string[] };
    await writeFile(join(dir, "config.json"), JSON.stringify({ ...shape, architectures }));
  }
});
afterAll(() => rm(root, { recursive: true }));

function check(name: string, keys: Readonly<Record<string, unknown>>): Promise<void> {
  const model = join(root, name);
  const { trainer } = rlConfigSchema.parse({
    model: { name: model },
    trainer: { backend: "torch", ...keys },
    orchestrator: { train: { source: [{ name: "a", env: { id: "reverse-text" } }] } },
  });
  return checkTrainerParallel({ trainer, models: [model] }, ["trainer"], undefined);
}

test.each([
  ["Qwen/Qwen3-4B", 3, /trainer\.parallel\.tensor: .*Qwen3-4B: 3 does not divide the model's 32 attention heads/u],
  ["Qwen/Qwen3-4B", 16, /16 does not divide the model's 8 key-value heads/u],
  ["Qwen/Qwen3-30B-A3B", 8, /8 does not divide the model's 4 key-value heads/u],
  ["narrow experts", 4, /4 does not divide the model's 766 columns of moe_intermediate_size/u],
])("%s is refused for %i ranks", async (name, tensor, message) => {
  await expect(check(name, { ranks: tensor, parallel: { tensor } })).rejects.toMatchObject({
    code: "PRL_CONFIG_INVALID",
    message: expect.stringMatching(message),
  });
});

test.each([
  ["Qwen/Qwen3-30B-A3B", 3, /trainer\.parallel\.expert: .*Qwen3-30B-A3B: 3 does not divide the model's 128 experts/u],
  ["Qwen/Qwen3-4B", 2, /qwen3 has no experts that ranks could share: set it to 1/u],
])("%s is refused for %i ranks that share experts", async (name, expert, message) => {
  await expect(check(name, { ranks: expert, parallel: { expert } })).rejects.toMatchObject({
    code: "PRL_CONFIG_INVALID",
    message: expect.stringMatching(message),
  });
});

test("a model that the ranks can share passes, and is not read where none share matrices", async () => {
  await expect(check("Qwen/Qwen3-4B", { ranks: 8, parallel: { tensor: 8 } })).resolves.toBeUndefined();
  await expect(check("Qwen/Qwen3-30B-A3B", { ranks: 8, parallel: { expert: 8 } })).resolves.toBeUndefined();
  await expect(check("Qwen/Qwen3-30B-A3B", { ranks: 4, parallel: { tensor: 4 } })).resolves.toBeUndefined();
  await expect(check("none", { ranks: 2 })).resolves.toBeUndefined();
});

test("a model that the GPUs of a vLLM server cannot share is named with the key, and not read for one GPU", async () => {
  const checkServer = (name: string, size: number) => {
    const { inference } = rlConfigSchema.parse({
      model: { name: "m" },
      inference: { backend: "vllm", vllm: { tensor_parallel_size: size } },
      orchestrator: { train: { source: [{ name: "a", env: { id: "reverse-text" } }] } },
    });
    return checkServerParallel({ inference, model: join(root, name) }, undefined);
  };
  await expect(checkServer("Qwen/Qwen3-4B", 3)).rejects.toMatchObject({
    code: "PRL_CONFIG_INVALID",
    message: expect.stringMatching(
      /inference\.vllm\.tensor_parallel_size: .*3 does not divide the model's 32 attention/u,
    ),
  });
  await expect(checkServer("Qwen/Qwen3-4B", 4)).resolves.toBeUndefined();
  await expect(checkServer("none", 1)).resolves.toBeUndefined();
});
