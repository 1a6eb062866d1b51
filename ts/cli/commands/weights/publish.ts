/** `prl weights publish <folder> <dir>`: makes a folder that any trainer wrote, a model's or a PEFT adapter's, a version. */
import { resolve } from "node:path";

import { PrlError } from "../../../errors.ts";
import { WeightPublisher } from "../../../native/index.ts";
import { numberOption, type PlainArguments } from "../../args.ts";
import { EXIT, type CommandIo } from "../../command.ts";

const DEFAULT_KEEP = 4;

export async function run({ positionals, options }: PlainArguments, io: CommandIo): Promise<number> {
  const [folder, root, ...rest] = positionals;
  if (folder === undefined || root === undefined || rest.length > 0) {
    throw new PrlError(
      "PRL_CLI_USAGE",
      "prl weights publish: expected the folder of weights and the one that holds step_<version>/",
    );
  }
  const version = numberOption(options, "--policy-version", 0);
  const publisher = await WeightPublisher.open(resolve(io.cwd, root), {
    keep: numberOption(options, "--keep", DEFAULT_KEEP),
  });
  try {
    const { dir, manifest } = await publisher.publishFolder(version, resolve(io.cwd, folder));
    const { digest, encoding } = manifest;
    if (io.json) io.writeJson({ dir, version, digest, encoding });
    else io.stdout.write(`version ${version} (${digest}), ${encoding}: ${dir}\n`);
    return EXIT.done;
  } finally {
    await publisher.close();
  }
}
