/** `prl weights verify <dir>`: are a version's files and weights what its manifest says? */
import { resolve } from "node:path";

import { PrlError } from "../../../errors.ts";
import { verifyWeights } from "../../../native/index.ts";
import type { PlainArguments } from "../../args.ts";
import { EXIT, type CommandIo } from "../../command.ts";
import { bytesText } from "../../doctor/check.ts";

export async function run({ positionals }: PlainArguments, io: CommandIo): Promise<number> {
  const [dir, ...rest] = positionals;
  if (dir === undefined || rest.length > 0) {
    throw new PrlError("PRL_CLI_USAGE", "prl weights verify: expected one directory of a weight version");
  }
  const manifest = await verifyWeights(resolve(io.cwd, dir));
  const { version, digest, encoding, base, shards } = manifest;
  const bytes = shards.reduce((sum, shard) => sum + shard.bytes, 0);
  if (io.json) {
    io.writeJson({ dir, version, digest, encoding, base, shards: shards.length, bytes });
    return EXIT.done;
  }
  const files = `${shards.length} ${shards.length === 1 ? "file" : "files"}, ${bytesText(bytes)}`;
  const on = base === null ? "" : `, on version ${base.version} (${base.digest})`;
  io.stdout.write(`version ${version} (${digest}): ${encoding}${on}, ${files}: sound\n`);
  return EXIT.done;
}
