/** `prl eval page <run directory>`: the results of an evaluation as one file that can be sent. */
import { join, resolve } from "node:path";

import { PrlError } from "../../../errors.ts";
import { resultsPage } from "../../../evals/index.ts";
import { atomicWriteFile } from "../../../monitors/index.ts";
import { parseOptions } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";
import { COMPARE_OPTIONS } from "./compare.ts";

const FILE = "results.html";

/** @param args what follows `page`. */
export async function pageOfEvaluation(args: readonly string[], io: CommandIo): Promise<number> {
  const { options, positionals } = parseOptions({ name: "eval page", options: COMPARE_OPTIONS }, args);
  const [given, ...rest] = positionals;
  if (given === undefined || rest.length > 0)
    throw new PrlError("PRL_CLI_USAGE", "prl eval page: name one run directory");
  const runDir = resolve(io.cwd, given);
  const page = options.get("--html");
  const file = page === undefined ? join(runDir, FILE) : resolve(io.cwd, page);
  await atomicWriteFile(file, await resultsPage(runDir));
  if (io.json) io.writeJson({ page: file });
  else io.stdout.write(`${file}\n`);
  return EXIT.done;
}
