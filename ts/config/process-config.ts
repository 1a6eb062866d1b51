/**
 * The JSON config of one process of a run, `configs/<component>.json`.
 *
 * It is resolved: a process reads no other config. Each key is checked like the keys of a TOML file, because the file may be damaged, edited or of
 * another version of prl. A message names file and key.
 */
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { readRegularFile } from "../files/regular-file.ts";
import type { Origin } from "./config-tree.ts";
import { isTable, type KeyPath } from "./keys/key-path.ts";
import { type ConfigProblem, problemAt, problemsOfIssues, requiredText, throwProblems } from "./problems.ts";
import { type ChildConfigs, childSchemas } from "./schema/process-configs.ts";

/** Reads a config that may leave out keys with a default. Errors: PRL_CONFIG_FILE, PRL_CONFIG_INVALID. */
export async function readProcessConfig<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<z.output<Schema>> {
  return parseProcessConfig(await readJson(path), schema, path);
}

/** Reads the config that the launcher wrote for a process. Errors: as `readProcessConfig`. */
export function readChildConfig<Component extends keyof ChildConfigs>(
  component: Component,
  path: string,
): Promise<ChildConfigs[Component]> {
  return readCompleteConfig(path, childSchemas[component]);
}

/** Reads a config that has to have every key: no default stands in for a missing one. */
async function readCompleteConfig<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema>> {
  const value = await readJson(path);
  const config = parseProcessConfig(value, schema, path);
  const problems: ConfigProblem[] = [];
  for (const key of filledKeys(value, config)) {
    problems.push(problemAt(originOf(path), key, requiredText(schema, key, ADVICE)));
  }
  throwProblems(problems);
  return config;
}

/** Checks a config that came from `place`, which messages name. Errors: PRL_CONFIG_INVALID. */
export function parseProcessConfig<Schema extends z.ZodType>(
  value: unknown,
  schema: Schema,
  place: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const tree = { root: value, originOf: () => originOf(place) };
  throwProblems(problemsOfIssues(parsed.error.issues, { schema, tree, adviceFor: () => ADVICE }));
  throw new PrlError("PRL_CONFIG_INVALID", `${place} does not fit its schema`, { cause: parsed.error });
}

/** A process takes no flags for the keys of its config. */
const ADVICE = "set it in the file";

function originOf(file: string): Origin {
  return { kind: "file", file, line: null };
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readRegularFile(path));
  } catch (cause) {
    throw new PrlError("PRL_CONFIG_FILE", `the config of the process, ${path}, cannot be read as JSON`, { cause });
  }
}

/** Keys that `resolved` has and `given` lacks, or for which it has no value. */
function* filledKeys(given: unknown, resolved: unknown, at: KeyPath = []): Generator<KeyPath> {
  if (given === resolved) return;
  if (given === undefined || (given === null && resolved !== null)) yield at;
  else if (Array.isArray(resolved) && Array.isArray(given)) {
    for (const [i, one] of resolved.entries()) yield* filledKeys(given[i], one, [...at, i]);
  } else if (isTable(resolved) && isTable(given)) {
    for (const [key, value] of Object.entries(resolved)) yield* filledKeys(given[key], value, [...at, key]);
  }
}
