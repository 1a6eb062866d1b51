/** Keys of `[trainer]` that its backend does not read, or cannot do. */
import type { z } from "zod";

import type { rolloutTransportBlock } from "../transports.ts";
import type { trainerBlock } from "./trainer.ts";

type Trainer = z.output<typeof trainerBlock>;

interface Surroundings {
  model: object;
  rollout_transport: z.output<typeof rolloutTransportBlock>;
}

/** Problems by key of `[trainer]`. */
export function* backendProblems(
  trainer: Trainer,
  { model, rollout_transport: rolloutTransport }: Surroundings,
): Generator<{ key: string; message: string }> {
  if (trainer.backend === "engine") {
    if (trainer.ranks > 1) yield { key: "ranks", message: 'the engine trains in one process: set backend = "torch"' };
    if (trainer.python !== null) yield { key: "python", message: 'is not read by backend = "engine"' };
    return;
  }
  if (trainer.loss.type === "custom") {
    const message =
      'a custom loss is a function of JavaScript, which backend = "torch" cannot call: set backend = "engine"';
    yield { key: "loss", message };
  }
  if ("lora" in model && model.lora !== null) {
    const message = 'backend = "torch" trains no adapters yet (model.lora): set backend = "engine"';
    yield { key: "backend", message };
  }
  if (trainer.data.fake !== null) {
    yield { key: "data", message: 'backend = "torch" reads batches from files: made-up data need backend = "engine"' };
  }
  if (trainer.ranks > 1 && rolloutTransport.type === "grpc") {
    const message = 'over gRPC there is one trainer address: use rollout_transport.type = "filesystem", or one rank';
    yield { key: "ranks", message };
  }
}
