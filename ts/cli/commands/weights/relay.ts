/** `prl weights relay <dir>`: pulls every new version and serves it, from its first bytes on. */
import { resolve } from "node:path";

import { PrlError } from "../../../errors.ts";
import type { WeightNode } from "../../../native/index.ts";
import { numberOption, type PlainArguments } from "../../arguments/args.ts";
import type { CommandIo } from "../../command.ts";
import { announce, DEFAULT_LISTEN, onlyFolder, sourcesOf, withNode } from "./network.ts";

const DEFAULT_KEEP = 4;

export async function run(args: PlainArguments, io: CommandIo): Promise<number> {
  const root = resolve(io.cwd, onlyFolder(args, "where the versions go"));
  const sources = sourcesOf(args);
  const keep = numberOption(args.options, "--keep", DEFAULT_KEEP);
  return withNode(root, args, io, async (node, signal) => {
    announce(io, await node.listen(args.options.get("--listen") ?? DEFAULT_LISTEN), root);
    let after: number | undefined;
    while (!signal.aborted) {
      const version = await nextVersion(node, after, sources, io);
      if (version === undefined) continue;
      io.stderr.write(`version ${version.version} (${version.digest}) is here\n`);
      after = version.version;
      await node.prune(keep);
    }
  });
}

/** Waits for the next version. A publisher that is gone may come back: until then the relay serves what it has. */
async function nextVersion(node: WeightNode, after: number | undefined, sources: readonly string[], io: CommandIo) {
  try {
    return await node.pull(after === undefined ? {} : { after }, sources);
  } catch (error) {
    if (!(error instanceof PrlError)) throw error;
    if (error.code === "PRL_TRANSPORT_VERSION") return undefined;
    if (error.code !== "PRL_TRANSPORT_UNREACHABLE") throw error;
    io.stderr.write(`${error.message}; still trying\n`);
    return undefined;
  }
}
