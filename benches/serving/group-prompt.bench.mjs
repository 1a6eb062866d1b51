// The processor time of eight sequences that share a prompt of 2,048 tokens, by turns with that of eight sequences with as long prompts that
// differ from the first token on. A model of 100 million parameters; each sequence samples 32 tokens.
import { loadModel } from "prl-lm/engine";
import { useTwoCores } from "../measurement/cores.mjs";
import { report, threads } from "../measurement/report.mjs";
import { withModels } from "./shaped-model.mjs";

const SEQUENCES = 8;
const PROMPT = 2_048;
const COMPLETION = 32;
const ROUNDS = 3;

useTwoCores();
await withModels([{ shape: "100m" }], async ([dir]) => {
  const model = await loadModel(dir, { threads, kvCacheBytes: 1024 * 1024 * 1024 });
  let prompts = 0;
  // Another first token each time, so that the cache knows none of the prompts.
  const newPrompt = () => {
    const first = prompts++;
    return Uint32Array.from({ length: PROMPT }, (_, t) => (t === 0 ? first : (t * 31) % 256));
  };
  const [shared, different] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    const one = newPrompt();
    shared.push(await cpuSeconds(model, Array(SEQUENCES).fill(one)));
    different.push(await cpuSeconds(model, Array.from({ length: SEQUENCES }, newPrompt)));
  }
  await model.close();
  const rivals = { "eight prompts": Math.min(...different) };
  report({
    name: "group-prompt",
    unit: "s of the engine's CPU",
    better: "lower",
    ours: Math.min(...shared),
    rivals,
  });
});

/** The processor time of all sequences, prompts included. */
async function cpuSeconds(model, prompts) {
  const requests = prompts.map((promptTokenIds, i) => ({
    id: String(i),
    promptTokenIds,
    maxTokens: COMPLETION,
    ignoreEos: true,
    finalOnly: true,
    seed: i,
  }));
  const before = process.cpuUsage();
  for await (const { error } of model.generate(requests)) if (error !== undefined) throw error;
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
