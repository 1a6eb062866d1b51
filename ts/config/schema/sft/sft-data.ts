/** `[data]` and `[val]` of `sft.toml`: the training data and the validation data. */
import { z } from "zod";
import { environmentBlock, type EnvironmentReference, type PathBase } from "../fields.ts";

/** A whole batch is in memory. */
const MOST_ROWS = 1_048_576;

const source = z
  .string()
  .min(1)
  .meta({
    description:
      "Rows of messages (and tools), or of prompt and completion: a .jsonl, .json (a list), .csv or .parquet file, or owner/name on the Hugging Face hub; unset: another key names the rows",
    relativeTo: "data" satisfies PathBase,
  })
  .nullable()
  .default(null);
const split = z.string().min(1).default("train").describe("Split of a dataset of the hub");
const subset = z
  .string()
  .min(1)
  .nullable()
  .default(null)
  .describe("Config of a dataset of the hub; unset: the dataset has only one");
const revision = z.string().min(1).default("main").describe("Branch, tag or commit of a dataset of the hub");

export const lossMaskBlock = z
  .strictObject({
    system: z.boolean().default(false).describe("Train on system messages"),
    user: z.boolean().default(false).describe("Train on user messages"),
    tool: z.boolean().default(false).describe("Train on the answers of tools"),
    assistant: z.boolean().default(true).describe("Train on assistant messages"),
  })
  .prefault({})
  .describe(
    "Roles whose messages train, with the token that closes each message; the text of the template never trains",
  );
export type LossMask = z.output<typeof lossMaskBlock>;

const mixedEnvironment = z.strictObject({
  env: environmentBlock,
  ratio: z
    .number()
    .positive()
    .default(1)
    .describe("Weight of this environment: its share is the weight over the sum of all weights"),
});

export const sftDataBlock = z
  .strictObject({
    batch_size: z.int().positive().max(MOST_ROWS).default(128).describe("Demonstrations per step"),
    env: environmentBlock.nullable().default(null),
    mix: z
      .array(mixedEnvironment)
      .min(1)
      .nullable()
      .default(null)
      .describe("Several environments; their demonstrations are mixed by their ratios; unset: none"),
    source,
    split,
    subset,
    revision,
    loss_mask: lossMaskBlock,
    micro_batch_tokens: z
      .int()
      .positive()
      .nullable()
      .default(null)
      .describe(
        "Tokens that go through the model at once, at least seq_len; the gradients of a step are summed over its parts; unset: seq_len",
      ),
  })
  .superRefine((data, context) => {
    if ([data.env, data.mix, data.source].filter((one) => one !== null).length !== 1) {
      context.addIssue({
        code: "custom",
        message:
          "give exactly one of env (an environment's), mix (several environments') and source (a file's or dataset's)",
      });
    }
  })
  .describe("Source of the demonstrations: exactly one of env, mix and source");
export type SftDataBlock = z.output<typeof sftDataBlock>;

/** The environments that give demonstrations, with their keys in the config; empty where data files give them. */
export function demonstrators({ env, mix }: Pick<SftDataBlock, "env" | "mix">): {
  key: (string | number)[];
  env: EnvironmentReference;
  ratio: number;
}[] {
  if (env !== null) return [{ key: ["data", "env"], env, ratio: 1 }];
  return (mix ?? []).map((one, index) => ({ key: ["data", "mix", index, "env"], ...one }));
}

/** The block `[val]`: exactly one of source, split and share. */
export const sftValidationBlock = z
  .strictObject({
    source,
    split: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe("Split of the dataset data.source to validate on; unset: source or share says which rows"),
    share: z
      .number()
      .gt(0)
      .lt(1)
      .nullable()
      .default(null)
      .describe(
        "Share of the rows of data.source that is held out, by the content of each row and not by the seed; unset: source or split says which rows",
      ),
    interval: z.int().positive().default(50).describe("Steps between validations; the last step is always validated"),
    eval_on_start: z.boolean().default(false).describe("Validate before the first step too"),
    limit: z.int().positive().nullable().default(null).describe("Number of first rows to validate on; unset: all"),
  })
  .superRefine((val, context) => {
    const given = [val.source, val.split, val.share].filter((one) => one !== null).length;
    if (given !== 1) context.addIssue({ code: "custom", message: "give exactly one of source, split and share" });
  })
  .nullable()
  .default(null)
  .describe("Validation: loss and perplexity of rows that do not train; absent: none");
