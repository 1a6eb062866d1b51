/** `prl doctor`: checks whether this machine is set up, and says how to repair it. */
import { cacheDir } from "../../config/index.ts";
import { onlyOptions } from "../arguments/args.ts";
import { EXIT, type Command, type CommandIo } from "../command.ts";
import type { Check } from "../doctor/check.ts";
import { findGpus, type Gpu, gpuChecks } from "../doctor/gpus.ts";
import { lockedMemoryCheck, machineChecks, readOrNull, sharedMemoryCheck } from "../doctor/machine.ts";
import { pythonChecks } from "../doctor/python.ts";
import { sandboxChecks } from "../doctor/sandbox.ts";
import { toolchainChecks } from "../doctor/toolchain.ts";

const MARKS: Readonly<Record<Check["status"], string>> = { ok: "ok     ", warning: "warning", problem: "PROBLEM" };

export const command: Command = {
  name: "doctor",
  summary: "Check this machine and say how to mend what is missing",
  usage: "doctor [--json]",
  details: "The exit code is 1 when there is a problem; warnings do not count.",
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  onlyOptions(command, args);
  const cache = cacheDir(io.env);
  const found = await findGpus();
  const gpus = Array.isArray(found) ? (found as readonly Gpu[]) : [];
  const groups = await Promise.all([
    toolchainChecks(io.env),
    machineChecks(io.cwd, cache),
    betweenGpus(gpus.length),
    gpuChecks(found),
    pythonChecks(cache, gpus),
    sandboxChecks(),
  ]);
  const checks = groups.flat();
  const problems = checks.filter((check) => check.status === "problem").length;
  if (io.json) io.writeJson({ ok: problems === 0, checks });
  else io.stdout.write(report(checks, problems));
  return problems === 0 ? EXIT.done : EXIT.failed;
}

function report(checks: readonly Check[], problems: number): string {
  const width = Math.max(...checks.map((check) => check.name.length));
  const lines = checks.flatMap(({ name, status, detail, fix }) => [
    `${MARKS[status]}  ${name.padEnd(width)}  ${detail}`,
    ...(fix === undefined ? [] : [`${" ".repeat(width + 11)}to mend: ${fix}`]),
  ]);
  const warnings = checks.filter((check) => check.status === "warning").length;
  const end =
    problems === 0 ? "prl can run here" : `${problems} ${problems === 1 ? "problem" : "problems"} to mend first`;
  return `${lines.join("\n")}\n\n${end}${warnings === 0 ? "" : `; ${warnings} ${warnings === 1 ? "warning" : "warnings"}`}\n`;
}

/** Checks of what processes on several GPUs share. */
async function betweenGpus(gpus: number): Promise<Check[]> {
  const shared = await sharedMemoryCheck(gpus);
  // InfiniBand between several GPUs needs locked memory; one GPU does not.
  return gpus > 1 ? [shared, lockedMemoryCheck(await readOrNull("/proc/self/limits"))] : [shared];
}
