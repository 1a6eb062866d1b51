import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import {
  openSafetensors,
  openTrainer,
  WeightPublisher,
  WeightReceiver,
  writeSafetensors,
  type Tensor,
  type Trainer,
} from "../../../ts/native/index.ts";
import { publishVersion, scratch } from "../inference/tiny-model.ts";

const STEPS = 20;
const LENGTH = 32;

let folder: Awaited<ReturnType<typeof scratch>>;
beforeAll(async () => {
  folder = await scratch();
});
afterAll(() => folder.remove());

/** The f32 masters rounded to bf16, to nearest and ties to even. */
async function rounded(trainer: Trainer): Promise<Record<string, Tensor>> {
  const tensors: Record<string, Tensor> = {};
  for (const name of trainer.parameterNames()) {
    const values = await trainer.parameter(name);
    const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
    const words = Uint16Array.from(bits, (word) => (word + 0x7fff + ((word >>> 16) & 1)) >>> 16);
    tensors[name] = { dtype: "BF16", shape: [words.length], data: new Uint8Array(words.buffer) };
  }
  return tensors;
}

async function train(trainer: Trainer, step: number, lr: number): Promise<void> {
  const inputIds = Uint32Array.from({ length: LENGTH }, (_, t) => (t * 31 + step * 17 + ((t * step) % 7)) % 256);
  await trainer.forwardBackward({
    inputIds,
    inferenceLogprobs: new Float32Array(LENGTH),
    advantages: new Float32Array(LENGTH),
    temperatures: new Float32Array(LENGTH).fill(1),
    lossMask: new Uint8Array(LENGTH),
    cuSeqlens: Uint32Array.of(0, LENGTH),
    ceWeights: Float32Array.from({ length: LENGTH }, (_, t) => Number(t > 0)),
  });
  await trainer.step({ lr });
}

async function expectExactly(dir: string, tensors: Record<string, Tensor>): Promise<void> {
  const file = await openSafetensors(join(dir, "model.safetensors"));
  expect(file.names.toSorted()).toEqual(Object.keys(tensors).toSorted());
  for (const [name, { data }] of Object.entries(tensors)) expect(Buffer.compare(file.tensor(name).data, data)).toBe(0);
  file.close();
}

test.each([1e-6, 1e-5, 1e-4])(
  "bf16 versions of a training run at %d travel sparse and arrive bit for bit",
  async (lr) => {
    const { dir } = await publishVersion(folder.dir, Math.round(-Math.log10(lr)));
    const trainer = await openTrainer(dir, { threads: 1, optim: { type: "adamw", lr } });
    const root = join(folder.dir, `weights-${lr}`);
    const publisher = await WeightPublisher.open(root, { keep: 2 });
    const receiver = await WeightReceiver.open(root);
    let newest: Record<string, Tensor> = {};
    for (let version = 0; version <= STEPS; version++) {
      if (version > 0) await train(trainer, version, lr);
      newest = await rounded(trainer);
      const { manifest } = await publisher.publish(version, async (staged) => {
        const written = await writeSafetensors(join(staged, "model.safetensors"), newest);
        return { digest: written.versionDigest, shards: [{ file: "model.safetensors", ...written }] };
      });
      expect(manifest.encoding).toBe(version === 0 ? "full" : "sparse");
      // Every third version only: the others are made up for from the chain.
      if (version % 3 !== 0) continue;
      const received = await receiver.receive(version);
      await expectExactly(received.dir, newest);
      received.release();
    }
    const late = await WeightReceiver.open(root, { stateDir: join(root, ".late") });
    await expectExactly((await late.receive(STEPS)).dir, newest);
    await publisher.close();
    await trainer.close();
  },
);
