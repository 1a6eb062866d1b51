import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const TS = resolve(import.meta.dirname, "../../../ts");

/** Areas from the top of the layering to its bottom: an area imports from lower layers only, and from no other area of the same layer. */
const LAYERS = [
  ["cli"],
  ["launcher", "simulation"],
  ["orchestrator", "trainer", "inference", "evals", "plan"],
  ["algorithms"],
  ["environments"],
  ["verify", "datasets"],
  ["inference-client", "models"],
  ["transports", "sandbox", "monitors", "hub", "python", "dialects"],
  ["renderers", "config", "random"],
  ["jinja", "native"],
  ["async", "files"],
];
/** Small helpers: each file is imported by itself. */
const WITHOUT_INDEX = new Set(["async", "files", "random"]);

function sources(dir: string): string[] {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? sources(path) : path.endsWith(".ts") ? [path] : [];
  });
}

function imports(file: string): string[] {
  const pattern = /(?:from|import)\s*\(?\s*"([^"]+)"/g;
  return [...readFileSync(file, "utf8").matchAll(pattern)].map((match) => match[1] ?? "");
}

/** Parts of an area that a process loads without the rest: `processes.test.ts` says which process loads what. */
const SMALL_DOORS = new Set([
  "environments/env-worker.ts",
  "environments/records.ts",
  "environments/run-start.ts",
  "inference-client/sampling-key.ts",
  "launcher/evaluations.ts",
  "trainer/supervised.ts",
]);

/** Whether another area may be entered here: through what is public (`index.ts`) or through what is for the house (`internal.ts`). */
function isDoor(target: string, area: string): boolean {
  if (WITHOUT_INDEX.has(area) || SMALL_DOORS.has(target)) return true;
  return target === `${area}/index.ts` || target === `${area}/internal.ts`;
}

const layerOf = (area: string) => LAYERS.findIndex((layer) => layer.includes(area));
const files = sources(TS).map((file) => ({ file, area: relative(TS, file).split("/")[0] ?? "" }));

describe("the layering of ts/", () => {
  test("every folder belongs to a layer", () => {
    const areas = new Set(files.map(({ area }) => area).filter((area) => !area.endsWith(".ts")));
    expect([...areas].toSorted()).toEqual(LAYERS.flat().toSorted());
  });

  test("ARCHITECTURE.md lists the layers", () => {
    const text = readFileSync(resolve(TS, "../ARCHITECTURE.md"), "utf8");
    const rows = [...text.matchAll(/^\| \d+ +\| ((?:`[a-z-]+`(?:, )?)+) *\|$/gmu)].map((match) => match[1] ?? "");
    expect(rows).toEqual(LAYERS.map((layer) => layer.map((area) => `\`${area}\``).join(", ")));
  });

  test("areas import only from the layers below, and through their index", () => {
    const broken: string[] = [];
    for (const { file, area } of files) {
      if (area.endsWith(".ts")) continue;
      for (const specifier of imports(file)) {
        if (!specifier.startsWith(".")) continue;
        const target = relative(TS, resolve(dirname(file), specifier));
        const other = target.split("/")[0] ?? "";
        if (other === area || !target.includes("/")) continue;
        const line = `${relative(TS, file)} imports ${target}`;
        if (layerOf(other) <= layerOf(area)) broken.push(`${line}: wrong direction`);
        else if (!isDoor(target, other)) broken.push(`${line}: not through ${other}/index.ts`);
      }
    }
    expect(broken).toEqual([]);
  });

  test("no area goes through its own index", () => {
    const circles = files.filter(({ file, area }) =>
      imports(file).some(
        (specifier) =>
          specifier.startsWith(".") && relative(TS, resolve(dirname(file), specifier)) === `${area}/index.ts`,
      ),
    );
    expect(circles.map(({ file }) => relative(TS, file))).toEqual([]);
  });

  test("only ts/native imports the addon", () => {
    const others = files.filter(({ file, area }) => area !== "native" && imports(file).includes("#native"));
    expect(others.map(({ file }) => relative(TS, file))).toEqual([]);
  });
});

/** Crates that only tests link. */
const TEST_CRATES = new Set(["fuzz", "test-heap"]);
const ROOT = resolve(TS, "..");

/** The crates of this workspace that a folder's crate links when it is built, without those of its tests. */
function linked(folder: string): string[] {
  const manifest = readFileSync(join(ROOT, folder, "Cargo.toml"), "utf8");
  const table = manifest.split(/^\[dependencies\]$/mu)[1]?.split(/^\[/mu)[0] ?? "";
  return [...table.matchAll(/^prl-([a-z-]+)(?:\.workspace)? =/gmu)].map((match) => match[1] ?? "").toSorted();
}

/** The arrows of the last diagram of ARCHITECTURE.md, by the crate where they begin. */
function drawn(): Map<string, string[]> {
  const text = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
  const [, diagram = ""] = /## Layering[\s\S]*?```mermaid\nflowchart TD\n([\s\S]*?)```/u.exec(text) ?? [];
  const labels = new Map(
    [...diagram.matchAll(/(\w+)\["([a-z-]+)[^"]*"\]/gu)].map(([, id = "", name = ""]) => [id, name]),
  );
  const nameOf = (node: string): string => {
    const id = node.trim().replace(/\[.*$/u, "");
    return labels.get(id) ?? id;
  };
  const arrows = diagram
    .trim()
    .split("\n")
    .map((line) => line.split("-->"));
  return new Map(arrows.map(([from = "", to = ""]) => [nameOf(from), to.split("&").map(nameOf).toSorted()]));
}

describe("the layering of the crates", () => {
  const crates = readdirSync(join(ROOT, "crates"));
  const programs = [...crates.filter((crate) => !TEST_CRATES.has(crate)), "native"];
  const folderOf = (crate: string) => (crate === "native" ? crate : `crates/${crate}`);

  test("is the one that ARCHITECTURE.md draws, and no program links what is for tests", () => {
    const found = programs.map((crate) => [crate, linked(folderOf(crate))] as const);
    const withArrows = found.filter(([, others]) => others.length > 0);
    expect(Object.fromEntries(withArrows)).toEqual(Object.fromEntries(drawn()));
    expect(withArrows.flatMap(([, others]) => others).filter((crate) => TEST_CRATES.has(crate))).toEqual([]);
  });

  test("crates for tests link none but each other", () => {
    const found = [...TEST_CRATES].map((crate) => [crate, linked(folderOf(crate))]);
    expect(Object.fromEntries(found)).toEqual({ fuzz: ["test-heap"], "test-heap": [] });
  });
});
