/** The option `--bench`, for commands that load the bench itself only when it is asked for. */
import type { CommandOption } from "../command.ts";

export const BENCH = {
  flag: "--bench",
  value: "steps",
  whenBare: "5",
  summary: "Run alone for a few steps on random data and print throughput; takes config files as prl rl does",
} as const;

/** The same for commands whose other arguments are not a config. */
export const BENCH_OPTION: CommandOption = { flag: BENCH.flag, value: "<steps>", summary: BENCH.summary };

export function isBench(args: readonly string[]): boolean {
  return args.some((arg) => arg === BENCH.flag || arg.startsWith(`${BENCH.flag}=`));
}
