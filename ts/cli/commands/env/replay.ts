/** `prl env replay <run>`: saved traces scored again with the rewards of now, beside what they were. Exit code 1 when some cannot be. */
import { resolve } from "node:path";

import { PrlError } from "../../../errors.ts";
import { type ReplayReport, replayRun } from "../../../evals/index.ts";
import { renderTable } from "../../../monitors/index.ts";
import type { PlainArguments } from "../../args.ts";
import { type CommandIo, EXIT } from "../../command.ts";

/** Rollouts that are shown one by one; `--json` has all. */
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
  /** Means over the rollouts that could be scored again; null when there is none. */
  readonly before: number | null;
  readonly now: number | null;
  readonly changed: number;
  readonly failed: number;
}

function summaryOf({ rollouts }: ReplayReport): Summary {
  const scored = rollouts.filter(({ error }) => error === null);
  const mean = (key: "before" | "now"): number | null =>
    scored.length === 0 ? null : scored.reduce((sum, rollout) => sum + rollout[key], 0) / scored.length;
  const changed = scored.filter(({ before, now }) => before !== now).length;
  return { before: mean("before"), now: mean("now"), changed, failed: rollouts.length - scored.length };
}

function textOf(sources: readonly (ReplayReport & Summary)[]): string[] {
  if (sources.length === 0) return ["no saved traces"];
  const rows = sources.map((one) => [
    `${one.type}/${one.source}`,
    `${one.environment.name} ${one.environment.version}`,
    ...[one.rollouts.length, one.changed, one.failed, one.left_out].map(String),
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
  return [...renderTable(header, rows), ...(lines.length === 0 ? [] : ["", ...lines, ...more])];
}

function shown(value: number | null): string {
  return value === null ? "-" : value.toFixed(4);
}
