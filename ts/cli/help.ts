/** `--help` of the program, of a command, and of every key of a command's config. */
import { describeKeys, type ConfigKind, type KeyDescription } from "../config/index.ts";
import type { Command, CommandOption } from "./command.ts";
import { wrap } from "./output.ts";

const LEFT_COLUMN = 34;
const WIDEST = 120;

/** Options that every command has; `main.ts` answers them. */
export const COMMON_OPTIONS: readonly CommandOption[] = [
  { flag: "--json", summary: "Print one JSON document on stdout; logs go to stderr" },
  { flag: "--help", summary: "Print this text" },
];

/** One line of the list of commands. */
export interface CommandLine {
  readonly name: string;
  readonly summary: string;
  readonly hidden?: boolean;
}

export function programHelp(commands: readonly CommandLine[], columns: number): string {
  const rows = commands.filter((command) => command.hidden !== true);
  return [
    "prl: reinforcement-learning post-training for language models",
    "",
    "Usage: prl <command> [arguments]",
    "",
    "Commands:",
    ...rows.flatMap(({ name, summary }) => row(name, summary, 16, columns)),
    "",
    "prl <command> --help describes a command; prl --version prints the versions.",
    "",
  ].join("\n");
}

export function commandHelp(command: Command, columns: number): string {
  const options = [...(command.options ?? []), ...COMMON_OPTIONS];
  const lines = [
    `prl ${command.name}: ${command.summary}`,
    "",
    `Usage: prl ${command.usage.replace(/^prl /, "")}`,
    ...(command.details === undefined ? [] : ["", command.details.trimEnd()]),
    "",
    "Options:",
    ...options.flatMap((option) => row(optionText(option), optionSummary(option), LEFT_COLUMN, columns)),
  ];
  if (command.config !== undefined) lines.push("", ...keyHelp(command.config, columns));
  return `${lines.join("\n")}\n`;
}

/** The same as data, for `--help --json`. */
export function commandHelpData(command: Command): Record<string, unknown> {
  const { name, summary, usage, details, config } = command;
  const options = [...(command.options ?? []), ...COMMON_OPTIONS];
  return { name, summary, usage, details, options, keys: config === undefined ? undefined : describeKeys(config) };
}

const CONFIG_INTRODUCTION = `The keys below are those of the config file. Each key is also a flag and an environment variable: batch_size in
[orchestrator] is --orchestrator.batch-size 64 and PRL_ORCHESTRATOR__BATCH_SIZE=64; a key at the top level is
--max-steps 10 and PRL__MAX_STEPS=10. Booleans are --flag and --no-flag; lists are words or JSON, their elements have
an index; tables are JSON; None disables an optional block. Flags win over files, files over environment variables,
these over defaults. Later files win over earlier ones; --section @ file merges a file into a section.
Short forms: --model X is --model.name X, --exp-id X is --run.name X, --trainer-gpus N is --trainer.ranks N.`;

function keyHelp(kind: ConfigKind, columns: number): string[] {
  const keys = describeKeys(kind);
  const sections = new Map<string, KeyDescription[]>([["", []]]);
  for (const key of keys) {
    if (key.isBlock) continue;
    sections.set(key.section, [...(sections.get(key.section) ?? []), key]);
  }
  const lines = [CONFIG_INTRODUCTION];
  for (const [section, inside] of sections) {
    const block = keys.find((key) => key.key === section.replace(/\.<i>$/, ""));
    const about = block === undefined ? "" : `  ${block.description}`;
    lines.push("", section === "" ? "Top level" : `${sectionHeader(section)}${about}`);
    for (const key of inside) lines.push(...row(keyText(key), key.description, LEFT_COLUMN, columns));
  }
  return lines;
}

function sectionHeader(section: string): string {
  return section.endsWith(".<i>") ? `[[${section.slice(0, -4)}]]` : `[${section.replaceAll(".<i>", "")}]`;
}

function keyText(key: KeyDescription): string {
  const name = key.key.slice(key.section === "" ? 0 : key.section.length + 1);
  if (key.fallback === "required" || key.fallback === "unset") return `${name} (${key.type}, ${key.fallback})`;
  return key.type === key.fallback ? `${name} = ${key.fallback}` : `${name} = ${key.fallback} (${key.type})`;
}

function optionText(option: CommandOption): string {
  return option.value === undefined ? option.flag : `${option.flag} ${option.value}`;
}

function optionSummary(option: CommandOption): string {
  return option.required === true ? `${option.summary} (required)` : option.summary;
}

/** A name and its text side by side; the text starts on the next line when the name is too long. */
function row(left: string, text: string, leftWidth: number, columns: number): string[] {
  const indent = " ".repeat(leftWidth);
  const lines = wrap(text, Math.max(30, Math.min(columns, WIDEST) - leftWidth));
  const name = `  ${left}`;
  if (name.length + 2 > leftWidth) return [name, ...lines.map((line) => indent + line)];
  return [name.padEnd(leftWidth) + (lines[0] ?? ""), ...lines.slice(1).map((line) => indent + line)];
}
