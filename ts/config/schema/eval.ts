/** Schema of `eval.toml`: evaluations of models behind endpoints. */
import { z } from "zod";
import { samplingOfAll, samplingOfOne, samplingOver } from "./sampling.ts";
import { sandboxBlock } from "./sandbox.ts";
import {
  defaultSourceName,
  environmentBlock,
  filePath,
  numExamples,
  outputDir,
  runBlock,
  seconds,
  seed,
  sourceName,
} from "./fields.ts";

const model = z
  .string()
  .min(1)
  .nullable()
  .default(null)
  .describe(
    "Name of the model at the endpoint, or an id of the endpoints file; unset: each evaluation names its model",
  );
const baseUrl = z
  .url({ protocol: /^https?$/ })
  .nullable()
  .default(null)
  .describe(
    "Base address of the endpoint with its version, such as http://127.0.0.1:8000/v1; unset: that of the endpoints file",
  );
const api = z
  .enum(["openai", "chat", "anthropic"])
  .nullable()
  .default(null)
  .describe(
    "Dialect; openai: messages go to chat completions, plain texts to text completions; chat: all go to chat completions; anthropic: Messages API; unset: openai",
  );
const apiKeyVar = z
  .string()
  .min(1)
  .nullable()
  .default(null)
  .describe("Environment variable that holds the key; unset: no key is sent");
const price = z
  .strictObject({
    input: z.number().nonnegative().describe("Price of a million tokens of prompts"),
    output: z.number().nonnegative().describe("Price of a million sampled tokens"),
  })
  .nullable()
  .default(null);
const headers = z.record(z.string(), z.string());
const MOST_CONCURRENT = 65_536;
const rollouts = z.int().positive();
const split = z.enum(["train", "eval"]);

/** Schema of an endpoints file. */
export const endpointsFileSchema = z
  .strictObject({
    endpoint: z
      .array(
        z.strictObject({
          id: z.string().min(1).describe("Name of the model in configs"),
          model: z.string().min(1).describe("Name of the model at the endpoint"),
          url: z
            .url({ protocol: /^https?$/ })
            .describe("Base address with its version, such as http://127.0.0.1:8000/v1"),
          api: z.enum(["openai", "chat", "anthropic"]).default("openai").describe("Dialect, as api of a config"),
          api_key_var: z
            .string()
            .min(1)
            .nullable()
            .default(null)
            .describe("Environment variable that holds the key; unset: no key is sent"),
          headers: headers.default({}).describe("Further headers of every request"),
          stream: z
            .boolean()
            .default(false)
            .describe("Receive answers in pieces, so that a silent endpoint is noticed"),
        }),
      )
      .describe("Endpoints; several with the same id take turns"),
  })
  .describe("Endpoints by the names of their models");

const maxTokens = z
  .int()
  .positive()
  .nullable()
  .default(null)
  .describe("Most tokens of one reply; unset: the limit of the endpoint");
const extra = z
  .record(z.string(), z.unknown())
  .default({})
  .describe(
    'Further fields of every request, in the words of the endpoint; "None" removes one that prl sends, such as seed',
  );

const evaluation = z.strictObject({
  name: sourceName,
  env: environmentBlock,
  model: model.describe("Model of this evaluation; unset: the one at the top"),
  base_url: baseUrl.describe("Endpoint of this evaluation; unset: the one at the top"),
  api: api.describe("Dialect of this evaluation; unset: the one at the top"),
  api_key_var: apiKeyVar.describe("Variable with the key of this evaluation; unset: the one at the top"),
  num_examples: numExamples.nullable().default(null).describe("Tasks to run; -1: all; unset: the number at the top"),
  rollouts: rollouts.nullable().default(null).describe("Rollouts per task; unset: the number at the top"),
  split: split.nullable().default(null).describe("Split that the tasks come from; unset: the one at the top"),
  price: price.describe("Price of the tokens of this evaluation's model; unset: the one at the top"),
  sampling: z
    .strictObject({
      ...samplingOfOne,
      max_completion_tokens: maxTokens,
      extra,
    })
    .prefault({})
    .describe("Sampling of this evaluation; keys that are unset come from the top"),
});

/** The keys of the file. */
export const evalInputSchema = z
  .strictObject({
    run: runBlock,
    output_dir: outputDir.default("outputs"),
    clean: z.boolean().default(false).describe("Delete the run directory first if it exists"),
    seed: seed.default(0),
    model,
    base_url: baseUrl,
    api,
    api_key_var: apiKeyVar,
    headers: headers.default({}).describe("Further headers of every request"),
    endpoints: filePath(
      "File with [[endpoint]] tables, whose keys are id, model, url, api, api_key_var, headers and stream; unset: base_url names the endpoint",
    )
      .nullable()
      .default(null),
    num_examples: numExamples.default(-1).describe("Tasks per evaluation; -1: all"),
    rollouts: rollouts.default(1).describe("Rollouts per task"),
    split: split.default("eval").describe("Split that the tasks come from"),
    max_concurrent: z.int().positive().max(MOST_CONCURRENT).default(32).describe("Most rollouts that run at once"),
    timeout_s: seconds().default(600).describe("Longest one rollout may take (seconds)"),
    max_retries: z.int().nonnegative().default(5).describe("How many times one request is sent again"),
    pass_threshold: z.number().default(0.5).describe("Least reward of a rollout that counts as passed"),
    sampling: z
      .strictObject({
        ...samplingOfAll,
        max_completion_tokens: maxTokens,
        extra,
      })
      .prefault({})
      .describe("Sampling of every evaluation"),
    price: price.describe("Price of tokens, in any currency; set: the results have the cost"),
    sandbox: sandboxBlock,
    eval: z.array(evaluation).min(1, "there is nothing to evaluate").describe("Evaluations, one after the other"),
  })
  .describe("Evaluations of models behind endpoints");

/** Fills each evaluation from the top and checks that it can be run. */
export const evalConfigSchema = evalInputSchema
  .transform((config) => ({
    ...config,
    eval: config.eval.map((one) => ({
      ...one,
      name: one.name ?? defaultSourceName(one.env),
      model: one.model ?? config.model ?? "",
      base_url: one.base_url ?? config.base_url,
      api: one.api ?? config.api,
      api_key_var: one.api_key_var ?? config.api_key_var,
      num_examples: one.num_examples ?? config.num_examples,
      rollouts: one.rollouts ?? config.rollouts,
      split: one.split ?? config.split,
      price: one.price ?? config.price,
      sampling: {
        ...samplingOver(one.sampling, config.sampling),
        extra: { ...config.sampling.extra, ...one.sampling.extra },
      },
    })),
  }))
  .superRefine((config, context) => {
    const issue = (index: number, key: string, message: string): void =>
      context.addIssue({ code: "custom", path: ["eval", index, key], message });
    config.eval.forEach((one, index) => {
      if (one.model === "") issue(index, "model", "no model: give -m <model>, or model here or at the top");
      if (one.base_url === null && config.endpoints === null)
        issue(index, "base_url", "no endpoint: give -b <base url>, or an endpoints file that knows the model");
      if (config.eval.findIndex((other) => other.name === one.name) !== index)
        issue(index, "name", `two evaluations are named "${one.name}": give each another name`);
    });
  });

/** A resolved eval config: every evaluation complete. */
export type EvalConfig = z.output<typeof evalConfigSchema>;
export type EndpointEntry = z.output<typeof endpointsFileSchema>["endpoint"][number];
