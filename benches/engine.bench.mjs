// Tokens per second of the engine through its public API, on the model of configs/reverse-text: training steps and batched decoding.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadModel, openTrainer, randomCheckpoint } from "prl-lm/engine";
import { best, report, rival, threads } from "./measurement/report.mjs";

const SEQUENCES = 64;
const LENGTH = 27;
const DECODE = { batch: 128, prompt: 17, completion: 48 };
const ROUNDS = 10;

const model = join(import.meta.dirname, "..", "configs", "reverse-text", "model");
const dir = mkdtempSync(join(tmpdir(), "prl-bench-"));
try {
  await randomCheckpoint(model, dir, 0);
  const train = await trainTokensPerSecond();
  const decode = await decodeTokensPerSecond();
  const shape = [SEQUENCES, LENGTH, DECODE.batch, DECODE.prompt, DECODE.completion, ROUNDS].map(String);
  const torch = rival("torch_engine.py", ["--model", dir, "--threads", String(threads), "--shape", ...shape]);
  report({ name: "train-tokens", unit: "tokens/s", better: "higher", ours: train, rivals: { torch: torch?.train } });
  report({
    name: "decode-tokens",
    unit: "tokens/s",
    better: "higher",
    ours: decode,
    rivals: { transformers: torch?.decode },
  });
} finally {
  rmSync(dir, { recursive: true });
}

async function trainTokensPerSecond() {
  const total = SEQUENCES * LENGTH;
  const optim = { type: "adamw", lr: 1e-4, weight_decay: 0 };
  const trainer = await openTrainer(dir, { threads, optim });
  const batch = {
    inputIds: Uint32Array.from({ length: total }, (_, t) => (t * 7919) % 256),
    inferenceLogprobs: new Float32Array(total),
    advantages: new Float32Array(total),
    temperatures: new Float32Array(total).fill(1),
    lossMask: new Uint8Array(total),
    cuSeqlens: Uint32Array.from({ length: SEQUENCES + 1 }, (_, s) => s * LENGTH),
    ceWeights: Float32Array.from({ length: total }, (_, t) => (t % LENGTH < LENGTH / 2 ? 0 : 1)),
  };
  const seconds = await best(ROUNDS, async () => {
    await trainer.forwardBackward(batch);
    await trainer.step();
  });
  await trainer.close();
  return total / seconds;
}

async function decodeTokensPerSecond() {
  const engine = await loadModel(dir, { threads });
  let round = 0;
  const seconds = await best(ROUNDS, async () => {
    const requests = Array.from({ length: DECODE.batch }, (__, i) => ({
      id: `${round}-${i}`,
      promptTokenIds: Array.from({ length: DECODE.prompt }, (_, t) => (t * 31 + i + round * 131) % 256),
      maxTokens: DECODE.completion,
      ignoreEos: true,
      seed: i,
      finalOnly: true,
    }));
    round++;
    for await (const { error } of engine.generate(requests)) if (error !== undefined) throw error;
  });
  await engine.close();
  return (DECODE.batch * DECODE.completion) / seconds;
}
