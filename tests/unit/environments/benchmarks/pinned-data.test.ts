/** The published data of a benchmark from a hub that has lost, changed, locked or cut it. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { checkRowCount, isCached, type PinnedData, pinnedFiles } from "../../../../ts/datasets/index.ts";
import { type HubSettings, hubSettings } from "../../../../ts/hub/index.ts";
import { COMMIT, mockHub, type MockHub } from "../../../support/hub/mock-hub.ts";

const ROWS = Buffer.from(Array.from({ length: 40 }, (_, i) => `{"question": "What is ${i} + 1?"}\n`).join(""));
const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

let dir: string;
let hub: MockHub;
let settings: HubSettings;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "prl-pinned-"));
  hub = await mockHub({ "main/test-00000-of-00001.jsonl": ROWS });
  settings = { ...hubSettings({ HF_ENDPOINT: hub.url, PRL_CACHE_DIR: dir }), backoffMs: 1, attempts: 3 };
});
afterEach(async () => {
  await hub.close();
  rmSync(dir, { recursive: true });
});

const DATA: PinnedData = {
  dataset: "owner/name",
  config: "main",
  split: "test",
  revision: COMMIT,
  rows: 40,
  licence: "MIT",
  sha256: { "main/test-00000-of-00001.jsonl": sha256(ROWS) },
};
const fetched = (data: Partial<PinnedData> = {}, other: Partial<HubSettings> = {}) =>
  pinnedFiles("sums", { ...DATA, ...data }, { settings: { ...settings, ...other } });

describe("published data", () => {
  test("is downloaded once, and then known to be in the cache", async () => {
    expect(await isCached(DATA, settings)).toBe(false);
    const [path = ""] = await fetched();
    expect(readFileSync(path)).toEqual(ROWS);
    expect(await isCached(DATA, settings)).toBe(true);
    const asked = hub.requests.length;
    await fetched({}, { offline: true });
    expect(hub.requests).toHaveLength(asked);
  });

  test.each([
    ["another commit", { revision: "d".repeat(40) }],
    ["another data set", { dataset: "owner/gone" }],
  ])("that is gone is named with the way out: %s", async (_, data) => {
    await expect(fetched(data)).rejects.toMatchObject({
      code: "PRL_HUB_UNKNOWN",
      message: expect.stringMatching(/benchmark "sums".*moved or deleted.*give data/u) as string,
    });
  });

  test.each([401, 403])("that is gated is named with its terms and its licence: %s", async (status) => {
    hub.trouble = (_, response) => response.writeHead(status, { "x-error-code": "GatedRepo" }).end();
    await expect(fetched({ gated: true, licence: "CC-BY-4.0" })).rejects.toMatchObject({
      code: "PRL_HUB_AUTH",
      message: expect.stringMatching(
        /benchmark "sums".*terms at .*\/datasets\/owner\/name \(licence: CC-BY-4\.0\).*HF_TOKEN/u,
      ) as string,
    });
  });

  test("that has other bytes than were published is refused with both digests", async () => {
    const other = sha256(Buffer.from("other"));
    const failure = fetched({ sha256: { "main/test-00000-of-00001.jsonl": other } });
    await expect(failure).rejects.toMatchObject({ code: "PRL_BENCHMARK_CHANGED" });
    await expect(failure).rejects.toThrow(sha256(ROWS));
    await expect(failure).rejects.toThrow(other);
  });

  test("that was damaged in the cache is refused with the path", async () => {
    const [path = ""] = await fetched();
    const damaged = Buffer.from(ROWS);
    damaged[20] = 0x58;
    writeFileSync(realpathSync(path), damaged);
    await expect(fetched()).rejects.toMatchObject({
      code: "PRL_BENCHMARK_CHANGED",
      message: expect.stringContaining(path) as string,
    });
  });

  test("that came only in part is continued, and never read in part", async () => {
    let cut = 0;
    hub.trouble = (_, response, content) => {
      if (content === null || cut++ > 0) return false;
      response.writeHead(200, { "content-length": String(content.length) });
      response.write(content.subarray(0, 300));
      setTimeout(() => response.destroy(), 5);
      return true;
    };
    const [path = ""] = await fetched();
    expect(readFileSync(path)).toEqual(ROWS);
    expect(cut).toBe(2);
  });

  test("that never comes whole is an error, and offline it is not in the cache", async () => {
    hub.trouble = (_, response, content) => {
      if (content === null) return false;
      response.writeHead(200, { "content-length": String(content.length) });
      response.write(content.subarray(0, 300));
      setTimeout(() => response.destroy(), 5);
      return true;
    };
    await expect(fetched()).rejects.toMatchObject({ code: "PRL_HUB_UNREACHABLE" });
    expect(await isCached(DATA, settings)).toBe(false);
    await expect(fetched({}, { offline: true })).rejects.toMatchObject({
      code: "PRL_HUB_OFFLINE",
      message: expect.stringContaining('benchmark "sums"') as string,
    });
  });

  test("of another number of rows is another edition", () => {
    checkRowCount("sums", DATA, 40);
    expect(() => checkRowCount("sums", DATA, 39)).toThrow(/benchmark "sums".*39 rows.*40/u);
  });
});
