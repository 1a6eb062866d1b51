// One step of GRPO on an adapter, with sampler and trainer in this process on the same frozen weights: `node grpo-step.mjs JSON`, where the JSON has
// model (a folder), threads, group, prompt, completion (numbers of tokens) and rank. Prints one JSON object: seconds of rollout, train and the whole
// step, with the new adapter given to the sampler; peak, the most memory that the process held (bytes).
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadModel, openTrainer } from "prl-lm/engine";

const { model: dir, threads, group, prompt, completion, rank } = JSON.parse(process.argv[2]);
const length = prompt + completion;

const root = mkdtempSync(join(tmpdir(), "prl-bench-"));
try {
  // TRL recomputes activations too, by its default.
  const trainer = await openTrainer(dir, {
    threads,
    dtype: "bfloat16",
    activations: "recompute",
    optim: { type: "adamw", lr: 1e-4, weight_decay: 0 },
    lora: { rank, alpha: 2 * rank },
  });
  const versions = [0, 1].map((version) => join(root, String(version)));
  await trainer.save(versions[0]);
  const model = await loadModel(dir, {
    threads,
    weightsOf: trainer,
    adapter: versions[0],
    maxNumSeqs: group,
    maxModelLen: length,
    kvCacheBytes: kvBytes(),
  });

  const startedAt = performance.now();
  const completions = await sample(model);
  const sampledAt = performance.now();
  await model.sleep();
  const trainingAt = performance.now();
  await trainer.forwardBackward(batchOf(completions));
  await trainer.step();
  const trainedAt = performance.now();
  await trainer.save(versions[1]);
  await model.swapWeights(versions[1], { version: 1 });
  await model.wakeUp();
  const endedAt = performance.now();

  const seconds = (from, to) => (to - from) / 1000;
  const rollout = seconds(startedAt, sampledAt);
  const train = seconds(trainingAt, trainedAt);
  console.log(JSON.stringify({ rollout, train, step: seconds(startedAt, endedAt), peak: peakBytes() }));
  await model.close();
  await trainer.close();
} finally {
  rmSync(root, { recursive: true });
}

/** Room for the whole group without a shared prompt, in the widest format, f32. */
function kvBytes() {
  const config = JSON.parse(readFileSync(join(dir, "config.json"), "utf8"));
  const perToken = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * 4;
  return group * (length + 16) * perToken;
}

async function sample(model) {
  const promptTokenIds = Uint32Array.from({ length: prompt }, (_, t) => (t * 31) % 256);
  const requests = Array.from({ length: group }, (_, i) => ({
    id: String(i),
    promptTokenIds,
    maxTokens: completion,
    ignoreEos: true,
    finalOnly: true,
    seed: i,
  }));
  const completions = [];
  for await (const { tokenIds, logprobs, error } of model.generate(requests)) {
    if (error !== undefined) throw error;
    if (tokenIds.length !== completion) throw new Error(`a completion has ${tokenIds.length} tokens`);
    completions.push({ tokenIds: [...promptTokenIds, ...tokenIds], logprobs });
  }
  return completions;
}

/** The group in one bin. The reward, which costs nothing, is the share of odd tokens. */
function batchOf(completions) {
  const rewards = completions.map(
    ({ tokenIds }) => tokenIds.slice(prompt).filter((id) => id % 2 === 1).length / completion,
  );
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / group;
  const deviation = Math.sqrt(rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / (group - 1));
  const columns = { inferenceLogprobs: new Float32Array(group * length), advantages: new Float32Array(group * length) };
  for (const [i, { logprobs }] of completions.entries()) {
    columns.inferenceLogprobs.set(logprobs, i * length + prompt);
    columns.advantages.fill((rewards[i] - mean) / (deviation + 1e-4), i * length + prompt, (i + 1) * length);
  }
  return {
    inputIds: Uint32Array.from(completions.flatMap(({ tokenIds }) => tokenIds)),
    ...columns,
    temperatures: new Float32Array(group * length).fill(1),
    lossMask: Uint8Array.from({ length: group * length }, (_, t) => (t % length < prompt ? 0 : 1)),
    cuSeqlens: Uint32Array.from({ length: group + 1 }, (_, i) => i * length),
  };
}

function peakBytes() {
  return Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
}
