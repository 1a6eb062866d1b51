/** `prl slurm <form>`: the Slurm job of a run that `prl rl --slurm` submitted. */
import { PrlError } from "../../../errors.ts";
import { cancelRunJob, hasLiveJob, readRunJob, type RunJob } from "../../../launcher/index.ts";
import { formatCount } from "../../../monitors/index.ts";
import { stopExit } from "../../../stop-signal.ts";
import { parseOptions, type PlainArguments } from "../../arguments/args.ts";
import { chosenForm } from "../../arguments/form.ts";
import { type Command, type CommandIo, EXIT } from "../../command.ts";
import { findRun, OUTPUT_DIR, outputDirOf } from "../../runs/find-runs.ts";
import { jobLogs, readJobLogs } from "../../runs/job-logs.ts";
import { readRun } from "../../runs/read-run.ts";
import { checkComponent } from "../../runs/run-logs.ts";
import { printable, printableLine, timeText } from "../../runs/text.ts";

/** Slurm's programs ask its one controller, which serves the whole cluster. */
const LIVE_EVERY_MS = 5_000;
const FOLLOW = { flag: "--follow", summary: "logs, also -f: follow them until the job ends or Ctrl-C" } as const;

interface Form {
  readonly name: string;
  readonly usage: string;
  readonly summary: string;
  run(args: PlainArguments, io: CommandIo): Promise<number>;
}

const FORMS: readonly Form[] = [
  {
    name: "status",
    usage: "<run>",
    summary: "Show the job: its state, nodes, restarts and exit code, and the run's last step",
    run: status,
  },
  {
    name: "logs",
    usage: "[-f] <run> [<role>]",
    summary: "Print or follow the logs of the job, its roles and their processes",
    run: logs,
  },
  { name: "cancel", usage: "<run>", summary: "Cancel the job and wait until it has ended", run: cancel },
];

const widest = Math.max(0, ...FORMS.map(({ name }) => name.length));

export const command: Command = {
  name: "slurm",
  summary: "Show, follow and cancel the Slurm job of a run",
  usage: FORMS.map(({ name, usage }) => `slurm ${name} ${usage} [--output-dir <dir>]`).join("\n       prl "),
  details: `${FORMS.map(({ name, summary }) => `${name.padEnd(widest)}  ${summary}`).join("\n")}

A run is named by its folder in the output folder, or by a path. prl rl --slurm submits a job.`,
  options: [FOLLOW, OUTPUT_DIR],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = args;
  const form = chosenForm("slurm", FORMS, name);
  const options = form.name === "logs" ? [FOLLOW, OUTPUT_DIR] : [OUTPUT_DIR];
  const given = rest.map((arg) => (arg === "-f" && form.name === "logs" ? FOLLOW.flag : arg));
  return form.run(parseOptions({ name: `slurm ${form.name}`, options }, given), io);
}

async function status({ options, positionals }: PlainArguments, io: CommandIo): Promise<number> {
  const runDir = await runOf("status", { options, positionals }, io);
  const found = await readRunJob(runDir, io.env);
  const record = await readRun(runDir);
  if (io.json) {
    const { job, facts, end } = found;
    const { steps } = record;
    io.writeJson({ run: record.name, run_dir: runDir, job_id: job.id, cluster: job.cluster, facts, end, steps });
    return EXIT.done;
  }
  const rows: [string, string][] = [
    ["run", printable(record.name)],
    ["job", `${found.job.id}, submitted ${timeText(found.job.submitted)}`],
    ...jobRows(found),
    ["steps", formatCount(record.steps)],
  ];
  const column = Math.max(...rows.map(([key]) => key.length));
  io.stdout.write(rows.map(([key, value]) => `${key.padEnd(column)}  ${value}\n`).join(""));
  return EXIT.done;
}

function jobRows({ facts, end }: RunJob): [string, string][] {
  const rows: [string, string][] = [];
  if (facts === null) rows.push(["state", "Slurm knows the job no longer"]);
  else {
    const { state, reason, nodes, restarts, exitCode, signal, runTime, timeLimit } = facts;
    rows.push(["state", reason === null ? state : `${state} (${printable(reason)})`]);
    if (nodes !== null) rows.push(["nodes", printable(nodes)]);
    rows.push(["restarts", formatCount(restarts)]);
    if (runTime !== null) rows.push(["time", `${runTime} of ${timeLimit ?? "no limit"}`]);
    rows.push(["exit code", signal === 0 ? String(exitCode) : `${exitCode}, signal ${signal}`]);
  }
  if (end !== null) {
    const role = end.role === "" ? "" : ` (${printable(end.role)})`;
    const down = end.down_nodes === "" ? "" : `; nodes that were down: ${printable(end.down_nodes)}`;
    rows.push(["last end", `${timeText(end.time)}: ${end.reason}${role}, exit code ${end.exit_code}${down}`]);
  }
  return rows;
}

async function logs({ options, positionals }: PlainArguments, io: CommandIo): Promise<number> {
  const [name, role = null, ...more] = positionals;
  if (more.length > 0) throw new PrlError("PRL_CLI_USAGE", "prl slurm logs: expected a run and a role at most");
  const isFollowing = options.has(FOLLOW.flag);
  if (io.json) throw new PrlError("PRL_CLI_USAGE", "prl slurm logs: prints lines: use it without --json");
  const runDir = await runOf("logs", { options, positionals: name === undefined ? [] : [name] }, io);
  const { job } = await readRunJob(runDir, io.env);
  const known = [...(await jobLogs(runDir, job.id)).keys()];
  if (!isFollowing) checkComponent(runDir, role, known);
  const column = Math.max(...known.map((process) => process.length));
  const print = (process: string, line: string): void => {
    io.stdout.write(`${process.padEnd(column)} | ${printableLine(line)}\n`);
  };
  // Without a look at io.signal a signal ends the process at once, in the middle of long logs too.
  const follow = isFollowing ? { isLive: atTimes(() => hasLiveJob(runDir, io.env)), signal: io.signal } : null;
  await readJobLogs({ runDir, id: job.id, role }, print, follow);
  return follow?.signal.aborted === true ? stopExit(follow.signal.reason) : EXIT.done;
}

/** Asks at most every few seconds, and gives the last answer in between. */
function atTimes(ask: () => Promise<boolean>): () => Promise<boolean> {
  let [answer, until] = [true, 0];
  return async () => {
    if (performance.now() < until) return answer;
    answer = await ask();
    until = performance.now() + LIVE_EVERY_MS;
    return answer;
  };
}

async function cancel(args: PlainArguments, io: CommandIo): Promise<number> {
  const runDir = await runOf("cancel", args, io);
  const wasLive = await cancelRunJob(runDir, io.env, io.signal);
  const { job, facts } = await readRunJob(runDir, io.env);
  const state = facts?.state ?? null;
  if (io.json) io.writeJson({ job_id: job.id, cancelled: wasLive, state });
  else if (wasLive) io.stdout.write(`Job ${job.id} has ended${state === null ? "" : `: ${state}`}\n`);
  else io.stdout.write(`Job ${job.id} had ended before${state === null ? "" : `: ${state}`}\n`);
  return EXIT.done;
}

async function runOf(form: string, { options, positionals }: PlainArguments, io: CommandIo): Promise<string> {
  const [name, ...more] = positionals;
  if (name !== undefined && more.length === 0) return findRun(outputDirOf(options, io), name, io.cwd);
  throw new PrlError("PRL_CLI_USAGE", `prl slurm ${form}: expected one run`);
}
