/**
 * Lets the tests run prl as `tsc` compiled it: an import of `ts/<file>.ts` gets `dist/<file>.js`, which Node loads itself. The threads and
 * processes that this code starts are compiled code as well, because each module looks for their entries beside itself. A start from the
 * sources goes through tsx and costs three times the processor time.
 *
 * `tests/run.mjs` compiles and then sets `PRL_TEST_COMPILED=1`. Without the variable the tests run the sources.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";

const ROOT = resolve(import.meta.dirname, "../..");
const SOURCES = join(ROOT, "ts") + sep;
const COMPILED = join(ROOT, "dist") + sep;
const BUNDLED = join(ROOT, "bundle/cli/main.js");

/** Whether the tests run compiled code. */
export const RUNS_COMPILED = process.env["PRL_TEST_COMPILED"] === "1";

/** Matches the id of a compiled file, which Node loads itself. */
export const COMPILED_FILE = new RegExp(`^${COMPILED.replaceAll(/[$()*+.?[\\\]^{|}]/gu, "\\$&")}`, "u");

/** The compiled file of a source file. */
function compiledPath(source: string): string {
  return `${COMPILED}${source.slice(SOURCES.length, -".ts".length)}.js`;
}

/** Where a program that a test writes finds prl's module `ts/<path>`. Its Node needs `MODULE_LOADER`. */
export function modulePath(path: string): string {
  const source = join(SOURCES, path);
  return RUNS_COMPILED ? compiledPath(source) : source;
}

/** Arguments of a Node that runs such a program. */
export const MODULE_LOADER: readonly string[] = RUNS_COMPILED
  ? []
  : ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href];

/** The plugin of vite that leads from a source to its compiled file. */
export function compiledCode(): {
  name: string;
  enforce: "pre";
  resolveId(id: string, importer?: string): string | null;
} {
  return {
    name: "prl-compiled-code",
    enforce: "pre",
    resolveId(id, importer) {
      if (!id.endsWith(".ts") || importer === undefined) return null;
      const source = id.startsWith(".") ? resolve(dirname(importer), id) : id;
      return source.startsWith(SOURCES) && existsSync(source) ? compiledPath(source) : null;
    },
  };
}

/** Throws when a source is newer than its compiled file or the bundle, because the tests would check older code. */
export function refuseOldCode(): void {
  const bundled = statSync(BUNDLED, { throwIfNoEntry: false });
  for (const entry of readdirSync(SOURCES, { recursive: true, encoding: "utf8" })) {
    if (!entry.endsWith(".ts") || entry.endsWith(".d.ts")) continue;
    const source = join(SOURCES, entry);
    const compiled = statSync(compiledPath(source), { throwIfNoEntry: false });
    const changedAt = statSync(source).mtimeMs;
    if ([compiled, bundled].some((file) => file === undefined || file.mtimeMs < changedAt)) {
      throw new Error(`PRL_TEST_COMPILED=1, but ts/${entry} is newer than dist or bundle: run \`npm run build:ts\``);
    }
  }
}
