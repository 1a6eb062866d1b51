/**
 * Adapters that our trainer saved are what `peft` loads: it computed the logits of the committed ones (`train.ts` and `expect.py` in
 * `tests/fixtures/make/lora_exported`), and the trainer still writes their bytes. That adapters of `peft` load here is tested in the engine's crate.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { type LoraOptions, loadModel, openTrainer } from "../../../ts/native/index.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures");
const FILES = ["adapter_config.json", "adapter_model.safetensors"];

const EXPORTED: [name: string, base: string, lora: LoraOptions][] = [
  ["whole", "qwen3", { rank: 3, alpha: 7, dropout: 0.1 }],
  ["part", "llama", { rank: 4, alpha: 6, use_rslora: true, target_modules: ["q_proj", "v_proj"] }],
];

/** The numbers of a tensor with four bytes each. */
async function expected(name: string): Promise<{ inputIds: Uint32Array; logits: Float32Array }> {
  const bytes = await readFile(join(FIXTURES, "lora-exported", name, "expected.safetensors"));
  const begin = 8 + Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.toString("utf8", 8, begin)) as Record<string, { data_offsets: [number, number] }>;
  const of = (tensor: string): ArrayBuffer => {
    const [first, end] = header[tensor]?.data_offsets ?? [0, 0];
    return new Uint8Array(bytes.subarray(begin + first, begin + end)).buffer;
  };
  return { inputIds: new Uint32Array(of("input_ids")), logits: new Float32Array(of("logits")) };
}

it.each(EXPORTED)(
  "%s has the logits that peft computes with it, and is written again as it was",
  async (name, base, lora) => {
    const model = join(FIXTURES, "engine", base);
    const adapter = join(FIXTURES, "lora-exported", name);
    const { inputIds, logits } = await expected(name);
    const engine = await loadModel(model, { threads: 1, adapter });
    try {
      const found = await engine.logits(inputIds, Uint32Array.of(0, inputIds.length));
      expect(found.length).toBe(logits.length);
      const largest = logits.reduce((most, one) => Math.max(most, Math.abs(one)), 1);
      const error = found.reduce((most, one, at) => Math.max(most, Math.abs(one - (logits[at] ?? Number.NaN))), 0);
      expect(error).toBeLessThan(2e-5 + 2e-6 * largest);
    } finally {
      await engine.close();
    }
    const out = await mkdtemp(join(tmpdir(), "prl-exported-"));
    const options = { threads: 1, loss: { type: "ce" }, lora: { ...lora, from: adapter, base } };
    const trainer = await openTrainer(model, options);
    try {
      await trainer.save(out);
      for (const file of FILES) expect(await readFile(join(out, file))).toEqual(await readFile(join(adapter, file)));
    } finally {
      await trainer.close();
      await rm(out, { recursive: true, force: true });
    }
  },
);
