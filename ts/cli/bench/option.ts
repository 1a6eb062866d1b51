/** The option `--bench`, for commands that load the bench itself only when it is asked for. */
import type { CommandOption } from "../command.ts";

export const BENCH = {
  flag: "--bench",
  value: "steps",
  whenBare: "5",
  summary: "By itself for a few steps on made-up data, printing throughput; takes config files as prl rl does",
} as const;

/** The same for commands whose other arguments are no config. */
export const BENCH_OPTION: CommandOption = { flag: BENCH.flag, value: "<steps>", summary: BENCH.summary };

export function isBench(args: readonly string[]): boolean {
  return args.some((arg) => arg === BENCH.flag || arg.startsWith(`${BENCH.flag}=`));
}
