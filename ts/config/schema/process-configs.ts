/**
 * The configs of the processes of a run, as the launcher writes them: parts of a resolved config, and what the launcher adds. Inference servers and env
 * workers have schemas that fill in defaults, because users start them with separate configs.
 */
import { z } from "zod";

import { ckptBlock } from "./ckpt.ts";
import { monitorsBlock } from "./monitors.ts";
import { resolvedTrainerBlock, resolveRl } from "./rl.ts";
import { rlInputSchema } from "./rl/rl-keys.ts";
import { sftInputSchema } from "./sft.ts";
import { rolloutTransportBlock, weightBroadcastBlock } from "./transports.ts";

const text = (description: string) => z.string().min(1).describe(description);
const runId = text("Name of the run");
const modelDir = text("The run's model, or the trainer's half of the checkpoint that it goes on from");
const baseDir = text("The run's model, which the checkpoint's tokenizer is that of");
const checkpoints = text("Folder of the checkpoints");
const startStep = z.int().nonnegative().describe("Step of the checkpoint to continue from; 0 for a new run");
/** The launcher's own names of runs follow no rule that names in a config follow. */
const run = z.strictObject({ name: text("Name of the run").nullable() }).describe("The run");

const trainerSchema = z.strictObject({
  run_id: runId,
  base_weights: z.string().describe("Digest of the weights under the model's name"),
  reference_dir: text("The model that a KL term of the loss pulls towards; null: none").nullable(),
  model_dir: modelDir,
  base_dir: baseDir,
  start_step: startStep,
  checkpoints,
  ckpt: ckptBlock,
  seed: z.int().nonnegative().describe("Seed of the run"),
  max_steps: z.int().positive().nullable().describe("Steps to train; null: until interrupted"),
  trainer: resolvedTrainerBlock,
  weight_broadcast: weightBroadcastBlock,
  rollout_transport: rolloutTransportBlock,
  monitors: monitorsBlock,
  merges_adapter: z.boolean().describe("Versions of an adapter are whole models, because the servers take no adapters"),
  colocated: z.boolean().describe("It shares its GPU with the inference servers, and takes turns with them"),
});
export type TrainerChildConfig = z.output<typeof trainerSchema>;

/** The whole resolved config, and what the launcher adds. */
const orchestratorSchema = rlInputSchema
  .extend({
    run,
    run_id: runId,
    model_dir: text("The run's model"),
    checkpoints,
    start_step: startStep,
    resume_from: text("Folder of the checkpoint to continue from; null for a new run").nullable(),
    evaluate_only: z
      .array(z.int().nonnegative())
      .nullable()
      .describe("Versions that a supervised run evaluates, without training on the rollouts; null: this is an RL run"),
  })
  .transform((config) => ({ ...config, ...resolveRl(config) }));
export type OrchestratorChildConfig = z.output<typeof orchestratorSchema>;

const sftSchema = z.strictObject({
  run_id: runId,
  model_dir: modelDir,
  base_dir: baseDir,
  start_step: startStep,
  checkpoints: checkpoints.nullable().describe("Folder of the checkpoints; null: none are written"),
  is_evaluated: z.boolean().describe("An orchestrator evaluates the versions that it publishes"),
  out_dir: text("Folder that gets the trained checkpoint"),
  config: sftInputSchema.extend({ run }),
});
export type SftChildConfig = z.output<typeof sftSchema>;

const count = z.int().positive().exactOptional();
const sandboxdSchema = z.strictObject({
  socket: text("Socket of the sandbox daemon").nullable(),
  silence_timeout_s: z
    .number()
    .nonnegative()
    .describe("How many seconds the daemon may give no answer before it is killed; 0: silence is no failure"),
  daemon: z
    .strictObject({
      images: z.record(z.string(), z.string()).describe("Root file systems by name"),
      warm: z.record(z.string(), z.int().nonnegative()).exactOptional().describe("Interpreters started in advance"),
      maxRunning: count.describe("Programs that run at once"),
      maxHeld: count.describe("Sandboxes that are held at once"),
      metricsAddress: z.string().min(1).exactOptional().describe("Where it answers GET /metrics"),
    })
    .describe("Settings of the sandbox daemon"),
});
export type SandboxdChildConfig = z.output<typeof sandboxdSchema>;

/** The configs that have to hold every key, by component. */
export interface ChildConfigs {
  trainer: TrainerChildConfig;
  orchestrator: OrchestratorChildConfig;
  sft: SftChildConfig;
  sandboxd: SandboxdChildConfig;
}

export const childSchemas: { readonly [Component in keyof ChildConfigs]: z.ZodType<ChildConfigs[Component]> } = {
  trainer: trainerSchema,
  orchestrator: orchestratorSchema,
  sft: sftSchema,
  sandboxd: sandboxdSchema,
};
