import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { type DatasetReference, datasetFiles, splitFiles } from "../../../ts/datasets/dataset.ts";
import { exclusively } from "../../../ts/hub/cache-file.ts";
import { type HubSettings, hubSettings } from "../../../ts/hub/settings.ts";
import { rows, z } from "../../../ts/environments/index.ts";
import { gitDigest, mockHub, type MockHub } from "../../support/hub/mock-hub.ts";

const lines = (split: string, count: number): Buffer =>
  Buffer.from(Array.from({ length: count }, (_, i) => `${JSON.stringify({ text: `${split} ${i}` })}\n`).join(""));
const FILES = {
  "README.md": Buffer.from("# a dataset\n"),
  "main/train-00001-of-00002.jsonl": lines("late", 400),
  "main/train-00000-of-00002.jsonl": lines("early", 300),
  "main/test-00000-of-00001.jsonl": lines("test", 5),
  "other/test-00000-of-00001.jsonl": lines("other", 3),
};
const TRAIN: DatasetReference = { dataset: "owner/name", config: "main", split: "train" };
const TEST: DatasetReference = { dataset: "owner/name", config: "main", split: "test" };

let root: string;
let hub: MockHub;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "prl-hub-"));
  hub = await mockHub(FILES);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await hub.close();
  rmSync(root, { recursive: true });
});

const settings = (change: Partial<HubSettings> = {}): HubSettings => ({
  ...hubSettings({ HF_ENDPOINT: `${hub.url}/`, PRL_CACHE_DIR: root }),
  attempts: 4,
  backoffMs: 5,
  answerMs: 400,
  stallMs: 300,
  ...change,
});
const fetched = (reference = TRAIN, change: Partial<HubSettings> = {}, signal?: AbortSignal) =>
  datasetFiles(reference, signal, settings(change));
const contents = (paths: string[]) => Buffer.concat(paths.map((path) => readFileSync(path)));
const whole = Buffer.concat([FILES["main/train-00000-of-00002.jsonl"], FILES["main/train-00001-of-00002.jsonl"]]);
const blobs = () => readdirSync(join(root, "hub/datasets--owner--name/blobs"));
const downloads = () => hub.requests.filter((request) => request.includes("/resolve/"));

describe("a dataset by name", () => {
  it("is the files of its split in order, in the cache under their digests, fetched once", async () => {
    const paths = await fetched();
    expect(paths.map((path) => basename(path))).toEqual(["train-00000-of-00002.jsonl", "train-00001-of-00002.jsonl"]);
    expect(contents(paths)).toEqual(whole);
    expect(paths.map((path) => basename(realpathSync(path)))).toEqual(
      expect.arrayContaining([expect.stringMatching(/^[0-9a-f]{64}$/)]),
    );
    expect(downloads()).toHaveLength(2);
    const before = hub.requests.length;
    expect(await fetched()).toEqual(paths);
    expect(hub.requests).toHaveLength(before);
    const [small] = await fetched(TEST);
    expect(basename(realpathSync(small ?? ""))).toBe(gitDigest(FILES["main/test-00000-of-00001.jsonl"]));
  });

  it("gives rows; environment variables set address and token", async () => {
    process.env["HF_ENDPOINT"] = hub.url;
    process.env["HF_TOKEN"] = "hf_secret";
    process.env["PRL_CACHE_DIR"] = root;
    try {
      const got: string[] = [];
      for await (const { text } of rows(TEST, z.object({ text: z.string() }))) got.push(text);
      expect(got).toEqual([0, 1, 2, 3, 4].map((i) => `test ${i}`));
      expect(hub.headers.every(({ authorization }) => authorization === "Bearer hf_secret")).toBe(true);
    } finally {
      for (const name of ["HF_ENDPOINT", "HF_TOKEN", "PRL_CACHE_DIR"]) delete process.env[name];
    }
  });

  it("goes on where a connection was cut, as often as bytes come", async () => {
    let cuts = 0;
    hub.trouble = (request, response, content) => {
      if (content === null || content.length < 5000) return false;
      const start = Number(/\d+/u.exec(request.headers.range ?? "0")?.[0]);
      if (content.length - start <= 1500) return false;
      cuts += 1;
      response.writeHead(start === 0 ? 200 : 206, {
        "content-length": content.length - start,
        ...(start === 0 ? {} : { "content-range": `bytes ${start}-${content.length - 1}/${content.length}` }),
      });
      response.write(content.subarray(start, start + 1000), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
    expect(contents(await fetched())).toEqual(whole);
    expect(cuts).toBeGreaterThan(6);
    expect(downloads().some((request) => request.endsWith("bytes=1000-"))).toBe(true);
  });

  it("begins anew when the hub cannot go on from there", async () => {
    let first = true;
    hub.trouble = (request, response, content) => {
      if (content === null) return false;
      if (request.headers.range !== undefined) return response.writeHead(416).end();
      if (!first) return false;
      first = false;
      response.writeHead(200, { "content-length": content.length });
      response.write(content.subarray(0, 10), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
    expect(contents(await fetched(TEST))).toEqual(FILES["main/test-00000-of-00001.jsonl"]);
  });

  it("refuses a list of files that goes on at another address: it would lack the rest", async () => {
    const next = `http://localhost:1/api/datasets/owner/name/tree?cursor=2`;
    hub.trouble = (request, response) => {
      if (!(request.url ?? "").includes("/tree/")) return false;
      response.writeHead(200, { "content-type": "application/json", link: `<${next}>; rel="next"` });
      return response.end("[]");
    };
    await expect(fetched()).rejects.toMatchObject({
      code: "PRL_HUB_ANSWER",
      message: expect.stringMatching(/continues its list at http:\/\/localhost:1; HF_ENDPOINT/u),
    });
  });

  it("never keeps other bytes than the digest says", async () => {
    let wrong = 1;
    hub.trouble = (_, response, content) => {
      if (content === null || wrong-- <= 0) return false;
      response.writeHead(200).end(Buffer.alloc(content.length, "x"));
      return true;
    };
    expect(contents(await fetched(TEST))).toEqual(FILES["main/test-00000-of-00001.jsonl"]);
    wrong = 100;
    await expect(fetched()).rejects.toMatchObject({ code: "PRL_HUB_DIGEST" });
    expect(blobs().filter((name) => !name.endsWith(".incomplete"))).toHaveLength(1);
    wrong = 0;
    expect(contents(await fetched())).toEqual(whole);
  });

  it("waits when the hub asks for it, and retries passing failures", async () => {
    let answers = 0;
    const begun = performance.now();
    hub.trouble = (_, response) => {
      answers += 1;
      if (answers === 1) return response.writeHead(429, { "retry-after": "1" }).end();
      if (answers === 2) return response.writeHead(503).end();
      if (answers === 3) return response.destroy();
      return false;
    };
    expect(await fetched(TEST)).toHaveLength(1);
    expect(performance.now() - begun).toBeGreaterThan(950);
  });

  it("says why none of the addresses of a hub answers, which Node has a code and no message for", async () => {
    const cause = Object.assign(new AggregateError([], ""), { code: "ETIMEDOUT" });
    vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("fetch failed", { cause }));
    await expect(fetched(TEST)).rejects.toThrow("(4 attempts): the connection failed (ETIMEDOUT); ");
  });

  it.each<[string, MockHub["trouble"], string]>([
    ["always 500", (_, response) => response.writeHead(500).end(), "(4 attempts): 500"],
    ["silent", () => true, "no answer within 400 ms"],
    ["stalling", (_, response) => response.writeHead(200).write("["), "nothing came for 300 ms"],
  ])("a hub that is %s is given up", async (_, trouble, message) => {
    hub.trouble = trouble;
    const error: unknown = await fetched(TEST).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "PRL_HUB_UNREACHABLE" });
    expect(String(error)).toContain(message);
  });

  it("a hub that is not there is named", async () => {
    await expect(fetched(TEST, { endpoint: "http://127.0.0.1:9" })).rejects.toThrow(
      "http://127.0.0.1:9 does not give it",
    );
  });

  it.each<[string, number, Record<string, string>, string]>([
    ["a private one", 401, {}, "PRL_HUB_AUTH"],
    ["a gated one", 403, { "x-error-code": "GatedRepo" }, "PRL_HUB_AUTH"],
    ["none", 401, { "x-error-code": "RepoNotFound" }, "PRL_HUB_UNKNOWN"],
    ["none at all", 404, {}, "PRL_HUB_UNKNOWN"],
    ["nonsense", 418, {}, "PRL_HUB_ANSWER"],
  ])("%s is said to be so, at once", async (_, status, headers, code) => {
    hub.trouble = (__, response) => response.writeHead(status, headers).end();
    await expect(fetched(TEST)).rejects.toMatchObject({ code });
    expect(hub.requests).toHaveLength(1);
  });

  it.each<[string, string]>([
    ["<html>", "no JSON"],
    ["[]", "names no commit"],
    ['{"sha": "main"}', "names no commit"],
  ])("the answer %s is refused", async (body, message) => {
    hub.trouble = (_, response) => response.writeHead(200).end(body);
    await expect(fetched(TEST)).rejects.toThrow(message);
  });

  it.each(["../../evil.jsonl", "/etc/evil.jsonl", "a//b.jsonl", "a\\..\\b.jsonl"])(
    "a file %j is not written anywhere",
    async (path) => {
      hub.trouble = (request, response) =>
        request.url?.includes("/tree/") === true &&
        response.writeHead(200).end(JSON.stringify([{ type: "file", path, size: 1, oid: "a".repeat(40) }]));
      await expect(fetched(TEST)).rejects.toMatchObject({ code: "PRL_HUB_ANSWER" });
    },
  );

  it.each(["", "a/b/c", "../x", "owner/..", "a b", "https://x"])("the name %j is refused", async (dataset) => {
    await expect(fetched({ dataset, split: "train" })).rejects.toMatchObject({ code: "PRL_HUB_UNKNOWN" });
    expect(hub.requests).toEqual([]);
  });

  it("offline it reads the cache, and a missing file is a clear error", async () => {
    await expect(fetched(TEST, { offline: true })).rejects.toMatchObject({ code: "PRL_HUB_OFFLINE" });
    const paths = await fetched(TEST);
    const asked = hub.requests.length;
    expect(await fetched(TEST, { offline: true })).toEqual(paths);
    await expect(fetched(TRAIN, { offline: true })).rejects.toThrow("HF_HUB_OFFLINE");
    expect(hub.requests).toHaveLength(asked);
    expect(hubSettings({ HF_HUB_OFFLINE: "1" }).offline).toBe(true);
    expect(hubSettings({ HF_HUB_OFFLINE: "0" }).offline).toBe(false);
  });

  it("follows the hub elsewhere, and leaves the token at home", async () => {
    const storage = await mockHub(FILES);
    try {
      hub.trouble = (request, response, content) =>
        content !== null && response.writeHead(302, { location: `${storage.url}${request.url ?? ""}` }).end();
      expect(contents(await fetched(TRAIN, { token: "hf_secret" }))).toEqual(whole);
      expect(hub.headers.every(({ authorization }) => authorization === "Bearer hf_secret")).toBe(true);
      expect(storage.headers).toHaveLength(2);
      expect(storage.headers.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
    } finally {
      await storage.close();
    }
  });

  it("the hub's parquet conversion is read shard by shard, through redirects", async () => {
    const shard = (name: string) => readFileSync(join(import.meta.dirname, "../../fixtures/parquet", name));
    const parquet = await mockHub({
      "main/train/0000.parquet": shard("snappy.parquet"),
      "main/train/0001.parquet": shard("zstd.parquet"),
      "main/test/0000.parquet": shard("none.parquet"),
    });
    try {
      parquet.trouble = (request, response, content) =>
        content !== null &&
        request.url?.includes("?signed") !== true &&
        response.writeHead(307, { location: `${request.url ?? ""}?signed=1` }).end();
      const reference = { dataset: "owner/name", config: "main", split: "train", revision: "refs/convert/parquet" };
      const files = await datasetFiles(reference, undefined, settings({ endpoint: parquet.url }));
      expect(parquet.requests[0]).toBe("GET /api/datasets/owner/name/revision/refs%2Fconvert%2Fparquet");
      expect(files).toHaveLength(2);
      const read = async (list: string[]) => {
        const got: unknown[] = [];
        for await (const row of rows({ file: list }, z.looseObject({}))) got.push(row);
        return got;
      };
      const [first, second, both] = [await read(files.slice(0, 1)), await read(files.slice(1)), await read(files)];
      expect([first.length, second.length]).toEqual([300, 40]);
      expect(both).toEqual([...first, ...second]);
    } finally {
      await parquet.close();
    }
  });

  it("processes that want the same file fetch it once", async () => {
    const several = await Promise.all([fetched(), fetched(), fetched(), fetched()]);
    expect(new Set(several.map((paths) => paths.join())).size).toBe(1);
    expect(downloads()).toHaveLength(2);
  });

  it("a lock whose holder is dead is taken over", async () => {
    await fetched(TEST);
    const digest = gitDigest(FILES["main/test-00000-of-00001.jsonl"]);
    const base = join(root, "hub/datasets--owner--name");
    rmSync(join(base, "blobs", digest));
    const lock = join(base, "locks", digest);
    writeFileSync(lock, "");
    utimesSync(lock, new Date(0), new Date(0));
    expect(await fetched(TEST)).toHaveLength(1);
    expect(existsSync(lock)).toBe(false);
  });

  it("is given up when its signal is aborted", async () => {
    const stop = new AbortController();
    hub.trouble = () => {
      stop.abort(new Error("enough"));
      return true;
    };
    await expect(fetched(TEST, { answerMs: 60_000 }, stop.signal)).rejects.toThrow("enough");
  });

  it("another revision is another snapshot; a commit needs no look at the branch", async () => {
    await fetched({ ...TEST, revision: "v1" });
    await fetched({ ...TEST, revision: "c".repeat(40) });
    expect(hub.requests.filter((request) => request.includes("/revision/"))).toHaveLength(1);
    await expect(fetched({ ...TEST, revision: "absent" })).rejects.toMatchObject({ code: "PRL_HUB_UNKNOWN" });
  });
});

describe("the files of a split", () => {
  const of = (paths: string[], reference: Partial<DatasetReference>): string[] =>
    splitFiles(
      { dataset: "owner/name", split: "train", ...reference },
      paths.map((path) => ({ path, bytes: 1, digest: { kind: "git" as const, hex: "a".repeat(40) } })),
    ).map(({ path }) => path);

  it.each<[string[], Partial<DatasetReference>, string[]]>([
    [["train.jsonl", "test.jsonl"], {}, ["train.jsonl"]],
    [
      ["data/train-00000-of-00002-0123456789abcdef.parquet", "data/train-00001-of-00002-fedcba9876543210.parquet"],
      {},
      ["data/train-00000-of-00002-0123456789abcdef.parquet", "data/train-00001-of-00002-fedcba9876543210.parquet"],
    ],
    [
      ["default/train/0001.parquet", "default/train/0000.parquet", "default/test/0000.parquet"],
      {},
      ["default/train/0000.parquet", "default/train/0001.parquet"],
    ],
    [["train.csv", "train.parquet"], {}, ["train.parquet"]],
    [["dev.jsonl", "train.jsonl"], { split: "validation" }, ["dev.jsonl"]],
    [
      ["data/train_sft-00000.parquet", "data/train_prefs-00000.parquet"],
      { split: "train_sft" },
      ["data/train_sft-00000.parquet"],
    ],
    [["en/train.jsonl", "de/train.jsonl"], { config: "de" }, ["de/train.jsonl"]],
    [["trainers.jsonl", "x/questions.jsonl"], { files: "x/*.jsonl" }, ["x/questions.jsonl"]],
    [["a/b/c.csv", "a/d.csv"], { files: "a/**" }, ["a/b/c.csv", "a/d.csv"]],
    [["a/b/c.csv", "a/d.csv"], { files: "a/**/c.csv" }, ["a/b/c.csv"]],
    [["a/b.csv", "a/c.csv", "d.csv"], { files: ["d.csv", "a/*.csv", "a/b.csv"] }, ["a/b.csv", "a/c.csv", "d.csv"]],
  ])("%j with %j: %j", (paths, reference, expected) => {
    expect(of(paths, reference)).toEqual(expected);
  });

  it.each<[string[], Partial<DatasetReference>, string]>([
    [["en/train.jsonl", "de/train.jsonl"], {}, "name a `config`"],
    [["trainers.jsonl"], {}, 'no file looks like the split "train"'],
    [["README.md"], {}, "its data files: none"],
    [["train.jsonl"], { config: "de" }, 'of the config "de"'],
    [["train.jsonl"], { files: "*.parquet" }, "no data file matches"],
    [["train.jsonl"], { files: ["*.jsonl", "answers/*.jsonl"] }, "no data file matches answers/*.jsonl"],
  ])("%j with %j is refused: %s", (paths, reference, message) => {
    expect(() => of(paths, reference)).toThrow(message);
  });
});

it("only one of those that find the lock of a dead process takes it over", async () => {
  const lock = join(root, "locks/file");
  for (let round = 0; round < 3; round++) {
    mkdirSync(join(root, "locks"), { recursive: true });
    writeFileSync(lock, "");
    utimesSync(lock, new Date(0), new Date(0));
    let [inside, most] = [0, 0];
    const work = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      await new Promise((done) => setTimeout(done, 5));
      inside -= 1;
    };
    // They come one after the other, so that some look at the lock before it is taken over, and would remove it after that.
    const come = async (_: unknown, place: number): Promise<void> => {
      for (let step = 0; step < place; step++) await stat(root);
      await exclusively(lock, undefined, work);
    };
    await Promise.all(Array.from({ length: 12 }, come));
    expect(most).toBe(1);
  }
});
