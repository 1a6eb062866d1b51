/** `prl env test [<path>]`: the package, the checks of `prl env validate` and the quality gate on one's own environment. Exit code 1 when one fails. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

import { type CheckRow, environmentReference, GATE_CHECKS, VALIDATION_CHECKS } from "../../../environments/internal.ts";
import { PrlError } from "../../../errors.ts";
import { numberOption, type PlainArguments } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";
import { askEnvironment, type Stopped } from "../../environment-check/environment-child.ts";
import type { EnvironmentFound } from "../../environment-check/messages.ts";
import { packageRows } from "../../environment-check/package-rows.ts";
import { countsText, rowsText } from "../../environment-check/rows-text.ts";
import { environmentArgs } from "./options.ts";

const DEADLINE_S = 20;

export async function run(args: PlainArguments, io: CommandIo): Promise<number> {
  const [name = ".", ...rest] = args.positionals;
  if (rest.length > 0)
    throw new PrlError("PRL_CLI_USAGE", "prl env test: expected one environment, a folder, a path or an id");
  const { path = null } = environmentReference(name);
  const folder = path === null ? null : resolve(io.cwd, path);
  if (folder !== null && !existsSync(folder.replace(/#[^#/\\]*$/u, "")))
    throw new PrlError("PRL_CLI_USAGE", `prl env test: there is no ${folder}`);
  const rows = packageRows(folder !== null && existsSync(join(folder, "package.json")) ? folder : null);
  let found: EnvironmentFound | null = null;
  const stopped = await askEnvironment(
    {
      name,
      from: io.cwd,
      args: environmentArgs(args),
      tasks: args.options.has("--tasks") ? numberOption(args.options, "--tasks", 0) : null,
      seed: numberOption(args.options, "--seed", 0),
      deadlineMs: 1000 * numberOption(args.options, "--timeout-s", DEADLINE_S),
      gate: true,
      samples: 0,
      model: null,
    },
    {
      hear: (answer) => {
        if (answer.type === "row") rows.push(answer.row);
        if (answer.type === "found") found = answer.environment;
      },
      signal: io.signal,
    },
  );
  if (stopped !== null) rows.push(rowOf(stopped));
  rows.push(...untried(rows));
  const isGood = rows.every(({ status }) => status !== "failed");
  if (io.json) io.writeJson({ passed: isGood, environment: found, rows });
  else io.stdout.write(`${[...rowsText(rows), "", countsText(rows)].join("\n")}\n`);
  return isGood ? EXIT.done : EXIT.failed;
}

/** The check in which the environment's code stopped everything. */
function rowOf({ attempt: { check, split, task }, why }: Stopped): CheckRow {
  const isGate = GATE_CHECKS.some((each) => each === check);
  const failures = [{ split, task, message: why }];
  return { part: isGate ? "gate" : "environment", check, status: "failed", what: "its code returns", failures };
}

/** The checks that were not reached. */
function untried(rows: readonly CheckRow[]): CheckRow[] {
  const known = new Set(rows.map(({ part, check }) => `${part}/${check}`));
  const all = [
    ...VALIDATION_CHECKS.map((check) => ["environment", check] as const),
    ...GATE_CHECKS.map((check) => ["gate", check] as const),
  ];
  return all
    .filter(([part, check]) => !known.has(`${part}/${check}`))
    .map(([part, check]): CheckRow => ({
      part,
      check,
      status: "not checked",
      what: "the checks ended before it",
      failures: [],
    }));
}
