import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const TS = resolve(import.meta.dirname, "../../../ts");

/** Areas from the top of the layering to its bottom; an area imports from layers below its own. */
const LAYERS = [
  ["cli"],
  ["orchestrator", "trainer", "inference", "evals"],
  ["environments", "transports", "sandbox", "monitors"],
  ["renderers", "config"],
  ["jinja", "native"],
];
/**
 * The orchestrator drives the engines through the admin clients of the HTTP contract (ARCHITECTURE.md), which live beside the server that they talk
 * to; evaluations use the statistics of `prl-lm/algorithms`; a checkpoint's manifest is replaced whole, as every file of a run directory is.
 */
const SAME_LAYER = new Set([
  "orchestrator -> inference",
  "environments -> transports",
  "environments -> sandbox",
  "evals -> orchestrator",
  "transports -> monitors",
]);

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

const layerOf = (area: string) => LAYERS.findIndex((layer) => layer.includes(area));
const files = sources(TS).map((file) => ({ file, area: relative(TS, file).split("/")[0] ?? "" }));

describe("the layering of ts/", () => {
  test("every folder belongs to a layer", () => {
    const areas = new Set(files.map(({ area }) => area).filter((area) => !area.endsWith(".ts")));
    expect([...areas].filter((area) => layerOf(area) < 0)).toEqual([]);
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
        const edge = `${area} -> ${other}`;
        const line = `${relative(TS, file)} imports ${target}`;
        if (layerOf(other) <= layerOf(area) && !SAME_LAYER.has(edge)) broken.push(`${line}: wrong direction`);
        else if (target !== `${other}/index.ts`) broken.push(`${line}: not through ${other}/index.ts`);
      }
    }
    expect(broken).toEqual([]);
  });

  test("only ts/native imports the addon", () => {
    const others = files.filter(({ file, area }) => area !== "native" && imports(file).includes("#native"));
    expect(others.map(({ file }) => relative(TS, file))).toEqual([]);
  });
});
