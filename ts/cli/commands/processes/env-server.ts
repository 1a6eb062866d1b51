/**
 * `prl env-server`, an env worker: runs environment code for a run in a separate process, so that a crash in it ends nothing else.
 *
 * Loads environments and tokenizer, listens, joins the run and serves until SIGTERM or until the launcher is gone; it
 * then ends within 10 s. Of the other processes it knows only the engine address that each rollout brings.
 */
import { aborted } from "../../../async/aborted.ts";
import { readEnvWorkerConfig, startEnvWorker } from "../../../environments/env-worker.ts";
import { eitherWay, partInput, STANDALONE_DETAILS, STANDALONE_USAGE } from "../../processes/standalone.ts";
import { CHILD_OPTIONS } from "../../processes/child.ts";
import type { Command, CommandIo } from "../../command.ts";
import { stopExit } from "../../../stop-signal.ts";

const COMPONENT = "env-worker";

export const command: Command = {
  name: "env-server",
  summary: "Host environments for a run: one env worker",
  usage: `env-server ${STANDALONE_USAGE}\n       prl env-server --config <file.json> --run-dir <dir> [--index <i>]`,
  details:
    STANDALONE_DETAILS +
    "`prl rl` starts it with --config. The config file holds {run_id, seed, model_dir, sources: [{name, split, env}], max_concurrent}\n" +
    "with env = {id | path, args}.\n" +
    "With orchestrator.remote_env_workers.listen it serves an orchestrator on another machine, over TLS and with PRL_ENV_WORKER_TOKEN.\n" +
    "The address is in <run-dir>/run/env-worker-<i>.json as soon as the worker takes requests.\n",
  options: eitherWay(CHILD_OPTIONS),
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const { signal } = io;
  const part = { component: COMPONENT, command: command.name } as const;
  const { config, index, member } = await partInput(part, args, io, readEnvWorkerConfig);
  const worker = await startEnvWorker(config);
  const isRemote = config.listen !== undefined && config.listen !== null;
  try {
    // An orchestrator on another machine knows the address from its config; one beside this process has no token for it.
    await member.ready(isRemote ? {} : { url: worker.url });
    const names = config.sources.map(({ name, split }) => `${name} (${split})`).join(", ");
    io.stderr.write(`env-worker ${index}: ${names} at ${worker.url}\n`);
    await aborted(signal);
    io.stderr.write(`env-worker ${index}: stopping on ${String(signal.reason)}\n`);
  } finally {
    await worker.stop();
    member.leave();
  }
  return stopExit(signal.reason);
}
