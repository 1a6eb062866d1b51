/** `[orchestrator.client]`: the inference servers of a run, and how long it waits for them. */
import { z } from "zod";

import { seconds } from "../fields.ts";

const baseUrl = z.url({ protocol: /^https?$/, message: "must be an address as http://host:8000" });

export const engineClientBlock = z
  .strictObject({
    base_url: z
      .array(baseUrl)
      .default([])
      .describe(
        "Inference servers that run already, by their addresses; they stay up after the run. One that answers is enough to begin, the others join when they do. Empty: the run starts its own, as [inference] says",
      ),
    api: z
      .enum(["prl", "vllm"])
      .default("prl")
      .describe(
        "What the servers of base_url are. vllm: `vllm serve` with VLLM_SERVER_DEV_MODE=1, --enable-scale-out and --logprobs-mode processed_logprobs, which loads weights from a folder that it sees; one before 0.32 lets its requests end before a swap",
      ),
    swap_timeout_s: seconds()
      .default(300)
      .describe(
        "A server that takes longer for new weights than this, while others have them, is left out until it has them (seconds)",
      ),
    patience_s: seconds().default(300).describe("No server in service for so long ends the run (seconds)"),
  })
  .prefault({})
  .describe("The inference servers, as the orchestrator sees them");
