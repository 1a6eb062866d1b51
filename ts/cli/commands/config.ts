/** `prl config`: prints the schema of config files, or the config that files and flags resolve to. */
import { basename } from "node:path";
import {
  configJsonSchema,
  loadConfig,
  parseConfigArguments,
  tomlWithOrigins,
  type ConfigKind,
} from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { EXIT, type Command, type CommandIo } from "../command.ts";

const KINDS: readonly ConfigKind[] = ["rl", "sft", "eval"];

export const command: Command = {
  name: "config",
  summary: "Print the config's schema or a resolved config",
  usage:
    "config schema [rl|sft|eval]\n       prl config show [rl|sft|eval] <file.toml>... [--key value]...\n       prl config resolve [rl|sft|eval] <file.toml>... [--key value]...",
  details: `schema   prints the JSON Schema of a config file, for editors.
show     prints the resolved config as TOML, each key with the place that set it.
resolve  prints the resolved config as JSON, as the processes of a run get it.

The kind is rl, unless it is named or the name of the first file begins with "sft" or "eval".
prl rl --help, prl sft --help and prl eval --help document the keys.`,
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const [action, ...rest] = args;
  if (action === "schema") return schema(rest, io);
  if (action === "show" || action === "resolve") return show(action, rest, io);
  const what = action === undefined ? "an action is missing" : `there is no action ${JSON.stringify(action)}`;
  throw new PrlError("PRL_CLI_USAGE", `prl config: ${what}; use schema, show or resolve`);
}

function schema(args: readonly string[], io: CommandIo): number {
  const [kind = "rl", ...others] = args;
  if (!isKind(kind) || others.length > 0) {
    throw new PrlError(
      "PRL_CLI_USAGE",
      `prl config schema takes rl, sft or eval, not ${JSON.stringify(args.join(" "))}`,
    );
  }
  io.writeJson(configJsonSchema(kind));
  return EXIT.done;
}

async function show(action: "show" | "resolve", args: readonly string[], io: CommandIo): Promise<number> {
  const [first] = args;
  const named = first !== undefined && isKind(first) ? first : null;
  const words = named === null ? args : args.slice(1);
  const kind = named ?? kindOfFile(words.find((word) => !/^(@$|-)/.test(word)));
  const { files, overrides } = parseConfigArguments(kind, words);
  if (files.length === 0) throw new PrlError("PRL_CLI_USAGE", `prl config ${action}: name at least one config file`);
  const { config, provenance } = await loadConfig(files, overrides, { kind, env: io.env, cwd: io.cwd });
  if (io.json || action === "resolve") io.writeJson(config);
  else io.stdout.write(tomlWithOrigins(config, provenance));
  return EXIT.done;
}

function kindOfFile(file: string | undefined): ConfigKind {
  const name = file === undefined ? "" : basename(file.replace(/^@/, ""));
  return KINDS.find((kind) => name.startsWith(kind)) ?? "rl";
}

function isKind(word: string): word is ConfigKind {
  return (KINDS as readonly string[]).includes(word);
}
