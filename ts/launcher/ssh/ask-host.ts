/**
 * One question to a host: who is there, or a survey of the machine. It starts `prl host-part`, gives it at most one line, and takes its answer; nothing
 * stays on the host.
 */
import { setMaxListeners } from "node:events";

import { onAbort } from "../../async/aborted.ts";
import type { Host, HostsFile } from "../../config/index.ts";
import { isErrorCode, messageOf, PrlError } from "../../errors.ts";
import { packageManifest } from "../../version.ts";
import { type Frame, type HostOrder, linesOf, PROTOCOL, readFrame } from "./host-protocol.ts";
import { connectionRefused, endSsh, noSsh, startOnHost } from "./ssh-program.ts";

const MOST_STDERR = 4 * 1024;

export interface Question {
  /** Null: only who is there. */
  readonly order: HostOrder | null;
  readonly deadlineMs: number;
  /** Aborting it ends ssh, and with it the question. */
  readonly signal?: AbortSignal;
  /** Called for each frame; gives a further line for the host, null for the end of the input, undefined for neither. */
  readonly reply?: (frame: Frame) => string | null | undefined;
}

/**
 * The frames of the answer.
 *
 * @throws PrlError `PRL_SSH` when the host cannot be reached, has another version of prl, or does not answer within `deadlineMs`
 */
export async function askHost(
  host: Host,
  file: HostsFile,
  { order, deadlineMs, signal, reply = () => undefined }: Question,
): Promise<Frame[]> {
  const ssh = startOnHost(host, file, ["host-part"]);
  let said = "";
  let isLate = false;
  const gone = new Promise<void>((resolve, reject) => {
    ssh.once("close", () => resolve());
    ssh.once("error", (cause) => reject(noSsh(cause)));
  });
  gone.catch(() => undefined);
  ssh.stdin.on("error", () => undefined); // Its end says what a broken pipe would.
  ssh.stderr.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString("utf8")).slice(-MOST_STDERR);
  });
  const end = (): void => endSsh(ssh, "SIGKILL");
  const timer = setTimeout(() => {
    isLate = true;
    end();
  }, deadlineMs);
  // All hosts may be asked at once.
  if (signal !== undefined) setMaxListeners(0, signal);
  const release = onAbort(signal, end);
  try {
    if (order === null) ssh.stdin.end();
    else ssh.stdin.write(`${JSON.stringify(order)}\n`);
    const frames: Frame[] = [];
    for await (const line of linesOf(ssh.stdout)) {
      const frame = readFrame(line);
      if (frame === null) continue;
      frames.push(frame);
      const further = reply(frame);
      if (further === null) ssh.stdin.end();
      else if (further !== undefined) ssh.stdin.write(`${further}\n`);
    }
    await gone;
    if (isLate) throw new PrlError("PRL_SSH", `${host.name}: did not answer within ${deadlineMs / 1000} s`);
    return checked(host, frames, said);
  } catch (cause) {
    throw cause instanceof PrlError ? cause : new PrlError("PRL_SSH", `${host.name}: ${messageOf(cause)}`, { cause });
  } finally {
    clearTimeout(timer);
    release();
    ssh.stdin.destroy();
    // An answer that cannot be read leaves ssh behind.
    if (ssh.exitCode === null && ssh.signalCode === null) end();
  }
}

function checked(host: Host, frames: Frame[], said: string): Frame[] {
  const hello = frames.find((frame) => frame.prl === "hello");
  if (hello === undefined) throw connectionRefused(host, said);
  refuseVersion(host, hello);
  const refused = frames.find((frame) => frame.prl === "refused");
  if (refused === undefined) return frames;
  throw new PrlError(isErrorCode(refused.code) ? refused.code : "PRL_SSH", `${host.name}: ${refused.message}`);
}

/** @throws PrlError `PRL_SSH` when the host has another version than this machine */
export function refuseVersion(host: Host, { protocol, version }: Extract<Frame, { prl: "hello" }>): void {
  const own = packageManifest().version;
  if (protocol === PROTOCOL && version === own) return;
  const text = `has prl ${version}, and this machine ${own}: have the same version on all hosts`;
  throw new PrlError("PRL_SSH", `${host.name} ${text}`);
}
