/** `prl weights pull <dir>`: pulls one version, with the versions that it builds on. */
import { resolve } from "node:path";

import { numberOption, type PlainArguments } from "../../arguments/args.ts";
import type { CommandIo } from "../../command.ts";
import { onlyFolder, sourcesOf, withNode } from "./network.ts";

export async function run(args: PlainArguments, io: CommandIo): Promise<number> {
  const root = resolve(io.cwd, onlyFolder(args, "where the version goes"));
  const sources = sourcesOf(args);
  const wanted = args.options.has("--policy-version")
    ? { version: numberOption(args.options, "--policy-version", 0) }
    : {};
  return withNode(root, args, io, async (node) => {
    const { directory, version, digest } = await node.pull(wanted, sources);
    if (io.json) io.writeJson({ dir: directory, version, digest });
    else io.stdout.write(`version ${version} (${digest}): ${directory}\n`);
  });
}
