/** Keys about the routers of mixtures of experts that do not fit together. */
import type { z } from "zod";

import type { inferenceBlock } from "../inference/inference.ts";
import type { orchestratorBlock } from "../orchestrator/orchestrator.ts";
import type { Problem } from "../problem.ts";
import type { trainerBlock } from "./trainer.ts";

interface Parts {
  trainer: z.output<typeof trainerBlock>;
  inference: z.output<typeof inferenceBlock>;
  orchestrator: Pick<z.output<typeof orchestratorBlock>, "client" | "recycle">;
}

/** Names the parts that cannot record experts as the keys demand. */
export function* routerProblems({ trainer, inference, orchestrator }: Parts): Generator<Problem> {
  if (!trainer.enable_router_replay) {
    if (!inference.enable_return_routed_experts) return;
    const message = "is for router replay, which is off: set trainer.enable_router_replay = true";
    yield { path: ["inference", "enable_return_routed_experts"], message };
    return;
  }
  if (inference.backend === "vllm" && !inference.prefix_cache) {
    const message = "vLLM returns experts only where it keeps the KV cache of prompts: set prefix_cache = true";
    yield { path: ["inference", "prefix_cache"], message };
  }
  if (orchestrator.recycle !== "off") {
    const message = 'needs the experts of all sampled tokens, which recycled ones are without: set recycle = "off"';
    yield { path: ["orchestrator", "recycle"], message };
  }
}
