/** `prl weights publish <folder> <dir>`: makes a folder that any trainer wrote, a model's or a PEFT adapter's, a version. */
import { resolve } from "node:path";

import { PrlError } from "../../../errors.ts";
import { WeightPublisher } from "../../../native/index.ts";
import { numberOption, type PlainArguments } from "../../arguments/args.ts";
import { EXIT, type CommandIo } from "../../command.ts";
import { checkModelConfig, companionNames, holdsModel, tokenizerNote } from "./model-folder.ts";

const DEFAULT_KEEP = 4;

export async function run({ positionals, options }: PlainArguments, io: CommandIo): Promise<number> {
  const [folder, root, ...rest] = positionals;
  if (folder === undefined || root === undefined || rest.length > 0) {
    throw new PrlError(
      "PRL_CLI_USAGE",
      "prl weights publish: expected the folder of weights and the one that holds step_<version>/",
    );
  }
  const source = resolve(io.cwd, folder);
  const isModel = await holdsModel(source);
  if (isModel) await checkModelConfig(source);
  const version = numberOption(options, "--policy-version", 0);
  const publisher = await WeightPublisher.open(resolve(io.cwd, root), {
    keep: numberOption(options, "--keep", DEFAULT_KEEP),
  });
  try {
    const { dir, manifest } = await publisher.publishFolder(version, source);
    const { digest, encoding } = manifest;
    if (io.json) io.writeJson({ dir, version, digest, encoding });
    else io.stdout.write(`version ${version} (${digest}), ${encoding}: ${dir}\n`);
    const note = isModel ? tokenizerNote(await companionNames(source)) : null;
    if (note !== null) io.stderr.write(`prl: ${note}\n`);
    return EXIT.done;
  } finally {
    await publisher.close();
  }
}
