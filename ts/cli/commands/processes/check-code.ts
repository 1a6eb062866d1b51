/**
 * `prl check-code`: the child in which a run looks at user code before it starts (`launcher/checks/user-code.ts`). Questions and answers go over the
 * channel that Node gives a child.
 */
import { Worker } from "node:worker_threads";

import { checkCode } from "../../../environments/run-start.ts";
import { describeError, explain, PrlError } from "../../../errors.ts";
import { onlyOptions } from "../../arguments/args.ts";
import { type Command, EXIT } from "../../command.ts";
import type { CodeAnswer, CodeQuestion } from "../../../launcher/index.ts";

/** Time for the child's own start, in addition to the deadlines of the modules. */
const START_MS = 30_000;

export const command: Command = {
  name: "check-code",
  summary: "Import the modules that a config names, for a run that is about to start",
  usage: "check-code",
  hidden: true,
  run,
};

async function run(args: readonly string[]): Promise<number> {
  onlyOptions(command, args);
  if (process.send === undefined) {
    throw new PrlError("PRL_CLI_USAGE", "prl check-code is a part of prl rl: check a module with prl env validate");
  }
  process.once("disconnect", () => process.exit(EXIT.failed));
  const question = await new Promise<CodeQuestion>((resolve) => {
    process.once("message", (message) => resolve(message as CodeQuestion));
  });
  // A module that waits for nothing ends the process: the channel must not keep it alive.
  process.channel?.unref();
  endLater(START_MS + question.deadlineMs * question.checks.length);
  for (const [index, check] of question.checks.entries()) {
    await tell({ index, type: "begins" });
    try {
      await tell({ index, type: "facts", facts: await checkCode(check, question.provenance) });
    } catch (error) {
      const { code } = describeError(error);
      const [message, cause] = error instanceof Error ? [error.message, error.cause] : [String(error), undefined];
      await tell({ index, type: "error", code, message, cause: cause === undefined ? null : explain(cause) });
      return EXIT.failed;
    }
  }
  return EXIT.done;
}

function tell(answer: CodeAnswer): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(answer, undefined, {}, (error: Error | null) => (error === null ? resolve() : reject(error)));
  });
}

/** Ends this process from a thread, because a module that never returns blocks the main one and the parent may be gone. */
function endLater(ms: number): void {
  const code = `setTimeout(() => process.kill(process.pid, "SIGKILL"), ${ms});`;
  new Worker(code, { eval: true }).unref();
}
