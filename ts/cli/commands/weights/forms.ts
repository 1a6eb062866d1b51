/** The forms of `prl weights`, with name and options of each; its module is loaded only when it runs. */
import type { PlainArguments } from "../../arguments/args.ts";
import type { CommandIo, CommandOption } from "../../command.ts";
import { RULES } from "../../arguments/option-rule.ts";
import { CLIENT_TLS, FROM, LISTEN, RELAY_TLS, SERVER_TLS, TIMEOUT } from "./network-options.ts";

export interface WeightsForm {
  /** As typed after `prl weights`. */
  readonly name: string;
  /** The arguments after the name. */
  readonly usage: string;
  /** One line for help. */
  readonly summary: string;
  readonly options: readonly CommandOption[];
  /** Its module in this folder; `run` resolves to the exit code. */
  load(): Promise<{ run(args: PlainArguments, io: CommandIo): Promise<number> }>;
}

export const FORMS: readonly WeightsForm[] = [
  {
    name: "publish",
    usage: "<folder> <dir> --policy-version <n> [--keep <n>]",
    summary: "Publish a folder of weights (a model or a PEFT adapter) as a version",
    options: [
      {
        flag: "--policy-version",
        value: "<n>",
        rule: RULES.whole,
        summary: "Number of the version; later versions are deleted",
        required: true,
      },
      {
        flag: "--keep",
        value: "<n>",
        rule: RULES.count,
        summary: "How many of the newest versions stay (4); the versions that they build on stay, too",
      },
    ],
    load: () => import("./publish.ts"),
  },
  {
    name: "merge",
    usage: "<adapter> <dir> [--base <model>]",
    summary: "Write an adapter's model with the adapter added to its weights",
    options: [
      {
        flag: "--base",
        value: "<model>",
        summary: "The adapter's model (default: the one that adapter_config.json names)",
      },
    ],
    load: () => import("./merge.ts"),
  },
  {
    name: "serve",
    usage: "<dir> [--listen <host:port>]",
    summary: "Serve the versions of a folder to other machines",
    options: [LISTEN, TIMEOUT, ...SERVER_TLS],
    load: () => import("./serve.ts"),
  },
  {
    name: "relay",
    usage: "<dir> --from <host:port,...> [--listen <host:port>]",
    summary: "Pull every new version and serve it to others while it arrives",
    options: [
      FROM,
      LISTEN,
      {
        flag: "--keep",
        value: "<n>",
        rule: RULES.count,
        summary: "How many of the newest versions stay (4); the versions that they build on stay, too",
      },
      TIMEOUT,
      ...RELAY_TLS,
    ],
    load: () => import("./relay.ts"),
  },
  {
    name: "pull",
    usage: "<dir> --from <host:port,...> [--policy-version <n>]",
    summary: "Pull one version, by default the newest, with the versions that it builds on",
    options: [
      FROM,
      { flag: "--policy-version", value: "<n>", rule: RULES.whole, summary: "Version to pull (default: the newest)" },
      TIMEOUT,
      ...CLIENT_TLS,
    ],
    load: () => import("./pull.ts"),
  },
  {
    name: "verify",
    usage: "<dir>",
    summary: "Check a version's files and weights against its manifest",
    options: [],
    load: () => import("./verify.ts"),
  },
  {
    name: "reshard",
    usage: "<dir> <out> --to <layout> [--from <layout>]",
    summary: "Rewrite weights for other ranks: split by rows (fsdp), by tensor parallelism (tp), or whole",
    options: [
      {
        flag: "--to",
        value: "<layout>",
        summary: "New layout: whole, fsdp:<ranks>, tp:<ranks>, or a JSON file of rules",
        required: true,
      },
      { flag: "--from", value: "<layout>", summary: "Present layout of the weights (whole)" },
    ],
    load: () => import("./reshard.ts"),
  },
  {
    name: "diff",
    usage: "<old dir> <new dir> [--all]",
    summary: "Show the changes between two versions, and the size of a sparse version",
    options: [{ flag: "--all", summary: "List every tensor that differs, not only the ten largest changes" }],
    load: () => import("./diff.ts"),
  },
];
