/** `[monitors]`: what watches a run from outside. */
import { z } from "zod";

const LAST_PORT = 65_535;

/** Two processes answer, each on a port of its own. */
export const monitorsBlock = z
  .strictObject({
    prometheus: z
      .strictObject({
        port: z
          .int()
          .positive()
          .max(LAST_PORT - 1)
          .describe("Port of 127.0.0.1 where the orchestrator answers GET /metrics; the trainer does on the next one"),
      })
      .nullable()
      .default(null)
      .describe("Prometheus endpoints of orchestrator and trainer; absent: none. Inference servers always have theirs"),
  })
  .prefault({})
  .describe("Watching the run from outside");
