/** `prl env replay <run>`: scores saved traces again with the current rewards and compares. Exit code 1 when some cannot be scored. */
import { resolve } from "node:path";

import { PrlError } from "../../../errors.ts";
import { type ReplayReport, replayRun } from "../../../evals/index.ts";
import { renderTable } from "../../../monitors/index.ts";
import type { PlainArguments } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";

/** Most rollouts that are shown one by one; `--json` has all. */
const SHOWN = 10;

export async function run({ positionals }: PlainArguments, io: CommandIo): Promise<number> {
  const [dir, ...rest] = positionals;
  if (dir === undefined || rest.length > 0)
    throw new PrlError("PRL_CLI_USAGE", "prl env replay: expected one run directory");
  const path = resolve(io.cwd, dir);
  const sources = (await replayRun(path, io.signal)).map((report) => ({ ...report, ...summaryOf(report) }));
  if (io.json) io.writeJson({ run_dir: path, sources });
  else io.stdout.write(`${textOf(sources).join("\n")}\n`);
  return sources.some(({ failed }) => failed > 0) ? EXIT.failed : EXIT.done;
}

interface Summary {
  /** Mean of the rewards in the traces; null when there is none. */
  readonly before: number | null;
  /** Mean of the new rewards. */
  readonly now: number | null;
  readonly changed: number;
  readonly failed: number;
}

function summaryOf({ rollouts }: ReplayReport): Summary {
  const scored = rollouts.filter(({ error }) => error === null);
  const mean = (key: "before" | "now"): number | null => {
    const values = scored.map((rollout) => rollout[key]).filter((value) => !Number.isNaN(value));
    return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
  };
  const changed = scored.filter(({ before, now }) => before !== now).length;
  return { before: mean("before"), now: mean("now"), changed, failed: rollouts.length - scored.length };
}

function textOf(sources: readonly (ReplayReport & Summary)[]): string[] {
  if (sources.length === 0) return ["no saved traces"];
  const rows = sources.map((one) => [
    `${one.type}/${one.source}`,
    `${one.environment.name} ${one.environment.version}`,
    ...[one.rollouts.length, one.changed, one.failed].map(String),
    Object.values(one.left_out)
      .reduce((sum, count) => sum + count, 0)
      .toString(),
    shown(one.before),
    shown(one.now),
  ]);
  const header = ["source", "environment", "rollouts", "changed", "failed", "left out", "reward was", "is"];
  const all = sources.flatMap(({ rollouts }) => rollouts);
  const differ = all.filter(({ before, now, error }) => error !== null || before !== now);
  const lines = differ
    .slice(0, SHOWN)
    .map(({ id, before, now, error }) => `${id}: ${shown(before)} ${error === null ? `is ${shown(now)}` : error}`);
  const more = differ.length > SHOWN ? [`... and ${differ.length - SHOWN} more (--json has all)`] : [];
  const missing = sources.flatMap(({ type, source, left_out }) =>
    Object.entries(left_out).map(([why, count]) => `${type}/${source}: ${count} left out, ${why}`),
  );
  return [...renderTable(header, rows), ...missing, ...(lines.length === 0 ? [] : ["", ...lines, ...more])];
}

function shown(value: number | null): string {
  return value === null || Number.isNaN(value) ? "-" : value.toFixed(4);
}
