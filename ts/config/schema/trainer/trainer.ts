/** `[trainer]`: the process that turns batches into weights. Its optimizer and scheduler blocks serve the SFT stage too. */
import { z } from "zod";
import { automatic, modelBlock, MOST_THREADS, outputDir, seed, seqLen } from "../fields.ts";
import { backendKeys } from "./backend.ts";
import { lossBlock } from "./loss.ts";

const LARGEST_RATE = 10;

export const optimBlock = z
  .strictObject({
    type: z
      .enum(["adamw", "sgd", "muon"])
      .default("adamw")
      .describe(
        "Optimizer; muon: orthogonal updates for the matrices inside the layers, adamw for all other parameters",
      ),
    lr: z
      .number()
      .nonnegative()
      .max(LARGEST_RATE, "a learning rate above 10 only destroys the weights")
      .default(1e-6)
      .describe("Peak learning rate"),
    betas: z
      .tuple([z.number().min(0).lt(1), z.number().min(0).lt(1)])
      .default([0.9, 0.999])
      .describe("Decay rates of the first and of the second moment"),
    eps: z.number().positive().default(1e-8).describe("Number that is added to the root of the second moment"),
    weight_decay: z
      .number()
      .nonnegative()
      .default(0.01)
      .describe("Decoupled weight decay; each step multiplies it by the learning rate"),
    max_norm: z
      .number()
      .positive()
      .nullable()
      .default(1)
      .describe('Largest global gradient norm; a gradient above it is scaled down; "None": no clipping'),
    decay_1d: z.boolean().default(true).describe("Apply weight decay to norms and biases too"),
    momentum: z
      .number()
      .min(0)
      .lt(1)
      .nullable()
      .default(null)
      .describe("sgd, muon: momentum of the buffer; unset: 0 for sgd, 0.95 for muon"),
    nesterov: z.boolean().default(false).describe("sgd: use Nesterov's momentum"),
    state_dtype: z
      .enum(["float32", "bfloat16"])
      .default("float32")
      .describe(
        "Format of the moments between steps; bfloat16: half the memory and half the file, rounded stochastically, so that they are right on average",
      ),
  })
  .prefault({})
  .describe("Optimizer");

export const schedulerBlock = z
  .strictObject({
    type: z
      .enum(["constant", "linear", "cosine", "wsd"])
      .default("constant")
      .describe("Shape of the learning rate after the warm-up; wsd: constant, then linear over decay_steps"),
    warmup_steps: z.int().nonnegative().default(0).describe("Steps over which the learning rate rises linearly from 0"),
    decay_steps: z
      .int()
      .positive()
      .nullable()
      .default(null)
      .describe(
        "Number of last steps over which the rate falls to min_lr; wsd needs it; unset: all steps after the warm-up",
      ),
    min_lr: z.number().nonnegative().default(0).describe("Learning rate at the end"),
  })
  .prefault({})
  .describe("Learning-rate schedule");
export type OptimBlock = z.infer<typeof optimBlock>;

/** Problems between keys of optimizer and scheduler, by key of either block. */
export function optimProblems(
  { type, momentum, nesterov, lr }: OptimBlock,
  scheduler: SchedulerConfig,
): { path: string[]; message: string }[] {
  const found: { path: string[]; message: string }[] = [];
  const unread = (key: string) =>
    found.push({ path: ["optim", key], message: `is not read by the optimizer "${type}"` });
  if (momentum !== null && type === "adamw") unread("momentum");
  if (nesterov && type !== "sgd") unread("nesterov");
  if (nesterov && type === "sgd" && (momentum ?? 0) === 0) {
    found.push({ path: ["optim", "nesterov"], message: "looks ahead along a momentum: set momentum above 0" });
  }
  if (scheduler.min_lr > lr) {
    const message = `${scheduler.min_lr} is more than the peak learning rate ${lr}`;
    found.push({ path: ["scheduler", "min_lr"], message });
  }
  return found;
}

/** The block as options of `openTrainer`; the optimizer has defaults for unset keys. */
export function optimOptions({ momentum, ...block }: OptimBlock) {
  return { ...block, ...(momentum !== null && { momentum }) };
}

export type SchedulerConfig = z.infer<typeof schedulerBlock>;

export const dtype = z.literal("float32").default("float32").describe("Number format of the computation");
export const activations = z
  .enum(["auto", "keep", "recompute"])
  .default("auto")
  .describe("Keep activations for the backward pass or compute them again; the results have the same bits");

const fakeData = z
  .strictObject({
    batch_size: z.int().positive().default(8).describe("Sequences per step"),
    micro_batch_size: z.int().positive().default(1).describe("Sequences that go through the model at once"),
    seq_len: automatic("Tokens of each sequence, half of them prompt; unset: seq_len of the config"),
  })
  .nullable()
  .default(null)
  .describe("Random batches in place of a run's, for a standalone prl trainer and for --bench; absent: none");
export type FakeData = NonNullable<z.output<typeof fakeData>>;

export const trainerBlock = z
  .strictObject({
    ...backendKeys,
    threads: automatic("Threads of the trainer; unset: the launcher splits the cores", MOST_THREADS),
    dtype,
    activations,
    offload: z
      .enum(["all", "cache"])
      .default("all")
      .describe(
        'torch with deployment.type = "colocated": what leaves the GPU between two steps; all: weights and optimizer go to the machine\'s memory; cache: they stay, and only memory that holds nothing is given back',
      ),
    enable_router_replay: z
      .boolean()
      .default(false)
      .describe(
        "Mixtures of experts: tokens go to the experts that they went to when they were sampled, which the servers then return; the router's own numbers weigh them",
      ),
    router_aux_loss_coef: z
      .number()
      .nonnegative()
      .default(0)
      .describe(
        "Mixtures of experts: factor of a loss that balances the experts, by transformers' formula over each bin; 0: none",
      ),
    freeze_moe_router: z
      .boolean()
      .default(false)
      .describe("Mixtures of experts: the routers' weights stay as they are"),
    loss: lossBlock,
    optim: optimBlock,
    scheduler: schedulerBlock,
    data: z.strictObject({ fake: fakeData }).prefault({}).describe("Made-up training data"),
    model: modelBlock.optional(),
    seq_len: seqLen.optional(),
    max_steps: z.int().positive().nullable().optional().describe("Number of training steps"),
    max_async_level: z.int().nonnegative().optional().describe("Number of steps that sampling may lag behind training"),
    seed: seed.optional(),
    output_dir: outputDir.optional(),
  })
  .prefault({})
  .describe("The trainer process");

/** A problem of the schedule for this many steps, or null. */
export function scheduleProblem(scheduler: SchedulerConfig, maxSteps: number | null): string | null {
  if (scheduler.type === "constant") {
    if (scheduler.decay_steps !== null) return 'decay_steps needs type = "linear", "cosine" or "wsd"';
    if (scheduler.min_lr > 0) return 'min_lr needs type = "linear", "cosine" or "wsd"';
    return null;
  }
  if (scheduler.type === "wsd" && scheduler.decay_steps === null) return "wsd needs decay_steps: how long it falls";
  if (maxSteps === null) return `${scheduler.type} needs max_steps: it must know where the run ends`;
  const used = scheduler.warmup_steps + (scheduler.decay_steps ?? 0);
  if (used > maxSteps) return `warmup_steps + decay_steps is ${used}, more than max_steps ${maxSteps}`;
  return null;
}
