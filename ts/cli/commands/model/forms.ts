/** The forms of `prl model`, with name and options of each; its module is loaded only when it runs. */
import type { PlainArguments } from "../../arguments/args.ts";
import type { CommandIo, CommandOption } from "../../command.ts";

export interface ModelForm {
  /** As typed after `prl model`. */
  readonly name: string;
  /** What comes after the name. */
  readonly usage: string;
  /** One line for help. */
  readonly summary: string;
  readonly options: readonly CommandOption[];
  /** Its module in this folder; `run` resolves to the exit code. */
  load(): Promise<{ run(args: PlainArguments, io: CommandIo): Promise<number> }>;
}

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
];
