/** Answers of the rows about configuration against chmod, node-semver, and keys of content instead of marks of change. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

import {
  documentPatch,
  type PatchProblem,
} from "../../../../../../ts/environments/catalogue/code/configuration/document-patch.ts";
import {
  layerCache,
  type LayerProblem,
} from "../../../../../../ts/environments/catalogue/code/configuration/layer-cache.ts";
import {
  type ModesProblem,
  modesScript,
  symbolicModes,
} from "../../../../../../ts/environments/catalogue/code/configuration/symbolic-modes.ts";
import {
  type RangesProblem,
  rangesText,
  versionRanges,
  versionText,
} from "../../../../../../ts/environments/catalogue/code/configuration/version-ranges.ts";
import { drawInstance } from "../../../../../../ts/environments/catalogue/drawn.ts";
import { createRng } from "../../../../../../ts/random/rng.ts";
import { type Answer, drawnOf, HAS_PYTHON, printedByPython } from "../interpreters.ts";

const TIMEOUT_MS = 200_000;
const HAS_CHMOD =
  spawnSync("chmod", ["--version"], { encoding: "utf8", timeout: TIMEOUT_MS }).stdout?.includes("GNU coreutils") ??
  false;

/** npm's own library, where some package has brought it along. */
const semver = ((): { maxSatisfying: (versions: readonly string[], range: string) => string | null } | null => {
  try {
    return createRequire(import.meta.url)("semver") as {
      maxSatisfying: (versions: readonly string[], range: string) => string | null;
    };
  } catch {
    return null;
  }
})();

test.skipIf(!HAS_CHMOD)(
  `symbolic-modes: GNU chmod sets the same bits${HAS_CHMOD ? "" : " (there is no GNU chmod here)"}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), "prl-catalogue-"));
    try {
      const drawn = drawnOf<Answer<ModesProblem>>(symbolicModes);
      const script = drawn.map(({ problem }, index) => {
        const path = join(folder, String(index));
        if (problem.isFolder) mkdirSync(path);
        else writeFileSync(path, "");
        const commands = modesScript(problem).map((command) => `${command.replace(/f$/u, path)}; stat -c %a ${path}`);
        return [`chmod ${problem.start.toString(8).padStart(3, "0")} ${path}`, ...commands].join("\n");
      });
      const printed = execFileSync("sh", [], { input: script.join("\n"), encoding: "utf8", timeout: TIMEOUT_MS })
        .trim()
        .split("\n");
      expect(printed.map((mode) => mode.padStart(3, "0"))).toEqual(drawn.flatMap(({ items }) => items));
      execFileSync("chmod", ["-R", "u+rwx", folder], { timeout: TIMEOUT_MS });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test.skipIf(semver === null)(
  `version-ranges: node-semver takes the same versions${semver === null ? " (it is not installed)" : ""}`,
  () => {
    for (const { problem, items } of drawnOf<Answer<RangesProblem>>(versionRanges)) {
      const versions = problem.versions.map(versionText);
      expect(rangesText(problem).map((range) => semver?.maxSatisfying(versions, range) ?? "none")).toEqual(items);
    }
  },
);

test("layer-cache: a step runs when the key of all that it is made of is not the one of its last run", () => {
  for (const { problem, items } of drawnOf<Answer<LayerProblem>>(layerCache)) {
    const { bases, steps, builds } = problem;
    const versions = new Map<string, number>();
    const raise = (name: string): void => void versions.set(name, (versions.get(name) ?? 0) + 1);
    const keyOfStage = (stage: number): string => {
      const base = bases[stage] ?? null;
      return steps.reduce(
        (key, step, index) => (step.stage === stage ? keyOfStep(key, index) : key),
        base === null ? "image" : keyOfStage(base),
      );
    };
    const keyOfStep = (before: string, index: number): string => {
      const { do: what, what: text } = steps[index] ?? { do: "run", what: "" };
      const names =
        what === "copy" ? text.split(" ").map((one) => `file ${one}`) : what === "arg" ? [`arg ${text}`] : [];
      const parts = [`text ${index}`, ...names].map((name) => `${name}@${versions.get(name) ?? 0}`);
      return `(${before} ${parts.join(" ")}${what === "from-stage" ? keyOfStage(Number(text)) : ""})`;
    };
    const last = new Map<number, string>();
    const build = (target: number): number[] => {
      const needed = (stage: number): number[] => [
        stage,
        ...(bases[stage] === null || bases[stage] === undefined ? [] : needed(bases[stage])),
        ...steps.flatMap((step) => (step.stage === stage && step.do === "from-stage" ? needed(Number(step.what)) : [])),
      ];
      return [...new Set(needed(target))].flatMap((stage) => {
        const base = bases[stage] ?? null;
        let key = base === null ? "image" : keyOfStage(base);
        return steps.flatMap((step, index) => {
          if (step.stage !== stage) return [];
          key = keyOfStep(key, index);
          const isNew = last.get(index) !== key;
          last.set(index, key);
          return isNew ? [index + 1] : [];
        });
      });
    };
    for (const stage of bases.keys()) build(stage);
    const found = builds.map(({ files, args, edited, target }) => {
      for (const one of files) raise(`file ${one}`);
      for (const one of args) raise(`arg ${one}`);
      if (edited !== null) raise(`text ${edited}`);
      return (
        build(target)
          .toSorted((a, b) => a - b)
          .join(" ") || "-"
      );
    });
    expect(found).toEqual(items);
  }
});

test.skipIf(!HAS_PYTHON)(
  `document-patch: an interpreter of patches in Python agrees${HAS_PYTHON ? "" : " (there is no python3 here)"}`,
  () => {
    const drawn = drawnOf<Answer<PatchProblem>>(documentPatch);
    const sources = drawn.map(
      ({ problem }) => `import copy, json
document, operations = json.loads(${JSON.stringify(JSON.stringify([problem.document, problem.operations]))})
def find(pointer):
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    parent = document
    for step in steps[:-1]: parent = parent[int(step)] if isinstance(parent, list) else parent[step]
    last = steps[-1]
    return parent, (len(parent) if last == "-" else int(last)) if isinstance(parent, list) else last
def take(pointer):
    parent, key = find(pointer)
    return parent.pop(key)
def add(pointer, value):
    parent, key = find(pointer)
    if isinstance(parent, list): parent.insert(key, value)
    else: parent[key] = value
for one in operations:
    kind, path = one["op"], one["path"]
    if kind == "add": add(path, one["value"])
    elif kind == "remove": take(path)
    elif kind == "move": add(path, take(one["from"]))
    elif kind == "copy":
        parent, key = find(one["from"])
        add(path, copy.deepcopy(parent[key]))
    else:
        parent, key = find(path)
        if kind == "test": assert parent[key] == one["value"]
        else: parent[key] = one["value"]
print(json.dumps(document, separators=(",", ":")))`,
    );
    expect(printedByPython(sources)).toEqual(drawn.map(({ items }) => items));
  },
);

test("document-patch: no index names a member, which this engine would put before all others", () => {
  const rng = createRng(7);
  for (let drawn = 0; drawn < 1500; drawn++) {
    const { instance } = drawInstance(documentPatch, 5, rng);
    expect((instance as Answer<PatchProblem>).items.join("")).not.toMatch(/"\d+":/u);
  }
});
