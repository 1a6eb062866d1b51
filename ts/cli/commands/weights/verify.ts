/** `prl weights verify <dir>`: checks a version's files and weights against its manifest. */
import { resolve } from "node:path";

import { PrlError } from "../../../errors.ts";
import { verifyWeights } from "../../../native/index.ts";
import type { PlainArguments } from "../../arguments/args.ts";
import { EXIT, type CommandIo } from "../../command.ts";
import { bytesText } from "../../doctor/check.ts";
import { checkModelConfig, companionNames, tokenizerNote } from "./model-folder.ts";

export async function run({ positionals }: PlainArguments, io: CommandIo): Promise<number> {
  const [dir, ...rest] = positionals;
  if (dir === undefined || rest.length > 0) {
    throw new PrlError("PRL_CLI_USAGE", "prl weights verify: expected one directory of a weight version");
  }
  const path = resolve(io.cwd, dir);
  const manifest = await verifyWeights(path);
  const { version, digest, encoding, base, shards, files } = manifest;
  const there = encoding === "sparse" ? [] : await companionNames(path);
  if (encoding === "full") await checkModelConfig(path);
  // Manifests of an earlier version of prl, or of another program, may have no file digests.
  const unverified = files === undefined ? there.filter((name) => !shards.some(({ file }) => file === name)) : [];
  const bytes = shards.reduce((sum, shard) => sum + shard.bytes, 0);
  if (io.json) {
    const counts = { files: encoding === "sparse" ? 0 : (files?.length ?? 0), unverified };
    io.writeJson({ dir, version, digest, encoding, base, shards: shards.length, ...counts, bytes });
    return EXIT.done;
  }
  const count = `${shards.length} ${shards.length === 1 ? "file" : "files"}, ${bytesText(bytes)}`;
  const on = base === null ? "" : `, on version ${base.version} (${base.digest})`;
  const beside = files === undefined || encoding === "sparse" ? "" : `, ${files.map(({ file }) => file).join(", ")}`;
  io.stdout.write(`version ${version} (${digest}): ${encoding}${on}, ${count}${beside}: sound\n`);
  if (unverified.length > 0) {
    io.stdout.write(`not verified, because the manifest has no digests of them: ${unverified.join(", ")}\n`);
  }
  const note = encoding === "full" ? tokenizerNote(there) : null;
  if (note !== null) io.stdout.write(`${note}\n`);
  return EXIT.done;
}
