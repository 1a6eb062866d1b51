/** `prl eval compare <run a> <run b>`: two evaluations of the same tasks, task by task, as a table, JSON or a page. */
import { resolve } from "node:path";

import { PrlError } from "../../../errors.ts";
import { COMPARISON_HEADER, comparisonCells, comparisonPage, compareRuns } from "../../../evals/index.ts";
import { atomicWriteFile, renderTable } from "../../../monitors/index.ts";
import { parseOptions } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";

export const COMPARE_OPTIONS = [
  {
    flag: "--html",
    value: "<file>",
    summary:
      "compare: write the comparison as one page, too; page: where to write the page (results.html in the run directory)",
  },
] as const;

/** @param args what follows `compare`. */
export async function compareEvaluations(args: readonly string[], io: CommandIo): Promise<number> {
  const { options, positionals } = parseOptions({ name: "eval compare", options: COMPARE_OPTIONS }, args);
  const [a, b] = positionals;
  if (a === undefined || b === undefined || positionals.length > 2)
    throw new PrlError("PRL_CLI_USAGE", "prl eval compare: name two run directories");
  const comparisons = await compareRuns(resolve(io.cwd, a), resolve(io.cwd, b));
  const page = options.get("--html");
  if (page !== undefined) await atomicWriteFile(resolve(io.cwd, page), comparisonPage(a, b, comparisons));
  if (io.json) io.writeJson({ a, b, comparisons });
  else {
    const table = renderTable([...COMPARISON_HEADER], comparisons.map(comparisonCells));
    io.stdout.write(`a: ${a}\nb: ${b}\n${table.join("\n")}\n`);
  }
  return EXIT.done;
}
