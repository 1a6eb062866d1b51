/** Shows what packages declare that they need, and asks whether to go on. */
import { createInterface } from "node:readline/promises";

import { onAbort } from "../../../../async/aborted.ts";
import { needsLines, type StagedPackage } from "../../../../environments/internal.ts";
import { PrlError } from "../../../../errors.ts";
import type { CommandIo } from "../../../command.ts";

/**
 * Returns when nothing is needed, when `isAccepted`, or when the answer is yes. The end of the input is a no.
 *
 * @throws PrlError `PRL_CLI_USAGE` when the answer is no
 */
export async function acceptNeeds(
  packages: readonly Pick<StagedPackage, "name" | "version" | "needs">[],
  isAccepted: boolean,
  io: CommandIo,
): Promise<void> {
  const needy = packages.map((one) => ({ one, lines: needsLines(one.needs) })).filter(({ lines }) => lines.length > 0);
  if (needy.length === 0) return;
  for (const { one, lines } of needy) {
    io.stderr.write(
      `${one.name} ${one.version} declares that it needs\n${lines.map((line) => `  ${line}\n`).join("")}`,
    );
  }
  if (isAccepted) return;
  io.stderr.write("Install? [y/N] ");
  const answer = await firstLine(io);
  if (/^y(es)?$/iu.test(answer.trim())) return;
  throw new PrlError("PRL_CLI_USAGE", "nothing was installed: the needs above were not accepted; --yes accepts them");
}

/** The first line of the input, empty when there is none. A terminal does not show a secret. */
export async function firstLine(io: CommandIo, isSecret = false): Promise<string> {
  const isTerminal = "isTTY" in io.stdin && io.stdin.isTTY === true;
  const lines = createInterface({ input: io.stdin, terminal: isTerminal && isSecret });
  const release = onAbort(io.signal, () => lines.close());
  try {
    for await (const line of lines) return line;
    return "";
  } finally {
    release();
    lines.close();
  }
}
