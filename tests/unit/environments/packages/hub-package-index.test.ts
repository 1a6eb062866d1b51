/** The search of a hub: what it finds, in which order, and that it sees every change. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";

import { HubIndex, packageOfPath } from "../../../../ts/environments/packages/hub/package-index.ts";

const dir = mkdtempSync(join(tmpdir(), "prl-hub-index-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function write(
  folder: string,
  name: string,
  description: string,
  version = "1.0.0",
  keywords = ["prl-environment"],
): void {
  const path = join(folder, name, "package.json");
  mkdirSync(dirname(path), { recursive: true });
  const versions = { "0.9.0": { description: "old" }, [version]: { description, keywords } };
  writeFileSync(path, JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
}

const names = async (index: HubIndex, text: string): Promise<string[]> =>
  (await index.search(text)).found.map(({ name }) => name);

test("a folder that is not there has no packages", async () => {
  expect(await (await HubIndex.read(join(dir, "nowhere"))).search("")).toEqual({ found: [], total: 0 });
});

test("words are looked for in name, description and keywords; the package of this name comes first", async () => {
  const folder = join(dir, "ranked");
  write(folder, "proof", "checks proofs");
  write(folder, "@ada/sum", "adds numbers", "2.0.0");
  write(folder, "sum-of-cubes", "cubes");
  write(folder, "a-sum", "more");
  write(folder, "zeta", "SUM in its description");
  write(folder, "other", "a sum", "1.0.0", ["math"]);
  write(folder, "odd", "keywords that are no list", "1.0.0", "sum" as unknown as string[]);
  mkdirSync(join(folder, "empty"));
  mkdirSync(join(folder, "broken"));
  writeFileSync(join(folder, "broken/package.json"), '{"name": "broken"');
  const index = await HubIndex.read(folder);

  expect(await names(index, "keywords:prl-environment sum")).toEqual(["@ada/sum", "sum-of-cubes", "a-sum", "zeta"]);
  expect(await names(index, "keywords:math")).toEqual(["other"]);
  expect(await names(index, "sum cubes")).toEqual(["sum-of-cubes"]);
  expect(await names(index, "broken")).toEqual([]);
  expect((await index.search("@ada/sum")).found).toMatchObject([
    { name: "@ada/sum", version: "2.0.0", description: "adds numbers", keywords: ["prl-environment"] },
  ]);
  expect(await index.search("", 1, 2)).toMatchObject({ total: 7, found: [{ name: "a-sum" }, { name: "odd" }] });
});

test("a search sees what was changed while a request was under way, and what its end changed", async () => {
  const folder = join(dir, "changing");
  const index = await HubIndex.read(folder);
  const first = index.changing("loud");
  const second = index.changing("loud");
  write(folder, "loud", "one");
  expect((await index.search("loud")).found).toMatchObject([{ description: "one" }]);
  first();
  write(folder, "loud", "two", "1.1.0");
  expect((await index.search("loud")).found).toMatchObject([{ description: "two", version: "1.1.0" }]);
  rmSync(join(folder, "loud"), { recursive: true });
  second();
  expect(await names(index, "loud")).toEqual([]);
});

describe("the package of a path", () => {
  test.each([
    ["/loud", "loud"],
    ["/@ada%2floud", "@ada/loud"],
    ["/@ada/loud/-rev/3-abc", "@ada/loud"],
    ["/loud/-/loud-1.0.0.tgz/-rev/1", "loud"],
    ["/-/package/@ada%2Floud/dist-tags/latest", "@ada/loud"],
    ["/-/package/loud/dist-tags/beta", "loud"],
    ["/-/user/org.couchdb.user:ada", null],
    ["/-/v1/login", null],
    ["/", null],
    ["/@ada", null],
    ["/..%2f..%2fetc", null],
    ["/@ada/..", null],
    ["/%zz", null],
  ])("%s is %s", (path, name) => expect(packageOfPath(path)).toBe(name));

  test("never names a place outside of the folder", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\/[\w@%.\\/2fF-]{0,30}$/u), (path) => {
        const name = packageOfPath(path);
        const place = name === null ? null : join("/store", name, "package.json");
        expect(place === null || place.startsWith("/store/")).toBe(true);
        expect(name?.split("/").length ?? 1).toBeLessThanOrEqual(2);
      }),
    );
  });
});
