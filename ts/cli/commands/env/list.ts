/** `prl env list`: the environments that can be named from here. */
import { BUILTIN, environmentPackages } from "../../../environments/internal.ts";
import { PrlError } from "../../../errors.ts";
import type { PlainArguments } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";

interface Entry {
  readonly id: string;
  /** One line; empty where the package has no description. */
  readonly description: string;
}

export async function run({ positionals }: PlainArguments, io: CommandIo): Promise<number> {
  if (positionals.length > 0) throw new PrlError("PRL_CLI_USAGE", "prl env list: it takes no arguments");
  const builtin = [...BUILTIN].map(([id, { description }]): Entry => ({ id, description }));
  const installed = [...environmentPackages(io.cwd)].map(([id, description]): Entry => ({ id, description }));
  if (io.json) {
    io.writeJson({ builtin, installed });
    return EXIT.done;
  }
  const widest = Math.max(...[...builtin, ...installed].map(({ id }) => id.length));
  const lines = (entries: readonly Entry[]): string =>
    entries.map(({ id, description }) => `${`  ${id.padEnd(widest)}  ${description}`.trimEnd()}\n`).join("");
  io.stdout.write(`Built in:\n${lines(builtin)}`);
  io.stdout.write(installed.length === 0 ? "Installed: none\n" : `Installed:\n${lines(installed)}`);
  return EXIT.done;
}
