/** `prl env list`: the environments that can be named from here. */
import { BUILTIN, environmentPackages } from "../../../environments/index.ts";
import { PrlError } from "../../../errors.ts";
import type { PlainArguments } from "../../args.ts";
import { type CommandIo, EXIT } from "../../command.ts";

export async function run({ positionals }: PlainArguments, io: CommandIo): Promise<number> {
  if (positionals.length > 0) throw new PrlError("PRL_CLI_USAGE", "prl env list: it takes no arguments");
  const builtin = [...BUILTIN.keys()];
  const installed = environmentPackages(io.cwd);
  if (io.json) io.writeJson({ builtin, installed });
  else {
    io.stdout.write(`Built in:\n${builtin.map((id) => `  ${id}\n`).join("")}`);
    io.stdout.write(installed.length === 0 ? "Installed: none\n" : "Installed:\n");
    for (const id of installed) io.stdout.write(`  ${id}\n`);
  }
  return EXIT.done;
}
