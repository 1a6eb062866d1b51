#!/usr/bin/env node
/** The program `prl`: the process around `runCommandLine`. */
import { explain } from "../errors.ts";
import { EXIT } from "./command.ts";
import { runCommandLine } from "./dispatch.ts";

// A reader that goes away (`prl config schema | head`) is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) =>
  process.exit(error.code === "EPIPE" ? EXIT.done : EXIT.failed),
);
process.on("uncaughtException", (error) => {
  process.stderr.write(`prl: ${explain(error)}\n${process.env["PRL_DEBUG"] === "1" ? `${error.stack ?? ""}\n` : ""}`);
  process.exit(EXIT.failed);
});

const code = await runCommandLine(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
});
// Output to a pipe is asynchronous; open handles (idle connections) must not keep a finished command alive.
process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
