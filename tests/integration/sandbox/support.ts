/** What the sandbox tests share: which causes this machine can show, and what a daemon has left behind. */

import { readdirSync, readFileSync } from "node:fs";
import type { RunCause, SandboxPool } from "../../../ts/sandbox/index.ts";

/** A reason to skip when the daemon's tier cannot observe `cause` here; it is printed, so that the test does not look passed. */
export async function unobservable(pool: SandboxPool, cause: RunCause): Promise<string | null> {
  const capabilities = await pool.capabilities();
  if (!capabilities.unobservable.includes(cause)) return null;
  const reason = `${cause} cannot be observed in tier ${capabilities.isolation ?? "none"}, cgroups ${capabilities.cgroups}`;
  process.stderr.write(`skipped: ${reason}\n`);
  return reason;
}

/** Process ids of a process and of all below it. */
export function processTree(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = parentOf(Number(name));
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

/** The command line of a process; null when it is gone or a zombie. */
export function commandLine(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    return text === "" ? null : text.replaceAll("\0", " ").trim();
  } catch {
    return null;
  }
}

/** Lines of this process's mount table that name a sandbox. */
export function sandboxMounts(): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.includes("prl-sandbox"));
}

/** Control groups that a daemon made, in any hierarchy. */
export function sandboxCgroups(daemonPid: number): string[] {
  const found: string[] = [];
  const look = (dir: string, depth: number): void => {
    for (const entry of entries(dir)) {
      const path = `${dir}/${entry}`;
      if (entry.startsWith(`prl-sandboxd-${daemonPid}-`)) found.push(path);
      else if (depth > 0) look(path, depth - 1);
    }
  };
  look("/sys/fs/cgroup", 3);
  return found.sort();
}

function entries(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return []; // Gone meanwhile.
  }
}

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return null; // Gone meanwhile.
  }
}

/** Waits until `condition` holds, at most `ms`. */
export async function until(condition: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms;
  while (performance.now() < deadline) {
    if (await condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return condition();
}
