/** Schema of `sft.toml`: supervised fine-tuning on data or on an environment's own demonstrations. */
import { z } from "zod";
import { automatic, logBlock, modelBlock, MOST_THREADS, outputDir, runBlock, seed, seqLen } from "./fields.ts";
import { isDataPath } from "../reading/layer.ts";
import { monitorsBlock } from "./monitors.ts";
import { sftDeploymentBlock } from "./deployment.ts";
import { ckptBlockOf, ckptProblem } from "./ckpt.ts";
import { inferenceBlock } from "./inference/inference.ts";
import { evalBlock } from "./orchestrator/orchestrator.ts";
import { sandboxBlock } from "./sandbox.ts";
import { sftDataBlock, sftValidationBlock } from "./sft/sft-data.ts";
import { evaluationProblems } from "./sft/sft-evaluation.ts";
import { backendKeyProblems, backendKeys } from "./trainer/backend.ts";
import { baseDtypeProblem } from "./trainer/lora.ts";
import { activations, dtype, optimBlock, optimProblems, scheduleProblem, schedulerBlock } from "./trainer/trainer.ts";

/** Supervised steps are short: a checkpoint may take longer than several of them. */
const RECOVERY_INTERVAL = 50;

/** The keys of the file. */
export const sftInputSchema = z
  .strictObject({
    run: runBlock,
    output_dir: outputDir.default("outputs"),
    clean: z.boolean().default(false).describe("Delete the run directory first if it exists"),
    seed: seed.default(0),
    max_steps: z.int().positive().describe("Number of training steps"),
    seq_len: seqLen.default(2048),
    model: modelBlock,
    ...backendKeys,
    threads: automatic("Threads of the trainer; unset: all cores", MOST_THREADS),
    dtype,
    activations,
    data: sftDataBlock,
    val: sftValidationBlock,
    eval: evalBlock.nullable().default(null),
    inference: inferenceBlock.describe("The inference servers of [eval]"),
    sandbox: sandboxBlock,
    optim: optimBlock,
    scheduler: schedulerBlock,
    log: logBlock,
    monitors: monitorsBlock,
    deployment: sftDeploymentBlock,
    ckpt: ckptBlockOf(RECOVERY_INTERVAL),
  })
  .describe("Supervised fine-tuning");

/** The resolved config; parsing also checks conditions between keys. */
export const sftConfigSchema = sftInputSchema.superRefine((config, context) => {
  const schedule = scheduleProblem(config.scheduler, config.max_steps);
  if (schedule !== null) context.addIssue({ code: "custom", path: ["scheduler"], message: schedule });
  for (const { key, message } of backendKeyProblems(config)) {
    context.addIssue({ code: "custom", path: [key], message });
  }
  const base = baseDtypeProblem(config.model, config.backend);
  if (base !== null) context.addIssue({ code: "custom", path: ["model", "base_dtype"], message: base });
  for (const { path, message } of optimProblems(config.optim, config.scheduler)) {
    context.addIssue({ code: "custom", path, message });
  }
  const { data, val } = config;
  if (!Object.values(data.loss_mask).some(Boolean)) {
    const message = "masks every message: nothing would be learnt";
    context.addIssue({ code: "custom", path: ["data", "loss_mask"], message });
  }
  const ckpt = ckptProblem(config.ckpt);
  if (ckpt !== null) context.addIssue({ code: "custom", path: ["ckpt"], message: ckpt });
  if (data.micro_batch_tokens !== null && data.micro_batch_tokens < config.seq_len) {
    const message = `${data.micro_batch_tokens} is less than seq_len ${config.seq_len}: the longest sequence has to fit`;
    context.addIssue({ code: "custom", path: ["data", "micro_batch_tokens"], message });
  }
  for (const { path, message } of evaluationProblems(config)) {
    context.addIssue({ code: "custom", path, message });
  }
  if (config.inference.model !== undefined) {
    const message = "is the model that is trained: leave it out";
    context.addIssue({ code: "custom", path: ["inference", "model"], message });
  }
  if (val === null) return;
  if (val.share !== null && data.source === null) {
    context.addIssue({ code: "custom", path: ["val", "share"], message: "needs data.source: give val.source instead" });
  }
  if (val.split !== null && (data.source === null || isDataPath(data.source))) {
    const message = "needs a dataset of the hub as data.source: give val.source or val.share instead";
    context.addIssue({ code: "custom", path: ["val", "split"], message });
  }
});

/** A resolved SFT config: every default filled, every path absolute when it came through `loadConfig`. */
export type SftConfig = z.output<typeof sftConfigSchema>;
