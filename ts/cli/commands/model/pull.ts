/** `prl model pull`: downloads a model, or what changed of it. */
import { hubSettings } from "../../../hub/index.ts";
import { modelText, pullModel } from "../../../models/index.ts";
import { formatBytes } from "../../../monitors/index.ts";
import type { PlainArguments } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";
import { downloadView, namingTheStop } from "../../processes/model-download.ts";
import { namedModel } from "./named-model.ts";

export async function run(args: PlainArguments, io: CommandIo): Promise<number> {
  const reference = namedModel("pull", args);
  const options = { signal: io.signal, onProgress: downloadView(io) };
  const { dir, commit, bytes, fetched } = await namingTheStop(io, pullModel(hubSettings(io.env), reference, options));
  if (io.json) {
    const { name: model, revision } = reference;
    io.writeJson({ model, revision, commit, folder: dir, bytes, downloaded_bytes: fetched });
    return EXIT.done;
  }
  const came = fetched === 0 ? "already here" : `${formatBytes(fetched)} downloaded`;
  io.stdout.write(`${modelText(reference)}: ${formatBytes(bytes)}, ${came}, commit ${commit}\n${dir}\n`);
  return EXIT.done;
}
