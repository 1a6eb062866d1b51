/** Shows the progress of a run for `prl rl` and `prl sft`, its end, and its exit code. */
import { type RunEvent, LiveProgress, PlainProgress, type ProgressView } from "../../monitors/index.ts";
import { type CommandIo, EXIT, exitCodeOf } from "../command.ts";
import { outliveOutput } from "../lost-output.ts";
import { stopExit } from "../../stop-signal.ts";
import { PrlError } from "../../errors.ts";
import { runReport, type ResumeRequest, type RunSummary } from "../../launcher/index.ts";

export const RESUME_OPTION = {
  flag: "--resume",
  value: "step",
  whenBare: "latest",
  summary: "Continue an earlier run: from its newest checkpoint, or that of a step",
} as const;

/** Options of both commands that are not config keys. */
export const RUN_OPTIONS = [
  { flag: "--dry-run", summary: "Write the resolved config to configs/ of the run directory and stop" },
  RESUME_OPTION,
  { flag: "--ckpt.resume-step", value: "<step>", summary: "The same as --resume <step>" },
] as const;

/** The step that `--resume` or `--ckpt.resume-step` names; undefined without them. Errors: PRL_CLI_USAGE for both, or for a value that is no step. */
export function resumeRequest(options: ReadonlyMap<string, string>): ResumeRequest | undefined {
  const [resume, step] = [options.get("--resume"), options.get("--ckpt.resume-step")];
  if (resume !== undefined && step !== undefined)
    throw new PrlError("PRL_CLI_USAGE", "--resume and --ckpt.resume-step say the same: give one of them");
  const value = resume ?? step;
  if (value === undefined || value === "latest") return value;
  if (/^[1-9]\d*$/.test(value)) return Number(value);
  throw new PrlError(
    "PRL_CLI_USAGE",
    `--resume and --ckpt.resume-step take the step of a checkpoint, not "${value}"; --resume without one takes the newest`,
  );
}

/** Shows a run on the terminal, or as lines on stdout, or as lines on stderr with `--json`. The run goes on when these cannot be written. */
export async function showRun(
  io: CommandIo,
  title: string,
  start: (onEvent: (event: RunEvent) => void) => { result: Promise<RunSummary> },
): Promise<number> {
  outliveOutput();
  const view = progressView(io, title);
  let summary: RunSummary;
  try {
    summary = await start((event) => view.show(event)).result;
  } finally {
    view.end();
  }
  if (io.json) io.writeJson(summary);
  else if (summary.status === "completed" || summary.steps > 0) io.stdout.write(`\n${runReport(summary).join("\n")}\n`);
  if (summary.error !== undefined) io.stderr.write(`prl: [${summary.error.code}] ${summary.error.message}\n`);
  return exitCode(summary, io.signal);
}

/** A block that is redrawn on a terminal, else lines. `elapsed`: seconds that the run has been going on. */
export function progressView(io: CommandIo, title: string, elapsed = 0): ProgressView {
  if (io.isTerminal) {
    const colour = (io.env["NO_COLOR"] ?? "") === "";
    return new LiveProgress({ write: (text) => io.stdout.write(text), columns: io.columns, colour }, title, elapsed);
  }
  const lines = io.json ? io.stderr : io.stdout;
  return new PlainProgress((text) => lines.write(text));
}

function exitCode(summary: RunSummary, signal: AbortSignal): number {
  switch (summary.status) {
    case "completed":
      return EXIT.done;
    case "failed":
      return exitCodeOf(summary.error?.code ?? null);
    case "interrupted":
      return stopExit(signal.reason);
  }
}
