/** The pages of a hub, made from a registry's folder whose packages are hostile where they can be. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import { BUILTIN, catalogueRows, CATALOGUE_CATEGORIES } from "../../../../ts/environments/internal.ts";
import { HubIndex } from "../../../../ts/environments/packages/hub/package-index.ts";
import { pageOf, packagePath, tasksPath } from "../../../../ts/environments/packages/hub/page/paths.ts";
import { sitePage, writeSite } from "../../../../ts/environments/packages/hub/page/site.ts";
import { html } from "../../../../ts/html.ts";

const EVIL = `<script>alert(1)</script><img src=x onerror="alert(2)">"'`;
const REPORT = {
  prl: "0.1.0",
  rows: [
    { part: "gate", check: "empty", status: "passed", what: `at most 0 by ${EVIL}` },
    { part: "gate", check: "constant", status: "failed", what: "0.5" },
    { part: "gate", check: "echo", status: "not checked", what: "no prompt" },
  ],
  samples: [
    {
      task: "7",
      by: "gold",
      conversations: [{ agent: "agent", messages: [{ role: "user", content: EVIL, calls: [`find {"a": 1}`] }] }],
      reward: 1,
      scores: { exact: 1 },
    },
  ],
};

let dir: string;
let index: HubIndex;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "prl-hub-pages-"));
  write("@ada/evil", {
    description: EVIL,
    keywords: ["prl-environment", `k"><script>`],
    license: EVIL,
    prl: { environment: "./index.js", report: REPORT, needs: { secrets: [EVIL] } },
  });
  write("plain", { keywords: ["prl-environment", "puzzle"], prl: { environment: "./index.js", report: { rows: 1 } } });
  write("library", { keywords: ["puzzle"] });
  index = await HubIndex.read(dir);
});
afterAll(() => rmSync(dir, { recursive: true }));

function write(name: string, manifest: object): void {
  const versions = Object.fromEntries(
    ["1.0.0", "1.1.0"].map((version) => [
      version,
      {
        name,
        version,
        dist: { integrity: `sha512-${version}` },
        deprecated: version === "1.0.0" ? EVIL : "",
        ...manifest,
      },
    ]),
  );
  const time = { "1.0.0": "2026-01-31T10:00:00.000Z", "1.1.0": "soon" };
  const readme = `# Title\n\n${EVIL}\n\n[a](javascript:alert(3)) [b](https://example.org/x)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n`;
  mkdirSync(join(dir, name), { recursive: true });
  const record = { name, versions, time, readme, "dist-tags": { latest: "1.1.0" } };
  writeFileSync(join(dir, name, "package.json"), JSON.stringify(record));
}

const page = async (path: string): Promise<string> => {
  const text = await sitePage(path, { index, registry: "https://hub.example.org/" });
  if (text === null) throw new Error(`there is no page ${path}`);
  return text;
};

/** Elements and attributes of a page that could run something, apart from the page's own script. */
function dangers(text: string): string[] {
  const tags = [...text.matchAll(/<[a-z][^>]*>/giu)].map(([tag]) => tag);
  return tags.filter((tag) =>
    /^<(img|iframe|object|svg|link)|\son\w+\s*=|javascript:/iu.test(tag.replaceAll(/"[^"]*"/gu, '""')),
  );
}

test("the list has the environments of the hub, those of prl and the generated tasks, and no other package", async () => {
  const text = await page("index.html");
  expect(text).toContain('href="environments/@ada/evil/index.html"');
  expect(text).toContain('href="environments/plain/index.html"');
  expect(text).not.toContain("library");
  for (const id of BUILTIN.keys()) expect(text).toContain(`<b>${id}</b>`);
  const rows = await catalogueRows();
  expect([...text.matchAll(/data-text="/gu)]).toHaveLength(2 + BUILTIN.size + rows.length);
  expect(text).toContain("1 of 2 checks failed");
  expect(text).toContain("no report");
});

test("a page runs its own script alone, and shows foreign text as text", async () => {
  const list = await page("index.html");
  const scripts = [...list.matchAll(/<script>([\s\S]*?)<\/script>/gu)].map(([, script = ""]) => script);
  expect(scripts).toHaveLength(1);
  const digest = createHash("sha256")
    .update(scripts[0] ?? "")
    .digest("base64");
  expect(list).toContain(`script-src 'sha256-${digest}'`);
  const text = await page(packagePath("@ada/evil"));
  expect(text).not.toContain("<script>");
  expect([...dangers(text), ...dangers(list)]).toEqual([]);
  expect(text).not.toContain('href="javascript:');
  expect(text).toContain('<a href="https://example.org/x">b</a>');
});

test("a package's page has its installation, needs, README, checks, samples and versions", async () => {
  const text = await page(packagePath("@ada/evil"));
  expect(text).toContain("prl env install ada/evil@1.1.0 --registry https://hub.example.org/");
  expect(text).toMatch(/declares that it needs[\s\S]*secrets/u);
  expect(text).toMatch(/<td>1<\/td>\s*<td>2<\/td>/u);
  expect(text).toMatch(/<td class="bad">failed<\/td>/u);
  expect(text).toContain("calls find {&quot;a&quot;: 1}");
  expect(text).toMatch(/1\.1\.0[\s\S]*1\.0\.0[\s\S]*2026-01-31[\s\S]*sha512-1\.0\.0/u);
  expect(text).toContain('href="../../../index.html"');
  // A report of another form counts as none.
  expect(await page(packagePath("plain"))).toContain("without the report");
});

test("every link of every written page leads to a written file", async () => {
  const site = join(dir, ".site");
  expect(await writeSite(site, { index, registry: null })).toBe(1 + CATALOGUE_CATEGORIES.length + 2);
  const pages = readdirSync(site, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  let links = 0;
  for (const { parentPath, name } of pages) {
    const text = readFileSync(join(parentPath, name), "utf8");
    expect(text).not.toContain("--registry");
    for (const [, href = ""] of text.matchAll(/href="([^"]*)"/gu)) {
      if (href.startsWith("https:")) continue;
      const [file = "", anchor] = href.split("#");
      const target = join(parentPath, file);
      expect([href, existsSync(target)]).toEqual([href, true]);
      if (anchor !== undefined) expect(readFileSync(target, "utf8")).toContain(`id="${anchor}"`);
      links += 1;
    }
  }
  expect(links).toBeGreaterThan(pages.length);
  expect(dirname(pages[0]?.parentPath ?? "")).not.toBe("");
});

test("tasks show a sample and its gold answer", async () => {
  for (const category of CATALOGUE_CATEGORIES) {
    const rows = await catalogueRows([category]);
    expect([...(await page(tasksPath(category))).matchAll(/<details id=/gu)]).toHaveLength(rows.length);
  }
});

test("other paths have no page and leave the folder alone", async () => {
  const options = { index, registry: null };
  for (const path of [
    "environments/library/",
    "environments/../plain/",
    "tasks/none/",
    "x",
    "environments/@ada/../plain/index.html",
  ])
    expect(await sitePage(path, options)).toBeNull();
  await fc.assert(
    fc.asyncProperty(fc.string({ maxLength: 60 }), async (path) => {
      if (pageOf(path)?.kind !== "listing") expect(await sitePage(path, options)).toBeNull();
    }),
  );
});

test("values in a template are escaped, in content and in quoted attributes", () => {
  const decode = (text: string): string =>
    text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
  fc.assert(
    fc.property(fc.string(), (value) => {
      const { text } = html`<a title="${value}">${value}</a>`;
      const [, title = "", content = ""] = /^<a title="([^"<>]*)">([^<>]*)<\/a>$/u.exec(text) ?? ["", "?", "?"];
      expect([decode(title), decode(content)]).toEqual([value, value]);
    }),
  );
});
