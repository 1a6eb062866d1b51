/** Ranks and servers that need more GPUs than the machine has are refused before a run has a directory. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { checkGpuCount } from "../../../../ts/launcher/checks/gpu-count.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-gpus-"));
  for (const [name, torch] of [
    ["cuda", "2.15.0"],
    ["cpu", "2.15.0+cpu"],
  ] as const) {
    const answer = JSON.stringify({ python: "3.12.1", packages: { torch, transformers: "5.0", safetensors: "0.8" } });
    await writeFile(join(root, name), `#!/bin/sh\necho '${answer}'\n`);
    await chmod(join(root, name), 0o755);
  }
});
afterAll(() => rm(root, { recursive: true }));

interface Given {
  python?: string;
  backend?: string;
  ranks: number;
  replicas?: number;
  tensor?: number;
  visible: number | null;
  onGpus?: boolean;
}

function check({
  python = "cuda",
  backend = "torch",
  ranks,
  replicas = 1,
  tensor = 1,
  ...found
}: Given): Promise<void> {
  const config = rlConfigSchema.parse({
    model: { name: "m" },
    trainer: { backend, ...(backend === "torch" && { python: join(root, python), ranks }) },
    inference: { backend: "vllm", replicas, vllm: { tensor_parallel_size: tensor } },
    orchestrator: { batch_size: 64, train: { source: [{ env: { id: "reverse-text" } }] } },
    max_steps: 1,
  });
  const visible = found.visible === null ? null : Array.from({ length: found.visible }, (_, index) => String(index));
  return checkGpuCount(config, { onGpus: found.onGpus ?? true, visible }, undefined);
}

test("trainer and servers together: the numbers of both, and what can be used", async () => {
  await expect(check({ ranks: 2, replicas: 3, tensor: 2, visible: 7 })).rejects.toMatchObject({
    code: "PRL_CONFIG_INVALID",
    message: expect.stringMatching(
      /trainer\.ranks: the trainer needs 2 GPUs and the inference servers 6, 8 together, and 7 can be used/u,
    ),
  });
  await expect(check({ ranks: 2, replicas: 3, tensor: 2, visible: 8 })).resolves.toBeUndefined();
});

test("ranks alone, where the servers compute on processors", async () => {
  await expect(check({ ranks: 4, replicas: 8, visible: 3, onGpus: false })).rejects.toMatchObject({
    message: expect.stringMatching(/the trainer needs 4 GPUs, and 3 can be used .*: use fewer ranks$/u),
  });
  await expect(check({ ranks: 3, replicas: 8, visible: 3, onGpus: false })).resolves.toBeUndefined();
});

test("nothing is refused where no GPU is known, for a torch of processors, and for the engine", async () => {
  await expect(check({ ranks: 4, visible: null })).resolves.toBeUndefined();
  await expect(check({ ranks: 4, visible: 0, onGpus: false })).resolves.toBeUndefined();
  await expect(check({ ranks: 4, visible: 2, python: "cpu" })).resolves.toBeUndefined();
  await expect(check({ ranks: 1, visible: 1, backend: "engine" })).resolves.toBeUndefined();
});
