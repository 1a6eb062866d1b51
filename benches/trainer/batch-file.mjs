// Batches of made-up rollouts as the orchestrator would write them, for benches of trainers.
import { buildBatch, packSequences, writeBatch } from "prl-lm/packing";

const UNSAMPLED = 0xffffffff;
/** Share of a sequence that is prompt. */
const PROMPT = 1 / 4;

/** Writes `bins` bins of `perBin` sequences of `length` tokens each; half of the sequences have the advantage 1, the others -1. */
export async function writeBenchBatch(path, { length, perBin, bins, vocabulary }) {
  let state = 1;
  const draw = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const prompt = Math.floor(length * PROMPT);
  const columns = (make) => Float32Array.from({ length }, (_token, t) => (t < prompt ? 0 : make()));
  const samples = Array.from({ length: perBin * bins }, (_sample, index) => ({
    tokenIds: Uint32Array.from({ length }, () => Math.floor(draw() * vocabulary)),
    mask: Uint8Array.from({ length }, (_token, t) => (t < prompt ? 0 : 1)),
    // About what a model with random weights gives each token.
    logprobs: columns(() => -Math.log(vocabulary) - draw() / 10),
    advantages: columns(() => (index % 2 === 0 ? 1 : -1)),
    temperature: 1,
    envId: 0,
    policyVersionSpans: Uint32Array.of(0, UNSAMPLED, prompt, 0),
  }));
  const seqLen = length * perBin;
  const plan = packSequences(
    samples.map(() => length),
    { seqLen, ranks: 1 },
  );
  const [batch] = buildBatch(samples, plan, { seqLen, ranks: 1 });
  await writeBatch(path, batch, { runId: "bench", attempt: 1, step: 1, rank: 0, envNames: ["made-up"] });
}
