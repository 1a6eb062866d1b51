/** `prl weights reshard <dir> <out>`: writes the same weights for other ranks; each byte is read from one rank that has it. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { PrlError } from "../../../errors.ts";
import { reshardWeights } from "../../../native/index.ts";
import type { PlainArguments } from "../../arguments/args.ts";
import { EXIT, type CommandIo } from "../../command.ts";
import { bytesText } from "../../doctor/check.ts";

export async function run({ positionals, options }: PlainArguments, io: CommandIo): Promise<number> {
  const [dir, out, ...rest] = positionals;
  if (dir === undefined || out === undefined || rest.length > 0) {
    throw new PrlError("PRL_CLI_USAGE", "prl weights reshard: expected a folder of weights and where to write them");
  }
  const [from, to] = [resolve(io.cwd, dir), resolve(io.cwd, out)];
  if (existsSync(to)) throw new PrlError("PRL_CLI_USAGE", `prl weights reshard: ${out} already exists`);
  const source = options.get("--from") ?? "whole";
  const target = options.get("--to") ?? "whole";
  await checkHeads([from, join(from, "rank_0")], target);
  const done = await reshardWeights(
    { dir: from, layout: await rulesOf(source, io.cwd) },
    { dir: to, layout: await rulesOf(target, io.cwd) },
  );
  if (io.json) {
    io.writeJson({ ...done });
    return EXIT.done;
  }
  const ranks = `${done.dirs.length} ${done.dirs.length === 1 ? "rank" : "ranks"}`;
  io.stdout.write(
    `${done.tensors} tensors for ${ranks} in ${to}: ${bytesText(done.writtenBytes)}, ` +
      `${bytesText(done.sentBytes)} to send\n`,
  );
  return EXIT.done;
}

/** A layout by name, or the rules in a file. */
async function rulesOf(layout: string, cwd: string): Promise<string> {
  if (!layout.endsWith(".json")) return layout;
  const path = resolve(cwd, layout);
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new PrlError("PRL_CLI_USAGE", `prl weights reshard: ${path} cannot be read`, { cause });
  }
}

/** Rows of a projection can be divisible where its heads are not, which only the model's config shows. */
async function checkHeads(folders: readonly string[], target: string): Promise<void> {
  const ranks = Number(/^tp:(\d+)$/.exec(target)?.[1] ?? 1);
  const path = folders.map((folder) => join(folder, "config.json")).find((file) => existsSync(file));
  if (ranks <= 1 || path === undefined) return;
  const config = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>;
  for (const key of ["num_attention_heads", "num_key_value_heads"]) {
    const heads = config[key];
    if (typeof heads !== "number" || heads % ranks === 0) continue;
    throw new PrlError("PRL_WEIGHTS_PLAN", `${target}: ${key} ${heads} in ${path} cannot be shared by ${ranks} ranks`);
  }
}
