import { expect, test } from "vitest";

import { deploymentNote } from "../../../../ts/launcher/checks/deployment.ts";

test.each([
  ["torch", "vllm", 2, 6, /2 for the trainer, 6 for inference.*trainer\.ranks.*inference\.replicas/u],
  ["torch", "engine", 2, null, /\(2 for the trainer\).*trainer\.ranks says how many PyTorch takes$/u],
  ["torch", "engine", null, 6, /\(6 for inference\).*the engine samples on the CPU$/u],
  ["engine", "vllm", 2, null, /the engine trains on the CPU$/u],
  ["engine", "engine", 2, 6, /the engine trains on the CPU, the engine samples on the CPU$/u],
] as const)(
  "%s and %s: GPUs that are asked for are named with what is read instead",
  (training, sampling, train, infer, note) => {
    const backends = { trainer: { backend: training }, inference: { backend: sampling } };
    expect(deploymentNote({ deployment: { num_train_gpus: train, num_infer_gpus: infer }, ...backends })).toMatch(note);
    expect(deploymentNote({ deployment: { num_train_gpus: 0, num_infer_gpus: null }, ...backends })).toBeNull();
  },
);
