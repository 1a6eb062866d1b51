/** `prl kubernetes <form>`: the objects of a run that `prl rl --kubernetes` applied. */
import { z } from "zod";

import { PrlError } from "../../../errors.ts";
import { type AppliedRun, appliedRun, deleteRun, followRunLogs, runObjects } from "../../../launcher/index.ts";
import { stopExit } from "../../../stop-signal.ts";
import { parseOptions, type PlainArguments } from "../../arguments/args.ts";
import { chosenForm } from "../../arguments/form.ts";
import { type Command, type CommandIo, EXIT } from "../../command.ts";
import { findRun, OUTPUT_DIR, outputDirOf } from "../../runs/find-runs.ts";
import { printable, printableLine, timeText } from "../../runs/text.ts";

const FOLLOW = { flag: "--follow", summary: "logs, also -f: follow them until the pods end or Ctrl-C" } as const;
const COMPONENTS = ["run", "inference"] as const;

interface Form {
  readonly name: string;
  readonly usage: string;
  readonly summary: string;
  run(args: PlainArguments, io: CommandIo): Promise<number>;
}

const FORMS: readonly Form[] = [
  { name: "status", usage: "<run>", summary: "Show the run's Job and pods: state, node, restarts", run: status },
  {
    name: "logs",
    usage: `[-f] <run> [${COMPONENTS.join("|")}]`,
    summary: "Print or follow the logs of its pods",
    run: logs,
  },
  {
    name: "delete",
    usage: "<run>",
    summary: "Delete its objects and wait until they are gone; its claim and what is in it stay",
    run: remove,
  },
];

const widest = Math.max(0, ...FORMS.map(({ name }) => name.length));

export const command: Command = {
  name: "kubernetes",
  summary: "Show, follow and delete the Kubernetes objects of a run",
  usage: FORMS.map(({ name, usage }) => `kubernetes ${name} ${usage} [--output-dir <dir>]`).join("\n       prl "),
  details: `${FORMS.map(({ name, summary }) => `${name.padEnd(widest)}  ${summary}`).join("\n")}

A run is named by its folder in the output folder, or by a path. prl rl --kubernetes applies a run; kubectl has to be on PATH.`,
  options: [FOLLOW, OUTPUT_DIR],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = args;
  const form = chosenForm("kubernetes", FORMS, name);
  const options = form.name === "logs" ? [FOLLOW, OUTPUT_DIR] : [OUTPUT_DIR];
  const given = rest.map((arg) => (arg === "-f" && form.name === "logs" ? FOLLOW.flag : arg));
  return form.run(parseOptions({ name: `kubernetes ${form.name}`, options }, given), io);
}

const objectSchema = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ nodeName: z.string().optional() }).optional(),
  status: z
    .looseObject({
      phase: z.string().optional(),
      reason: z.string().optional(),
      readyReplicas: z.number().optional(),
      replicas: z.number().optional(),
      active: z.number().optional(),
      succeeded: z.number().optional(),
      failed: z.number().optional(),
      containerStatuses: z
        .array(
          z.looseObject({
            ready: z.boolean().default(false),
            restartCount: z.number().default(0),
            state: z.looseObject({ waiting: z.looseObject({ reason: z.string().optional() }).optional() }).optional(),
          }),
        )
        .optional(),
    })
    .default({}),
});
type ClusterObject = z.output<typeof objectSchema>;

async function status(args: PlainArguments, io: CommandIo): Promise<number> {
  const { runDir, applied } = await runOf("status", args, io);
  const objects = parseObjects(await runObjects(applied, io.env));
  if (io.json) {
    io.writeJson({
      run_dir: runDir,
      ...applied,
      objects: objects.map((one) => ({ kind: one.kind, name: one.metadata.name, state: stateOf(one) })),
    });
    return EXIT.done;
  }
  const rows: [string, string][] = [
    ["applied", `${timeText(applied.applied)}${applied.namespace === null ? "" : ` to ${applied.namespace}`}`],
    ...objects.map((one): [string, string] => [
      printable(`${one.kind.toLowerCase()}/${one.metadata.name}`),
      printable(stateOf(one)),
    ]),
    ...(objects.length === 0 ? ([["objects", "none in the cluster"]] as [string, string][]) : []),
  ];
  const column = Math.max(...rows.map(([key]) => key.length));
  io.stdout.write(rows.map(([key, value]) => `${key.padEnd(column)}  ${value}\n`).join(""));
  return EXIT.done;
}

function parseObjects(items: readonly unknown[]): ClusterObject[] {
  const { data, error } = z.array(objectSchema).safeParse(items);
  if (data !== undefined) return data;
  const message = `kubectl get answered objects of another form: ${z.prettifyError(error)}`;
  throw new PrlError("PRL_KUBERNETES", message, { cause: error });
}

function stateOf({ kind, spec, status: now }: ClusterObject): string {
  if (kind === "Job") {
    const { active = 0, succeeded = 0, failed = 0 } = now;
    const state = succeeded > 0 ? "completed" : active > 0 ? "active" : failed > 0 ? "failed" : "waiting";
    return failed > 0 ? `${state}, ${failed} failed pod${failed === 1 ? "" : "s"}` : state;
  }
  if (kind === "StatefulSet") return `${now.readyReplicas ?? 0} of ${now.replicas ?? 0} ready`;
  const containers = now.containerStatuses ?? [];
  const restarts = containers.reduce((sum, { restartCount }) => sum + restartCount, 0);
  const waiting = containers.map(({ state }) => state?.waiting?.reason).find((reason) => reason !== undefined);
  const words = [now.phase ?? "unknown", waiting ?? now.reason, spec?.nodeName && `on ${spec.nodeName}`];
  if (restarts > 0) words.push(`${restarts} restart${restarts === 1 ? "" : "s"}`);
  return words.filter((word) => word !== undefined && word !== "").join(", ");
}

async function logs({ options, positionals }: PlainArguments, io: CommandIo): Promise<number> {
  const [name, given, ...more] = positionals;
  const component = COMPONENTS.find((one) => one === given);
  if (more.length > 0 || (given !== undefined && component === undefined)) {
    const message = `prl kubernetes logs: expected a run and ${COMPONENTS.join(", ")} at most`;
    throw new PrlError("PRL_CLI_USAGE", message);
  }
  if (io.json) throw new PrlError("PRL_CLI_USAGE", "prl kubernetes logs: prints lines: use it without --json");
  const isFollowing = options.has(FOLLOW.flag);
  const { applied } = await runOf("logs", { options, positionals: name === undefined ? [] : [name] }, io);
  const print = (line: string): void => void io.stdout.write(`${printableLine(line)}\n`);
  await followRunLogs({ applied, component, isFollowing }, print, io.env, io.signal);
  return io.signal.aborted ? stopExit(io.signal.reason) : EXIT.done;
}

async function remove(args: PlainArguments, io: CommandIo): Promise<number> {
  const { applied } = await runOf("delete", args, io);
  const deleted = await deleteRun(applied, io.env);
  if (io.json) io.writeJson({ name: applied.name, deleted, claim: applied.claim });
  else {
    io.stdout.write(deleted.map((line) => `${printableLine(line)}\n`).join(""));
    if (applied.claim !== null) io.stdout.write(`The claim ${applied.claim} stays, with the run's data.\n`);
  }
  return EXIT.done;
}

async function runOf(
  form: string,
  { options, positionals }: PlainArguments,
  io: CommandIo,
): Promise<{ runDir: string; applied: AppliedRun }> {
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0)
    throw new PrlError("PRL_CLI_USAGE", `prl kubernetes ${form}: expected one run`);
  const runDir = await findRun(outputDirOf(options, io), name, io.cwd);
  return { runDir, applied: await appliedRun(runDir) };
}
