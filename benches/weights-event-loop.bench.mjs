// How late a timer of Node's event loop fires at most while 256 MB of bf16 weights are written, published, received, verified and opened, in
// ms: without the time in which the machine had no core for it, and with it. By turns with the same process doing nothing for as long; the
// middle of the rounds.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { openSafetensors, readManifest, WeightPublisher, WeightReceiver, writeSafetensors } from "prl-lm/weights";
import { middle, report } from "./measurement/report.mjs";
import { longestStalls } from "./measurement/stall.mjs";

const TENSORS = 8;
const ELEMENTS = 1 << 24;
const ROUNDS = 9;
const MOST_MS = 5;

const dir = mkdtempSync(join(tmpdir(), "prl-bench-"));
try {
  const data = new Uint16Array(ELEMENTS).fill(0x3c3c);
  const tensors = Object.fromEntries(
    Array.from({ length: TENSORS }, (_, layer) => [
      `layers.${layer}`,
      { dtype: "BF16", shape: [ELEMENTS], data: new Uint8Array(data.buffer) },
    ]),
  );
  const publisher = await WeightPublisher.open(join(dir, "weights"), { keep: 2 });
  const receiver = await WeightReceiver.open(join(dir, "weights"));
  const [busy, idle] = [[], []];
  for (let version = 0; version < ROUNDS; version++) {
    data[version] ^= 1;
    const began = performance.now();
    busy.push(await longestStalls(() => exchange(publisher, receiver, tensors, data, version)));
    const took = performance.now() - began;
    idle.push(await longestStalls(() => delay(took)));
  }
  await publisher.close();
  const tell = (name, kind) => {
    const rivals = { "asked for": MOST_MS, idle: middle(idle.map(kind)) };
    report({ name, unit: "ms", better: "lower", ours: middle(busy.map(kind)), rivals });
  };
  tell("weights-event-loop-stall", ({ own }) => own);
  tell("weights-event-loop-stall-with-waits-for-a-core", ({ late }) => late);
} finally {
  rmSync(dir, { recursive: true });
}

async function exchange(publisher, receiver, tensors, data, version) {
  await publisher.publish(version, async (folder) => {
    const written = await writeSafetensors(join(folder, "model.safetensors"), tensors);
    return { digest: written.versionDigest, shards: [{ file: "model.safetensors", ...written }] };
  });
  const received = await receiver.receive(version);
  await readManifest(received.dir, { verify: "once" });
  const file = await openSafetensors(join(received.dir, "model.safetensors"));
  if (file.tensor("layers.7").data[0] !== new Uint8Array(data.buffer)[0]) throw new Error("other weights");
  file.close();
  received.release();
}
