/**
 * Loads a config: defaults < environment < files, left to right < overrides.
 *
 * Everything is merged into one tree that remembers where each value came from; then shared keys are unified, the schema
 * checks and resolves the tree, and all problems are reported together with file, line and key.
 */
import { stat } from "node:fs/promises";

import { z } from "zod";

import { PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import { checkOptions, only, table } from "../options.ts";
import { fileKind } from "../files/regular-file.ts";
import { absurdValues } from "./reading/absurd.ts";
import { ConfigTree, describeOrigin, ListIndexProblem, type Origin, type Provenance } from "./config-tree.ts";
import {
  checkEnvironmentVariables,
  checkInstructionSet,
  configVariables,
  variablePath,
  type Environment,
} from "./environment-variables.ts";
import { parseConfigArguments, type ConfigSource, type Override } from "./reading/flags.ts";
import {
  DEEPEST_KEY,
  depthOf,
  formatPath,
  isTable,
  showValue,
  valueAt,
  type KeyPath,
  type Table,
} from "./keys/key-path.ts";
import { isDataPath, isModelPath, normalizeLayer } from "./reading/layer.ts";
import { keyHint, problemAt, problemsOfIssues, throwProblems, type ConfigProblem } from "./problems.ts";
import { readConfigFile } from "./reading/read-file.ts";
import { configSchemas, inputSchemas, SHARED_KEYS, type ConfigKind, type ConfigOf } from "./schema/index.ts";
import { childOf, isFreeForm, isList, nodeOf, schemaAt } from "./keys/schema-walk.ts";
import { valueFromWords } from "./reading/typed-value.ts";

/**
 * Values that replace those of the files: parsed flags, arguments as typed (`["--max-steps", "3"]`), or values by key, nested or dotted
 * (`{ max_steps: 3, "orchestrator.batch_size": 64 }`).
 */
export type Overrides = readonly Override[] | readonly string[] | Readonly<Record<string, unknown>>;

export interface LoadOptions<K extends ConfigKind> {
  readonly kind: K;
  /** Default: the environment of the process. `{}` reads none, which suits a config that another config names. */
  readonly env?: Environment;
  /** The base of relative paths outside of files; default: the current folder. */
  readonly cwd?: string;
}

export interface LoadedConfig<K extends ConfigKind> {
  /** All defaults filled, all paths absolute. */
  readonly config: ConfigOf[K];
  /** The origin of each value, by dotted path. */
  readonly provenance: Provenance;
}

const KINDS = Object.keys(configSchemas);
const optionsSchema = only<LoadOptions<ConfigKind>>({
  kind: z.string().refine((kind) => KINDS.includes(kind), `must be one of ${KINDS.join(", ")}`),
  env: table.optional(),
  cwd: z.string().optional(),
});

/**
 * @throws PrlError PRL_RUN_OPTIONS, PRL_CONFIG_FILE, PRL_CONFIG_SYNTAX, PRL_CONFIG_INVALID, PRL_CONFIG_CONFLICT, PRL_CONFIG_ENVIRONMENT, PRL_CLI_USAGE
 */
export async function loadConfig<K extends ConfigKind = "rl">(
  files: readonly ConfigSource[],
  overrides: Overrides = [],
  options?: LoadOptions<K>,
): Promise<LoadedConfig<K>> {
  if (options !== undefined) checkOptions("PRL_RUN_OPTIONS", "loadConfig", optionsSchema, options);
  const kind = options?.kind ?? ("rl" as K);
  const loader = new Loader(kind, options?.cwd ?? process.cwd());
  const parsed = parseOverrides(kind, overrides);
  loader.addEnvironment(options?.env ?? process.env);
  for (const source of [...files, ...parsed.files]) await loader.addFile(source);
  loader.addOverrides(parsed.overrides);
  return loader.finish();
}

function parseOverrides(
  kind: ConfigKind,
  overrides: Overrides,
): { files: readonly ConfigSource[]; overrides: readonly Override[] } {
  if (!Array.isArray(overrides))
    return { files: [], overrides: overridesOf(kind, overrides as Record<string, unknown>) };
  if (overrides.every((override) => typeof override === "string")) return parseConfigArguments(kind, overrides);
  return { files: [], overrides: overrides as Override[] };
}

function overridesOf(kind: ConfigKind, values: Readonly<Record<string, unknown>>): Override[] {
  return Object.entries(values).map(([key, value]) => {
    const isKey = childOf(inputSchemas[kind], key) !== undefined;
    const path = isKey ? [key] : key.split(".").map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    return { path, value, flag: "" };
  });
}

class Loader<K extends ConfigKind> {
  readonly #kind: K;
  readonly #cwd: string;
  readonly #tree = new ConfigTree();
  readonly #problems: ConfigProblem[] = [];
  /** The place to name for a missing key. */
  #lastFile: Origin | undefined;

  constructor(kind: K, cwd: string) {
    this.#kind = kind;
    this.#cwd = cwd;
  }

  get #schema() {
    return inputSchemas[this.#kind];
  }

  addEnvironment(env: Environment): void {
    checkEnvironmentVariables(env);
    checkInstructionSet(env);
    for (const variable of configVariables(env)) {
      const origin: Origin = { kind: "environment", variable };
      const path = this.#numbered(variablePath(variable));
      const schema = schemaAt(this.#schema, path);
      if (schema === undefined) {
        // A variable may be meant for another command of the same shell.
        const isElsewhere = Object.values(inputSchemas).some((other) => schemaAt(other, path) !== undefined);
        if (!isElsewhere) this.#problems.push(problemAt(origin, path, `unknown key; ${keyHint(this.#schema, path)}`));
        continue;
      }
      const text = env[variable] ?? "";
      const words =
        isList(schema) && !text.trimStart().startsWith("[") ? text.split(/\s+/).filter((word) => word !== "") : [text];
      const typed = valueFromWords(schema, words);
      if ("problem" in typed) this.#problems.push(problemAt(origin, path, typed.problem));
      else this.#merge(path, typed.value, this.#cwd, () => origin);
    }
  }

  async addFile(source: ConfigSource): Promise<void> {
    const { file: name, at } = typeof source === "string" ? { file: source, at: [] } : source;
    const file = await readConfigFile(name, this.#cwd);
    this.#lastFile = { kind: "file", file: name, line: null };
    this.#merge(at, file.values, file.folder, (path) => {
      const line = path.length <= at.length ? null : (file.lines.get(formatPath(path.slice(at.length))) ?? null);
      return { kind: "file", file: name, line };
    });
  }

  addOverrides(overrides: readonly Override[]): void {
    for (const { path, value, flag } of overrides) {
      const origin: Origin = flag === "" ? { kind: "override" } : { kind: "flag", flag };
      this.#merge(path, value, this.#cwd, () => origin);
    }
  }

  async finish(): Promise<LoadedConfig<K>> {
    this.#shareKeys();
    const absurd = absurdValues(this.#tree.root, this.#schema, this.#tree);
    if (absurd.length > 0) throwProblems([...this.#problems, ...absurd]);
    await this.#checkPaths(this.#tree.root, this.#schema, []);
    const parsed = configSchemas[this.#kind].safeParse(this.#tree.root);
    if (!parsed.success) {
      this.#problems.push(
        ...problemsOfIssues(parsed.error.issues, { schema: this.#schema, tree: this.#tree, fallback: this.#lastFile }),
      );
      throwProblems(this.#problems);
      throw new PrlError("PRL_CONFIG_INVALID", "the config does not fit its schema", { cause: parsed.error });
    }
    const folders = { file: this.#cwd, current: this.#cwd };
    const config = normalizeLayer(parsed.data, this.#schema, folders) as ConfigOf[K];
    throwProblems(this.#problems);
    return { config, provenance: completeProvenance(this.#kind, this.#tree.origins, config) };
  }

  #merge(path: KeyPath, value: unknown, folder: string, originOf: (path: KeyPath) => Origin): void {
    if (path.length + depthOf(value) > DEEPEST_KEY) {
      const origin = originOf(path.slice(0, DEEPEST_KEY));
      const text = `keys are nested more than ${DEEPEST_KEY} deep`;
      this.#problems.push(problemAt(origin, path.slice(0, DEEPEST_KEY), text));
      return;
    }
    const folders = { file: folder, current: this.#cwd };
    const normalized = normalizeLayer(value, schemaAt(this.#schema, path), folders);
    try {
      this.#tree.merge(path, normalized, originOf);
    } catch (error) {
      if (!(error instanceof ListIndexProblem)) throw error;
      this.#problems.push(problemAt(originOf(path), path, error.message));
    }
  }

  /** Parts that are digits become list indices where the schema has a list. */
  #numbered(path: readonly string[]): KeyPath {
    return path.map((part, i) => {
      const parent = schemaAt(this.#schema, path.slice(0, i));
      return /^\d+$/.test(part) && parent !== undefined && isList(parent) ? Number(part) : part;
    });
  }

  /** One value for a shared key wherever it is set; a section's value serves the whole when the top sets none. */
  #shareKeys(): void {
    for (const [key, sections] of Object.entries(SHARED_KEYS[this.#kind])) {
      const path = key.split(".");
      const places = [path, ...sections.map((section) => [section, ...path])];
      const set = places.filter((place) => valueAt(this.#tree.root, place) !== undefined);
      const [first, ...others] = set;
      if (first === undefined) continue;
      const value = valueAt(this.#tree.root, first);
      for (const other of others) {
        const otherValue = valueAt(this.#tree.root, other);
        if (otherValue !== value) this.#problems.push(this.#conflict(first, value, other, otherValue));
      }
      if (first !== path) {
        const origin = this.#tree.originOf(first) ?? { kind: "default" };
        this.#tree.merge(path, value, () => origin);
      }
    }
  }

  #conflict(a: KeyPath, aValue: unknown, b: KeyPath, bValue: unknown): ConfigProblem {
    const side = (path: KeyPath, value: unknown) => {
      const origin = this.#tree.originOf(path);
      return `${formatPath(path)} = ${showValue(value)}${origin === undefined ? "" : ` (${describeOrigin(origin)})`}`;
    };
    const text = `${side(a, aValue)} and ${side(b, bValue)} differ: both name the same thing, set it once, at ${formatPath(a)}`;
    return { code: "PRL_CONFIG_CONFLICT", message: text };
  }

  /** Checks that files and model folders in the config exist, and that paths of new folders are not files. */
  async #checkPaths(value: unknown, schema: Parameters<typeof nodeOf>[0] | undefined, path: KeyPath): Promise<void> {
    if (schema === undefined || value === null || isFreeForm(schema)) return;
    const { relativeTo } = nodeOf(schema);
    if (typeof value === "string") {
      const isShared =
        path.length > 1 && (SHARED_KEYS[this.#kind][path.slice(1).join(".")]?.includes(String(path[0])) ?? false);
      if (isShared) return; // It is reported once, at the top.
      const isFolder = relativeTo === "model" && isModelPath(value);
      const isModule = relativeTo === "module";
      const isData = relativeTo === "data" && isDataPath(value);
      const isPlace = relativeTo === "place";
      if (relativeTo !== "file" && !isFolder && !isModule && !isData && !isPlace) return;
      const wanted = isFolder || isPlace ? "folder" : "file";
      const asWritten = await kindOf(value);
      // A module, or a file with a function, may have an export behind it.
      const mayName = (isModule || relativeTo === "file") && asWritten === "nothing";
      const found = mayName ? await kindOf(value.replace(/#[^#/]*$/, "")) : asWritten;
      if (found === wanted || (isModule && found === "folder") || (isPlace && found === "nothing")) return;
      const text = found === "nothing" ? `no such ${wanted}: ${value}` : `${value} is a ${found}, not a ${wanted}`;
      this.#problems.push(problemAt(this.#tree.originOf(path), path, text));
      return;
    }
    if (typeof value !== "object") return;
    for (const [key, child] of Object.entries(value as Table)) {
      const part = Array.isArray(value) ? Number(key) : key;
      await this.#checkPaths(child, childOf(schema, part), [...path, part]);
    }
  }
}

async function kindOf(path: string): Promise<ReturnType<typeof fileKind> | "nothing"> {
  const found = await ifThere(stat(path), path);
  return found === null ? "nothing" : fileKind(found);
}

/** The provenance of every leaf: the sections' copies of shared keys have that of the top, keys that were not set have "default". */
function completeProvenance(kind: ConfigKind, origins: Provenance, config: unknown): Provenance {
  const all = new Map(origins);
  for (const [key, sections] of Object.entries(SHARED_KEYS[kind])) {
    const origin = origins.get(key);
    if (origin === undefined) continue;
    for (const section of sections) if (!all.has(`${section}.${key}`)) all.set(`${section}.${key}`, origin);
  }
  const visit = (value: unknown, path: KeyPath): void => {
    const name = formatPath(path);
    if (isTable(value) && Object.keys(value).length > 0) {
      for (const [key, child] of Object.entries(value)) visit(child, [...path, key]);
    } else if (!all.has(name)) all.set(name, { kind: "default" });
    if (Array.isArray(value)) value.forEach((element, i) => visit(element, [...path, i]));
  };
  visit(config, []);
  return all;
}
