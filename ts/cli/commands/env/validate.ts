/** `prl env validate <id>`: is an environment fit to train on? Exit code 1 when it is not. */
import {
  SandboxSource,
  validateEnvironment,
  type ValidationFailure,
  type ValidationReport,
} from "../../../environments/index.ts";
import { renderTable } from "../../../monitors/index.ts";
import { numberOption, type PlainArguments } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";
import { environmentArgs, namedEnvironment } from "./options.ts";

const TASKS = 100;
const DEADLINE_S = 60;
/** Most failures of one check that are shown. */
const SHOWN = 5;
const MESSAGE_LENGTH = 160;

export async function run(args: PlainArguments, io: CommandIo): Promise<number> {
  const { environment, origin } = await namedEnvironment(args, "validate", io);
  const options = {
    tasks: numberOption(args.options, "--tasks", TASKS),
    seed: numberOption(args.options, "--seed", 0),
    deadlineMs: 1000 * numberOption(args.options, "--timeout-s", DEADLINE_S),
  };
  const sandboxes = new SandboxSource();
  const configured = environment.configure(environmentArgs(args), { sandboxes });
  let report: ValidationReport;
  try {
    report = await validateEnvironment(configured, options);
  } finally {
    await sandboxes.close();
  }
  const { name, version } = environment;
  if (io.json) io.writeJson({ name, version, origin, valid: report.failures.length === 0, ...report });
  else io.stdout.write(`${textOf(`${name} ${version}`, report).join("\n")}\n`);
  return report.failures.length === 0 ? EXIT.done : EXIT.failed;
}

function textOf(name: string, { tasks, passed, failures, notes, perSecond }: ValidationReport): string[] {
  const { tasks: read, scores, rollouts } = perSecond;
  const lines = [
    `${name}: ${tasks.train} train and ${tasks.eval} eval tasks looked at`,
    `per second: ${rate(read)} tasks read, ${scores === 0 ? "" : `${rate(scores)} replies scored, `}${rate(rollouts)} rollouts`,
    ...notes.map((note) => `note: ${note}`),
  ];
  if (failures.length === 0) return [...lines, `valid: ${passed.join(", ")}`];
  const rows = [...new Set(failures.map(({ check }) => check))].flatMap((check) => {
    const of = failures.filter((failure) => failure.check === check);
    const more = of.length > SHOWN ? [[check, "", "", `... and ${of.length - SHOWN} more (--json has all)`]] : [];
    return [...of.slice(0, SHOWN).map(rowOf), ...more];
  });
  return [
    ...lines,
    "",
    ...table(rows),
    "",
    `not valid: ${failures.length} failures; passed: ${passed.join(", ") || "nothing"}`,
  ];
}

function rowOf({ check, split, task, message }: ValidationFailure): string[] {
  const line = message.replaceAll(/\s+/gu, " ");
  return [check, split, task ?? "all", line.length > MESSAGE_LENGTH ? `${line.slice(0, MESSAGE_LENGTH)}...` : line];
}

/** Texts are aligned to the left; `renderTable` aligns numbers to the right. */
function table(rows: readonly (readonly string[])[]): string[] {
  const header = ["check", "split", "task", "what"];
  const widths = header.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const padded = (row: readonly string[]): string[] => row.map((cell, at) => cell.padEnd(widths[at] ?? 0));
  return renderTable(padded(header), rows.map(padded));
}

function rate(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(2);
}
