#!/usr/bin/env node
/** The program `prl`: the process around `runCommandLine`. */
import { explain, PrlError } from "../errors.ts";
import { noteFailure } from "../failure-note.ts";
import { EXIT } from "./command.ts";
import { enableCompileCache } from "./compile-cache.ts";
import { watchOutput } from "./lost-output.ts";

watchOutput();
process.on("uncaughtException", (error) => {
  // No code awaited this error, which may come from a timer of user code: only the stack shows its origin.
  const stack = error instanceof PrlError && process.env["PRL_DEBUG"] !== "1" ? "" : `${error.stack ?? ""}\n`;
  process.stderr.write(`prl: ${explain(error)}\n${stack}`);
  noteFailure(error);
  process.exit(EXIT.failed);
});

// Each process of a run inherits a socket from the launcher. Under Bun that socket ends at once, which means that the launcher is gone: the
// process would stop at once.
if ("bun" in process.versions) {
  process.stderr.write(
    "prl: the command runs on Node (20.19 or newer, 22.12 or newer), not on Bun: start it with npx prl or node\n",
  );
  process.exit(EXIT.usage);
}

enableCompileCache(process.env);
const { runCommandLine } = await loadCommands();
const code = await runCommandLine(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
});
// Output to a pipe is asynchronous; open handles (idle connections) must not keep a finished command alive.
process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));

async function loadCommands(): Promise<typeof import("./dispatch.ts")> {
  try {
    return await import("./dispatch.ts");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EMFILE") throw error;
    process.stderr.write("prl: this shell lets a process open too few files: raise it with `ulimit -n 1024`\n");
    process.exit(EXIT.failed);
  }
}
