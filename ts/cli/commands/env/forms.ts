/** The forms of `prl env`, with name and options of each; its module is loaded only when it runs. */
import type { PlainArguments } from "../../arguments/args.ts";
import type { CommandIo, CommandOption } from "../../command.ts";
import { RULES } from "../../arguments/option-rule.ts";
import { HUB_FORMS } from "./hub/forms.ts";
import { REGISTRY } from "./hub/hub-options.ts";
import { TEMPLATES } from "./init/templates.ts";
import { ARGS } from "./options.ts";

export interface EnvForm {
  /** As typed after `prl env`. */
  readonly name: string;
  /** The arguments after the name. */
  readonly usage: string;
  /** One line for help. */
  readonly summary: string;
  readonly options: readonly CommandOption[];
  /** Its module in this folder; `run` resolves to the exit code. */
  load(): Promise<{ run(args: PlainArguments, io: CommandIo): Promise<number> }>;
}

export const FORMS: readonly EnvForm[] = [
  {
    name: "init",
    usage: "<name> [--template <template>] [--dir <folder>]",
    summary: "Make a package with an environment that builds, tests and runs at once",
    options: [
      {
        flag: "--template",
        value: "<template>",
        rule: { is: "one of", values: Object.keys(TEMPLATES) },
        summary: `Begin with ${Object.keys(TEMPLATES).join(", ")} (default: the first)`,
      },
      { flag: "--dir", value: "<folder>", summary: "Folder to make (default: a new one with that name)" },
    ],
    load: () => import("./init/init.ts"),
  },
  {
    name: "list",
    usage: "[--catalogue [--category <name>] [--difficulty <1-5>]]",
    summary: "List the environments that can be named here: built in and installed, or the tasks of the catalogue",
    options: [
      { flag: "--catalogue", summary: "The catalogue's tasks instead" },
      { flag: "--category", value: "<name>", summary: "Of this category only" },
      {
        flag: "--difficulty",
        value: "<1-5>",
        rule: { is: "integer", least: 1, most: 5 },
        summary: "With the size of a task of this level: characters of the prompt, and steps of the reference solver",
      },
    ],
    load: () => import("./list.ts"),
  },
  {
    name: "info",
    usage: "<id or path> [--args <json>] | <owner/name[@version]> --remote",
    summary: "Show the arguments, tasks, rewards and requirements of an environment, or what a hub has of a package",
    options: [ARGS, { flag: "--remote", summary: "What the hub has, instead of what is installed here" }, REGISTRY],
    load: () => import("./info.ts"),
  },
  {
    name: "validate",
    usage: "<id or path> [--args <json>] [--tasks <n>]",
    summary:
      "Check that gold answers score full, others do not, seeds repeat and rollouts run; exit code 1 if a check fails",
    options: [
      ARGS,
      { flag: "--tasks", value: "<n>", rule: RULES.count, summary: "Number of tasks of each split to check (100)" },
      { flag: "--seed", value: "<n>", rule: RULES.whole, summary: "Seed of the tasks (0)" },
      {
        flag: "--timeout-s",
        value: "<n>",
        rule: RULES.seconds,
        summary: "Limit of one check of one task, in seconds (60)",
      },
    ],
    load: () => import("./validate.ts"),
  },
  {
    name: "test",
    usage: "[<folder, path or id>] [--args <json>] [--tasks <n>]",
    summary:
      "Check a package, what env validate checks, and that replies without the skill earn little: the quality gate",
    options: [
      ARGS,
      {
        flag: "--tasks",
        value: "<n>",
        rule: RULES.count,
        summary: "Number of tasks of each split to try (50; 5 where replies are scored in sandboxes)",
      },
      { flag: "--seed", value: "<n>", rule: RULES.whole, summary: "Seed of the tasks (0)" },
      {
        flag: "--timeout-s",
        value: "<n>",
        rule: RULES.seconds,
        summary: "Limit of one call of the environment's code, in seconds (20)",
      },
    ],
    load: () => import("./test.ts"),
  },
  {
    name: "dev",
    usage: "[<folder or path>] [--args <json>] [--samples <n>] [--base-url <url> --model <name>] [--once]",
    summary: "Check an environment and show sample rollouts on every save of its sources, until Ctrl-C",
    options: [
      ARGS,
      {
        flag: "--tasks",
        value: "<n>",
        rule: RULES.count,
        summary: "Number of tasks of each split to check on a save (5)",
      },
      { flag: "--samples", value: "<n>", rule: RULES.whole, summary: "Number of sample rollouts to show (2)" },
      {
        flag: "--base-url",
        value: "<url>",
        rule: { is: "url" },
        summary: "Address of a model that plays them (default: gold replies)",
      },
      { flag: "--model", value: "<name>", summary: "Its name there" },
      { flag: "--api-key-var", value: "<name>", summary: "Environment variable with its key" },
      { flag: "--seed", value: "<n>", rule: RULES.whole, summary: "Seed of the tasks (0)" },
      {
        flag: "--timeout-s",
        value: "<n>",
        rule: RULES.seconds,
        summary: "Limit of one call of the environment's code, and of a rollout, in seconds (20)",
      },
      { flag: "--once", summary: "One pass, without watching; exit code 1 when a check fails" },
    ],
    load: () => import("./dev.ts"),
  },
  {
    name: "replay",
    usage: "<run directory>",
    summary: "Score the saved traces of an evaluation or a training run again, with the current rewards",
    options: [],
    load: () => import("./replay.ts"),
  },
  ...HUB_FORMS,
];
