import { execFile } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { PrlError } from "../../../ts/errors.ts";
import { atomicWriteFile, atomicWriteJson, createFile } from "../../../ts/files/atomic-write.ts";
import { MODULE_LOADER, modulePath } from "../../support/compiled.ts";

/** A user without rights. */
const NOBODY = 65_534;
const run = promisify(execFile);
const MODULE = modulePath("files/atomic-write.ts");

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-atomic-"));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

describe("atomicWriteFile", () => {
  it("replaces the whole file and leaves nothing beside it", async () => {
    const path = join(dir, "summary.json");
    await writeFile(path, "a much longer old content");
    await atomicWriteFile(path, "new");
    expect(await readFile(path, "utf8")).toBe("new");
    expect(await readdir(dir)).toEqual(["summary.json"]);
  });

  it("writes JSON that parses back, with a final newline", async () => {
    const path = join(dir, "summary.json");
    await atomicWriteJson(path, { status: "completed", reward: 0.9375 });
    const text = await readFile(path, "utf8");
    expect(text.endsWith("}\n")).toBe(true);
    expect(JSON.parse(text)).toEqual({ status: "completed", reward: 0.9375 });
  });

  it("keeps the old file whole and removes its temporary one when the disk takes only a part of the bytes", async () => {
    const path = join(dir, "summary.json");
    await writeFile(path, "old");
    // A file size limit of 4 KiB stops the write half-way, as a full disk does.
    const script = join(dir, "write.mjs");
    await writeFile(
      script,
      `import { atomicWriteFile } from ${JSON.stringify(MODULE)};
       const code = await atomicWriteFile(process.argv[2], "x".repeat(1 << 20)).then(() => "none", (error) => error.code + " " + error.cause.code);
       process.stdout.write(code);`,
    );
    const node = `ulimit -f 8; TSX_DISABLE_CACHE=1 exec "$0" "$@"`;
    const { stdout } = await run("bash", ["-c", node, process.execPath, ...MODULE_LOADER, script, path]);
    expect(stdout).toBe("PRL_IO EFBIG");
    expect(await readFile(path, "utf8")).toBe("old");
    expect((await readdir(dir)).toSorted()).toEqual(["summary.json", "write.mjs"]);
  });

  it("removes its temporary file when the rename is refused, and names the file", async () => {
    const path = join(dir, "occupied");
    await mkdir(join(path, "by-a-folder"), { recursive: true });
    const error = await atomicWriteFile(path, "new").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PrlError);
    expect(error).toMatchObject({ code: "PRL_IO", message: expect.stringContaining(path) as string });
    expect(await readdir(dir)).toEqual(["occupied"]);
  });

  it("keeps the old file, and removes its temporary one, when the pieces end early", async () => {
    const path = join(dir, "summary.json");
    await writeFile(path, "old");
    const seen: string[][] = [];
    async function* pieces(): AsyncGenerator<string> {
      yield "new";
      seen.push(await readdir(dir));
      throw new TypeError("no more pieces");
    }
    const cause = expect.any(TypeError) as unknown;
    await expect(atomicWriteFile(path, pieces())).rejects.toMatchObject({ code: "PRL_IO", cause });
    expect(seen).toEqual([[expect.stringMatching(/^\.summary\.json\..+\.tmp$/u), "summary.json"]]);
    expect(await readdir(dir)).toEqual(["summary.json"]);
    expect(await readFile(path, "utf8")).toBe("old");
  });

  // Only root may take another user's rights, and it may read every directory.
  it.skipIf(process.geteuid?.() !== 0)("names a directory that one may write to and not read", async () => {
    await chown(dir, NOBODY, NOBODY);
    await chmod(dir, 0o300);
    process.seteuid?.(NOBODY);
    try {
      await expect(atomicWriteFile(join(dir, "x"), "new")).rejects.toMatchObject({
        code: "PRL_IO",
        message: `cannot sync the directory ${dir}`,
      });
      expect(await readFile(join(dir, "x"), "utf8")).toBe("new");
    } finally {
      process.seteuid?.(0);
    }
  });

  it("reports a directory that is not there", async () => {
    await expect(atomicWriteFile(join(dir, "none", "x"), "new")).rejects.toMatchObject({ code: "PRL_IO" });
  });
});

describe("createFile", () => {
  it("makes a file once and leaves nothing beside it", async () => {
    const path = join(dir, "token");
    expect([await createFile(path, "first"), await createFile(path, "second")]).toEqual([true, false]);
    expect(await readFile(path, "utf8")).toBe("first");
    expect(await readdir(dir)).toEqual(["token"]);
  });
});
