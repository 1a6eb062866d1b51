/**
 * Gives the command by which this program starts itself as another sub-command.
 *
 * When built, it is `node cli/main.js` of `bundle/` or `dist/`, whichever runs; from sources it is `ts/cli/main.ts` under tsx, whose loader is found from here so that it works
 * under a test runner as well. Both entries have the same path relative to this file.
 */
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

export interface SelfCommand {
  command: string;
  /** Arguments before the sub-command's name. */
  args: string[];
}

/** The command that runs `prl`; append a sub-command and its arguments. */
export function selfCommand(moduleUrl: string = import.meta.url): SelfCommand {
  const fromSources = moduleUrl.endsWith(".ts");
  const entry = fileURLToPath(new URL(fromSources ? "./cli/main.ts" : "./cli/main.js", moduleUrl));
  const loader = fromSources ? ["--import", pathToFileURL(createRequire(moduleUrl).resolve("tsx")).href] : [];
  return { command: process.execPath, args: [...loader, entry] };
}
