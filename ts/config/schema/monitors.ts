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
            "Port of 127.0.0.1 where the orchestrator (for prl sft without [eval]: the trainer) answers GET /metrics; the next three ports are those of the trainer, the launcher and the run's sandbox daemon",
          ),
      })
      .nullable()
      .default(null)
      .describe(
        "Prometheus endpoints of orchestrator, trainer, launcher and sandbox daemon; absent: only inference servers and env workers have one",
      ),
    tensorboard: z
      .strictObject({
        path: folderPath(
          "Folder for the event files of all runs, with a folder for each run; unset: tensorboard/ of the run directory",
        )
          .nullable()
          .default(null),
      })
      .nullable()
      .default(null)
      .describe("Event files of TensorBoard, with a folder for each process; an empty table is enough; absent: none"),
  })
  .prefault({})
  .describe("Ways to watch the run from outside");
export type MonitorsBlock = z.output<typeof monitorsBlock>;
