/** `prl host-part`: the host's end of an ssh session of `prl launch ssh` or `prl fleet check`. The order comes through the standard input. */
import type { Readable, Writable } from "node:stream";

import type { SurveyOrder } from "../../../launcher/index.ts";
import { type Command, type CommandIo, EXIT } from "../../command.ts";
import { onlyOptions } from "../../arguments/args.ts";

export const command: Command = {
  name: "host-part",
  summary: "One part of a run on its host, for prl launch ssh",
  usage: "host-part",
  details: "The launcher starts it over ssh and talks to it in lines of JSON. It ends within 10 s when its input ends.",
  hidden: true,
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  onlyOptions(command, args);
  const { serveOrder } = await import("../../../launcher/index.ts");
  const survey = async ({ dir, env }: SurveyOrder, gone: AbortSignal) => {
    const { surveyHost } = await import("../../fleet/survey.ts");
    return surveyHost({ dir, env: { ...io.env, ...env }, gone });
  };
  await serveOrder({ stdin: io.stdin as Readable, stdout: io.stdout as Writable, signal: io.signal, survey });
  return EXIT.done;
}
