/** The forms of `prl env`: what each is called and takes; its module is loaded only when it runs. */
import type { PlainArguments } from "../../args.ts";
import type { CommandIo, CommandOption } from "../../command.ts";
import { ARGS } from "./options.ts";

export interface EnvForm {
  /** As typed after `prl env`. */
  readonly name: string;
  /** What comes after the name. */
  readonly usage: string;
  /** One line. */
  readonly summary: string;
  readonly options: readonly CommandOption[];
  /** Its module in this folder; `run` resolves to the exit code. */
  load(): Promise<{ run(args: PlainArguments, io: CommandIo): Promise<number> }>;
}

export const FORMS: readonly EnvForm[] = [
  {
    name: "list",
    usage: "",
    summary: "The environments that can be named here: built in and installed",
    options: [],
    load: () => import("./list.ts"),
  },
  {
    name: "info",
    usage: "<id or path> [--args <json>]",
    summary: "What an environment takes, gives and rewards",
    options: [ARGS],
    load: () => import("./info.ts"),
  },
];
