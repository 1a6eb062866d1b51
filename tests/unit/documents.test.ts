/** What the documents point to is there: files, folders, headings. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDERS = ["benches", "configs", "crates", "native", "tests", "ts"];
/** A path, alone between backticks, from the root of the repository or from the document's own folder. */
const PATH = new RegExp(`^(?:${[...FOLDERS, "docs", "src"].join("|")})(?:/[A-Za-z0-9_.-]+)+/?$`);

/** `configs/` of a run directory has the same name as ours. */
const OF_A_RUN = /^configs\/[a-z-]+\.json$/;

/** Programs of prime-rl, in the table of configs/README.md. */
const OTHERS: ReadonlySet<string> = new Set(["chat.py", "export_sft.py", "mini_moe.py"]);

function documents(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md") && !path.includes("node_modules"))
    .map((path) => join(folder, path));
}

/** Of a heading, as GitHub makes it. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => anchor(heading));
}

const roots = readdirSync(ROOT).filter((name) => name.endsWith(".md"));
const found = [...roots, ...FOLDERS.flatMap(documents)].map((path) => {
  // Code blocks show other people's files.
  const text = readFileSync(join(ROOT, path), "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
  return { path, text };
});

describe.each(found)("$path", ({ path, text }) => {
  test("links lead to files and headings that exist", () => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
    const broken = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [file = "", heading] = link.split("#");
      const target = file === "" ? join(ROOT, path) : resolve(ROOT, dirname(path), file);
      if (!existsSync(target)) return true;
      return heading !== undefined && !anchorsOf(readFileSync(target, "utf8")).includes(heading);
    });
    expect(broken).toEqual([]);
  });

  test("files that begin a row of a table are in the document's folder", () => {
    const cells = [...text.matchAll(/^\|([^|\n]+)\|/gm)].map(([, cell = ""]) => cell);
    const named = cells.flatMap((cell) =>
      [...cell.matchAll(/`([\w./-]+\.(?:ts|rs|py))`/g)].map(([, name = ""]) => name),
    );
    const folder = join(ROOT, dirname(path));
    const files = named.length === 0 ? [] : readdirSync(folder, { recursive: true, encoding: "utf8" });
    const isThere = (name: string): boolean =>
      existsSync(join(folder, name)) || files.some((file) => file.endsWith(`/${name}`));
    expect(named.filter((name) => !OTHERS.has(name) && !isThere(name))).toEqual([]);
  });

  test("paths that are named exist", () => {
    const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);
    const named = spans.filter((span) => PATH.test(span) && !OF_A_RUN.test(span));
    const places = [ROOT, join(ROOT, dirname(path))];
    expect(named.filter((name) => !places.some((place) => existsSync(join(place, name))))).toEqual([]);
  });
});
