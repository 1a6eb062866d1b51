/** The keys that name what computes the steps, in `[trainer]` and at the top of `sft.toml`; and keys that it does not read, or cannot do. */
import { z } from "zod";

import { filePath, MOST_PROCESSES } from "../fields.ts";
import type { rolloutTransportBlock } from "../transports.ts";
import type { trainerBlock } from "./trainer.ts";

export const backendKeys = {
  backend: z
    .enum(["engine", "torch"])
    .default("engine")
    .describe(
      "What computes the steps: the embedded engine, or PyTorch, whose environment `prl python setup torch` makes",
    ),
  ranks: z
    .int()
    .positive()
    .max(MOST_PROCESSES)
    .default(1)
    .describe("torch: processes that train together, each on its own part of a batch and of the weights"),
  python: filePath(
    "torch: Python interpreter with torch, transformers and safetensors; unset: that of `prl python setup torch`",
  )
    .nullable()
    .default(null),
};

type Trainer = z.output<typeof trainerBlock>;

interface Problem {
  key: string;
  message: string;
}

/** Problems of the keys above, by key. */
export function* backendKeyProblems({
  backend,
  ranks,
  python,
}: Pick<Trainer, keyof typeof backendKeys>): Generator<Problem> {
  if (backend !== "engine") return;
  if (ranks > 1) yield { key: "ranks", message: 'the engine trains in one process: set backend = "torch"' };
  if (python !== null) yield { key: "python", message: 'is not read by backend = "engine"' };
}

/** Problems by key of `[trainer]`. */
export function* backendProblems(
  trainer: Trainer,
  rolloutTransport: z.output<typeof rolloutTransportBlock>,
): Generator<Problem> {
  yield* backendKeyProblems(trainer);
  if (trainer.backend === "engine") return;
  if (trainer.loss.type === "custom") {
    const message =
      'a custom loss is a function of JavaScript, which backend = "torch" cannot call: set backend = "engine"';
    yield { key: "loss", message };
  }
  if (trainer.ranks > 1 && rolloutTransport.type === "grpc") {
    const message = 'over gRPC there is one trainer address: use rollout_transport.type = "filesystem", or one rank';
    yield { key: "ranks", message };
  }
}
