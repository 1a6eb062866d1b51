/** `[orchestrator.algo]` and a source's own `algo`: how rewards become advantages. */
import { z } from "zod";
import { filePath, seconds, userDeadline } from "../fields.ts";

const lengthPenalty = z
  .strictObject({
    output: z.number().nonnegative().default(0.25).describe("Share for the number of sampled tokens"),
    input: z.number().nonnegative().default(0.1).describe("Share for the number of prompt tokens"),
    turns: z.number().nonnegative().default(0.1).describe("Share for the number of turns"),
  })
  .nullable()
  .default(null)
  .describe(
    "Penalty on rewards: a share of the group's pass rate times each quantity over the largest of the group; absent: no penalty",
  );

const overlong = z
  .strictObject({
    max_tokens: z
      .int()
      .positive()
      .describe("Number of sampled tokens at which the penalty has its whole size; it grows on beyond"),
    cache_tokens: z.int().positive().describe("Number of tokens before max_tokens over which the penalty grows from 0"),
    factor: z.number().nonnegative().default(1).describe("Size of the penalty at max_tokens"),
  })
  .nullable()
  .default(null)
  .describe("DAPO's penalty for answers that come near their limit; absent: no penalty");

/** A model on a foreign server, with the policy's tokenizer. */
const teacherBlock = z
  .strictObject({
    base_url: z
      .url({ protocol: /^https?$/, message: "must be an address as http://host:8000" })
      .describe("Base address of its server: `prl inference` on its checkpoint, or vLLM"),
    model: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe("Name of the teacher in requests; unset: requests have no name"),
    api: z
      .enum(["generate", "completions"])
      .default("generate")
      .describe(
        "Interface that scores tokens; generate: /inference/v1/generate; completions: OpenAI's /v1/completions with prompt_logprobs",
      ),
    api_key_var: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe("Environment variable that holds the API key; unset: no key is sent"),
    timeout_s: seconds().default(120).describe("Longest time for one score (seconds)"),
    check_tokenizer: z
      .boolean()
      .default(true)
      .describe(
        "Compare the teacher's tokenizer with that of the policy before the run, through /tokenize; false: no comparison",
      ),
    max_concurrent: z.int().positive().default(64).describe("Most scores that are computed at once"),
  })
  .nullable()
  .default(null)
  .describe(
    "A served model. opd: the model that is distilled; opsd: the model that sees the hint (absent: the policy); sft: the model that samples the traces (absent: the policy)",
  );
export type TeacherBlock = NonNullable<z.output<typeof teacherBlock>>;

/** The default of `opsd`: the text before the first message of the user. */
const HINT_TEMPLATE = "A hint that you were given, and that you must not mention:\n{hint}\n\n";

export const algoBlock = z
  .strictObject({
    type: z
      .enum([
        "grpo",
        "dr_grpo",
        "rloo",
        "max_rl",
        "reinforce_pp",
        "reinforce_pp_baseline",
        "opo",
        "gdpo",
        "rae",
        "hierarchical_grpo",
        "echo",
        "opd",
        "opsd",
        "sft",
        "custom",
      ])
      .default("grpo")
      .describe("Name of the algorithm; ts/algorithms has the formulas"),
    std: z
      .enum(["none", "group", "batch"])
      .default("none")
      .describe("grpo: divide advantages by the standard deviation of the group, of the batch, or by nothing"),
    eps: z
      .number()
      .nonnegative()
      .nullable()
      .default(null)
      .describe(
        "Number that is added to the standard deviation; unset: 1e-6 for grpo, 1e-8 under the root for reinforce_pp, 1e-4 for gdpo",
      ),
    unbiased: z.boolean().default(true).describe("Divide by n - 1, not by n, in standard deviations"),
    singleton: z
      .union([z.literal(0), z.literal("raw")])
      .default(0)
      .describe('Advantage in a group with one valid reward: 0, or "raw" for the reward itself'),
    decay: z.number().min(0).lt(1).default(0.95).describe("rae: decay of an agent's moving average of rewards"),
    length_penalty: lengthPenalty,
    overlong,
    roles: z
      .partialRecord(z.enum(["system", "user", "tool"]), z.number().positive())
      .default({})
      .describe(
        "echo: weight of the cross-entropy for the messages of each role after the first reply; empty: tool 0.1",
      ),
    teacher: teacherBlock,
    demo_key: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe(
        "opsd, which needs it: key of the task's data that holds the hint, for example a worked solution; unset: none",
      ),
    template: z
      .string()
      .refine((text) => text.includes("{hint}"), "must say where {hint} goes")
      .default(HINT_TEMPLATE)
      .describe("opsd: text that is put before the user's first message; {hint} is replaced"),
    min_reward: z
      .number()
      .nullable()
      .default(null)
      .describe(
        "sft: lowest reward of a trace that trains; needed without a teacher, because the traces are then the policy's; unset: all traces train",
      ),
    path: filePath(
      "custom, which needs it: module and export of the function (group) => Float32Array[], as './my.ts#name'; unset: none",
    )
      .nullable()
      .default(null),
    deadline_s: userDeadline("group", "PRL_USER_DEADLINE"),
  })
  .describe("How rewards become advantages");

export type AlgoBlock = z.output<typeof algoBlock>;

/** Keys that only some algorithms read, with these algorithms; setting one for another algorithm is an error. */
const READ_BY: Readonly<Record<string, readonly AlgoBlock["type"][]>> = {
  // The advantages of echo are those of grpo.
  std: ["grpo", "echo"],
  decay: ["rae"],
  roles: ["echo"],
  teacher: ["opd", "opsd", "sft"],
  demo_key: ["opsd"],
  template: ["opsd"],
  min_reward: ["sft"],
  path: ["custom"],
  deadline_s: ["custom"],
};

/** Problems between keys of the block, by key. */
export function algoProblems(block: AlgoBlock): { key: string; message: string }[] {
  const { type } = block;
  const defaults = algoBlock.parse({});
  const found = Object.entries(READ_BY).flatMap(([key, readers]) => {
    const [value, unset] = [block, defaults].map((one) => JSON.stringify(one[key as keyof AlgoBlock]));
    return value !== unset && !readers.includes(type)
      ? [{ key, message: `is not read by the algorithm "${type}"` }]
      : [];
  });
  const needs = (key: keyof AlgoBlock, why: string) =>
    block[key] === null ? [{ key, message: `is needed by the algorithm "${type}": ${why}` }] : [];
  if (type === "opd") found.push(...needs("teacher", "whose log-probabilities are distilled"));
  if (type === "opsd") found.push(...needs("demo_key", "which part of a task's data is the hint"));
  if (type === "custom") found.push(...needs("path", "the function"));
  if (type === "sft" && block.teacher === null) {
    found.push(...needs("min_reward", "without a teacher the policy would learn all that it says"));
  }
  const { overlong: penalty } = block;
  if (penalty !== null && penalty.cache_tokens > penalty.max_tokens) {
    const message = `cache_tokens ${penalty.cache_tokens} is more than max_tokens ${penalty.max_tokens}: every answer would be punished`;
    found.push({ key: "overlong", message });
  }
  if (["opd", "opsd", "sft", "custom"].includes(type)) {
    for (const key of ["length_penalty", "overlong"] as const) {
      if (block[key] !== null) {
        found.push({ key, message: `is not read by the algorithm "${type}", which has no advantages of rewards` });
      }
    }
  }
  return found;
}

/** Algorithms that compare the rewards of a group: in a group of one the advantage is 0. */
const COMPARING: ReadonlySet<AlgoBlock["type"]> = new Set([
  "grpo",
  "dr_grpo",
  "rloo",
  "max_rl",
  "opo",
  "gdpo",
  "reinforce_pp",
  "reinforce_pp_baseline",
]);

/** Whether a group of one trace gives this algorithm nothing to train on. */
export function needsGroups({ type, singleton }: AlgoBlock): boolean {
  return singleton === 0 && COMPARING.has(type);
}
