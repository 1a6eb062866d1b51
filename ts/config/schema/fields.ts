/**
 * Building blocks of the config schemas: marked kinds of keys, and blocks that several sections share.
 *
 * Every key has a description with its unit; help, JSON Schema and the loader read what they need from the schema's metadata and
 * nowhere else. `relativeTo` marks keys that are paths, `shorthand` blocks that a bare flag may set (`--model X` = `--model.name X`).
 */
import { z } from "zod";

import { loraBlock } from "./trainer/lora.ts";

import { isHost } from "../host.ts";

/** Names become parts of file names, which have at most 255 bytes. */
const LONGEST_NAME = 128;

/**
 * The base of a relative path in a config file: the file's folder, or the folder where the command was started. A `module` is a file
 * or, as a package, a folder; `data` a file, or a dataset of the hub; a `place` a folder that is made when it is missing.
 */
export type PathBase = "file" | "place" | "folder" | "model" | "module" | "data";

/** A path, relative to the file that names it. */
export function filePath(description: string) {
  return z
    .string()
    .min(1)
    .meta({ description, relativeTo: "file" satisfies PathBase });
}

/** How long a custom function may take for one `unit`; a longer call ends with `code`. */
export function userDeadline(unit: string, code: "PRL_USER_DEADLINE" | "PRL_LOSS_DEADLINE") {
  return z
    .number()
    .positive()
    .max(25)
    .nullable()
    .default(null)
    .describe(
      `custom: longest time that the function may take for a ${unit} (seconds); a longer call is ${code}; unset: 20`,
    );
}

/** A folder that is made when it is missing, relative to the file that names it. */
export function folderPath(description: string) {
  return z
    .string()
    .min(1)
    .meta({ description, relativeTo: "place" satisfies PathBase });
}

/** It is used at the top and in every section with its own copy. */
export const outputDir = z
  .string()
  .min(1)
  .meta({
    description: "Folder that holds the run directories; a relative path starts at the current folder",
    relativeTo: "folder" satisfies PathBase,
  });

/** Positive integer, up to `most`; when it is unset, the part chooses the value itself. */
export function automatic(description: string, most: number = Number.MAX_SAFE_INTEGER) {
  return z.int().positive().max(most).nullable().default(null).describe(description);
}

/** The limit of the engine. */
export const MOST_THREADS = 1024;
/** Most processes of one kind in a run. */
export const MOST_PROCESSES = 1024;
/** Timers of JavaScript count milliseconds in 31 bits: a longer wait would end at once. */
const MOST_SECONDS = 2_000_000;

/** A wait in seconds. */
export function seconds() {
  return z.number().positive().max(MOST_SECONDS);
}

/** Name of an environment variable with a key; null: no key. */
export const apiKeyVariable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of an environment variable")
  .nullable()
  .default(null);

export const hostAddress = z.string().refine(isHost, "must be an IP address or a host name");

export const modelBlock = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .meta({
        description:
          "The model: a Hugging Face folder when it starts with ./, ../ or / (relative to the file), else org/name on the Hugging Face hub, with @revision for another one than main (downloaded into its cache), or the name of a folder in prl's cache",
        relativeTo: "model" satisfies PathBase,
      }),
    dtype: z
      .enum(["auto", "float32", "bfloat16"])
      .default("auto")
      .describe(
        "Format of the weights that sampler and trainer compute with and that are published; auto: that of the model's config.json where it is bfloat16, else float32. The trainer's own copy is float32",
      ),
    base_dtype: z
      .enum(["int8"])
      .nullable()
      .default(null)
      .describe(
        "Under [model.lora] the format of the frozen projections in trainer and servers, made from the model when it is loaded: int8 takes a quarter of float32; unset: that of dtype",
      ),
    lora: loraBlock,
  })
  .meta({ description: "The policy", shorthand: "name" });

export const runBlock = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "use letters, digits, '.', '_' and '-', beginning with a letter or digit")
      .max(LONGEST_NAME, `at most ${LONGEST_NAME} characters`)
      .nullable()
      .default(null)
      .describe(
        "Name of the run directory (also --exp-id); unset: made of the environments, the model and eight random hexadecimal digits",
      ),
  })
  .prefault({})
  .describe("The run and its name");

const LEAST_LOG_BYTES = 1024 * 1024;
const MOST_ROTATED_LOGS = 1000;

export const logBlock = z
  .strictObject({
    level: z
      .enum(["trace", "debug", "info", "warn", "error"])
      .default("info")
      .describe("Least severe level that is logged"),
    max_bytes: z
      .int()
      .min(LEAST_LOG_BYTES, `at least ${LEAST_LOG_BYTES} (1 MiB)`)
      .default(64 * LEAST_LOG_BYTES)
      .describe(
        "Size in bytes above which the log of a process in logs/ becomes <process>.log.1, and that one <process>.log.2; events.jsonl is kept in the same way",
      ),
    keep: z
      .int()
      .positive()
      .max(MOST_ROTATED_LOGS)
      .default(4)
      .describe("Number of such older logs that stay, for each process and of events.jsonl"),
    keep_attempts: z
      .int()
      .positive()
      .default(32)
      .describe("Number of newest attempts of the run whose logs stay in logs/"),
  })
  .prefault({})
  .describe("Logging of every process");

/** Number of tasks of an evaluation. */
export const numExamples = z
  .int()
  .min(-1)
  .refine((count) => count !== 0, "0 tasks give no result: at least 1, or -1 for all");

export const seed = z.int().nonnegative().describe("Seed of all random numbers of the run");
export const seqLen = z
  .int()
  .min(2)
  .describe("Longest sequence, prompt and completion together, and size of a packed bin (tokens)");

/** The environment: exactly one of `id` and `path`. */
export const environmentBlock = z
  .strictObject({
    id: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe("Name of a built-in environment or of an installed package; unset: path names the environment"),
    path: z
      .string()
      .min(1)
      .meta({
        description:
          "Path of a module or of a package's folder; its default export, or the export named after '#', is the environment; unset: id names it",
        relativeTo: "module" satisfies PathBase,
      })
      .nullable()
      .default(null),
    args: z
      .record(z.string(), z.unknown())
      .default({})
      .describe("Arguments of the environment, which checks them itself (prl env info lists them)"),
  })
  .superRefine((env, context) => {
    if ((env.id === null) === (env.path === null)) {
      context.addIssue({
        code: "custom",
        message: "give exactly one of id (built-in or installed) and path (your own module)",
      });
    }
  })
  .describe("The environment of this source");
export type EnvironmentReference = z.infer<typeof environmentBlock>;

/** Name of a source, also a file name inside the run directory. */
export const sourceName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._@-]*$/,
    "use letters, digits, '.', '_', '@' and '-', beginning with a letter or digit",
  )
  .max(LONGEST_NAME, `at most ${LONGEST_NAME} characters`)
  .nullable()
  .default(null)
  .describe("Name in logs, metrics and files; unset: made from the id or path of the environment");

/** The default name of a source: its id, or the file name of its path without extension and export. */
export function defaultSourceName(env: EnvironmentReference): string {
  const raw =
    env.id ??
    (env.path ?? "")
      .replace(/#[^#/]*$/, "")
      .replace(/^.*\//, "")
      .replace(/\.[cm]?[jt]s$/, "");
  const safe = raw
    .replaceAll("/", "--")
    .replaceAll(/[^A-Za-z0-9._@-]/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "");
  return safe === "" ? "environment" : safe.slice(0, LONGEST_NAME);
}
