/**
 * `[deployment]`: the hardware for the parts of a run, and how often parts are started again. How many GPUs a part takes follows from its
 * backend: `trainer.ranks`, and the sizes of `[inference.vllm]`.
 */
import { z } from "zod";

import { seconds } from "./fields.ts";

/** Below it a heartbeat that is late would be a failure. */
const LEAST_SILENCE_S = 3;

/** Loading a model again and training the steps since a checkpoint fit into it. */
const LONGEST_TURN_S = 3600;

/** The losses of processes that the launcher makes good before it gives up. */
const restartKeys = {
  max_restarts: z
    .int()
    .nonnegative()
    .default(5)
    .describe(
      "How often a trainer or an orchestrator that was killed or is silent is started again within restart_window_s, each; 0: its loss ends the run",
    ),
  restart_window_s: z
    .number()
    .positive()
    .default(3600)
    .describe("After how many seconds a restart no longer counts for max_restarts"),
  silence_timeout_s: z
    .number()
    .refine((value) => value === 0 || value >= LEAST_SILENCE_S, `must be 0 or at least ${LEAST_SILENCE_S}`)
    .default(30)
    .describe(
      `How many seconds a process that was ready may go without a heartbeat of its main loop before it counts as hanging: it is killed, and handled like one that died. At least ${LEAST_SILENCE_S} seconds, because heartbeats come each second; 0: silence is no failure`,
    ),
};

/** The block of a supervised run, which has the machine to itself. */
export const sftDeploymentBlock = z.strictObject(restartKeys).prefault({}).describe("Restarts of the run's process");

export const deploymentBlock = z
  .strictObject({
    type: z
      .enum(["single_node", "colocated"])
      .default("single_node")
      .describe(
        "Where the run works; single_node: on one machine; colocated: trainer and inference servers take turns on one GPU of it, the servers sleep while the trainer steps",
      ),
    sleep_level: z
      .int()
      .min(1)
      .max(2)
      .default(1)
      .describe(
        "colocated: what a vLLM does with its weights while it sleeps; 1: keeps them in the machine's memory, 2: drops them and reads the next version anew; the embedded engine has 1",
      ),
    turn_timeout_s: seconds()
      .default(LONGEST_TURN_S)
      .describe(
        "colocated: longest time that the servers sleep for a step of the trainer (seconds), its restarts included; then the run ends",
      ),
    gpu_memory_bytes: z
      .int()
      .positive()
      .nullable()
      .default(null)
      .describe("colocated: memory of the GPU that is shared (bytes); unset: what nvidia-smi says"),
    num_cores: z
      .int()
      .positive()
      .nullable()
      .default(null)
      .describe(
        "Number of cores for this run alone among the runs that set it; unset: all cores that the process may use, shared with other runs",
      ),
    ...restartKeys,
    gpus_per_node: z.int().positive().default(8).describe("Number of GPUs of the machine"),
  })
  .prefault({})
  .describe("GPUs of trainer and inference servers, cores of the run, and restarts");
export type DeploymentBlock = z.output<typeof deploymentBlock>;
