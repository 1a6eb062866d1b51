/** Runs command lines of the built prl one after the other in one process, which is cheaper than a process for each. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { ROOT } from "./prl.ts";

const RUN_ALL = `
const [dispatch, lines] = process.argv.slice(1);
const { runCommandLine } = await import(dispatch);
const results = [];
for (const { args, cwd } of JSON.parse(lines)) {
  let [stdout, stderr] = ["", ""];
  const io = { stdout: { write: (text) => (stdout += text) }, stderr: { write: (text) => (stderr += text) }, env: {}, cwd };
  process.chdir(cwd);
  results.push({ code: await runCommandLine(args, io), stdout, stderr });
}
process.stdout.write(JSON.stringify(results), () => process.exit());
`;

export interface CommandLine {
  args: readonly string[];
  cwd: string;
}

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** What each wrote, in order. */
export async function runAll(lines: readonly CommandLine[]): Promise<Ran[]> {
  const dispatch = join(ROOT, "dist/cli/dispatch.js");
  const node = ["--input-type=module", "-e", RUN_ALL, dispatch, JSON.stringify(lines)];
  const { stdout } = await promisify(execFile)(process.execPath, node, { maxBuffer: 1 << 24 });
  return JSON.parse(stdout) as Ran[];
}
