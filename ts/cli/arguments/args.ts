/** Reads the arguments of a command that takes no config; those that do use `parseConfigArguments` of `ts/config`. */
import { nearest } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import type { Command, CommandOption } from "../command.ts";
import { expectedBy, type OptionRule } from "./option-rule.ts";

const ANY_TEXT: OptionRule = { is: "text" };
const LONGEST_SHOWN = 60;

export interface PlainArguments {
  /** Values by flag; switches are "true". */
  readonly options: ReadonlyMap<string, string>;
  readonly positionals: readonly string[];
}

/**
 * Parses the arguments of a command without a config: `--run-dir x`, `--run-dir=x`, switches, positional arguments. `--` ends the options.
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
  checkOptions(known, options);
  requireOptions(command, options);
  return { options, positionals };
}

/** The same for a command that takes only options. */
export function onlyOptions(
  command: Pick<Command, "name" | "options">,
  args: readonly string[],
): ReadonlyMap<string, string> {
  const { options, positionals } = parseOptions(command, args);
  refusePositionals(command.name, positionals);
  return options;
}

/** @throws PrlError PRL_CLI_USAGE when there are any */
export function refusePositionals(name: string, [first]: readonly string[]): void {
  if (first !== undefined) throw usage(`prl ${name}: takes no ${showText(first)}; see prl ${name} --help`);
}

/** @throws PrlError PRL_CLI_USAGE naming the first option whose value breaks its rule */
export function checkOptions(known: readonly CommandOption[], options: ReadonlyMap<string, string>): void {
  for (const [flag, text] of options) {
    const { rule = ANY_TEXT, value } = known.find((option) => option.flag === flag) ?? {};
    const expected = value === undefined ? null : expectedBy(rule, text);
    if (expected !== null) throw usage(`${flag}: expected ${expected}, got ${showText(text)}`);
  }
}

/** The value of an option whose rule is an integer or a number, `fallback` when it is absent. */
export function numberOption(options: ReadonlyMap<string, string>, flag: string, fallback: number): number {
  return Number(options.get(flag) ?? fallback);
}

/** The text as it was typed, shortened when it is long. */
export function showText(text: string): string {
  return JSON.stringify(shown(text));
}

function shown(text: string): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
}

function findOption(command: Pick<Command, "name">, known: readonly CommandOption[], flag: string): CommandOption {
  const option = known.find((candidate) => candidate.flag === flag);
  if (option !== undefined) return option;
  const near = nearest(flag, [...known.map((candidate) => candidate.flag), "--help", "--json"]);
  throw usage(
    `${shown(flag)}: unknown option; ${near === null ? `see prl ${command.name} --help` : `did you mean ${near}?`}`,
  );
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
