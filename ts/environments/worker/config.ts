/** Config file of an env worker, written by the launcher. */
import { z } from "zod";

import { readProcessConfig, sandboxBlock } from "../../config/index.ts";

export const envWorkerConfigSchema = z.strictObject({
  run_id: z.string(),
  /** The run's seed, on which tasks depend. */
  seed: z.int().nonnegative(),
  /** Folder of the model, for its tokenizer. */
  model_dir: z.string().min(1),
  sources: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        split: z.enum(["train", "eval"]),
        env: z.strictObject({
          id: z.string().nullable().optional(),
          path: z.string().nullable().optional(),
          args: z.record(z.string(), z.unknown()).optional(),
        }),
      }),
    )
    .min(1),
  /** The run's `[sandbox]`; where the config names no addresses, they are those of the run's own daemon. */
  sandbox: sandboxBlock,
  /** Address for callers on other machines, `host:port`; absent: a free port of 127.0.0.1. */
  listen: z
    .strictObject({ address: z.string().min(1), tls_cert: z.string().nullable(), tls_key: z.string().nullable() })
    .nullable()
    .optional(),
  /** Most rollouts under way at once; further ones wait. */
  max_concurrent: z.int().positive(),
});

export type EnvWorkerConfig = z.input<typeof envWorkerConfigSchema>;

/** Errors: PRL_CONFIG_FILE, PRL_CONFIG_INVALID naming file and key. */
export function readEnvWorkerConfig(path: string): Promise<EnvWorkerConfig> {
  return readProcessConfig(path, envWorkerConfigSchema);
}
