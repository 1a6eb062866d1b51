/** Files of held sandboxes: in, out, watched, copied, kept. */

import { mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Box, type FileChange, SandboxPool } from "../../../ts/sandbox/index.ts";

let pool: SandboxPool;
let box: Box;
let dir: string;
beforeAll(async () => {
  pool = await SandboxPool.start();
  dir = await mkdtemp(join(tmpdir(), "prl-box-files-"));
});
afterAll(async () => {
  await pool.close();
  await rm(dir, { recursive: true });
});
beforeEach(async () => {
  box = await pool.create();
  return async () => box.close();
});

const sh = (script: string): string[] => ["sh", "-c", script];

describe("a file", () => {
  test("is written with its mode and read back, whole or in part", async () => {
    const bytes = Buffer.from(Array.from({ length: 700_000 }, (_, i) => i % 253));
    const info = await box.write("deep/er/file.bin", bytes, { mode: 0o750 });
    expect(info).toMatchObject({ kind: "file", bytes: bytes.length, mode: 0o750, linkTarget: null });
    expect(Date.now() - info.modifiedAt.getTime()).toBeLessThan(60_000);
    expect((await box.read("/work/deep/er/file.bin")).equals(bytes)).toBe(true);
    expect((await box.read("deep/er/file.bin", { offset: 699_990 })).equals(bytes.subarray(699_990))).toBe(true);
    expect((await box.exec(sh("stat -c '%a %s' deep/er/file.bin"))).stdout.toString()).toBe("750 700000\n");
    await box.write("empty", "");
    expect(await box.read("empty")).toHaveLength(0);
  });

  test("that is too large, missing, or none is refused by its code", async () => {
    await box.write("ten", "0123456789");
    await expect(box.read("ten", { maxBytes: 9 })).rejects.toMatchObject({ code: "PRL_SANDBOX_TOO_LARGE" });
    expect((await box.read("ten", { maxBytes: 10 })).toString()).toBe("0123456789");
    await expect(box.read("nowhere")).rejects.toMatchObject({ code: "PRL_SANDBOX_FILE_UNKNOWN" });
    await expect(box.stat("nowhere")).rejects.toMatchObject({ code: "PRL_SANDBOX_FILE_UNKNOWN" });
    await expect(box.read(".")).rejects.toMatchObject({ code: "PRL_SANDBOX_FILE" });
    await expect(box.write("/usr/x", "x")).rejects.toMatchObject({ code: "PRL_SANDBOX_FILE" });
    await expect(box.write("x", "x", { mode: 0o4755 })).rejects.toMatchObject({ code: "PRL_SANDBOX_REQUEST" });
  });

  test("is listed, moved and removed; a link is not followed", async () => {
    await box.mkdir("a/b");
    await box.mkdir("a/b");
    await box.write("a/one", "1");
    await box.write("a/b/two", "22");
    await box.exec(sh("ln -s /etc/passwd a/link"));
    const listed = async (options = {}) => {
      const { entries, truncated } = await box.list("a", options);
      return { names: entries.map(({ path }) => path.replace(/^.*?a\//, "")).sort(), truncated, entries };
    };
    expect((await listed()).names).toEqual(["b", "link", "one"]);
    expect((await listed({ depth: 2 })).names).toEqual(["b", "b/two", "link", "one"]);
    expect(await listed({ maxEntries: 2 })).toMatchObject({ truncated: true, entries: { length: 2 } });
    expect(await box.stat("a/link")).toMatchObject({ kind: "symlink", linkTarget: "/etc/passwd" });
    await box.move("a/one", "a/b/moved");
    expect((await box.read("a/b/moved")).toString()).toBe("1");
    await expect(box.remove("a")).rejects.toMatchObject({ code: "PRL_SANDBOX_FILE" });
    await box.remove("a", { recursive: true });
    await expect(box.stat("a")).rejects.toMatchObject({ code: "PRL_SANDBOX_FILE_UNKNOWN" });
  });

  test("that changes is seen by a watch", async () => {
    await box.mkdir("watched/below");
    const watch = await box.watch("watched", { recursive: true });
    await box.exec(sh("echo x > watched/new; echo y > watched/below/deep; rm watched/new"));
    const seen: FileChange[] = [];
    for await (const change of watch) {
      seen.push(change);
      if (change.kind === "removed") break;
    }
    const of = (name: string) => seen.filter(({ path }) => path.endsWith(name)).map(({ kind }) => kind);
    expect(of("new")[0]).toBe("created");
    expect(of("new").at(-1)).toBe("removed");
    expect(of("deep")).toContain("created");
  });

  test("a watch that is closed ends its loop", async () => {
    const watch = await box.watch(".");
    setTimeout(() => watch.close(), 50);
    for await (const change of watch) throw new Error(JSON.stringify(change));
  });
});

describe("a directory", () => {
  test("goes in and comes out; links that lead outside are left out", async () => {
    const source = join(dir, "source");
    await mkdir(join(source, "deep"), { recursive: true });
    await writeFile(join(source, "deep", "grün.txt"), "text");
    await symlink("deep/grün.txt", join(source, "link"));
    expect((await box.uploadDirectory(source, "in")).bytes).toBe(4);
    expect((await box.exec(sh("cat in/link in/deep/*; ln -s /etc in/out"))).stdout.toString()).toBe("texttext");
    const { leftOut } = await box.downloadDirectory("in", join(dir, "target"));
    expect(leftOut.map((path) => path.replace(/^\.\//, ""))).toEqual(["out"]);
    expect(await readFile(join(dir, "target", "deep", "grün.txt"), "utf8")).toBe("text");
    expect(await readlink(join(dir, "target", "link"))).toBe("deep/grün.txt");
    await expect(box.downloadDirectory("in", dir)).rejects.toMatchObject({ code: "PRL_SANDBOX_LOCAL_FILE" });
    await expect(box.uploadDirectory(join(dir, "none"))).rejects.toMatchObject({ code: "PRL_SANDBOX_LOCAL_FILE" });
    const bounded = box.downloadDirectory("in", join(dir, "bounded"), { maxBytes: 3 });
    await expect(bounded).rejects.toMatchObject({ code: "PRL_SANDBOX_TOO_LARGE" });
  });
});

describe("a snapshot", () => {
  test("gives other boxes the files of its moment, whatever changes later", async () => {
    await box.exec(sh("echo kept > note; mkdir d; echo deep > d/file; echo tmp > /tmp/t"));
    const snapshot = await box.snapshot({ labels: { of: "test" } });
    expect(snapshot).toMatchObject({ labels: { of: "test" } });
    expect(snapshot.bytes).toBeGreaterThan(0);
    await box.exec(sh("echo changed > note"));
    const [first, second] = await Promise.all([pool.create({ from: snapshot }), pool.create({ from: snapshot.id })]);
    await first.exec(sh("rm note"));
    expect((await second.exec(sh("cat note d/file /tmp/t"))).stdout.toString()).toBe("kept\ndeep\ntmp\n");
    expect((await box.read("note")).toString()).toBe("changed\n");
    expect((await pool.snapshots({ labels: { of: "test" } })).map(({ id }) => id)).toEqual([snapshot.id]);
    await pool.deleteSnapshot(snapshot);
    expect(await pool.snapshots({ labels: { of: "test" } })).toEqual([]);
    expect((await second.read("note")).toString()).toBe("kept\n");
    await expect(pool.create({ from: snapshot })).rejects.toMatchObject({ code: "PRL_SANDBOX_UNKNOWN" });
    await expect(pool.deleteSnapshot(snapshot)).rejects.toMatchObject({ code: "PRL_SANDBOX_UNKNOWN" });
    await Promise.all([first.close(), second.close()]);
  });
});
