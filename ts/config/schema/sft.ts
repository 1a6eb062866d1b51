/** Schema of `sft.toml`: supervised fine-tuning on data or on an environment's own demonstrations. */
import { z } from "zod";
import { automatic, logBlock, modelBlock, outputDir, runBlock, seed, seqLen } from "./fields.ts";
import { sftDataBlock } from "./sft-data.ts";
import { activations, dtype, optimBlock, scheduleProblem, schedulerBlock } from "./trainer.ts";

/** The keys as they are written in files. */
export const sftInputSchema = z
  .strictObject({
    run: runBlock,
    output_dir: outputDir.default("outputs"),
    clean: z.boolean().default(false).describe("Delete the run directory first when it exists"),
    seed: seed.default(0),
    max_steps: z.int().positive().describe("Steps to train"),
    seq_len: seqLen.default(2048),
    model: modelBlock,
    threads: automatic("Threads of the trainer; unset: all cores"),
    dtype,
    activations,
    data: sftDataBlock,
    optim: optimBlock,
    scheduler: schedulerBlock,
    log: logBlock,
  })
  .describe("Supervised fine-tuning");

/** The resolved config; parsing checks what no single key can. */
export const sftConfigSchema = sftInputSchema.superRefine((config, context) => {
  const schedule = scheduleProblem(config.scheduler, config.max_steps);
  if (schedule !== null) context.addIssue({ code: "custom", path: ["scheduler"], message: schedule });
});

/** A resolved SFT config: every default filled, every path absolute when it came through `loadConfig`. */
export type SftConfig = z.output<typeof sftConfigSchema>;
