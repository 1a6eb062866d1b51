/** `prl weights serve <dir>`: lets other machines pull the versions below a folder. */
import { resolve } from "node:path";

import type { PlainArguments } from "../../arguments/args.ts";
import type { CommandIo } from "../../command.ts";
import { announce, DEFAULT_LISTEN, onlyFolder, serveUntilAborted, withNode } from "./network.ts";

export async function run(args: PlainArguments, io: CommandIo): Promise<number> {
  const root = resolve(io.cwd, onlyFolder(args, "the one that holds step_<version>/, as <run>/weights does"));
  return withNode(root, args, io, async (node, signal) => {
    announce(io, await node.listen(args.options.get("--listen") ?? DEFAULT_LISTEN), root);
    await serveUntilAborted(signal);
  });
}
