/** `node:fs/promises` in virtual time: each call is done in one moment, on real files, and takes a while from the seed. The disk may be full. */
import fs from "node:fs";
import { join } from "node:path";

import type { World } from "./world.ts";

type Call = (...args: unknown[]) => Promise<unknown>;
type Data = string | Uint8Array;

/** Calls that need room. */
const WRITES = new Set(["mkdir", "appendFile", "copyFile", "mkdtemp", "symlink"]);
const SAME =
  "access chmod copyFile lstat mkdir mkdtemp readFile readdir readlink realpath rename rmdir stat statfs symlink truncate unlink utimes appendFile".split(
    " ",
  );

/** The calls by their names. */
export function simulatedFiles(world: World): Map<string, Call> {
  const calls = new Map<string, Call>();
  for (const name of SAME) {
    const sync = Reflect.get(fs, `${name}Sync`) as (...args: unknown[]) => unknown;
    calls.set(name, (...args) =>
      world.operation(() => {
        if (WRITES.has(name)) SimulatedFile.assertRoom(world, name);
        return sync(...args);
      }),
    );
  }
  calls.set("rm", async (path, options) => {
    if (world.removesEntries)
      for (const entry of entriesBelow(String(path)))
        await world.operation(() => fs.rmSync(entry, { recursive: true, force: true }));
    return world.operation(() => fs.rmSync(path as string, options as fs.RmOptions));
  });
  calls.set("open", async (path, flags = "r", mode?: unknown) => {
    const fd = await world.operation(() => fs.openSync(path as string, flags as string, mode as number | undefined));
    return new SimulatedFile(world, fd);
  });
  calls.set("writeFile", async (target, data) => {
    const whole = await collected(data as Data | AsyncIterable<string>);
    if (target instanceof SimulatedFile) return target.writeFile(whole);
    return world.operation(() => {
      SimulatedFile.assertRoom(world, "write");
      fs.writeFileSync(target as string, whole);
    });
  });
  return calls;
}

/** Everything in a folder, each entry before the folder that it is in, a manifest after the folders beside it; nothing for a file. */
function entriesBelow(path: string): string[] {
  if (fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const entries = fs
    .readdirSync(path)
    .toSorted()
    .toReversed()
    .map((name) => join(path, name));
  return entries.flatMap((entry) => [...entriesBelow(entry), entry]);
}

async function collected(data: Data | AsyncIterable<string>): Promise<Data> {
  if (typeof data === "string" || data instanceof Uint8Array) return data;
  let all = "";
  for await (const piece of data) all += piece;
  return all;
}

/** A file handle. */
export class SimulatedFile {
  readonly #world: World;
  readonly #owner: { readonly files: Set<number> } | undefined;
  readonly fd: number;

  constructor(world: World, fd: number) {
    this.#world = world;
    this.#owner = world.current;
    this.fd = fd;
  }

  static assertRoom(world: World, call: string): void {
    if (world.isDiskFull)
      throw Object.assign(new Error(`ENOSPC: no space left on device, ${call}`), { code: "ENOSPC" });
  }

  writeFile(data: Data): Promise<void> {
    return this.#world.operation(() => {
      SimulatedFile.assertRoom(this.#world, "write");
      fs.writeFileSync(this.fd, data);
    });
  }

  write(data: Uint8Array): Promise<{ bytesWritten: number }> {
    return this.#world.operation(() => {
      SimulatedFile.assertRoom(this.#world, "write");
      return { bytesWritten: fs.writeSync(this.fd, data) };
    });
  }

  read(buffer: Uint8Array, offset: number, length: number, position: number | null) {
    return this.#world.operation(() => ({ bytesRead: fs.readSync(this.fd, buffer, offset, length, position), buffer }));
  }

  readFile(options?: { encoding?: BufferEncoding } | BufferEncoding): Promise<string | Buffer> {
    return this.#world.operation(() => fs.readFileSync(this.fd, options));
  }

  stat(): Promise<fs.Stats> {
    return this.#world.operation(() => fs.fstatSync(this.fd));
  }

  /** The memory of the machine survives its processes. */
  sync(): Promise<void> {
    return this.#world.operation(() => undefined);
  }

  close(): Promise<void> {
    return this.#world.operation(() => {
      if (this.#owner?.files.has(this.fd) === true) fs.closeSync(this.fd);
    });
  }
}
