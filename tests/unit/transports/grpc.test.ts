import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import {
  buildBatch,
  digest,
  openSafetensors,
  packSequences,
  readManifest,
  writeSafetensors,
  type Batch,
  type StagedWeights,
} from "../../../ts/native/index.ts";
import {
  grpcRolloutReceiver,
  grpcRolloutSender,
  grpcWeightFollower,
  grpcWeightSender,
  openWeightPuller,
} from "../../../ts/transports/index.ts";

const ANY = "127.0.0.1:0";
const options = { token: null, patienceMs: 5_000 };
const never = new AbortController().signal;
const soon = { deadlineMs: 50, signal: never };

let dir: string;
const closing: { close(): Promise<void> }[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-grpc-"));
  await mkdir(join(dir, "orchestrator"));
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((handle) => handle.close()));
  await rm(dir, { recursive: true, force: true });
});
function closed<T extends { close(): Promise<void> }>(handle: T): T {
  closing.push(handle);
  return handle;
}

function batches(advantage: number): Batch[] {
  const sample = {
    tokenIds: Uint32Array.of(4, 5, 6),
    mask: Uint8Array.of(0, 1, 1),
    logprobs: Float32Array.of(0, -1 / 3, -2),
    advantages: Float32Array.of(0, advantage, advantage),
    temperature: 0.7,
    envId: 0,
    policyVersionSpans: Uint32Array.of(0, 0xffffffff, 1, 2),
  };
  return buildBatch([sample, sample], packSequences([3, 3], { seqLen: 6 }));
}

describe("batches over gRPC", () => {
  const trainer = async () =>
    closed(await grpcRolloutReceiver({ runDir: join(dir, "trainer"), runId: "run", attempt: 1 }, ANY, options));
  const orchestrator = (address: string, attempt = 1) =>
    closed(grpcRolloutSender({ runDir: join(dir, "orchestrator"), runId: "run", attempt }, [address], options));

  test("arrive as they were sent, and the sender forgets what has arrived", async () => {
    const receiver = await trainer();
    const waiting = receiver.receive(3, 0, { deadlineMs: 5_000, signal: never });
    const [sent] = batches(1);
    await orchestrator(receiver.address).send(3, batches(1), ["a"]);
    expect(await waiting).toMatchObject({ ...sent, envNames: ["a"] });
    expect(await readdir(join(dir, "orchestrator/spool"))).toEqual([]);
    await expect(receiver.receive(4, 0, soon)).rejects.toMatchObject({ code: "PRL_DEADLINE" });
  });

  test("that an orchestrator left when it died are sent by the next one", async () => {
    const first = await trainer();
    await first.close();
    const dying = grpcRolloutSender(
      { runDir: join(dir, "orchestrator"), runId: "run", attempt: 1 },
      [first.address],
      options,
    );
    const sending = dying.send(1, batches(1), ["a"]);
    await expect(Promise.race([sending, dying.close().then(() => sending)])).rejects.toMatchObject({
      code: "PRL_TRANSPORT_CLOSED",
    });
    await access(join(dir, "orchestrator/spool/step_1/rank_0.safetensors"));
    const receiver = await trainer();
    await orchestrator(receiver.address).send(2, batches(2), ["a"]);
    for (const step of [1, 2]) {
      const envNames = ["a"];
      expect(await receiver.receive(step, 0, soon)).toMatchObject({ ...batches(step)[0], envNames });
    }
  });

  test("that are committed with something else are sent by the next orchestrator if they were committed, and removed if not", async () => {
    const receiver = await trainer();
    const spool = join(dir, "orchestrator/spool");
    const dies = () => Promise.reject(new Error("it dies"));
    for (const step of [1, 2]) {
      const sending = orchestrator(receiver.address).send(step, batches(step), ["a"], dies);
      await expect(sending).rejects.toThrow("it dies");
    }
    expect((await readdir(spool)).toSorted()).toEqual(["step_1", "step_2"]);
    await expect(receiver.receive(1, 0, soon)).rejects.toMatchObject({ code: "PRL_DEADLINE" });
    await orchestrator(receiver.address).recover(1);
    expect(await receiver.receive(1, 0, soon)).toMatchObject({ ...batches(1)[0] });
    await expect(receiver.receive(2, 0, soon)).rejects.toMatchObject({ code: "PRL_DEADLINE" });
    expect(await readdir(spool)).toEqual([]);
  });

  test("with the key of another batch are refused where they were cut", async () => {
    const receiver = await trainer();
    const sender = orchestrator(receiver.address);
    await sender.send(1, batches(1), ["a"]);
    await sender.send(1, batches(1), ["a"]);
    await expect(sender.send(1, batches(2), ["a"])).rejects.toMatchObject({ code: "PRL_TRANSPORT_CONFLICT" });
  });
});

describe("weights over gRPC", () => {
  const canary = { tokenIds: [1, 2], logprobs: [0, Math.fround(-0.1)], isa: "portable", dtype: "bfloat16" };

  /** 16-bit weights of which `changed` of 1,000 differ from those that are all 7. */
  function save(changed: number) {
    return async (staging: string): Promise<StagedWeights> => {
      const elements = new Uint16Array(1000).fill(7).fill(8, 0, changed);
      const data = new Uint8Array(elements.buffer);
      const tensors = { w: { dtype: "BF16", shape: [1000], data } };
      const written = await writeSafetensors(join(staging, "model.safetensors"), tensors);
      await writeFile(join(staging, "config.json"), "{}");
      return { digest: versionDigest(data), shards: [{ file: "model.safetensors", ...written }] };
    };
  }

  /** By the specification of crates/weights/README.md. */
  function versionDigest(data: Uint8Array): string {
    const u64 = (value: bigint | number) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
    const text = (value: string) => Buffer.concat([u64(value.length), Buffer.from(value)]);
    const hash = u64(BigInt(`0x${digest(data)}`));
    return digest(Buffer.concat([text("w"), text("BF16"), u64(1), u64(1000), u64(data.length), hash]));
  }

  const trainer = async (keep = 2) => closed(await grpcWeightSender(join(dir, "trainer"), { keep }, ANY, options));
  const engine = async (index: number) =>
    closed(await openWeightPuller(join(dir, `engine-${index}`), { keep: 2 }, ANY, options));

  async function changedIn(folder: string): Promise<number> {
    const file = await openSafetensors(join(folder, "model.safetensors"));
    const elements = new Uint16Array(file.tensor("w").data.slice().buffer);
    file.close();
    return elements.filter((element) => element === 8).length;
  }

  test("of 16 bits travel as what changed, through an engine to the next, and are whole there", async () => {
    const sender = await trainer();
    const follower = closed(grpcWeightFollower(join(dir, "orchestrator"), sender.address, options));
    const [first, second] = [await engine(0), await engine(1)];
    for (let version = 0; version < 4; version++) {
      const waiting = follower.receive(version, { deadlineMs: 5_000, signal: never });
      const { manifest } = await sender.publish(version, save(version), canary, { full: version === 3 });
      const available = await waiting;
      expect(available).toMatchObject({ manifest, source: { grpc: [sender.address] } });
      expect(manifest.encoding).toBe(version === 0 || version === 3 ? "full" : "sparse");
      const pulls = [
        first.receive(version, manifest.digest, [sender.address]),
        second.receive(version, manifest.digest, [first.address, sender.address]),
      ];
      for (const received of await Promise.all(pulls)) {
        expect(received.manifest).toMatchObject({ version, digest: manifest.digest, encoding: "full" });
        expect(await readManifest(received.dir, { verify: true })).toEqual(received.manifest);
        expect(await changedIn(received.dir)).toBe(version);
        received.release();
      }
      await available.acknowledge();
    }
    await sender.delivered(never);
  });

  test("that were damaged at an engine are pulled again", async () => {
    const sender = await trainer(4);
    const puller = await engine(0);
    for (let version = 0; version < 2; version++) await sender.publish(version, save(version), canary);
    const { manifest } = await sender.publish(2, save(2), canary);
    await puller.fetch(2, manifest.digest, [sender.address]);
    const shard = join(
      dir,
      "engine-0/step_1",
      (await readManifest(join(dir, "engine-0/step_1"))).shards[0]?.file ?? "",
    );
    const bytes = await readFile(shard);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    await writeFile(shard, bytes);
    const received = await puller.receive(2, manifest.digest, [sender.address]);
    expect(await changedIn(received.dir)).toBe(2);
    received.release();
  });

  test("of an attempt that goes back to an earlier version stay beside those of the attempt before", async () => {
    const first = await trainer();
    const puller = await engine(0);
    for (let version = 0; version < 6; version++) {
      const { manifest } = await first.publish(version, save(version), canary, { full: true });
      (await puller.receive(version, manifest.digest, [first.address])).release();
    }
    await rm(join(dir, "trainer/weights"), { recursive: true });
    await first.close();
    const second = await trainer();
    for (let version = 1; version < 8; version++) {
      const { manifest } = await second.publish(version, save(100 + version), canary);
      await puller.fetch(version, manifest.digest, [second.address]);
      const received = await puller.receive(version, manifest.digest, [second.address]);
      expect(await changedIn(received.dir)).toBe(100 + version);
      received.release();
    }
    const folders = (await readdir(join(dir, "engine-0"))).filter((name) => name.startsWith("step_"));
    expect(folders.toSorted().slice(-2)).toEqual(["step_6", "step_7"]);
    expect(folders).not.toContain("step_0");
  });

  test("whose base is lost at the publisher come in full", async () => {
    const sender = await trainer(4);
    for (let version = 0; version < 3; version++) await sender.publish(version, save(version), canary);
    await rm(join(dir, "trainer/weights/step_1"), { recursive: true });
    const { digest: wanted } = await readManifest(join(dir, "trainer/weights/step_2"));
    const received = await (await engine(0)).receive(2, wanted, [sender.address]);
    expect(await changedIn(received.dir)).toBe(2);
    expect(await readdir(join(dir, "engine-0"))).toContain("step_2");
    received.release();
  });

  test("that cannot be read and are the newest no more end by name at once, and the newest one comes in full", async () => {
    const sender = await trainer(5);
    for (let version = 0; version < 4; version++) await sender.publish(version, save(version), canary);
    const digestOf = async (version: number) =>
      (await readManifest(join(dir, `trainer/weights/step_${version}`))).digest;
    await rm(join(dir, "trainer/weights/step_1"), { recursive: true });
    const puller = await engine(0);
    const lost = puller.receive(2, await digestOf(2), [sender.address]);
    await expect(lost).rejects.toMatchObject({ code: "PRL_WEIGHTS_SUPERSEDED" });
    const received = await puller.receive(3, await digestOf(3), [sender.address]);
    expect(await changedIn(received.dir)).toBe(3);
    received.release();
  });

  test("are waited for at the end of the run longer than the network may be silent", async () => {
    const impatient = { ...options, patienceMs: 50 };
    const sender = closed(await grpcWeightSender(join(dir, "trainer"), { keep: 2 }, ANY, impatient));
    const follower = closed(grpcWeightFollower(join(dir, "orchestrator"), sender.address, options));
    await sender.publish(0, save(0), canary);
    const available = await follower.receive(0, { deadlineMs: 5_000, signal: never });
    let isDelivered = false;
    const delivered = sender.delivered(never).then(() => (isDelivered = true));
    await delay(300);
    expect(isDelivered).toBe(false);
    await available.acknowledge();
    expect(await delivered).toBe(true);
  });

  test("that do not come in time are PRL_DEADLINE, and waiting ends with its signal", async () => {
    const sender = await trainer();
    const follower = closed(grpcWeightFollower(join(dir, "orchestrator"), sender.address, options));
    await expect(follower.receive(1, soon)).rejects.toMatchObject({ code: "PRL_DEADLINE" });
    const stop = new AbortController();
    const waiting = follower.receive(1, { deadlineMs: 60_000, signal: stop.signal });
    stop.abort(new Error("stop"));
    await expect(waiting).rejects.toThrow("stop");
    await sender.publish(0, save(0), canary);
    const unheard = sender.delivered(stop.signal);
    await expect(unheard).rejects.toThrow("stop");
  });
});
