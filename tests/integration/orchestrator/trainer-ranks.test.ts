/**
 * A step for four trainer ranks: packed once, each rank's batch over its own way, and what the four accumulate is what one rank would. The
 * trainers themselves are one here, as the embedded one has a single rank.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { type RlConfig, rlConfigSchema } from "../../../ts/config/schema/rl.ts";
import type { ReceivedEpisode, RunRequest } from "../../../ts/environments/internal.ts";
import { type Batch, openTrainer } from "../../../ts/native/index.ts";
import type { Group } from "../../../ts/orchestrator/scheduling/dispatcher.ts";
import { buildTrainBatch } from "../../../ts/orchestrator/batch/train-batch.ts";
import {
  filesystemRollouts,
  grpcRolloutReceiver,
  grpcRolloutSender,
  type ReceivedBatch,
  type RolloutReceiver,
} from "../../../ts/transports/index.ts";
import { scored } from "../../unit/orchestrator/simulation.ts";
import { publishVersion } from "../inference/tiny-model.ts";

const RANKS = 4;
const STEP = 3;
const options = { token: null, patienceMs: 30_000 };
const waiting = { deadlineMs: 30_000, signal: new AbortController().signal };
const config: RlConfig = rlConfigSchema.parse({
  seq_len: 32,
  model: { name: "m" },
  orchestrator: {
    batch_size: 24,
    group_size: 4,
    train: { source: [{ name: "a", env: { id: "reverse-text" } }] },
  },
});

let root: string;
let modelDir: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-ranks-"));
  ({ dir: modelDir } = await publishVersion(root, 0));
});
afterAll(() => rm(root, { recursive: true, force: true }));

let runDir: string;
beforeEach(async () => {
  runDir = await mkdtemp(join(root, "run-"));
});

/** Six groups whose rollouts have 2 to 25 sampled tokens, so that no two ranks get equal shares by chance. */
const groups: Group[] = Array.from({ length: 6 }, (_, index) => {
  const request = { episode_id: `e${index}`, env: "a", group_id: "g", run: { type: "train", step: 1 } } as RunRequest;
  const rollouts: ReceivedEpisode[] = [0, 1, 2, 3].map((r) => scored(request, r % 3, 3, 3, 2 + index + 6 * r));
  const task = { source: "a", task: { key: "k", hash: "", data: null }, epoch: 0, groupSize: 4, scoresGroups: false };
  return {
    index,
    id: `group-${index}`,
    task,
    dispatchVersion: 3,
    oldestVersion: 3,
    firstIndex: 0,
    seconds: 1,
    rollouts,
  };
});

const packed = async (ranks: number) => {
  const { batches, envNames, samples } = await buildTrainBatch(groups, { config, trainRanks: { ranks } });
  expect(samples).toBe(24);
  return { batches, envNames };
};

async function received(receivers: readonly RolloutReceiver[]): Promise<Batch[]> {
  const batches = await Promise.all(receivers.map((receiver, rank) => receiver.receive(STEP, rank, waiting)));
  await Promise.all(receivers.map((receiver) => receiver.close()));
  return batches;
}

/** Lengths of the sequences that train, ascending. */
function lengths(batches: readonly Batch[]): number[] {
  const all = batches.flatMap(({ cuSeqlens, lossMask }) =>
    [...cuSeqlens.subarray(1)].map((end, s) => {
      const start = cuSeqlens[s] ?? 0;
      return lossMask.subarray(start, end).includes(1) ? end - start : 0;
    }),
  );
  return all.filter((length) => length > 0).toSorted((a, b) => a - b);
}

/** Of the output layer, after one backward pass per batch. */
async function gradient(batches: readonly Batch[]): Promise<Float32Array> {
  const trainer = await openTrainer(modelDir, { threads: 1 });
  try {
    for (const batch of batches) {
      // A batch that was received has its environments' names and its file beside its columns.
      const { envNames: _names, path: _path, ...columns } = batch as Partial<ReceivedBatch> & Batch;
      await trainer.forwardBackward(columns);
    }
    return await trainer.gradient("model.embed_tokens.weight");
  } finally {
    await trainer.close();
  }
}

async function checkShares(batches: readonly Batch[]): Promise<void> {
  const one = (await packed(1)).batches.map((batch) => batch.columns());
  const bins = batches.map(({ binSeqOffsets }) => binSeqOffsets.length);
  expect(new Set(bins).size).toBe(1);
  expect(lengths(batches)).toEqual(lengths(one));
  // The denominators are of the step on every rank; what the ranks hold adds up to them.
  const trained = batches.map(({ lossMask }) => lossMask.reduce((sum, mask) => sum + mask, 0));
  for (const { counts } of batches) expect(counts).toEqual(one[0]?.counts);
  expect(trained.reduce((sum, count) => sum + count)).toBe(one[0]?.counts.rl);
  expect(Math.min(...trained)).toBeGreaterThan(0);
  const [expected, found] = [await gradient(one), await gradient(batches)];
  const size = Math.hypot(...expected);
  expect(size).toBeGreaterThan(0);
  expect(Math.hypot(...found.map((value, at) => value - (expected[at] ?? Number.NaN)))).toBeLessThan(1e-5 * size);
}

describe("four ranks", () => {
  test("read their own files, and accumulate the gradient of one", async () => {
    const { batches, envNames } = await packed(RANKS);
    const sender = filesystemRollouts(runDir, "run", 1);
    await sender.send(STEP, batches, envNames);
    const ranks = Array.from({ length: RANKS }, () => filesystemRollouts(runDir, "run", 1));
    await checkShares(await received(ranks));
    await expect(sender.receive(STEP, RANKS, { ...waiting, deadlineMs: 20 })).rejects.toMatchObject({
      code: "PRL_DEADLINE",
    });
  });

  test("each listen on their own address, and one that comes late holds up no other's batch", async () => {
    const listen = (rank: number, address = "127.0.0.1:0") =>
      grpcRolloutReceiver({ runDir: join(runDir, `rank-${rank}`), runId: "run", attempt: 1 }, address, options);
    const ranks = await Promise.all(Array.from({ length: RANKS }, (_, rank) => listen(rank)));
    const [first, second, late, last] = ranks;
    if (first === undefined || second === undefined || late === undefined || last === undefined) throw new Error();
    await late.close();
    const { batches, envNames } = await packed(RANKS);
    const addresses = ranks.map(({ address }) => address);
    await mkdir(join(runDir, "orchestrator"));
    const sender = grpcRolloutSender(
      { runDir: join(runDir, "orchestrator"), runId: "run", attempt: 1 },
      addresses,
      options,
    );
    const sending = sender.send(STEP, batches, envNames);
    const early = await Promise.all([
      first.receive(STEP, 0, waiting),
      second.receive(STEP, 1, waiting),
      last.receive(STEP, 3, waiting),
    ]);
    const back = await listen(2, late.address);
    await sending;
    await sender.close();
    const all = await received([first, second, back, last]);
    expect([all[0], all[1], all[3]]).toEqual(early);
    await checkShares(all);
  });
});
