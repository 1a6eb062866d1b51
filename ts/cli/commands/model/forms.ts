/** The forms of `prl model`, with name and options of each; its module is loaded only when it runs. */
import type { PlainArguments } from "../../arguments/args.ts";
import { RULES } from "../../arguments/option-rule.ts";
import type { CommandIo, CommandOption } from "../../command.ts";

export interface ModelForm {
  /** As typed after `prl model`. */
  readonly name: string;
  /** The arguments after the name. */
  readonly usage: string;
  /** One line for help. */
  readonly summary: string;
  readonly options: readonly CommandOption[];
  /** Its module in this folder; `run` resolves to the exit code. */
  load(): Promise<{ run(args: PlainArguments, io: CommandIo): Promise<number> }>;
}

/** The engine's limit. */
const MOST_RANK = 4096;

const REVISION: CommandOption = {
  flag: "--revision",
  value: "<revision>",
  summary: "Branch, tag or commit (main); org/name@revision means the same",
};

export const FORMS: readonly ModelForm[] = [
  {
    name: "pull",
    usage: "<org/name> [--revision <revision>]",
    summary: "Download a model of the Hugging Face hub, or what has changed of it, into the cache",
    options: [REVISION],
    load: () => import("./pull.ts"),
  },
  {
    name: "list",
    usage: "",
    summary: "List the models in the cache: revisions, sizes, whether prl can load them",
    options: [],
    load: () => import("./list.ts"),
  },
  {
    name: "info",
    usage:
      "<org/name or folder> [--revision <revision>] [--seq-len <n>] [--batch <n>] [--dtype <dtype>] [--base-dtype int8] [--lora-rank <n>]",
    summary: "Say whether prl can train and serve a model, and the memory for it, without a download",
    options: [
      REVISION,
      {
        flag: "--seq-len",
        value: "<n>",
        rule: RULES.count,
        summary: "Tokens of a sequence (default: the model's limit, at most 2048)",
      },
      {
        flag: "--batch",
        value: "<n>",
        rule: RULES.count,
        summary: "Sequences that are served at once, or are in one bin of the trainer (default 1)",
      },
      {
        flag: "--dtype",
        value: "<dtype>",
        summary: "Format of the weights as in model.dtype: auto (default), float32 or bfloat16",
      },
      {
        flag: "--base-dtype",
        value: "int8",
        rule: { is: "one of", values: ["int8"] },
        summary: "Format of frozen projections as in model.base_dtype: for LoRA and serving (default: as --dtype)",
      },
      {
        flag: "--lora-rank",
        value: "<n>",
        rule: { is: "integer", least: 1, most: MOST_RANK },
        summary: "Rank of the adapter, as in model.lora.rank (default 16)",
      },
    ],
    load: () => import("./info.ts"),
  },
  {
    name: "remove",
    usage: "<org/name>",
    summary: "Remove a model with all its revisions from the cache",
    options: [],
    load: () => import("./remove.ts"),
  },
];
