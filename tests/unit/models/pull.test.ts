/** Models of a hub in the cache that Hugging Face's programs share. */
import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { existsSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { type HubSettings, hubSettings } from "../../../ts/hub/index.ts";
import { locateModel, parseModelName, pullModel } from "../../../ts/models/index.ts";
import { COMMIT, gitDigest, mockModelHub, type MockHub } from "../../support/hub/mock-hub.ts";
import { inShards, type RepositoryFiles, tinyModel } from "./tiny-model.ts";

const NAME = "org/tiny";
const REFERENCE = { name: NAME, revision: "main" };

let whole: RepositoryFiles;
let sharded: RepositoryFiles;
beforeAll(async () => {
  whole = await tinyModel();
  sharded = inShards(whole);
});

let root: string;
let hub: MockHub;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "prl-models-"));
  hub = await mockModelHub({ [NAME]: whole, "org/sharded": sharded });
});
afterEach(async () => {
  await hub.close();
  rmSync(root, { recursive: true });
});

const settings = (change: Partial<HubSettings> = {}): HubSettings => ({
  ...hubSettings({ HF_ENDPOINT: `${hub.url}/`, HF_HUB_CACHE: root, HF_TOKEN: "hf_secret" }),
  attempts: 4,
  backoffMs: 2,
  answerMs: 400,
  stallMs: 300,
  ...change,
});
const model = () => join(root, "models--org--tiny");
const downloads = () => hub.requests.filter((request) => request.includes("/resolve/"));
const digestOf = (content: Buffer): string =>
  content.length < 1000 ? gitDigest(content) : createHash("sha256").update(content).digest("hex");
const withoutModel = (files: RepositoryFiles): string[] =>
  Object.keys(files).filter((name) => !["README.md", "pytorch_model.bin"].includes(name));

describe("the name of a model", () => {
  test.each([
    ["org/name", { name: "org/name", revision: "main" }],
    ["org/name@v1.0", { name: "org/name", revision: "v1.0" }],
    ["org/name@refs/pr/1", { name: "org/name", revision: "refs/pr/1" }],
  ])("%s", (text, reference) => {
    expect(parseModelName(text)).toEqual(reference);
  });

  test.each([
    "name",
    "a/b/c",
    "org/..",
    "../org",
    "org/a--b",
    "org/name@",
    "org/name@../x",
    "org/name@a//b",
    "o g/n",
    "",
  ])("%j is none", (text) => {
    expect(parseModelName(text)).toBeNull();
  });

  test("never leaves the cache, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", ".", "/", "@", "-", "\\", " ", "~", "%", "\0") }), (text) => {
        const reference = parseModelName(text);
        if (reference === null) return;
        const path = join("/cache", `models--${reference.name.replaceAll("/", "--")}`, "refs", reference.revision);
        expect(path.startsWith("/cache/models--")).toBe(true);
        expect(path.split("/")).toContain("refs");
      }),
    );
  });
});

describe("a pulled model", () => {
  test("lies in the layout of Hugging Face's cache, without what prl does not need", async () => {
    const pulled = await pullModel(settings(), REFERENCE);
    const snapshot = join(model(), "snapshots", COMMIT);
    expect(pulled).toMatchObject({ dir: snapshot, commit: COMMIT, missing: [] });
    expect(readFileSync(join(model(), "refs/main"), "utf8")).toBe(COMMIT);
    expect(readdirSync(snapshot).toSorted()).toEqual(withoutModel(whole).toSorted());
    for (const name of withoutModel(whole)) {
      const content = whole[name] ?? Buffer.alloc(0);
      expect(lstatSync(join(snapshot, name)).isSymbolicLink()).toBe(true);
      expect(readlinkSync(join(snapshot, name))).toBe(`../../blobs/${digestOf(content)}`);
      expect(readFileSync(join(snapshot, name))).toEqual(content);
    }
    expect(readdirSync(join(model(), "blobs"))).toHaveLength(withoutModel(whole).length);
    expect(readdirSync(model()).toSorted()).toEqual(["blobs", "locks", "refs", "snapshots"]);
    expect(pulled.fetched).toBe(pulled.bytes);
    expect(hub.headers.every(({ authorization }) => authorization === "Bearer hf_secret")).toBe(true);
  });

  test("in shards has those that its index names", async () => {
    const { dir } = await pullModel(settings(), { name: "org/sharded", revision: "main" });
    expect(readdirSync(dir).toSorted()).toEqual(withoutModel(sharded).toSorted());
  });

  test("is downloaded once, and only what is missing is downloaded again", async () => {
    const { dir } = await pullModel(settings(), REFERENCE);
    const before = downloads().length;
    expect(await pullModel(settings(), REFERENCE)).toMatchObject({ fetched: 0, dir });
    expect(downloads()).toHaveLength(before);
    rmSync(realpathSync(join(dir, "tokenizer.json")));
    expect(await locateModel(NAME, { settings: settings() })).toMatchObject({ dir: null });
    expect(await pullModel(settings(), REFERENCE)).toMatchObject({ fetched: whole["tokenizer.json"]?.length });
    expect(downloads()).toHaveLength(before + 1);
  });

  test("of another revision has a ref of that name; a commit needs none", async () => {
    await pullModel(settings(), { name: NAME, revision: "refs/pr/1" });
    expect(readFileSync(join(model(), "refs/refs/pr/1"), "utf8")).toBe(COMMIT);
    const asked = hub.requests.length;
    expect(await pullModel(settings(), { name: NAME, revision: COMMIT })).toMatchObject({ fetched: 0 });
    expect(hub.requests.slice(asked).some((request) => request.includes("/revision/"))).toBe(false);
    expect(readdirSync(join(model(), "refs"))).toEqual(["refs"]);
  });

  test("is found without the network, and one that is not there is a clear error", async () => {
    const offline = settings({ offline: true });
    await expect(pullModel(offline, REFERENCE)).rejects.toMatchObject({ code: "PRL_HUB_OFFLINE" });
    const { dir } = await pullModel(settings(), REFERENCE);
    expect(await locateModel(NAME, { settings: offline })).toMatchObject({ dir });
    expect(await locateModel(`${NAME}@${COMMIT}`, { settings: offline })).toMatchObject({ dir });
    expect(await locateModel(`${NAME}@v1`, { settings: offline })).toMatchObject({ dir: null });
  });

  test("reports its progress up to the end, the first part of an earlier attempt included", async () => {
    const file = whole["model.safetensors"] ?? Buffer.alloc(0);
    const blobs = join(model(), "blobs");
    mkdirSync(blobs, { recursive: true });
    writeFileSync(join(blobs, `${digestOf(file)}.prl.incomplete`), file.subarray(0, 100));
    const reports: { done: number; total: number }[] = [];
    const { bytes, fetched } = await pullModel(settings(), REFERENCE, { onProgress: (report) => reports.push(report) });
    expect(fetched).toBe(bytes - 100);
    expect(reports[0]).toEqual({ model: NAME, done: 100, total: bytes });
    expect(reports.at(-1)).toEqual({ model: NAME, done: bytes, total: bytes });
    expect(downloads()).toContain(`GET /${NAME}/resolve/${COMMIT}/model.safetensors bytes=100-`);
  });
});

describe("a download that goes wrong", () => {
  test("is continued to the same bytes wherever it is cut", async () => {
    const file = whole["model.safetensors"] ?? Buffer.alloc(0);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: file.length - 1 }), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        async (points, hasRanges) => {
          rmSync(model(), { recursive: true, force: true });
          const cuts = [...points];
          hub.trouble = (request, response, content) => {
            if (content === null || !content.equals(file)) return false;
            const start = hasRanges ? Number(/\d+/u.exec(request.headers.range ?? "0")?.[0]) : 0;
            const cut = cuts.shift() ?? content.length;
            const end = Math.max(start, Math.min(content.length, cut));
            response.writeHead(start === 0 ? 200 : 206, {
              "content-length": content.length - start,
              ...(start === 0 ? {} : { "content-range": `bytes ${start}-${content.length - 1}/${content.length}` }),
            });
            const piece = content.subarray(start, end);
            if (end === content.length) response.end(piece);
            else if (piece.length === 0) response.destroy();
            else response.write(piece, () => response.destroy());
            return true;
          };
          const { dir } = await pullModel(settings({ attempts: 12 }), REFERENCE);
          expect(readFileSync(join(dir, "model.safetensors")).equals(file)).toBe(true);
        },
      ),
      { numRuns: 25 },
    );
  });

  test("follows to another origin without the token", async () => {
    const storage = await mockModelHub({ [NAME]: whole });
    try {
      hub.trouble = (request, response, content) =>
        content !== null && response.writeHead(302, { location: `${storage.url}${request.url ?? ""}` }).end();
      await pullModel(settings(), REFERENCE);
      expect(storage.headers.length).toBe(withoutModel(whole).length);
      expect(storage.headers.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
    } finally {
      await storage.close();
    }
  });

  test.each<[string, (content: Buffer) => [Record<string, string | number>, Buffer]]>([
    [
      "a length that is not the listed one",
      (content) => [{ "content-length": content.length - 1 }, content.subarray(1)],
    ],
    ["more bytes than listed", (content) => [{}, Buffer.concat([content, content])]],
  ])("%s is named", async (_, lie) => {
    hub.trouble = (__, response, content) => {
      if (content === null || content.length < 1000) return false;
      const [headers, body] = lie(content);
      return response.writeHead(200, headers).end(body);
    };
    await expect(pullModel(settings(), REFERENCE)).rejects.toMatchObject({ code: "PRL_HUB_SIZE" });
    expect(existsSync(join(model(), "refs"))).toBe(false);
  });

  test("other bytes than the digest says are never kept", async () => {
    hub.trouble = (_, response, content) =>
      content !== null && content.length >= 1000 && response.writeHead(200).end(Buffer.alloc(content.length, "x"));
    await expect(pullModel(settings(), REFERENCE)).rejects.toMatchObject({ code: "PRL_HUB_DIGEST" });
    const names = withoutModel(whole).filter((name) => (whole[name]?.length ?? 0) < 1000);
    expect(readdirSync(join(model(), "blobs")).length).toBeLessThanOrEqual(names.length);
  });

  test("a drip of bytes counts as progress, silence does not", async () => {
    const file = whole["generation_config.json"] ?? Buffer.alloc(0);
    hub.trouble = (_, response, content) => {
      if (content === null || !content.equals(file)) return false;
      response.writeHead(200, { "content-length": file.length });
      let at = 0;
      const drip = setInterval(() => {
        if (at < file.length && !response.destroyed) response.write(file.subarray(at, (at += 12)));
        else {
          clearInterval(drip);
          response.end();
        }
      }, 20);
      return true;
    };
    await pullModel(settings(), REFERENCE);
    rmSync(model(), { recursive: true });
    hub.trouble = (_, response, content) =>
      content?.equals(file) === true && [response.writeHead(200, { "content-length": file.length }).write("{")];
    await expect(pullModel(settings({ stallMs: 60 }), REFERENCE)).rejects.toMatchObject({
      code: "PRL_HUB_UNREACHABLE",
      message: expect.stringContaining("nothing came for 60 ms"),
    });
  });

  test.each<[string, number, Record<string, string>, string]>([
    ["a private model", 401, {}, "PRL_HUB_AUTH"],
    ["a gated one", 403, { "x-error-code": "GatedRepo" }, "PRL_HUB_AUTH"],
    ["one that is not there", 404, { "x-error-code": "RepoNotFound" }, "PRL_HUB_UNKNOWN"],
    ["too many requests", 429, { "retry-after": "0" }, "PRL_HUB_UNREACHABLE"],
    ["a hub that is down", 503, {}, "PRL_HUB_UNREACHABLE"],
  ])("%s is named", async (_, status, headers, code) => {
    hub.trouble = (__, response) => response.writeHead(status, headers).end();
    await expect(pullModel(settings(), REFERENCE)).rejects.toMatchObject({ code });
  });

  test("a disk that is too small or gets full is named, with what to do", async () => {
    hub.trouble = (request, response) =>
      request.url?.includes("/tree/") === true &&
      response.end(
        JSON.stringify(
          Object.keys(whole).map((path) => ({
            type: "file",
            path,
            size: 1,
            oid: "a".repeat(40),
            lfs: { oid: "b".repeat(64), size: path === "model.safetensors" ? Number.MAX_SAFE_INTEGER - 1e6 : 1 },
          })),
        ),
      );
    await expect(pullModel(settings(), REFERENCE)).rejects.toMatchObject({
      code: "PRL_HUB_DISK",
      message: expect.stringContaining("HF_HUB_CACHE"),
    });
    expect(downloads()).toEqual([]);
    hub.trouble = () => false;
    mkdirSync(join(model(), "blobs"), { recursive: true });
    const file = whole["model.safetensors"] ?? Buffer.alloc(0);
    symlinkSync("/dev/full", join(model(), "blobs", `${digestOf(file)}.prl.incomplete`));
    await expect(pullModel(settings(), REFERENCE)).rejects.toMatchObject({
      code: "PRL_HUB_DISK",
      message: expect.stringContaining("ENOSPC"),
    });
  });

  test("a cache that cannot be written is named", async () => {
    writeFileSync(join(root, "file"), "");
    const caches = { dataset: root, model: join(root, "file") };
    await expect(pullModel(settings({ caches }), REFERENCE)).rejects.toMatchObject({
      code: "PRL_IO",
      message: expect.stringContaining("HF_HUB_CACHE names another folder"),
    });
  });

  test.each(["../../evil", "/etc/evil", "snapshots/../../evil", "a\\..\\b"])(
    "a listed path %j is refused",
    async (path) => {
      hub.trouble = (request, response) =>
        request.url?.includes("/tree/") === true &&
        response.end(JSON.stringify([{ type: "file", path, size: 1, oid: "a".repeat(40) }]));
      await expect(pullModel(settings(), REFERENCE)).rejects.toMatchObject({ code: "PRL_HUB_ANSWER" });
      expect(readdirSync(root)).toEqual([]);
    },
  );

  test("an index that names files elsewhere is refused", async () => {
    const index = Buffer.from(JSON.stringify({ weight_map: { a: "../../evil.safetensors" } }));
    const evil = await mockModelHub({ [NAME]: { ...sharded, "model.safetensors.index.json": index } });
    try {
      const wanted = pullModel(settings({ endpoint: evil.url }), REFERENCE);
      await expect(wanted).rejects.toMatchObject({ code: "PRL_WEIGHTS_FORMAT" });
    } finally {
      await evil.close();
    }
  });

  test.each<[string, string[], string]>([
    ["without safetensors", ["model.safetensors"], "pytorch_model.bin"],
    ["without a tokenizer", ["tokenizer.json"], "has no tokenizer.json"],
    ["without a config", ["config.json"], "has no config.json"],
  ])("a repository %s is refused before anything is downloaded", async (_, absent, message) => {
    const files = Object.fromEntries(Object.entries(whole).filter(([name]) => !absent.includes(name)));
    const other = await mockModelHub({ [NAME]: files });
    try {
      await expect(pullModel(settings({ endpoint: other.url }), REFERENCE)).rejects.toMatchObject({
        code: "PRL_HUB_MODEL",
        message: expect.stringContaining(message),
      });
      expect(other.requests.filter((request) => request.includes("/resolve/"))).toEqual([]);
    } finally {
      await other.close();
    }
  });

  test("two that pull at once fetch each file once and get the same", async () => {
    const pulls = await Promise.all([1, 2, 3].map(() => pullModel(settings(), REFERENCE)));
    expect(new Set(pulls.map(({ dir }) => dir)).size).toBe(1);
    expect(downloads()).toHaveLength(withoutModel(whole).length);
    expect(readdirSync(join(model(), "locks"))).toEqual([]);
  });

  test("is given up when its signal is aborted, and continued later", async () => {
    const stop = new AbortController();
    const file = whole["model.safetensors"] ?? Buffer.alloc(0);
    hub.trouble = (_, response, content) => {
      if (content?.equals(file) !== true) return false;
      response.writeHead(200, { "content-length": file.length });
      response.write(file.subarray(0, 500), () => setTimeout(() => stop.abort(new Error("enough")), 20));
      return true;
    };
    const pulled = pullModel(settings({ stallMs: 60_000 }), REFERENCE, { signal: stop.signal });
    await expect(pulled).rejects.toThrow("enough");
    expect(readdirSync(join(model(), "locks"))).toEqual([]);
    hub.trouble = () => false;
    await pullModel(settings(), REFERENCE);
    expect(downloads().at(-1)).toMatch(/model\.safetensors bytes=500-$/u);
  });
});

describe("the settings of the hub", () => {
  test("find cache and token where Hugging Face's programs have them", () => {
    const cacheOf = (env: Record<string, string>): string => hubSettings(env).caches.model;
    expect(cacheOf({ HF_HOME: "/a" })).toBe("/a/hub");
    expect(cacheOf({ HF_HOME: "/a", HF_HUB_CACHE: "/b" })).toBe("/b");
    expect(cacheOf({ XDG_CACHE_HOME: "/c" })).toBe("/c/huggingface/hub");
    expect(cacheOf({ HF_HOME: "$WHERE/x", WHERE: "/d" })).toBe("/d/x/hub");
    expect(basename(dirname(cacheOf({})))).toBe("huggingface");
    writeFileSync(join(root, "token"), "hf_stored\n");
    expect(hubSettings({ HF_HOME: root }).token).toBe("hf_stored");
    expect(hubSettings({ HF_HOME: root, HF_TOKEN: "hf_given" }).token).toBe("hf_given");
    expect(hubSettings({ HF_HOME: join(root, "none") }).token).toBeNull();
  });
});
