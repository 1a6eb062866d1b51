/**
 * A part of a run as a child of `prl host-part`. It leads its own process group, and its output goes to a file of the run directory. It holds the other
 * end of a socket (the tether), so that it ends when its parent was killed.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";

import { messageOf, PrlError } from "../../../errors.ts";
import { TETHER } from "../../../monitors/index.ts";
import { selfCommand } from "../../../self-command.ts";
import { NODE_OPTIONS_OF } from "../../processes/rl-processes.ts";
import type { PartOrder } from "../host-protocol.ts";

export interface PartExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class PartProcess {
  readonly pid: number;
  readonly ended: Promise<PartExit>;
  #killer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  private constructor(pid: number, ended: Promise<PartExit>) {
    this.pid = pid;
    this.ended = ended.then((exit) => {
      this.#hasEnded = true;
      clearTimeout(this.#killer);
      // The group's id is in use until the last process of it is gone.
      this.#signal("SIGKILL");
      return exit;
    });
  }

  /** @param log file that its output is added to. Errors: PRL_IO, PRL_PROCESS_DIED when it cannot be started. */
  static async start(order: PartOrder, log: string): Promise<PartProcess> {
    const self = selfCommand();
    const output = openLog(log);
    try {
      const child = spawn(
        self.command,
        [...(NODE_OPTIONS_OF[order.component] ?? []), ...self.args, ...partArguments(order)],
        {
          detached: true,
          cwd: order.runDir,
          env: { ...process.env, ...order.env, [TETHER.variable]: String(TETHER.fd) },
          stdio: ["ignore", output, output, "ignore", "pipe"],
        },
      );
      const ended = new Promise<PartExit>((resolve) => {
        child.once("exit", (code, signal) => resolve({ code, signal }));
      });
      const pid = await new Promise<number>((resolve, reject) => {
        child.once("spawn", () => resolve(child.pid ?? 0));
        child.once("error", reject);
      });
      return new PartProcess(pid, ended);
    } catch (cause) {
      throw new PrlError("PRL_PROCESS_DIED", `${order.name} cannot be started: ${messageOf(cause)}`, { cause });
    } finally {
      closeSync(output);
    }
  }

  /** Asks it to end, and kills it after `graceMs`; of several calls the shortest time counts. */
  stop(graceMs: number): void {
    if (this.#hasEnded) return;
    clearTimeout(this.#killer);
    if (graceMs === 0) return this.#signal("SIGKILL");
    this.#signal("SIGTERM");
    this.#killer = setTimeout(() => this.#signal("SIGKILL"), graceMs);
  }

  #signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal);
    } catch (cause) {
      // A group that is gone is no error.
      if (!(cause instanceof Error && "code" in cause && cause.code === "ESRCH")) throw cause;
    }
  }
}

/** `trainer @ <config> --run-dir <dir> ...`: the part as a user starts it without the launcher. */
export function partArguments({ command, runDir, configs, index, resume, attempt }: PartOrder): string[] {
  const [config = ""] = Object.keys(configs);
  const place = ["@", join(runDir, "ssh", config), "--run-dir", runDir];
  if (command === "inference" || command === "env-server") return [command, ...place, "--index", String(index)];
  if (resume === null) return [command, ...place];
  const from = resume === "latest" ? ["--resume"] : ["--resume", String(resume)];
  return [command, ...place, ...from, "--attempt", String(attempt)];
}

function openLog(path: string): number {
  try {
    return openSync(path, "a");
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot open the log file ${path}`, { cause });
  }
}
