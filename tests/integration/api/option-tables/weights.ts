/** Options of `prl-lm/weights`. Refused before anything is read or written. */
import {
  encodeSafetensors,
  readManifest,
  reshardWeights,
  WeightPublisher,
  WeightReceiver,
  writeSafetensors,
} from "../../../../ts/native/weights/index.ts";
import type { OptionTable } from "./table.ts";

const W = { code: "PRL_WEIGHTS_OPTIONS" };
const NOWHERE = "no/such/folder";
const tensor = { dtype: "U8", shape: [1], data: Uint8Array.of(1) };
/** Without a root: what it is asked for is checked before it does anything. */
const publisher = Object.create(WeightPublisher.prototype) as WeightPublisher;

export const WEIGHTS: OptionTable = {
  writeSafetensors: { ...W, call: (more) => writeSafetensors(NOWHERE, {}, more), wrong: { metadata: { a: 1 } } },
  "writeSafetensors tensor": {
    ...W,
    call: (more) => writeSafetensors(NOWHERE, { a: { ...tensor, ...more } }),
    wrong: { dtype: 1, shape: "1", data: [1] },
  },
  encodeSafetensors: { ...W, call: (more) => encodeSafetensors({}, more), wrong: { metadata: "a" } },
  readManifest: { ...W, call: (more) => readManifest(NOWHERE, more), wrong: { verify: "twice" } },
  reshardWeights: {
    ...W,
    call: (more) => reshardWeights({ dir: NOWHERE, layout: "whole" }, { dir: NOWHERE, layout: "whole" }, more),
    wrong: { maxShardBytes: "5 GB" },
  },
  "WeightPublisher.open": {
    ...W,
    call: (more) => WeightPublisher.open(NOWHERE, more),
    wrong: { keep: -1, encoding: "sparse" },
  },
  "WeightPublisher.publish": {
    ...W,
    call: (more) => publisher.publish(1, () => Promise.reject(new Error("saved")), more),
    wrong: { full: "yes", canary: { tokens: [1] } },
  },
  "WeightPublisher.publishFolder": {
    ...W,
    call: (more) => publisher.publishFolder(1, NOWHERE, more),
    wrong: { full: 1, canary: 3 },
  },
  "WeightReceiver.open": { ...W, call: (more) => WeightReceiver.open(NOWHERE, more), wrong: { stateDir: 1 } },
};
