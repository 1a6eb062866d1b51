/** `prl weights merge <adapter> <dir>`: writes the adapter's model with the adapter added to its weights. */
import { readdir } from "node:fs/promises";
import { resolve } from "node:path";

import { PrlError } from "../../../errors.ts";
import { ifThere } from "../../../files/file-presence.ts";
import { mergeAdapter } from "../../../native/index.ts";
import type { PlainArguments } from "../../arguments/args.ts";
import { EXIT, type CommandIo } from "../../command.ts";
import { bytesText } from "../../doctor/check.ts";
import { modelFolder } from "../../processes/model-download.ts";

export async function run({ options, positionals }: PlainArguments, io: CommandIo): Promise<number> {
  const [folder, out, ...rest] = positionals;
  if (folder === undefined || out === undefined || rest.length > 0) {
    throw new PrlError("PRL_CLI_USAGE", "prl weights merge: expected the folder of an adapter and the folder to write");
  }
  const to = resolve(io.cwd, out);
  if (((await ifThere(readdir(to), to)) ?? []).length > 0) {
    throw new PrlError("PRL_CLI_USAGE", `prl weights merge: ${to} is not empty: give a new folder`);
  }
  const { dir, adapter } = await modelFolder(folder, io);
  if (adapter === null) throw new PrlError("PRL_WEIGHTS_ADAPTER", `${dir} holds no adapter: there is nothing to merge`);
  const base = options.get("--base");
  const model = base === undefined ? dir : (await modelFolder(base, io)).dir;
  const { digest, shards } = await mergeAdapter(model, adapter, to);
  const bytes = shards.reduce((sum, shard) => sum + shard.bytes, 0);
  if (io.json) io.writeJson({ dir: to, base: model, adapter, digest, bytes });
  else io.stdout.write(`${to}: ${model} with ${adapter} added, ${bytesText(bytes)}\n`);
  return EXIT.done;
}
