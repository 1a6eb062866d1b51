/** Reads the arguments of a command that takes no config; those that do use `parseConfigArguments` of `ts/config`. */
import { nearest } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import type { Command, CommandOption } from "./command.ts";

export interface PlainArguments {
  /** By flag; switches are "true". */
  readonly options: ReadonlyMap<string, string>;
  readonly positionals: readonly string[];
}

/**
 * Arguments of a command without a config: `--run-dir x`, `--run-dir=x`, switches, and what is left over. `--` ends the options.
 *
 * @throws PrlError PRL_CLI_USAGE for an unknown or incomplete option, and for a required one that is missing
 */
export function parseOptions(command: Pick<Command, "name" | "options">, args: readonly string[]): PlainArguments {
  const known = command.options ?? [];
  const options = new Map<string, string>();
  const positionals: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const token = args[i] ?? "";
    if (token === "--") {
      positionals.push(...args.slice(i + 1));
      break;
    }
    if (!token.startsWith("-") || token === "-") {
      positionals.push(token);
      continue;
    }
    const split = token.indexOf("=");
    const option = findOption(command, known, split < 0 ? token : token.slice(0, split));
    if (option.value === undefined) {
      if (split >= 0) throw usage(`${option.flag}: takes no value`);
      options.set(option.flag, "true");
      continue;
    }
    const value = split < 0 ? args[++i] : token.slice(split + 1);
    if (value === undefined) throw usage(`${option.flag}: ${option.value} is missing`);
    options.set(option.flag, value);
  }
  requireOptions(command, options);
  return { options, positionals };
}

/**
 * The value of an option as a non-negative integer, `fallback` when it is absent.
 *
 * @throws PrlError PRL_CLI_USAGE when it is something else
 */
export function integerOption(options: ReadonlyMap<string, string>, flag: string, fallback: number): number {
  const text = options.get(flag);
  if (text === undefined) return fallback;
  if (!/^\d+$/.test(text)) throw usage(`${flag}: expected a non-negative integer, got ${JSON.stringify(text)}`);
  return Number(text);
}

function findOption(command: Pick<Command, "name">, known: readonly CommandOption[], flag: string): CommandOption {
  const option = known.find((candidate) => candidate.flag === flag);
  if (option !== undefined) return option;
  const near = nearest(flag, [...known.map((candidate) => candidate.flag), "--help", "--json"]);
  throw usage(`${flag}: unknown option; ${near === null ? `see prl ${command.name} --help` : `did you mean ${near}?`}`);
}

function requireOptions(command: Pick<Command, "name" | "options">, given: ReadonlyMap<string, string>): void {
  const missing = (command.options ?? []).filter((option) => option.required === true && !given.has(option.flag));
  if (missing.length === 0) return;
  const names = missing.map((option) => `${option.flag} ${option.value ?? ""}`.trim()).join(", ");
  throw usage(`${names} ${missing.length === 1 ? "is" : "are"} required; see prl ${command.name} --help`);
}

function usage(message: string): PrlError {
  return new PrlError("PRL_CLI_USAGE", message);
}
