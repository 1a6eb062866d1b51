/** How the torch trainer starts its interpreter: programs that stand in for Python note what they get. No PyTorch is here. */
import { readlinkSync } from "node:fs";
import { chmod, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
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

/** A rank that opens a model, and writes a folder of it without a sync. */
const RANK = `
const socket = require("node:net").connect(process.env.PRL_TORCH_SOCKET);
const say = (message) => socket.write(JSON.stringify(message) + "\\n");
say({ rank: 0, pid: process.pid });
require("node:readline").createInterface({ input: socket }).on("line", (line) => {
  const { id, op, folder } = JSON.parse(line);
  if (op === "close") { say({ id, result: {} }); socket.end(); return; }
  if (op === "open") return say({ id, result: { device: "cpu", device_name: null, vocab_size: 8 } });
  const header = Buffer.from(JSON.stringify({ w: { dtype: "F32", shape: [1], data_offsets: [0, 4] } }).padEnd(64));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(64n);
  const write = (name, bytes) => require("node:fs").writeFileSync(require("node:path").join(folder, name), bytes);
  write("model.safetensors", Buffer.concat([length, header, Buffer.alloc(4)]));
  write("config.json", "{}");
  say({ id, result: { files: ["model.safetensors"] } });
});
`;

test.runIf(process.platform === "linux")(
  "a saved folder is durable to its last file, and so are the names in it",
  async () => {
    const interpreter = join(folder, "python");
    await writeFile(interpreter, `#!${process.execPath}\n${RANK}\n`);
    await chmod(interpreter, 0o755);
    await writeFile(join(folder, "tokenizer.json"), "{}");
    await writeFile(join(folder, "config.json"), "{}");
    const [saved, checkpoint] = [join(folder, "saved"), join(folder, "checkpoint")];
    for (const dir of [saved, checkpoint]) await mkdir(dir);
    const probe = await open(saved);
    const synced: string[] = [];
    const handle = Object.getPrototypeOf(probe) as typeof probe;
    await probe.close();
    const sync: (this: typeof probe) => Promise<void> = Reflect.get(handle, "sync");
    const spy = vi.spyOn(handle, "sync").mockImplementation(async function (this: typeof probe) {
      synced.push(readlinkSync(`/proc/self/fd/${this.fd}`));
      await sync.call(this);
    });
    const model = { baseDir: folder, modelDir: folder, name: "m", lora: null, seed: 0, isResumed: false };
    const job = { model, dtype: "float32", baseDtype: null, referenceDir: null, loss: null, settings } as const;
    const backend = await openTorchBackend(job, interpreter);
    try {
      await backend.save(saved);
      await backend.saveCheckpoint(checkpoint);
    } finally {
      await backend.close();
      spy.mockRestore();
    }
    for (const dir of [saved, checkpoint]) {
      expect((await readdir(dir)).toSorted()).toEqual(["config.json", "model.safetensors", "tokenizer.json"]);
      for (const name of await readdir(dir)) expect(synced).toContain(join(dir, name));
      expect(synced).toContain(dir);
    }
  },
);
