import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../../..");
const MOST_FILES = 15;
const MOST_LINES = 500;

/** Files that may be longer, each with its reason. */
const LONG: Readonly<Record<string, string>> = {
  "crates/sandbox-proto/src/pb.rs": "generated from the protocol's definition",
  "crates/transport/src/pb.rs": "generated from the protocol's definition",
  "tests/fixtures/make/jinja_snippets.py": "a table of templates",
};

/** Source files that are tracked or new. */
function sources(): string[] {
  const list = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return list
    .split("\n")
    .filter((file) => /^(?:ts|crates|native|tests|benches)\/.*\.(?:ts|rs|mjs|py)$/u.test(file))
    .filter((file) => !file.startsWith("native/index.") && existsSync(join(ROOT, file)));
}

describe("the sizes of folders and files", () => {
  test(`a folder of sources, tests or benches holds at most ${MOST_FILES} files`, () => {
    const counts = new Map<string, number>();
    for (const file of sources()) {
      counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    }
    const crowded = [...counts].filter(([, count]) => count > MOST_FILES).map(([folder]) => folder);
    expect(crowded).toEqual([]);
  });

  test(`a file has at most ${MOST_LINES} lines`, () => {
    const long = sources().filter((file) => readFileSync(join(ROOT, file), "utf8").split("\n").length - 1 > MOST_LINES);
    expect(long.toSorted()).toEqual(Object.keys(LONG).toSorted());
  });

  test("no file has a name that says nothing", () => {
    const names = /^(?:utils?|helpers?|misc|common|stuff)\.(?:ts|rs|mjs|py)$/u;
    expect(sources().filter((file) => names.test(basename(file)))).toEqual([]);
  });
});
