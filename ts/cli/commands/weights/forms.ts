/** The forms of `prl weights`: what each is called and takes; its module is loaded only when it runs. */
import type { PlainArguments } from "../../args.ts";
import type { CommandIo, CommandOption } from "../../command.ts";

export interface WeightsForm {
  /** As typed after `prl weights`. */
  readonly name: string;
  /** What comes after the name. */
  readonly usage: string;
  /** One line. */
  readonly summary: string;
  readonly options: readonly CommandOption[];
  /** Its module in this folder; `run` resolves to the exit code. */
  load(): Promise<{ run(args: PlainArguments, io: CommandIo): Promise<number> }>;
}

export const FORMS: readonly WeightsForm[] = [];
