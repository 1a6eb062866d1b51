import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { cached, cacheKey, folderKey } from "../../../../ts/launcher/models/cache.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-cache-"));
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const write = (text: string) => async (dir: string) => writeFile(join(dir, "model.safetensors"), text);

describe("cached", () => {
  it("makes an entry once", async () => {
    expect((await cached("models", "k", write("a"), root)).hit).toBe(false);
    const again = await cached("models", "k", write("b"), root);
    expect(again.hit).toBe(true);
    expect(await readFile(join(again.path, "model.safetensors"), "utf8")).toBe("a");
  });

  it("leaves nothing behind when making fails, and makes it the next time", async () => {
    const failing = cached(
      "models",
      "k",
      async (dir) => {
        await write("half")(dir);
        throw new Error("disk full");
      },
      root,
    );
    await expect(failing).rejects.toThrow("disk full");
    expect(await readdir(join(root, "models"))).toEqual([]);
    expect((await cached("models", "k", write("whole"), root)).hit).toBe(false);
  });

  it("is safe when two runs make the same entry at once: one wins, both use it", async () => {
    let arrived = 0;
    let bothThere: () => void = () => undefined;
    const both = new Promise<void>((resolve) => {
      bothThere = resolve;
    });
    const make = (text: string) => async (dir: string) => {
      await write(text)(dir);
      arrived += 1;
      if (arrived === 2) bothThere();
      await both;
    };
    const made = await Promise.all([
      cached("models", "k", make("same"), root),
      cached("models", "k", make("same"), root),
    ]);
    expect(made.filter(({ hit }) => hit)).toHaveLength(1);
    expect(await readdir(join(root, "models"))).toEqual(["k"]);
  });

  it.each<[string, (entry: string) => Promise<void>, RegExp]>([
    ["a changed file", (entry) => writeFile(join(entry, "model.safetensors"), "b"), /model\.safetensors has changed/],
    ["a missing file", (entry) => rm(join(entry, "model.safetensors")), /model\.safetensors is missing/],
    ["a file too many", (entry) => writeFile(join(entry, "config.json"), "{}"), /config\.json does not belong there/],
    ["no digests", (entry) => rm(join(entry, ".digests.json")), /\.digests\.json is missing/],
    ["torn digests", (entry) => writeFile(join(entry, ".digests.json"), "{"), /\.digests\.json is malformed/],
    [
      "a file in its place",
      async (entry) => rm(entry, { recursive: true }).then(() => writeFile(entry, "x")),
      /digests/,
    ],
  ])("makes an entry with %s again and says so", async (_, spoil, damage) => {
    const { path } = await cached("models", "k", write("a"), root);
    await spoil(path);
    const again = await cached("models", "k", write("a"), root);
    expect(again).toMatchObject({ path, hit: false, damage: expect.stringMatching(damage) });
    expect(await readFile(join(path, "model.safetensors"), "utf8")).toBe("a");
    expect(await cached("models", "k", write("b"), root)).toEqual({ path, hit: true, damage: null });
  });

  it("deletes old files of a killed run, and no younger ones", async () => {
    const old = join(root, "models", "x.1.ab.tmp");
    await mkdir(old, { recursive: true });
    await mkdir(join(root, "models", "y.2.cd.tmp"));
    await utimes(old, 0, 0);
    await cached("models", "k", write("a"), root);
    expect((await readdir(join(root, "models"))).toSorted()).toEqual(["k", "y.2.cd.tmp"]);
  });

  it("says what to do when the cache cannot be written", async () => {
    await writeFile(join(root, "models"), "a file where a folder should be");
    await expect(cached("models", "k", write("a"), root)).rejects.toThrow(/PRL_CACHE_DIR/);
  });
});

describe("cache keys", () => {
  it("depend on content, not on the order of keys", () => {
    expect(cacheKey({ a: 1, b: { c: 2, d: 3 } })).toBe(cacheKey({ b: { d: 3, c: 2 }, a: 1 }));
    expect(cacheKey({ a: [1, 2] })).not.toBe(cacheKey({ a: [2, 1] }));
    expect(cacheKey({ seed: 1 })).not.toBe(cacheKey({ seed: 2 }));
  });

  it("of a folder change with a file's bytes and its name, not with folders in it", async () => {
    await writeFile(join(root, "config.json"), "{}");
    const before = await folderKey(root, () => true);
    await mkdir(join(root, "sub"));
    expect(await folderKey(root, () => true)).toEqual(before);
    await writeFile(join(root, "config.json"), "{ }");
    expect(await folderKey(root, () => true)).not.toEqual(before);
  });
});
