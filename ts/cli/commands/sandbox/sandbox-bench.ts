/** `prl sandbox bench`: see `ts/cli/sandbox-bench`. */

import { PrlError } from "../../../errors.ts";
import { numberOption, parseOptions } from "../../arguments/args.ts";
import { type CommandIo, type CommandOption, EXIT } from "../../command.ts";
import { RULES } from "../../arguments/option-rule.ts";
import { runBench, SCENARIO_NAMES } from "../../sandbox-bench/bench.ts";
import { PYTHON } from "../../sandbox-bench/rivals.ts";

export const BENCH_OPTIONS: readonly CommandOption[] = [
  {
    flag: "--rounds",
    value: "<n>",
    rule: RULES.count,
    summary: "bench: samples of each latency and contender (60); beside bombs 64 times as many",
  },
  { flag: "--python", value: "<path>", summary: "bench: python3 with the numpy to measure (/usr/bin/python3)" },
  { flag: "--quick", summary: "bench: use smaller loads, to check that the bench runs" },
];

/** Positionals name scenarios; none means all. Exit code 1 when a bar was missed. */
export async function bench(args: readonly string[], io: CommandIo): Promise<number> {
  const { options, positionals } = parseOptions({ name: "sandbox bench", options: BENCH_OPTIONS }, args);
  const unknown = positionals.filter((name) => !SCENARIO_NAMES.includes(name));
  if (unknown.length > 0) {
    const message = `prl sandbox bench: no scenario ${unknown.join(", ")}; there are ${SCENARIO_NAMES.join(", ")}`;
    throw new PrlError("PRL_CLI_USAGE", message);
  }
  const rounds = numberOption(options, "--rounds", 60);
  const python = options.get("--python") ?? PYTHON;
  const quick = options.has("--quick");
  const missed = await runBench({ scenarios: positionals, rounds, quick, python }, io);
  if (missed.length === 0) return EXIT.done;
  io.stderr.write(`prl sandbox bench: missed: ${missed.join(", ")}\n`);
  return EXIT.failed;
}
