// The longest that Node's event loop stands still while 256 MB of bf16 weights are written, published, received and opened, in ms. Beside
// what the same loop shows when it has nothing to do: on a busy machine that is not zero either.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { openSafetensors, WeightPublisher, WeightReceiver, writeSafetensors } from "prl/weights";
import { report } from "./report.mjs";

const TENSORS = 8;
const ELEMENTS = 1 << 24;
const VERSIONS = 3;

const dir = mkdtempSync(join(tmpdir(), "prl-bench-"));
try {
  const data = new Uint16Array(ELEMENTS).fill(0x3c3c);
  const tensors = Object.fromEntries(
    Array.from({ length: TENSORS }, (_, layer) => [
      `layers.${layer}`,
      { dtype: "BF16", shape: [ELEMENTS], data: new Uint8Array(data.buffer) },
    ]),
  );
  const idle = await longestStall(() => delay(2000));
  const busy = await longestStall(() => exchange(tensors, data));
  report({
    name: "weights-event-loop-stall",
    unit: "ms",
    better: "lower",
    ours: busy,
    rivals: { "idle loop": idle },
  });
} finally {
  rmSync(dir, { recursive: true });
}

async function exchange(tensors, data) {
  const publisher = await WeightPublisher.open(join(dir, "weights"));
  const receiver = await WeightReceiver.open(join(dir, "weights"));
  for (let version = 0; version < VERSIONS; version++) {
    data[version] ^= 1;
    await publisher.publish(version, async (folder) => {
      const written = await writeSafetensors(join(folder, "model.safetensors"), tensors);
      return { digest: written.versionDigest, shards: [{ file: "model.safetensors", ...written }] };
    });
    const received = await receiver.receive(version);
    const file = await openSafetensors(join(received.dir, "model.safetensors"));
    if (file.tensor("layers.7").data[0] !== new Uint8Array(data.buffer)[0]) throw new Error("other weights");
    file.close();
    received.release();
  }
  await publisher.close();
}

/** Longest time between two turns of the loop while `work` runs. */
async function longestStall(work) {
  let longest = 0;
  let last = performance.now();
  let done = false;
  const watch = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!done) setImmediate(watch);
  };
  setImmediate(watch);
  await work();
  done = true;
  return longest;
}
