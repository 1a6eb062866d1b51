/**
 * Two "hosts" on this machine for one test: an sshd each, on free ports of 127.0.0.1, with their own host keys in a temporary folder. They take one key,
 * which is made for the test, and let in the user who runs it. Every process is one that it started or that these started.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import { freePorts } from "../free-ports.ts";
import { MAIN } from "../prl.ts";

const run = promisify(execFile);
/** sshd is in sbin, which not every PATH has. */
const PATH = [process.env["PATH"] ?? "", "/usr/sbin", "/usr/local/sbin"].join(delimiter);
const DEADLINE_MS = 60_000;

/** The programs that are missing here; empty: hosts can be started. */
export const missingSsh: readonly string[] = ["sshd", "ssh", "ssh-keygen"].filter((name) => find(name) === null);

export interface SshHosts {
  readonly dir: string;
  /** A file of hosts with the roles that are given; `change` replaces keys of a host. */
  readonly file: (roles: Readonly<Record<"a" | "b", readonly string[]>>, given?: HostsGiven) => Promise<string>;
  /** The run directory on a host. */
  readonly runDir: (host: "a" | "b", run: string) => string;
  /** Processes of the hosts' parts: those that have the hosts' mark in their environment. */
  readonly processes: () => Promise<HostProcess[]>;
  /** Ends a host's sshd and all that it started, as when its machine loses power. */
  readonly kill: (host: "a" | "b") => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface HostsGiven {
  readonly shared?: readonly string[];
  readonly change?: Readonly<Partial<Record<"a" | "b", Record<string, unknown>>>>;
}

export interface HostProcess {
  readonly pid: number;
  readonly parent: number;
  readonly host: string;
  readonly args: string;
}

export async function sshHosts(cache: string): Promise<SshHosts> {
  const dir = await mkdtemp(join(tmpdir(), "prl-ssh-"));
  const key = join(dir, "key");
  await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
  // sshd wants this folder as root, even where it does not separate its privileges.
  if (userInfo().uid === 0) await mkdir("/run/sshd", { recursive: true });
  const [portA = 0, portB = 0, first = 0] = await freePorts(3);
  const ports = { a: portA, b: portB };
  const daemons = new Map<string, ChildProcess>();
  const known: string[] = [];
  for (const name of ["a", "b"] as const) {
    const folder = join(dir, name);
    await mkdir(folder);
    await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, "host_key")]);
    const publicKey = (await readFile(join(folder, "host_key.pub"), "utf8")).split(" ").slice(0, 2).join(" ");
    known.push(`[127.0.0.1]:${ports[name]} ${publicKey}`);
    await writeFile(join(folder, "sshd_config"), configuration(folder, ports[name], `${key}.pub`));
    const args = ["-D", "-e", "-f", join(folder, "sshd_config")];
    daemons.set(name, spawn(find("sshd") ?? "sshd", args, { stdio: "ignore" }));
    await listening(ports[name]);
  }
  await writeFile(join(dir, "known_hosts"), `${known.join("\n")}\n`);
  await writeFile(
    join(dir, "ssh_config"),
    `UserKnownHostsFile ${join(dir, "known_hosts")}\nStrictHostKeyChecking yes\n`,
  );
  const mark = `PRL_TEST_HOSTS=${dir}`;
  const host = (name: "a" | "b", roles: readonly string[]) => ({
    name,
    address: "127.0.0.1",
    port: ports[name],
    user: userInfo().username,
    identity: key,
    roles,
    dir: join(dir, name),
    // Variables that the test's own prl has, too.
    command: ["env", ...variables(), process.execPath, MAIN],
    env: { PRL_CACHE_DIR: cache, NODE_EXTRA: mark },
  });
  const marked = async () => (await hostProcesses()).filter(({ env }) => env.includes(`NODE_EXTRA=${mark}`));
  return {
    dir,
    file: async (roles, { shared = [], change = {} } = {}) => {
      const hosts = (["a", "b"] as const)
        .filter((name) => roles[name].length > 0)
        .map((name) => ({ ...host(name, roles[name]), ...change[name] }));
      const path = join(dir, "hosts.json");
      const document = { ssh_config: "ssh_config", first_port: Math.max(1024, first - 8), shared, host: hosts };
      await writeFile(path, JSON.stringify(document));
      return path;
    },
    runDir: (name, runName) => join(dir, name, name, runName),
    processes: async () =>
      (await marked()).map(({ pid, parent, args, env }) => {
        return { pid, parent, args, host: env.some((one) => one === `PRL_TEST_HOST=a`) ? "a" : "b" };
      }),
    kill: async (name) => endTree(daemons.get(name)),
    stop: async () => {
      for (const daemon of daemons.values()) await endTree(daemon);
      for (const { pid } of await marked()) killIfThere(pid);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function configuration(folder: string, port: number, publicKey: string): string {
  return [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${join(folder, "host_key")}`,
    `PidFile ${join(folder, "sshd.pid")}`,
    `AuthorizedKeysFile ${publicKey}`,
    "StrictModes no",
    "PasswordAuthentication no",
    "KbdInteractiveAuthentication no",
    "UsePAM no",
    "PermitRootLogin prohibit-password",
    "PrintMotd no",
    "MaxSessions 20",
    "MaxStartups 100",
    "",
  ].join("\n");
}

/** What the test's addon is found by. */
function variables(): string[] {
  return ["PRL_NATIVE_ADDON"].flatMap((name) =>
    process.env[name] === undefined ? [] : [`${name}=${process.env[name]}`],
  );
}

async function listening(port: number): Promise<void> {
  const end = performance.now() + DEADLINE_MS;
  for (;;) {
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.destroy();
        resolve(true);
      });
      socket.on("error", () => resolve(false));
    });
    if (isThere) return;
    if (performance.now() > end) throw new Error(`no sshd listens on port ${port}`);
    await sleep(50);
  }
}

interface FoundProcess {
  readonly pid: number;
  readonly parent: number;
  readonly args: string;
  readonly env: readonly string[];
}

async function hostProcesses(): Promise<FoundProcess[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/u.test(name));
  const found = await Promise.all(
    pids.map(async (pid): Promise<FoundProcess | null> => {
      try {
        const [status, args, env] = await Promise.all(
          ["stat", "cmdline", "environ"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8")),
        );
        const fields = (status ?? "").slice((status ?? "").lastIndexOf(")") + 2).split(" ");
        if (fields[0] === "Z") return null;
        return {
          pid: Number(pid),
          parent: Number(fields[1]),
          args: (args ?? "").split("\0").join(" "),
          env: (env ?? "").split("\0"),
        };
      } catch {
        // It has ended meanwhile, or is of another user.
        return null;
      }
    }),
  );
  return found.filter((one) => one !== null);
}

async function endTree(daemon: ChildProcess | undefined): Promise<void> {
  if (daemon?.pid === undefined) return;
  const all = await hostProcesses();
  const tree = [daemon.pid];
  for (let index = 0; index < tree.length; index++) {
    tree.push(...all.filter(({ parent }) => parent === tree[index]).map(({ pid }) => pid));
  }
  for (const pid of tree) killIfThere(pid);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

function find(program: string): string | null {
  for (const folder of PATH.split(delimiter)) {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return join(folder, program);
    } catch {
      // The next folder may have it.
    }
  }
  return null;
}
