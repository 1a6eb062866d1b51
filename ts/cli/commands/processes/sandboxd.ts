/**
 * `prl sandboxd`: the sandbox daemon of a run, one for all env workers of the machine.
 *
 * Starts prl-sandboxd on the socket that its config names and is ready when the daemon is. It ends when the daemon ends: the launcher then starts
 * another one on the same socket, where clients find it. A daemon that gives no answer for the run's silence limit is killed: the launcher hears only the
 * heartbeats of this process, and its signals do not reach the daemon, which has a session for itself.
 */
import { spawn } from "node:child_process";
import { rm } from "node:fs/promises";

import { onAbort } from "../../../async/aborted.ts";
import { readChildConfig } from "../../../config/index.ts";
import { PrlError } from "../../../errors.ts";
import { sandboxDaemonPath } from "../../../native/index.ts";
import { daemonArguments } from "../../../sandbox/internal.ts";
import { daemonHangs } from "../../processes/daemon-silence.ts";
import { CHILD_OPTIONS, joinAsChild, parseChildOptions, untilStopped } from "../../processes/child.ts";
import type { Command, CommandIo } from "../../command.ts";

const COMPONENT = "sandboxd";
/** After SIGTERM the daemon ends its runs; then it is killed. */
const STOP_MS = 4_000;

export const command: Command = {
  name: COMPONENT,
  summary: "The sandbox daemon of a run",
  usage: "sandboxd --config <file.json> --run-dir <dir>",
  details:
    "`prl rl` starts it when an environment needs sandboxes and the config names no daemon. Without a run: prl sandbox serve.",
  options: CHILD_OPTIONS,
  hidden: true,
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const options = parseChildOptions(COMPONENT, args, io.cwd);
  const { config, configPath, member } = await joinAsChild(COMPONENT, options, (path) =>
    readChildConfig(COMPONENT, path),
  );
  const { socket, silence_timeout_s: limitS, daemon } = config;
  if (socket === null) throw new PrlError("PRL_CONFIG_INVALID", `${configPath}: it names no socket`);
  return untilStopped(io, async () => {
    // A daemon that was killed leaves its socket.
    await rm(socket, { force: true });
    // Its standard input is a pipe from this process: it stops when this process is gone, for whatever reason.
    const child = spawn(
      sandboxDaemonPath(io.env),
      ["--socket", socket, "--stop-with-stdin", ...daemonArguments(daemon)],
      {
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    onAbort(io.signal, () => {
      child.kill("SIGTERM");
      setTimeout(() => child.kill("SIGKILL"), STOP_MS).unref();
    });
    const over = new AbortController();
    let isKilled = false;
    const begin = async (): Promise<void> => {
      await member.ready({ url: `unix:${socket}`, ...(child.pid !== undefined && { daemon: child.pid }) });
      if (limitS === 0) return;
      const note = (text: string): void => void io.stderr.write(`${text}\n`);
      const watch = { address: `unix:${socket}`, limitMs: limitS * 1000, signal: over.signal, note };
      isKilled = (await daemonHangs(watch)) && child.kill("SIGKILL");
    };
    const end = await new Promise<string>((resolve, reject) => {
      child.stdout.once("data", () => void begin().catch(reject));
      child.once("error", reject);
      child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code ?? 0}`));
    }).finally(() => over.abort());
    if (isKilled) throw hanging(limitS);
    throw new PrlError("PRL_SANDBOX_DAEMON_EXITED", `the sandbox daemon ended: ${end}`);
  });
}

function hanging(limitS: number): PrlError {
  const advice = "the machine may be overloaded; if it is not, it is a fault of prl: please report it";
  const message = `the sandbox daemon gave no sign of life for ${limitS} s and was killed; ${advice}`;
  return new PrlError("PRL_SANDBOX_DEADLINE", message);
}
