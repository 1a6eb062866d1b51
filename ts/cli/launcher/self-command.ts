/**
 * How this program starts itself again as another sub-command.
 *
 * Built, that is `node dist/cli/main.js`; from sources, `ts/cli/main.ts` under tsx, whose loader is found from here so that it works
 * under a test runner as well. Both entries lie at the same place relative to this file.
 */
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

export interface SelfCommand {
  command: string;
  /** What comes before the sub-command's name. */
  args: string[];
}

/** The command that runs `prl`; append a sub-command and its arguments. */
export function selfCommand(moduleUrl: string = import.meta.url): SelfCommand {
  const fromSources = moduleUrl.endsWith(".ts");
  const entry = fileURLToPath(new URL(fromSources ? "../main.ts" : "../main.js", moduleUrl));
  const loader = fromSources ? ["--import", pathToFileURL(createRequire(moduleUrl).resolve("tsx")).href] : [];
  return { command: process.execPath, args: [...loader, entry] };
}
