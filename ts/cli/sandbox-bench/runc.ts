/** runc runs what a file in a directory describes: each command line gets one directory, made at its first use. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Folders of the machine that are visible, read-only; `/tmp` and `/dev` are separate directories. */
const SHOWN: readonly (readonly [string, string])[] = [
  ["/usr", "/usr"],
  ["/etc", "/etc"],
  ["/bin", "/usr/bin"],
  ["/lib", "/usr/lib"],
  ["/lib64", "/usr/lib64"],
];

export class Bundles {
  readonly #environment: readonly string[];
  readonly #byCommand = new Map<string, string>();
  #directory: string | undefined;
  #containers = 0;

  constructor(environment: Readonly<Record<string, string>>) {
    this.#environment = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  }

  /**
   * The command line that runs `command` once. `homes`: directories that the program needs besides. Two containers at a time need different
   * names, which are made up unless one is given.
   */
  command(
    command: readonly string[],
    homes: readonly string[],
    container = `prl-bench-${process.pid}-${++this.#containers}`,
  ): string[] {
    const key = JSON.stringify([command, homes]);
    const bundle = this.#byCommand.get(key) ?? this.#make(command, homes);
    this.#byCommand.set(key, bundle);
    return ["runc", "--root", join(this.#directory ?? "", "state"), "run", "--bundle", bundle, container];
  }

  remove(): void {
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true });
    this.#directory = undefined;
    this.#byCommand.clear();
  }

  #make(command: readonly string[], homes: readonly string[]): string {
    this.#directory ??= mkdtempSync(join(tmpdir(), "prl-runc-"));
    const bundle = join(this.#directory, `${this.#byCommand.size}`);
    mkdirSync(join(bundle, "rootfs"), { recursive: true });
    writeFileSync(join(bundle, "config.json"), JSON.stringify(this.#description(command, homes)));
    return bundle;
  }

  #description(command: readonly string[], homes: readonly string[]): object {
    const shown = [...SHOWN, ...homes.map((home) => [home, home] as const)];
    return {
      ociVersion: "1.0.0",
      hostname: "bench",
      root: { path: "rootfs", readonly: true },
      process: {
        terminal: false,
        user: { uid: 0, gid: 0 },
        args: command,
        env: this.#environment,
        cwd: "/tmp",
        capabilities: {},
        noNewPrivileges: true,
      },
      linux: { namespaces: ["pid", "ipc", "uts", "mount", "network"].map((type) => ({ type })) },
      mounts: [
        { destination: "/proc", type: "proc", source: "proc" },
        { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755", "size=65536k"] },
        { destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["nosuid", "nodev", "size=65536k"] },
        ...shown.map(([destination, source]) => ({ destination, type: "bind", source, options: ["rbind", "ro"] })),
      ],
    };
  }
}
