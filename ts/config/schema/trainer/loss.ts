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
      .describe("Which ratio is corrected: that of a token, the product over a sequence, or its geometric mean"),
    mode: z
      .enum(["truncate", "mask"])
      .default("truncate")
      .describe(
        "Value of a ratio outside of the bounds; truncate: the bound (TIS); mask: 0 (IcePop, masked importance sampling; with geometric: Geo-RS)",
      ),
    low: z.number().nonnegative().default(0).describe("Lower bound of the ratio"),
    high: positive("Upper bound of the ratio; unset: none"),
  })
  .nullable()
  .default(null)
  .describe("Importance correction between sampler and trainer; absent: none");

const klBlock = z
  .strictObject({
    estimator: z.enum(["k1", "k2", "k3"]).default("k3").describe("Estimate of the divergence at a sampled token"),
    coef: z.number().nonnegative().default(1e-3).describe("Factor of the KL term"),
    unbiased: z
      .boolean()
      .default(false)
      .describe("Multiply the estimate by the ratio, so that it is right off-policy too"),
  })
  .nullable()
  .default(null)
  .describe("KL penalty towards reference log-probabilities; absent: none");

export const lossBlock = z
  .strictObject({
    type: z.enum(LOSSES).default("default").describe("Name of the loss; default: prime-rl's DPPO mask with a KL term"),
    dppo_mask_low: number(
      "default: a token of negative advantage is masked when its probability fell by more than this; unset: 0.2",
    ),
    dppo_mask_high: number(
      "default: a token of positive advantage is masked when its probability rose by more than this; unset: 0.2",
    ),
    ipo_threshold: number("ipo: a token is masked when its probability moved by more than this; unset: 0.1"),
    adv_tau: number("default, ipo: weight of the advantage term; unset: 1"),
    kl_tau: number("default, ipo: weight of the squared log-ratio; unset: 0.001"),
    epsilon_low: number(
      "Clipping losses: the lower bound of the ratio is 1 minus this; unset: 0.2, gspo 0.0003, cispo 10 (no lower bound)",
    ),
    epsilon_high: number(
      "Clipping losses: the upper bound of the ratio is 1 plus this; unset: 0.2, dapo 0.28, gspo 0.0004",
    ),
    delta: number(
      "Clipping losses: upper bound of the ratio for a negative advantage; unset: two_sided 4, others none",
    ),
    dual_clip: number(
      "Clipping losses: the loss of a token of negative advantage is at most this many times the advantage (verl: 3); unset: no bound",
    ),
    bounds: z
      .enum(["offset", "absolute"])
      .nullable()
      .default(null)
      .describe(
        "cispo: offset: the bounds are 1 - epsilon_low and 1 + epsilon_high, as in verl; absolute: epsilon_high is the bound itself, as in TRL; unset: offset",
      ),
    tau_pos: positive("sapo: temperature of the gate for positive advantages; unset: 1"),
    tau_neg: positive("sapo: temperature of the gate for other advantages; unset: 1.05"),
    log_ratio_clamp: positive("Log-ratios are clamped to plus and minus this; unset: 20, gspo 10"),
    aggregation: z
      .enum(AGGREGATIONS)
      .nullable()
      .default(null)
      .describe("How the terms of the tokens become one number; unset: as the loss has it"),
    global_tokens: positive("aggregation token-mean/global: the denominator; unset: the number of tokens of the batch"),
    max_completion_length: positive(
      "aggregation sum/(B*L), which is the default of dr_grpo and needs it: the length L (tokens); unset: none",
    ),
    correction: correctionBlock,
    kl: klBlock,
    reference: z
      .string()
      .min(1)
      .meta({
        description:
          'Frozen model that kl and ref_kl pull towards; "start" or unset: the weights that the run starts from. custom: when it is set, its log-probabilities are among the inputs',
        relativeTo: "model",
      })
      .nullable()
      .default(null),
    path: filePath(
      "custom, which needs it: module and export of the function (inputs, args) => ({ loss, gradLogprobs, metrics }), as './my.ts#name'; unset: none",
    )
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
