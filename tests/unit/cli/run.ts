/** Runs a command line inside the test and keeps what it wrote. */
import { runCommandLine } from "../../../ts/cli/dispatch.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function prl(
  args: readonly string[],
  cwd = process.cwd(),
  env: Record<string, string> = {},
): Promise<Ran> {
  let stdout = "";
  let stderr = "";
  const code = await runCommandLine(args, {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    env,
    cwd,
  });
  return { code, stdout, stderr };
}
