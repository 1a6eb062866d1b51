// Batches and weights over the network inside Node processes: how fast they come over loopback, and the longest time that the event loop of
// a process that sends and receives at once stands still meanwhile, beside what is asked for.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { best, report } from "./measurement/report.mjs";
import { longestStall } from "./measurement/stall.mjs";
import { encodeTraceColumns } from "../dist/environments/internal.js";
import { digest, openWeightNode, RolloutSamples, SampleSet, writeManifest } from "../dist/native/index.js";
import { grpcRolloutReceiver, grpcRolloutSender } from "../dist/transports/index.js";

const ROUNDS = 5;
const MOST_MS = 5;
const SHARD_BYTES = 256 * 1024 * 1024;
const SEQUENCES = 1024;
const LENGTH = 1024;
const options = { token: null, patienceMs: 60_000 };

const dir = mkdtempSync(join(tmpdir(), "prl-bench-"));
try {
  await weights();
  await batches();
} finally {
  rmSync(dir, { recursive: true });
}

async function weights() {
  const version = join(dir, "weights", "step_1");
  mkdirSync(version, { recursive: true });
  const bytes = Buffer.alloc(SHARD_BYTES);
  for (let i = 0; i < SHARD_BYTES; i += 4) bytes.writeUInt32LE(Math.imul(i, 0x9e3779b1) >>> 0, i);
  writeFileSync(join(version, "model.safetensors"), bytes);
  const shards = [{ file: "model.safetensors", bytes: SHARD_BYTES, digest: digest(bytes) }];
  const about = { format: "prl-weights", version: 1, digest: digest("1"), base: null };
  await writeManifest(version, { ...about, encoding: "full", shards, canary: null });
  const publisher = openWeightNode(join(dir, "weights"), options);
  const source = await publisher.listen("127.0.0.1:0");
  let round = 0;
  let stall = Infinity;
  const seconds = await best(ROUNDS, async () => {
    const root = join(dir, `pulled-${round++}`);
    const node = openWeightNode(root, options);
    stall = Math.min(stall, await longestStall(() => node.pull({ version: 1 }, [source])));
    await node.close();
    rmSync(root, { recursive: true });
  });
  await publisher.close();
  report({ name: "weights-pull-node", unit: "GB/s", better: "higher", ours: SHARD_BYTES / seconds / 1e9 });
  const idle = await idleStall(seconds);
  const rivals = { "asked for": MOST_MS, idle };
  report({ name: "weights-pull-stall", unit: "ms", better: "lower", ours: stall, rivals });
}

async function batches() {
  const mask = new Uint8Array(LENGTH).fill(1, 300);
  const logprobs = new Float32Array(LENGTH).fill(-0.5, 300);
  const columns = { tokenIds: Uint32Array.from({ length: LENGTH }, (_, t) => t), mask, logprobs };
  const versionSpans = Uint32Array.of(0, 0xffffffff, 300, 3);
  const blob = encodeTraceColumns([{ ...columns, versionSpans, branchOffsets: Uint32Array.of(0, LENGTH) }]);
  const set = new SampleSet();
  for (let i = 0; i < SEQUENCES; i++) {
    set.add(RolloutSamples.parse(blob, 1), { advantage: 0.5, temperature: 1, envId: 0 });
  }
  const batch = await set.pack({ seqLen: 32_768 });
  for (const name of ["trainer", "orchestrator"]) mkdirSync(join(dir, name));
  const receiver = await grpcRolloutReceiver(
    { runDir: join(dir, "trainer"), runId: "bench", attempt: 1 },
    "127.0.0.1:0",
    options,
  );
  const sender = grpcRolloutSender(
    { runDir: join(dir, "orchestrator"), runId: "bench", attempt: 1 },
    [receiver.address],
    options,
  );
  let step = 0;
  let stall = Infinity;
  const never = new AbortController().signal;
  const seconds = await best(ROUNDS, async () => {
    step++;
    const longest = await longestStall(async () => {
      await sender.send(step, batch, ["bench"]);
      await receiver.receive(step, 0, { deadlineMs: 10_000, signal: never });
    });
    stall = Math.min(stall, longest);
  });
  await Promise.all([sender.close(), receiver.close()]);
  const tokens = SEQUENCES * LENGTH;
  report({ name: "batch-over-grpc", unit: "Mtokens/s", better: "higher", ours: tokens / seconds / 1e6 });
  const idle = await idleStall(seconds);
  const rivals = { "asked for": MOST_MS, idle };
  report({ name: "batch-over-grpc-stall", unit: "ms", better: "lower", ours: stall, rivals });
}

/** What the machine's other work costs a process that does nothing for as long. */
async function idleStall(seconds) {
  let stall = Infinity;
  for (let round = 0; round < ROUNDS; round++) stall = Math.min(stall, await longestStall(() => sleep(seconds * 1000)));
  return stall;
}
