/** `[monitors]`: how a run can be watched from outside. */
import { z } from "zod";
import { folderPath } from "./fields.ts";

const LAST_PORT = 65_535;

/** Four processes answer, each on another port. */
export const monitorsBlock = z
  .strictObject({
    prometheus: z
      .strictObject({
        port: z
          .int()
          .positive()
          .max(LAST_PORT - 3)
          .describe(
            "Port of 127.0.0.1 where the orchestrator (of prl sft without [eval]: the trainer) answers GET /metrics; the trainer does on the next one, the launcher on the one after it, the run's own sandbox daemon on the one after that",
          ),
      })
      .nullable()
      .default(null)
      .describe(
        "Prometheus endpoints of orchestrator, trainer, launcher and sandbox daemon; absent: none. Inference servers and env workers always have theirs",
      ),
    tensorboard: z
      .strictObject({
        path: folderPath(
          "Folder for the event files of all runs, each in one of its name; unset: tensorboard/ of the run directory",
        )
          .nullable()
          .default(null),
      })
      .nullable()
      .default(null)
      .describe("Event files of TensorBoard, one folder per process; an empty table is enough; absent: none"),
  })
  .prefault({})
  .describe("Watching the run from outside");
export type MonitorsBlock = z.output<typeof monitorsBlock>;
