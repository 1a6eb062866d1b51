/** The schemas by kind of config. */
import type { z } from "zod";
import { evalConfigSchema, evalInputSchema, type EvalConfig } from "./eval.ts";
import { rlConfigSchema, type RlConfig } from "./rl.ts";
import { rlInputSchema } from "./rl/rl-keys.ts";
import { sftConfigSchema, sftInputSchema, type SftConfig } from "./sft.ts";

/** The command that a config is for. */
export type ConfigKind = "rl" | "sft" | "eval";

/** The resolved config of each kind. */
export interface ConfigOf {
  rl: RlConfig;
  sft: SftConfig;
  eval: EvalConfig;
}

/** Schemas of the files; keys, types, defaults and descriptions are read from these. */
export const inputSchemas = { rl: rlInputSchema, sft: sftInputSchema, eval: evalInputSchema } as const;

/** Schemas that check across keys and resolve. */
export const configSchemas: { readonly [K in ConfigKind]: z.ZodType<ConfigOf[K]> } = {
  rl: rlConfigSchema,
  sft: sftConfigSchema,
  eval: evalConfigSchema,
};

/**
 * A resolved config as this version resolves it: keys that it did not have yet have their defaults. One that this version's schema refuses, because a key is gone or a
 * condition is new, is returned as it is.
 */
export function withDefaults(kind: ConfigKind, resolved: unknown): unknown {
  const { success, data } = configSchemas[kind].safeParse(resolved);
  return success ? data : resolved;
}

/** Keys with one value for all places: at the top and in the sections that have them. */
export const SHARED_KEYS: Readonly<Record<ConfigKind, Readonly<Record<string, readonly string[]>>>> = {
  rl: {
    "model.name": ["trainer", "orchestrator", "inference"],
    seq_len: ["trainer", "orchestrator"],
    max_steps: ["trainer", "orchestrator"],
    max_async_level: ["trainer", "orchestrator"],
    seed: ["trainer", "orchestrator"],
    output_dir: ["trainer", "orchestrator"],
  },
  sft: {},
  eval: {},
};

export type { EvalConfig, RlConfig, SftConfig };
