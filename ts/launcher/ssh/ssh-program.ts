/**
 * Calls the user's `ssh`, with the user's keys, agent and known hosts.
 *
 * It never asks (`BatchMode`) and shares no connection with another ssh (`ControlMaster`, `ControlPath`), because a part of a run lives as long
 * as its connection. A host that does not answer is noticed within 15 s, before the connection stands and after. What runs on the host is one
 * quoted command; everything secret goes through its standard input.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

import type { Host, HostsFile } from "../../config/index.ts";
import { messageOf, PrlError } from "../../errors.ts";
import { quoted } from "../clusters/shell-quote.ts";

export type SshProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/** Longest time until a connection stands (seconds). */
const CONNECT_S = 15;
/** A host that answers nothing for three times this long is lost (seconds). */
const ALIVE_S = 5;
const ALIVE_COUNT = 3;
/** Exit code of ssh itself; the command on the host has the others. */
export const SSH_FAILED = 255;

const OPTIONS = [
  "BatchMode=yes",
  `ConnectTimeout=${CONNECT_S}`,
  `ServerAliveInterval=${ALIVE_S}`,
  `ServerAliveCountMax=${ALIVE_COUNT}`,
  "ControlMaster=no",
  "ControlPath=none",
  "ClearAllForwardings=yes",
  "ForwardAgent=no",
  "PermitLocalCommand=no",
  "RequestTTY=no",
  "LogLevel=ERROR",
];

/** The arguments with which `ssh` starts `words` on the host. */
export function sshArguments(
  { address, port, user, identity }: Pick<Host, "address" | "port" | "user" | "identity">,
  { ssh_config: config }: Pick<HostsFile, "ssh_config">,
  words: readonly string[],
): string[] {
  return [
    ...(config === null ? [] : ["-F", config]),
    ...OPTIONS.flatMap((option) => ["-o", option]),
    ...(port === null ? [] : ["-p", String(port)]),
    ...(user === null ? [] : ["-l", user]),
    ...(identity === null ? [] : ["-o", "IdentitiesOnly=yes", "-i", identity]),
    "--",
    address,
    `exec ${words.map((word) => quoted(word)).join(" ")}`,
  ];
}

/** Starts `prl <words>` on the host. The process leads its own group, so that Ctrl-C in a terminal does not reach it. */
export function startOnHost(host: Host, file: HostsFile, words: readonly string[]): SshProcess {
  return spawn("ssh", sshArguments(host, file, [...host.command, ...words]), {
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
}

/**
 * Ends ssh with all that it has started, such as a ProxyCommand, which has its standard error too. After SIGKILL no wait depends on a program that has
 * left the group, or that this user may not end.
 */
export function endSsh(ssh: SshProcess, signal: "SIGTERM" | "SIGKILL"): void {
  if (ssh.pid === undefined) return;
  try {
    process.kill(-ssh.pid, signal);
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code !== "ESRCH" && code !== "EPERM") throw cause;
  }
  if (signal === "SIGKILL") ssh.stderr.destroy();
}

/** Why a connection never stood, in words of ssh, with what to do. */
export function connectionRefused(host: Host, said: string): PrlError {
  const where = `${host.name} (${host.user === null ? "" : `${host.user}@`}${host.address})`;
  const reason = said.trim() === "" ? "ssh ended without a word" : said.trim();
  return new PrlError("PRL_SSH", `${where}: ${reason}; ${adviceFor(host, reason)}`);
}

export function noSsh(cause: unknown): PrlError {
  return new PrlError("PRL_SSH", `ssh cannot be started: ${messageOf(cause)}; install an OpenSSH client`, { cause });
}

function adviceFor({ identity, command }: Host, reason: string): string {
  if (/permission denied|too many authentication/iu.test(reason)) {
    const key = identity === null ? "ssh's config or agent" : identity;
    return `the host takes no key of ${key}: add its public half to authorized_keys there, or set user and identity`;
  }
  if (/host key|known_hosts/iu.test(reason))
    return "compare the host's key and add it to known_hosts: connect once with ssh, which asks";
  if (/not found|no such file/iu.test(reason))
    return `${command.join(" ")} is not there: install prl on the host, or set command`;
  return "see whether ssh reaches it, with the same address, port and user";
}
