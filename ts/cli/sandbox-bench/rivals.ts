/** Other tools that isolate a program, as far as they are installed: their command prefixes, and the floor. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { realpathSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

import { PrlError } from "../../errors.ts";
import { Bundles } from "./runc.ts";

export const PYTHON = "/usr/bin/python3";
const FORK_SERVER = fileURLToPath(new URL("../../../benches/rivals/fork_server.py", import.meta.url));
const START_MS = 10_000;
/** Rivals without a bar take from ten to forty times as long as we do, so they get fewer samples. */
const SLOW = 5;
/** A refused connection means that its backlog is full. */
const RETRY_MS = 1;

/** Prefixes that isolate a command. `plain` does not isolate; runc has a directory instead. */
const PREFIXES: Readonly<Record<string, string>> = {
  plain: "",
  bubblewrap:
    "bwrap --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup --unshare-net --die-with-parent --new-session " +
    "--cap-drop ALL --ro-bind /usr /usr --ro-bind /etc /etc --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 " +
    "--proc /proc --dev /dev --size 67108864 --tmpfs /tmp --chdir /tmp --",
  firejail:
    "firejail --quiet --noprofile --net=none --private --private-tmp --private-dev --caps.drop=all --nonewprivs --noroot --seccomp " +
    "--rlimit-nproc=64 --",
  runc: "",
  podman:
    "podman --cgroup-manager=cgroupfs run --rm -i --network=none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --rootfs /:O",
};
const ENVIRONMENT = { PATH: "/usr/bin:/bin", HOME: "/tmp", LANG: "C.UTF-8", OPENBLAS_NUM_THREADS: "1" };

const BUNDLES = new Bundles(ENVIRONMENT);

/** The known rivals that can run a program on this machine, `plain` first. */
export function installedRivals(): string[] {
  return Object.keys(PREFIXES).filter((name) => runs(name, ["/bin/true"]));
}

/** The rivals that can run this command: firejail, for example, hides home folders. `note` is called for the others. */
export function ableRivals(
  rivals: readonly string[],
  command: readonly string[],
  note: (text: string) => void,
): readonly string[] {
  return rivals.filter((name) => {
    const able = runs(name, command);
    if (!able) note(`${name}: not measured with ${command[0] ?? ""}, which it cannot run`);
    return able;
  });
}

function runs(rival: string, command: readonly string[]): boolean {
  const [program = "", ...args] = rivalCommand(rival, command);
  return spawnSync(program, args, { stdio: "ignore", env: ENVIRONMENT }).status === 0;
}

/** The whole command line of a rival. `container`: a name that nothing else has at the same time, where one is needed. */
export function rivalCommand(rival: string, command: readonly string[], container?: string): string[] {
  const own = homes(command[0] ?? "");
  if (rival === "runc") return BUNDLES.command(command, own, container);
  const prefix = (PREFIXES[rival] ?? "").split(" ").filter((word) => word !== "");
  if (rival === "bubblewrap") prefix.splice(-1, 0, ...own.flatMap((home) => ["--ro-bind", home, home]));
  return [...prefix, ...command];
}

/** This rival takes part in one of this many rounds of a measurement, and does one of this many runs of a burst. */
export function rarity(rival: string): number {
  return rival === "plain" || rival === "bubblewrap" ? 1 : SLOW;
}

/** Removes files of the rivals. */
export function forgetRivals(): void {
  BUNDLES.remove();
}

/** The folder of a virtual environment's interpreter, and that of the interpreter that the environment was made from. */
function homes(program: string): string[] {
  if (!isAbsolute(program)) return [];
  const places = [program, realpathSync(program)].map((path) => dirname(dirname(path)));
  return [...new Set(places)].filter((home) => !"/usr".startsWith(home) && !home.startsWith("/usr/"));
}

/** Runs a command under a rival; rejects unless it ends with 0 and exactly this output. */
export async function runRival(
  rival: string,
  command: readonly string[],
  stdin: string,
  output: string,
): Promise<void> {
  const [program = "", ...args] = rivalCommand(rival, command);
  const child = spawn(program, args, { env: ENVIRONMENT, stdio: [stdin === "" ? "ignore" : "pipe", "pipe", "pipe"] });
  const ended = once(child, "close") as Promise<[number | null, string | null]>;
  child.stdin?.end(stdin);
  const parts: Buffer[] = [];
  child.stdout?.on("data", (part: Buffer) => parts.push(part));
  child.stderr?.resume();
  const [code] = await ended;
  expectOutput(rival, Buffer.concat(parts).toString(), output, code === 0);
}

/** The bare fork server of `benches/rivals/fork_server.py`. */
export class Floor {
  readonly #server: ChildProcess;
  readonly #directory: string;
  readonly #socket: string;

  private constructor(server: ChildProcess, directory: string) {
    this.#server = server;
    this.#directory = directory;
    this.#socket = join(directory, "socket");
  }

  static async start(preloads: readonly string[], signal: AbortSignal, python = PYTHON): Promise<Floor> {
    const directory = await mkdtemp(join(tmpdir(), "prl-floor-"));
    const args = ["-I", ...(python === PYTHON ? ["-S"] : []), FORK_SERVER, join(directory, "socket"), ...preloads];
    const server = spawn(python, args, { env: ENVIRONMENT, stdio: ["ignore", "ignore", "inherit"] });
    const floor = new Floor(server, directory);
    const deadline = performance.now() + START_MS;
    for (;;) {
      signal.throwIfAborted();
      try {
        await floor.run("print(1)", "", "1\n");
        return floor;
      } catch (cause) {
        if (server.exitCode !== null || performance.now() > deadline) {
          await floor.close();
          throw new PrlError("PRL_SANDBOX_BENCH", "the fork server that gives the lower bound does not run here", {
            cause,
          });
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async run(code: string, stdin: string, output: string): Promise<void> {
    const texts = [Buffer.from(code), Buffer.from(stdin)];
    const lengths = Buffer.alloc(8);
    texts.forEach((text, index) => lengths.writeUInt32LE(text.length, 4 * index));
    for (;;) {
      try {
        const answer = await this.#ask(Buffer.concat([lengths, ...texts]));
        expectOutput("floor", answer.toString(), output, true);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  async #ask(question: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const parts: Buffer[] = [];
      const socket = connect(this.#socket, () => socket.write(question));
      socket.on("data", (part) => parts.push(part));
      socket.once("error", reject);
      socket.once("close", () => resolve(Buffer.concat(parts)));
    });
  }

  async close(): Promise<void> {
    if (this.#server.exitCode === null && this.#server.signalCode === null) {
      const ended = once(this.#server, "close");
      this.#server.kill("SIGKILL");
      await ended;
    }
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** Errors: PRL_SANDBOX_BENCH. */
export function expectOutput(who: string, got: string, expected: string, succeeded: boolean): void {
  if (succeeded && got === expected) return;
  const how = succeeded ? "wrote" : "failed and wrote";
  throw new PrlError(
    "PRL_SANDBOX_BENCH",
    `${who} ${how} ${JSON.stringify(got.slice(0, 200))}, not ${JSON.stringify(expected)}`,
  );
}
