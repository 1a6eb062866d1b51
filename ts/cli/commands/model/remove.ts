/** `prl model remove`: removes a model from the cache. */
import { PrlError } from "../../../errors.ts";
import { hubSettings } from "../../../hub/index.ts";
import { removeModel } from "../../../models/index.ts";
import { formatBytes } from "../../../monitors/index.ts";
import type { PlainArguments } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";
import { namedModel } from "./named-model.ts";

export async function run(args: PlainArguments, io: CommandIo): Promise<number> {
  const reference = namedModel("remove", args);
  if (args.positionals.some((text) => text.includes("@"))) {
    throw new PrlError("PRL_CLI_USAGE", `prl model remove: removes all revisions of ${reference.name}: leave out @...`);
  }
  const bytes = await removeModel(hubSettings(io.env), reference);
  if (io.json) io.writeJson({ model: reference.name, removed_bytes: bytes });
  else io.stdout.write(`${reference.name}: removed, ${formatBytes(bytes)}\n`);
  return EXIT.done;
}
