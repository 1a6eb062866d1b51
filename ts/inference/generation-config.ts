/**
 * Sampling parameters that a model's generation_config.json suggests. They hold in OpenAI's and Anthropic's endpoints for requests that leave
 * them out, as in vLLM. The generate endpoint, which training uses, knows none of them.
 */
import { join } from "node:path";

import { z } from "zod";

import { explain, PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import { readRegularFile } from "../files/regular-file.ts";

const FILE = "generation_config.json";

/** vLLM takes the same ones, and leaves `do_sample` out too. */
const defaultsSchema = z.object({
  temperature: z.number().min(0).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(-1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  repetition_penalty: z.number().positive().nullish(),
  /** Also the most that a request may ask for. */
  max_new_tokens: z.int().positive().nullish(),
});

/** Null or absent: the API's own default. */
export type SamplingDefaults = z.output<typeof defaultsSchema>;

/** `source`: auto for the model's own file, vllm for none, else a folder with such a file. */
export interface GenerationConfigChoice {
  readonly modelDir: string;
  readonly source: string;
  readonly overrides: Readonly<Record<string, unknown>>;
}

/** Errors: PRL_CONFIG_FILE for a file that is no such config or a folder without one, PRL_CONFIG_INVALID for overrides. */
export async function samplingDefaults({
  modelDir,
  source,
  overrides,
}: GenerationConfigChoice): Promise<SamplingDefaults> {
  const given = checked(overrides, "PRL_CONFIG_INVALID", "the overrides of generation_config.json");
  const unknown = Object.keys(overrides).find((key) => !Object.hasOwn(defaultsSchema.shape, key));
  if (unknown !== undefined) {
    const known = Object.keys(defaultsSchema.shape).join(", ");
    throw new PrlError(
      "PRL_CONFIG_INVALID",
      `generation_config.json: ${unknown} cannot be overridden; known are ${known}`,
    );
  }
  if (source === "vllm") return given;
  const path = join(source === "auto" ? modelDir : source, FILE);
  const text = await ifThere(readRegularFile(path), path);
  if (text === null && source !== "auto") throw new PrlError("PRL_CONFIG_FILE", `${path} is not there`);
  return { ...(text === null ? {} : checked(parsed(text, path), "PRL_CONFIG_FILE", path)), ...given };
}

function parsed(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PrlError("PRL_CONFIG_FILE", `${path} is no JSON: ${explain(cause)}`, { cause });
  }
}

function checked(value: unknown, code: "PRL_CONFIG_FILE" | "PRL_CONFIG_INVALID", place: string): SamplingDefaults {
  const result = defaultsSchema.safeParse(value);
  if (result.success) return result.data;
  throw new PrlError(code, `${place}: ${z.prettifyError(result.error)}`);
}
