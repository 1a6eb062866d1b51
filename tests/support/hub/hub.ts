/** A hub on the loopback interface, with an account and npm settings that name it, for tests of environment packages. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";

import { runCommandLine } from "../../../ts/cli/dispatch.ts";
import { startHub } from "../../../ts/environments/internal.ts";
import { prl } from "../prl.ts";

/** Gold answers score full, other answers do not; the module has no other import than prl's. */
export const MODULE = `
import { defineEnvironment, endless, ofSplit, singleTurn, z } from "prl-lm/environments";
function* rows(rng) {
  for (;;) {
    const word = Array.from({ length: 8 }, () => rng.pick("abcdefghijklmnopqrstuvwxyz")).join("");
    yield { prompt: [{ role: "user", content: "say " + word + " loudly" }], answer: word.toUpperCase() };
  }
}
export default defineEnvironment({
  name: "loud", version: "1.0.0", config: z.strictObject({}),
  tasks: ({ rng, split }) => endless(ofSplit(rows(rng), split, (row) => row.prompt)),
  rollout: singleTurn(),
  rewards: { exact: ({ task, trace }) => trace.lastReply.trim() === task.answer },
  async validate({ task, score }) {
    if ((await score(task.answer)) !== 1) throw new Error("the answer does not score full");
  },
});
`;

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface TestHub {
  readonly url: string;
  /** Where the hub keeps its packages. */
  readonly storage: string;
  /** A temporary folder, removed at the end. */
  readonly dir: string;
  /** Variables for npm: the account, an empty cache, and the hub as the only registry. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs `prl` in this process, in a folder below `dir`; `more`: variables besides those of `env`. */
  prl(folder: string, args: readonly string[], input?: string, more?: Readonly<Record<string, string>>): Promise<Ran>;
  /** Runs the built `prl`, which imports the environment as users' code. */
  spawned(folder: string, args: readonly string[]): Promise<Ran>;
  /** Writes the files of an environment package into a folder below `dir` and returns the folder. */
  write(folder: string, manifest: Readonly<Record<string, unknown>>, files?: Readonly<Record<string, string>>): string;
  close(): Promise<void>;
}

export async function testHub(): Promise<TestHub> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "prl-hub-")));
  const storage = join(dir, "hub");
  const hub = await startHub({ storage, host: "127.0.0.1", port: 0, uplink: null, isPrivate: false, isOpen: true });
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: dir,
    npm_config_userconfig: join(dir, "npmrc"),
    npm_config_cache: join(dir, "cache"),
    npm_config_registry: hub.url,
    npm_config_fetch_retries: "0",
  };
  const run: TestHub["prl"] = async (folder, args, input = "", more = {}) => {
    let [stdout, stderr] = ["", ""];
    const code = await runCommandLine(args, {
      stdin: Readable.from(input === "" ? [] : [input]),
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: (text) => (stderr += text) },
      env: { ...env, ...more },
      cwd: join(dir, folder),
    });
    return { code, stdout, stderr };
  };
  return {
    url: hub.url,
    storage,
    dir,
    env,
    prl: run,
    spawned: (folder, args) =>
      prl([...args], { cwd: join(dir, folder), cache: join(dir, "prl-cache"), env: { ...env } }),
    write(folder, manifest, files = { "index.js": MODULE }) {
      const place = join(dir, folder);
      const all = { "package.json": JSON.stringify({ type: "module", ...manifest }), ...files };
      for (const [path, text] of Object.entries(all)) {
        mkdirSync(dirname(join(place, path)), { recursive: true });
        writeFileSync(join(place, path), text);
      }
      return place;
    },
    async close() {
      await hub.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** package.json of an environment. */
export function environmentManifest(
  name: string,
  version: string,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return { name, version, keywords: ["prl-environment"], prl: { environment: "./index.js", api: 1 }, ...more };
}
