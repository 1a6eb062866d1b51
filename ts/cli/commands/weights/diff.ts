/** `prl weights diff <old> <new>`: shows what changed between two versions, tensor by tensor, and how many bytes the change takes to ship. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

import { PrlError } from "../../../errors.ts";
import { diffWeights, readManifest, WeightReceiver, type TensorDiff } from "../../../native/index.ts";
import type { PlainArguments } from "../../arguments/args.ts";
import { EXIT, type CommandIo } from "../../command.ts";
import { bytesText } from "../../doctor/check.ts";

/** Most tensors that are listed; `--all` lists every one that differs. */
const LISTED = 10;

export async function run({ positionals, options }: PlainArguments, io: CommandIo): Promise<number> {
  const [oldDir, newDir, ...rest] = positionals;
  if (oldDir === undefined || newDir === undefined || rest.length > 0) {
    throw new PrlError("PRL_CLI_USAGE", "prl weights diff: expected two directories of weights, the older first");
  }
  const scratch = await mkdtemp(join(tmpdir(), "prl-weights-"));
  try {
    const tensors = await diffWeights(await complete(oldDir, scratch, io), await complete(newDir, scratch, io));
    const changed = tensors.reduce((sum, tensor) => sum + tensor.changed, 0);
    const elements = tensors.reduce((sum, tensor) => sum + tensor.elements, 0);
    const sparseBytes = tensors.reduce((sum, tensor) => sum + tensor.sparseBytes, 0);
    if (io.json) io.writeJson({ old: oldDir, new: newDir, changed, elements, sparseBytes, tensors });
    else {
      const differing = tensors.filter(({ change }) => change !== "same");
      io.stdout.write(table(differing, options.has("--all") ? differing.length : LISTED));
      const isAdapter = tensors.some(({ name }) => name === "adapter_config.json");
      const shippedAs = isAdapter ? "as an adapter, which is shipped whole" : "as a sparse version";
      io.stdout.write(
        `${differing.length} of ${tensors.length} tensors differ: ${changed} of ${elements} elements ` +
          `(${shareText(elements === 0 ? 0 : changed / elements)}), ${bytesText(sparseBytes)} ${shippedAs}\n`,
      );
    }
    return EXIT.done;
  } finally {
    await rm(scratch, { recursive: true });
  }
}

/** The directory itself, or for a sparse version a complete folder made from it and the versions below it. */
async function complete(dir: string, scratch: string, io: CommandIo): Promise<string> {
  const path = resolve(io.cwd, dir);
  // Folders of weights from other programs have no manifest.
  const manifest = existsSync(join(path, "manifest.json")) ? await readManifest(path) : null;
  if (manifest?.encoding !== "sparse") return path;
  const receiver = await WeightReceiver.open(dirname(path), { stateDir: scratch });
  return (await receiver.receive(manifest.version)).dir;
}

function table(tensors: readonly TensorDiff[], listed: number): string {
  const shown = tensors.toSorted((a, b) => b.sparseBytes - a.sparseBytes).slice(0, listed);
  const lines = shown.map(({ name, dtype, shape, change, changed, elements, sparseBytes }) => {
    const what = change === "values" ? `${changed} of ${elements} (${shareText(changed / elements)})` : change;
    return `${name}  ${dtype} [${shape.join(", ")}]  ${what}  ${bytesText(sparseBytes)}\n`;
  });
  const more = tensors.length - shown.length;
  return lines.join("") + (more > 0 ? `... and ${more} more (--all)\n` : "");
}

function shareText(share: number): string {
  return `${(100 * share).toPrecision(3)} %`;
}
