/** How the torch trainer starts its interpreter: programs that stand in for Python note what they get. No PyTorch is here. */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { openTorchBackend } from "../../../../ts/trainer/torch/torch-backend.ts";

const { trainer: settings } = rlConfigSchema.parse({
  model: { name: "m" },
  trainer: { backend: "torch", threads: 1 },
  orchestrator: { train: { source: [{ env: { id: "reverse-text" } }] } },
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "prl-torch-backend-"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

/** PYTHONPATH of the ranks with this interpreter. */
async function pathOf(interpreter: string): Promise<string[]> {
  const noted = join(folder, "noted");
  const program = `require("node:fs").writeFileSync(${JSON.stringify(noted)}, process.env.PYTHONPATH); process.exit(3);`;
  await writeFile(interpreter, `#!${process.execPath}\n${program}\n`);
  await chmod(interpreter, 0o755);
  await writeFile(join(folder, "tokenizer.json"), "{}");
  const model = { baseDir: folder, modelDir: folder, name: "m", lora: null, seed: 0, isResumed: false };
  const job = { model, dtype: "float32", baseDtype: null, referenceDir: null, loss: null, settings } as const;
  await expect(openTorchBackend(job, interpreter)).rejects.toMatchObject({ code: "PRL_TORCH_WORKER" });
  return (await readFile(noted, "utf8")).split(delimiter);
}

test("an interpreter of the user keeps the user's PYTHONPATH, behind the folder of the ranks", async () => {
  vi.stubEnv("PYTHONPATH", ["/opt/torch", "", "/opt/more"].join(delimiter));
  const [own, ...given] = await pathOf(join(folder, "python"));
  expect(own).toMatch(/ts\/trainer\/torch\/python$/u);
  expect(given).toEqual(["/opt/torch", "/opt/more"]);
});

test("nothing of the user's PYTHONPATH takes the place of what an environment of prl has", async () => {
  vi.stubEnv("PYTHONPATH", "/opt/torch");
  vi.stubEnv("PRL_CACHE_DIR", folder);
  const environment = join(folder, "python/torch");
  await mkdir(join(environment, "bin"), { recursive: true });
  await writeFile(join(environment, "prl-environment.json"), "{}");
  expect(await pathOf(join(environment, "bin/python"))).toHaveLength(1);
});
