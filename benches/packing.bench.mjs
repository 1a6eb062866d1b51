// A step on its way through the orchestrator and to the trainer: rollouts as an env worker sends them, packed, written and read. The longest
// time that the event loop stands still meanwhile, beside what is asked for, and tokens per second.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { best, report } from "./measurement/report.mjs";
import { longestStall } from "./measurement/stall.mjs";
import { encodeTraceColumns } from "../dist/environments/internal.js";
import { readBatch, RolloutSamples, SampleSet, writeBatch } from "../dist/native/index.js";

const ROLLOUTS = 1024;
const LENGTH = 1024;
const ROUNDS = 7;
const MOST_MS = 5;

const tokenIds = Uint32Array.from({ length: LENGTH }, (_, t) => (t * 7919) % 150_000);
const mask = new Uint8Array(LENGTH).fill(1, 300);
const logprobs = new Float32Array(LENGTH).fill(-0.5, 300);
const versionSpans = Uint32Array.of(0, 0xffffffff, 300, 3);
const blob = encodeTraceColumns([{ tokenIds, mask, logprobs, versionSpans, branchOffsets: Uint32Array.of(0, LENGTH) }]);
const key = { runId: "bench", attempt: 1, step: 1, rank: 0, envNames: ["bench"] };
const tokens = ROLLOUTS * LENGTH;

const dir = mkdtempSync(join(tmpdir(), "prl-bench-"));
try {
  const receive = await best(ROUNDS, () => {
    for (let i = 0; i < ROLLOUTS; i++) RolloutSamples.parse(blob, 1);
  });
  const megatokens = (seconds) => tokens / seconds / 1e6;
  report({ name: "rollouts-receive", unit: "Mtokens/s", better: "higher", ours: megatokens(receive) });

  const rollouts = Array.from({ length: ROLLOUTS }, () => RolloutSamples.parse(blob, 1));
  const path = join(dir, "batch.safetensors");
  let stall = Infinity;
  const step = await best(ROUNDS, async () => {
    const longest = await longestStall(async () => {
      const set = new SampleSet();
      for (const rollout of rollouts) set.add(rollout, { advantage: 0.5, temperature: 1, envId: 0 });
      const [batch] = await set.pack({ seqLen: 32_768 });
      await writeBatch(path, batch, key);
      batch.close();
      await readBatch(path);
    });
    stall = Math.min(stall, longest);
  });
  report({ name: "step-pack-write-read", unit: "Mtokens/s", better: "higher", ours: megatokens(step) });
  report({ name: "step-stall", unit: "ms", better: "lower", ours: stall, rivals: { "asked for": MOST_MS } });

  // Columns that JavaScript has made or changed itself.
  const set = new SampleSet();
  for (const rollout of rollouts) set.add(rollout, { advantage: 0.5, temperature: 1, envId: 0 });
  const [packed] = await set.pack({ seqLen: 32_768 });
  const columns = packed.columns();
  let ownStall = Infinity;
  const write = await best(ROUNDS, async () => {
    ownStall = Math.min(ownStall, await longestStall(() => writeBatch(path, columns, key)));
  });
  report({ name: "columns-write", unit: "Mtokens/s", better: "higher", ours: megatokens(write) });
  report({ name: "columns-stall", unit: "ms", better: "lower", ours: ownStall, rivals: { "asked for": MOST_MS } });
} finally {
  rmSync(dir, { recursive: true });
}
