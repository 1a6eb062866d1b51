/**
 * The grammar of config arguments.
 *
 * `a.toml b.toml`, `@ a.toml @ b.toml`, `--trainer @ file` (a file at a section), `--orchestrator.batch-size 64` or `=64`,
 * `--clean` and `--no-clean`, lists as JSON or word by word, list elements by index, tables as JSON, `--model X` for the block's
 * shorthand key, `--eval None` and `--no-orchestrator.eval` to disable a block. Values are typed by the schema here, so that
 * everything after this works on values. Options of the command itself are known by name and come first.
 */
import { PrlError } from "../../errors.ts";
import { DEEPEST_KEY, formatFlag, shorten, type KeyPath } from "../keys/key-path.ts";
import { inputSchemas, type ConfigKind } from "../schema/index.ts";
import { childOf, entries, isFreeForm, isList, nodeOf, schemaAt, shapeOf, typeText } from "../keys/schema-walk.ts";
import { nearest, shallowest } from "../keys/suggest.ts";
import { valueFromWords } from "./typed-value.ts";

type AnySchema = Parameters<typeof nodeOf>[0];

/** A config file, or one merged at a section. */
export type ConfigSource = string | { readonly file: string; readonly at: KeyPath };

/** One value for one key, from a flag. */
export interface Override {
  readonly path: KeyPath;
  readonly value: unknown;
  readonly flag: string;
}

/** An option of a command that is not a config key. */
export interface OptionSpec {
  readonly flag: string;
  /** Name of its value; absent: a switch. */
  readonly value?: string;
  /** Value when the flag is alone; the next word is its value only when it is a number. */
  readonly whenBare?: string;
}

export interface ConfigArguments {
  readonly files: readonly ConfigSource[];
  readonly overrides: readonly Override[];
  /** Values of the command's own options, by flag; switches are "true". */
  readonly options: ReadonlyMap<string, string>;
}

/** Flags with a short name. */
const ALIASES: Readonly<Record<string, KeyPath>> = {
  "exp-id": ["run", "name"],
  "trainer-gpus": ["trainer", "ranks"],
};

/** @throws PrlError PRL_CLI_USAGE naming the argument and the nearest valid one */
export function parseConfigArguments(
  kind: ConfigKind,
  tokens: readonly string[],
  options: readonly OptionSpec[] = [],
): ConfigArguments {
  return new Walker(inputSchemas[kind], tokens, options).walk();
}

class Walker {
  readonly #schema: AnySchema;
  readonly #tokens: readonly string[];
  readonly #options: readonly OptionSpec[];
  #at = 0;
  readonly #files: ConfigSource[] = [];
  readonly #overrides: Override[] = [];
  readonly #values = new Map<string, string>();

  constructor(schema: AnySchema, tokens: readonly string[], options: readonly OptionSpec[]) {
    this.#schema = schema;
    this.#tokens = tokens;
    this.#options = options;
  }

  walk(): ConfigArguments {
    for (let token = this.#next(); token !== undefined; token = this.#next()) {
      if (token === "--") {
        this.#files.push(...this.#tokens.slice(this.#at));
        break;
      }
      if (token === "@") this.#files.push(this.#fileName("@"));
      else if (token.startsWith("--")) this.#flag(token);
      else if (/^-[A-Za-z]/.test(token)) throw usage(`${token}: unknown flag; flags begin with two dashes`);
      else this.#files.push(token.startsWith("@") ? token.slice(1) : token);
    }
    return { files: this.#files, overrides: this.#overrides, options: this.#values };
  }

  #flag(token: string): void {
    const split = token.indexOf("=");
    const flag = split < 0 ? token : token.slice(0, split);
    if (flag.split(".").length > DEEPEST_KEY) {
      throw usage(`${shorten(flag)}: unknown flag; no key is nested more than ${DEEPEST_KEY} deep`);
    }
    const given = split < 0 ? undefined : token.slice(split + 1);
    const option = this.#options.find((candidate) => candidate.flag === flag);
    if (option !== undefined) return this.#option(option, given);
    const path = this.#path(flag.slice(2));
    if (path !== null) return this.#key(flag, path, given);
    const negated = this.#negated(flag.slice(2));
    if (negated === null) throw usage(`${shorten(flag)}: unknown flag; ${this.#flagHint(flag)}`);
    if (given !== undefined) throw usage(`${flag}: takes no value`);
    this.#overrides.push({ ...negated, flag });
  }

  #option(option: OptionSpec, given: string | undefined): void {
    if (option.value === undefined) {
      if (given !== undefined) throw usage(`${option.flag}: takes no value`);
      this.#values.set(option.flag, "true");
      return;
    }
    const { whenBare } = option;
    const isBare = whenBare !== undefined && !/^\d+$/.test(this.#peek() ?? "");
    const value = given ?? (isBare ? whenBare : this.#next());
    if (value === undefined) throw usage(`${option.flag}: ${option.value} is missing`);
    this.#values.set(option.flag, value);
  }

  #key(flag: string, path: KeyPath, given: string | undefined): void {
    const schema = schemaAt(this.#schema, path) as AnySchema;
    if (given === undefined && this.#peek() === "@") {
      if (shapeOf(schema) === undefined && !isFreeForm(schema))
        throw usage(`${flag} @: takes a value, not a file; only sections do`);
      this.#next();
      this.#files.push({ file: this.#fileName(`${flag} @`), at: path });
      return;
    }
    const words = given === undefined ? this.#words(schema) : [given];
    if (words.length === 0) {
      this.#overrides.push({ path, value: this.#bareValue(flag, schema), flag });
      return;
    }
    const typed = valueFromWords(schema, words);
    if ("problem" in typed) throw usage(`${flag}: ${typed.problem}`);
    this.#overrides.push({ path, value: typed.value, flag });
  }

  /** The value of a flag without one: true for booleans, an empty block for blocks. */
  #bareValue(flag: string, schema: AnySchema): unknown {
    if (typeText(schema) === "boolean") return true;
    if (shapeOf(schema) !== undefined && nodeOf(schema).shorthand === undefined) return {};
    throw usage(`${flag}: a value is missing (${typeText(schema)})`);
  }

  /** Takes the words after a flag that belong to it. */
  #words(schema: AnySchema): string[] {
    const next = this.#peek();
    if (next === undefined || next.startsWith("--") || next === "@") return [];
    if (typeText(schema) === "boolean") return next === "true" || next === "false" ? [this.#next() as string] : [];
    if (
      shapeOf(schema) !== undefined &&
      nodeOf(schema).shorthand === undefined &&
      !next.startsWith("{") &&
      next !== "None"
    )
      return [];
    if (!isList(schema) || next.startsWith("[") || next === "None") return [this.#next() as string];
    const words: string[] = [];
    for (let word = this.#peek(); word !== undefined && !word.startsWith("--") && word !== "@"; word = this.#peek()) {
      const element = childOf(schema, words.length);
      // The first word that cannot belong to the list ends it, so that a file may follow.
      if (element === undefined || (words.length > 0 && "problem" in valueFromWords(element, [word]))) break;
      words.push(word);
      this.#at++;
    }
    return words;
  }

  /** The key path of a flag's name, null when there is no such key. Inside free-form tables the name is taken as it is written. */
  #path(name: string): KeyPath | null {
    const alias = ALIASES[name];
    if (alias !== undefined && schemaAt(this.#schema, alias) !== undefined) return alias;
    const path: (string | number)[] = [];
    let schema: AnySchema | undefined = this.#schema;
    for (const part of name.split(".")) {
      if (part === "" || schema === undefined) return null;
      const key: string | number = isFreeForm(schema)
        ? part
        : /^\d+$/.test(part) && isList(schema)
          ? Number(part)
          : part.replaceAll("-", "_");
      schema = childOf(schema, key);
      path.push(key);
    }
    return schema === undefined ? null : path;
  }

  /** `--no-clean`, `--no-orchestrator.eval` and `--orchestrator.no-filter-zero-advantages`. */
  #negated(name: string): { path: KeyPath; value: unknown } | null {
    const whole = name.startsWith("no-") ? name.slice("no-".length) : null;
    const path = this.#path(whole ?? name.replace(/\.no-([^.]+)$/, ".$1"));
    if (path === null || (whole === null && !/\.no-[^.]+$/.test(name))) return null;
    const schema = schemaAt(this.#schema, path) as AnySchema;
    if (typeText(schema) === "boolean") return { path, value: false };
    return nodeOf(schema).nullable ? { path, value: null } : null;
  }

  #flagHint(flag: string): string {
    const keys = [...entries(this.#schema)].map((entry) => formatFlag(entry.path));
    const name = flag.replaceAll(/\.\d+(?=\.|$)/g, ".<i>");
    const near = nearest(name, [
      ...this.#options.map((option) => option.flag),
      ...Object.keys(ALIASES).map((alias) => `--${alias}`),
      "--help",
      "--json",
      ...keys,
    ]);
    if (near !== null) return `did you mean ${near}?`;
    const leaf = name.slice(2).split(".").at(-1) ?? "";
    const elsewhere = shallowest(keys, leaf);
    return elsewhere === undefined ? "see --help for all keys" : `did you mean ${elsewhere}?`;
  }

  #fileName(after: string): string {
    const file = this.#next();
    if (file === undefined || file.startsWith("--") || file === "@")
      throw usage(`${after}: a file name is missing after it`);
    return file;
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  #next(): string | undefined {
    const token = this.#tokens[this.#at];
    if (token !== undefined) this.#at++;
    return token;
  }
}

const LONGEST_MESSAGE = 600;

function usage(message: string): PrlError {
  return new PrlError("PRL_CLI_USAGE", shorten(message, LONGEST_MESSAGE));
}
