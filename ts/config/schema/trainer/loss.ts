/**
 * `[trainer.loss]`: the policy loss and its parameters.
 *
 * An unset key has the loss's own default, which `crates/engine/src/loss/objective.rs` lists beside each formula; a key that the
 * chosen loss does not read is an error, because a run that ignored it would not be the requested run.
 */
import { z } from "zod";
import { filePath, userDeadline } from "../fields.ts";

const number = (text: string) => z.number().nonnegative().nullable().default(null).describe(text);
const positive = (text: string) => z.number().positive().nullable().default(null).describe(text);

const CLIP_LOSSES = ["grpo", "ppo", "two_sided", "dapo", "dr_grpo", "gspo"] as const;
const LOSSES = ["default", "ipo", ...CLIP_LOSSES, "cispo", "sapo", "ref_kl", "ce", "kl", "custom"] as const;
type LossName = (typeof LOSSES)[number];

const AGGREGATIONS = [
  "token-mean",
  "token-mean/global",
  "sequence-mean-token-mean/all",
  "sequence-mean-token-mean/nonempty",
  "sum/(B*L)",
  "sum",
] as const;

const correctionBlock = z
  .strictObject({
    level: z
      .enum(["token", "sequence", "geometric"])
      .default("token")
      .describe("Ratio of a token, the product over a sequence, or its geometric mean"),
    mode: z
      .enum(["truncate", "mask"])
      .default("truncate")
      .describe(
        "Ratios out of bounds: cut to the bound (TIS), or left out (IcePop, masked importance sampling); geometric: a gate (Geo-RS)",
      ),
    low: z.number().nonnegative().default(0).describe("Lowest ratio"),
    high: positive("Highest ratio; unset: none"),
  })
  .nullable()
  .default(null)
  .describe("Importance correction between sampler and trainer; absent: none");

const klBlock = z
  .strictObject({
    estimator: z.enum(["k1", "k2", "k3"]).default("k3").describe("Estimate of the divergence at a sampled token"),
    coef: z.number().nonnegative().default(1e-3).describe("Factor of the KL term"),
    unbiased: z.boolean().default(false).describe("Weigh the estimate by the ratio"),
  })
  .nullable()
  .default(null)
  .describe("KL penalty towards reference log-probabilities; absent: none");

export const lossBlock = z
  .strictObject({
    type: z.enum(LOSSES).default("default").describe("Loss: default is prime-rl's DPPO mask with a KL term"),
    dppo_mask_low: number("default: tokens of negative advantage whose probability fell by more are masked (0.2)"),
    dppo_mask_high: number("default: tokens of positive advantage whose probability rose by more are masked (0.2)"),
    ipo_threshold: number("ipo: tokens whose probability moved by more than this are masked (0.1)"),
    adv_tau: number("default, ipo: weight of the advantage term (1)"),
    kl_tau: number("default, ipo: weight of the squared log-ratio (0.001)"),
    epsilon_low: number("Clipping losses: the ratio counts from 1 - this (0.2; gspo 0.0003, cispo 10: no lower bound)"),
    epsilon_high: number("Clipping losses: the ratio counts up to 1 + this (0.2; dapo 0.28, gspo 0.0004)"),
    delta: number("Clipping losses: most of the ratio for a negative advantage too (two_sided: 4; others: none)"),
    dual_clip: number("Clipping losses: a negative advantage costs at most this times itself; verl has 3"),
    bounds: z
      .enum(["offset", "absolute"])
      .nullable()
      .default(null)
      .describe("cispo: epsilon_high is an offset from 1 (the default, as verl) or the bound itself (as TRL)"),
    tau_pos: positive("sapo: temperature of the gate for positive advantages (1)"),
    tau_neg: positive("sapo: temperature of the gate for other advantages (1.05)"),
    log_ratio_clamp: positive("Log ratios are limited to plus and minus this (20; gspo 10)"),
    aggregation: z
      .enum(AGGREGATIONS)
      .nullable()
      .default(null)
      .describe("How the terms of tokens become one number; unset: the loss's own"),
    global_tokens: positive("aggregation token-mean/global: the denominator; unset: the tokens of the batch"),
    max_completion_length: positive("aggregation sum/(B*L), dr_grpo: L"),
    correction: correctionBlock,
    kl: klBlock,
    reference: z
      .string()
      .min(1)
      .meta({
        description:
          'Model that kl and ref_kl pull towards, frozen; "start" or unset: the weights that the run starts from. custom: its log-probabilities are among the inputs when this is set',
        relativeTo: "model",
      })
      .nullable()
      .default(null),
    path: filePath("custom: module with (inputs, args) => ({ loss, gradLogprobs, metrics }), './my.ts#name'")
      .nullable()
      .default(null),
    args: z.record(z.string(), z.unknown()).default({}).describe("custom: second argument of the function"),
    deadline_s: userDeadline("micro-batch", "PRL_LOSS_DEADLINE"),
  })
  .prefault({})
  .describe("Policy loss");
export type LossBlock = z.output<typeof lossBlock>;

const SHARED = [
  "log_ratio_clamp",
  "aggregation",
  "global_tokens",
  "max_completion_length",
  "correction",
  "kl",
  "reference",
];
const CLIP = ["epsilon_low", "epsilon_high", "delta", "dual_clip", ...SHARED];
const READS: Record<LossName, readonly string[]> = {
  default: ["dppo_mask_low", "dppo_mask_high", "adv_tau", "kl_tau", ...SHARED],
  ipo: ["ipo_threshold", "adv_tau", "kl_tau", ...SHARED],
  grpo: CLIP,
  ppo: CLIP,
  two_sided: CLIP,
  dapo: CLIP,
  dr_grpo: CLIP,
  gspo: CLIP,
  cispo: ["epsilon_low", "epsilon_high", "bounds", ...SHARED],
  sapo: ["tau_pos", "tau_neg", ...SHARED],
  kl: SHARED,
  ref_kl: ["log_ratio_clamp", "reference"],
  ce: [],
  custom: ["path", "args", "deadline_s", "reference"],
};

/** The value that means: the run's start is the reference. */
export const START_REFERENCE = "start";

/** The reference model of the loss: a model's name, `START_REFERENCE`, or null for none. */
export function referenceOf({ type, kl, reference }: LossBlock): string | null {
  const isRead = kl !== null || type === "kl" || type === "ref_kl";
  return reference ?? (isRead ? START_REFERENCE : null);
}

/** The loss's name and the parameters that are set, as `openTrainer` takes them. */
export function lossOptions(block: LossBlock): { type: string } & Record<string, unknown> {
  const { reference: _reference, path: _path, args: _args, deadline_s: _deadline, ...own } = block;
  const set = Object.entries(own).filter(([, value]) => value !== null);
  return { type: block.type, ...Object.fromEntries(set) };
}

/** Problems between keys of the block, by key. */
export function lossProblems(block: LossBlock): { key: string; message: string }[] {
  const { type, ...params } = block;
  const found = Object.entries(params)
    .filter(([key, value]) => isSet(value) && !READS[type].includes(key))
    .map(([key]) => ({ key, message: `is not read by the loss "${type}"` }));
  if ((block.aggregation ?? (type === "dr_grpo" ? "sum/(B*L)" : null)) === "sum/(B*L)") {
    if (block.max_completion_length === null) {
      found.push({ key: "max_completion_length", message: 'is needed by aggregation "sum/(B*L)"' });
    }
  }
  const { correction } = block;
  if (correction !== null && correction.high !== null && correction.low > correction.high) {
    const message = `low ${correction.low} is above high ${correction.high}: no ratio lies between them`;
    found.push({ key: "correction", message });
  }
  if (type === "custom" && block.path === null) found.push({ key: "path", message: "is needed by a custom loss" });
  if (block.reference !== null && block.kl === null && !["kl", "ref_kl", "custom"].includes(type)) {
    found.push({ key: "reference", message: `is read by no term of this loss: add kl, or take "kl" or "ref_kl"` });
  }
  return found;
}

function isSet(value: unknown): boolean {
  return value !== null && !(typeof value === "object" && Object.keys(value).length === 0);
}
