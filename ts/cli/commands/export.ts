/** `prl export sft <run directory>`: saved traces as rows for `prl sft`. */
import { join, resolve } from "node:path";

import { PrlError } from "../../errors.ts";
import { exportSft } from "../../evals/index.ts";
import { parseOptions } from "../arguments/args.ts";
import { type Command, type CommandIo, EXIT } from "../command.ts";
import { RULES } from "../arguments/option-rule.ts";

const OPTIONS = [
  { flag: "--min-reward", value: "<x>", rule: RULES.finite, summary: "Write only traces with at least this reward" },
  { flag: "--out", value: "<file>", summary: "File for the rows (default: sft.jsonl in the run directory)" },
] as const;

export const command: Command = {
  name: "export",
  summary: "Write the traces of a run as data for prl sft",
  usage: "export sft <run directory> [--min-reward <x>] [--out <file.jsonl>]",
  details:
    "Reads the traces of an evaluation, or of the training steps of an RL run. Traces that are left out are counted by reason.",
  options: OPTIONS,
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const { options, positionals } = parseOptions({ name: "export", options: OPTIONS }, args);
  const [form, dir, ...more] = positionals;
  if (form !== "sft" || dir === undefined || more.length > 0)
    throw new PrlError("PRL_CLI_USAGE", "prl export: expected sft and a run directory; see prl export --help");
  const runDir = resolve(io.cwd, dir);
  const given = options.get("--out");
  const out = given === undefined ? join(runDir, "sft.jsonl") : resolve(io.cwd, given);
  const minReward = options.get("--min-reward");
  const limit = minReward === undefined ? {} : { minReward: Number(minReward) };
  const report = await exportSft(runDir, out, { ...limit, signal: io.signal });
  const { rows, traces, leftOut } = report;
  if (io.json) io.writeJson({ out, rows, traces, left_out: leftOut });
  else {
    io.stdout.write(`${rows} rows from ${traces} traces in ${out}\n`);
    for (const [reason, count] of Object.entries(leftOut)) io.stdout.write(`left out, ${reason}: ${count}\n`);
  }
  return rows === 0 ? EXIT.failed : EXIT.done;
}
