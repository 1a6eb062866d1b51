// Bytes of sparse versions on a real training run: f32 masters of our engine, rounded to bf16, published after each of 20 Adam steps at
// three learning rates, each after the same 30 steps at 3e-4. Beside zstd-1 of the XOR of the same versions. Lower is better; share of the
// bytes of a full version, mean of the 20 steps.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTrainer, randomCheckpoint } from "prl-lm/engine";
import { openSafetensors, WeightPublisher, WeightReceiver, writeSafetensors } from "prl-lm/weights";
import { report, rival, threads } from "./measurement/report.mjs";

const LEARNING_RATES = [1e-6, 1e-5, 1e-4];
const WARM_STEPS = 30;
const WARM_LR = 3e-4;
const STEPS = 20;
const SEQUENCES = 8;
const LENGTH = 128;
/** The 12m shape of the other engine benches. */
const MODEL = {
  architectures: ["Qwen3ForCausalLM"],
  model_type: "qwen3",
  hidden_size: 384,
  num_hidden_layers: 6,
  num_attention_heads: 6,
  num_key_value_heads: 2,
  head_dim: 64,
  intermediate_size: 1152,
  vocab_size: 4096,
  tie_word_embeddings: true,
  rms_norm_eps: 1e-6,
  rope_theta: 10000,
  max_position_embeddings: 512,
  hidden_act: "silu",
  attention_bias: false,
  bos_token_id: 0,
  eos_token_id: 1,
};

const dir = mkdtempSync(join(tmpdir(), "prl-bench-"));
try {
  mkdirSync(join(dir, "model"));
  writeFileSync(join(dir, "model", "config.json"), JSON.stringify(MODEL));
  mkdirSync(join(dir, "random"));
  await randomCheckpoint(join(dir, "model"), join(dir, "random"), 0);
  for (const lr of LEARNING_RATES) await measure(lr);
} finally {
  rmSync(dir, { recursive: true });
}

async function measure(lr) {
  const root = join(dir, `lr-${lr}`);
  const dumps = join(dir, `dumps-${lr}`);
  mkdirSync(dumps);
  const trainer = await openTrainer(join(dir, "random"), {
    threads,
    optim: { type: "adamw", lr: WARM_LR, weight_decay: 0 },
  });
  const batch = batches();
  const step = async (rate) => {
    await trainer.forwardBackward(batch());
    await trainer.step({ lr: rate });
  };
  for (let warm = 0; warm < WARM_STEPS; warm++) await step(WARM_LR);
  const publisher = await WeightPublisher.open(root, { keep: STEPS + 1 });
  const receiver = await WeightReceiver.open(root);
  let sparse = 0;
  let full = 0;
  for (let version = 0; version <= STEPS; version++) {
    if (version > 0) await step(lr);
    const { tensors, bytes } = await roundedWeights(trainer);
    writeFileSync(join(dumps, `${version}.bin`), bytes);
    const { manifest } = await publisher.publish(version, (folder) => save(folder, tensors));
    if (manifest.encoding !== (version === 0 ? "full" : "sparse"))
      throw new Error(`version ${version} is ${manifest.encoding}`);
    const size = manifest.shards.reduce((sum, shard) => sum + shard.bytes, 0);
    if (version === 0) full = size;
    else sparse += size / STEPS;
    await checkReceived(await receiver.receive(version), tensors);
  }
  await publisher.close();
  await trainer.close();
  const zstd = rival("zstd_xor.py", [dumps, String(STEPS)]);
  const share = (size) => (size === undefined ? undefined : (100 * size) / full);
  report({
    name: `weights-delta-lr-${lr}`,
    unit: "% of a full version",
    better: "lower",
    ours: share(sparse),
    rivals: { "zstd-1 of the XOR": share(zstd?.xor), "zstd-1 of its byte planes": share(zstd?.planes) },
  });
  rmSync(dumps, { recursive: true });
  rmSync(root, { recursive: true });
}

/** A stream with something to learn: every second token follows from the one before it. */
function batches() {
  let seed = 1;
  const random = () => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return (seed + 1) / 0x80000000;
  };
  const total = SEQUENCES * LENGTH;
  return () => {
    const inputIds = new Uint32Array(total);
    for (let t = 0; t < total; t += 2) {
      inputIds[t] = Math.min(MODEL.vocab_size - 1, Math.floor(random() ** (-1 / 0.3)));
      inputIds[t + 1] = (inputIds[t] * 7 + 3) % MODEL.vocab_size;
    }
    return {
      inputIds,
      inferenceLogprobs: new Float32Array(total),
      advantages: new Float32Array(total),
      temperatures: new Float32Array(total).fill(1),
      lossMask: new Uint8Array(total),
      cuSeqlens: Uint32Array.from({ length: SEQUENCES + 1 }, (_, s) => s * LENGTH),
      ceWeights: Float32Array.from({ length: total }, (_, t) => (t % LENGTH === 0 ? 0 : 1)),
    };
  };
}

/** The masters rounded to bf16, to nearest and ties to even. */
async function roundedWeights(trainer) {
  const tensors = {};
  for (const name of trainer.parameterNames()) {
    const values = await trainer.parameter(name);
    const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
    const rounded = Uint16Array.from(bits, (word) => (word + 0x7fff + ((word >>> 16) & 1)) >>> 16);
    tensors[name] = { dtype: "BF16", shape: [rounded.length], data: new Uint8Array(rounded.buffer) };
  }
  return { tensors, bytes: Buffer.concat(Object.values(tensors).map(({ data }) => data)) };
}

async function save(folder, tensors) {
  const written = await writeSafetensors(join(folder, "model.safetensors"), tensors);
  return { digest: written.versionDigest, shards: [{ file: "model.safetensors", ...written }] };
}

async function checkReceived(received, tensors) {
  const file = await openSafetensors(join(received.dir, "model.safetensors"));
  for (const [name, { data }] of Object.entries(tensors)) {
    if (!Buffer.from(data).equals(file.tensor(name).data)) throw new Error(`${name} did not arrive as it was sent`);
  }
  file.close();
  received.release();
}
