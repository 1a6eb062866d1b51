/** Patches and merges against git, the others against enumeration with code that shares nothing with the rows. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { devNull, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  applyPatch,
  type PatchProblem,
} from "../../../../../ts/environments/catalogue/code/change-management/apply-patch.ts";
import {
  commitGraphQuery,
  type GraphProblem,
} from "../../../../../ts/environments/catalogue/code/change-management/commit-graph-query.ts";
import {
  dependencyLock,
  type LockProblem,
} from "../../../../../ts/environments/catalogue/code/change-management/dependency-lock.ts";
import {
  type BranchProblem,
  branchPositions,
} from "../../../../../ts/environments/catalogue/code/change-management/branch-positions.ts";
import {
  lineOrigins,
  type OriginProblem,
} from "../../../../../ts/environments/catalogue/code/change-management/line-origins.ts";
import {
  type StagingProblem,
  stagingStates,
} from "../../../../../ts/environments/catalogue/code/change-management/staging-states.ts";
import { listEditScript } from "../../../../../ts/environments/catalogue/code/change-management/list-edit-script.ts";
import {
  type MergeProblem,
  threeWayMerge,
} from "../../../../../ts/environments/catalogue/code/change-management/three-way-merge.ts";
import { type Answer, drawnOf } from "./interpreters.ts";

const TIMEOUT_MS = 200_000;
/** Instances of each level that go through git, which takes a process or more for each. */
const BY_GIT = 4;
const HAS_GIT = spawnSync("git", ["--version"], { timeout: TIMEOUT_MS }).status === 0;

/** Without the settings of the user, and of a repository that runs the tests in a hook. */
const ENVIRONMENT = {
  ...Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith("GIT_"))),
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: devNull,
};

describe.skipIf(!HAS_GIT)(`git finds the same${HAS_GIT ? "" : " (there is no git here)"}`, () => {
  let folder = "";
  const git = (args: readonly string[], input = ""): string =>
    execFileSync("git", args, {
      cwd: folder,
      encoding: "utf8",
      input,
      timeout: TIMEOUT_MS,
      env: ENVIRONMENT,
      stdio: ["pipe", "pipe", "pipe"],
    });
  const write = (name: string, lines: readonly string[]): void =>
    writeFileSync(join(folder, name), `${lines.join("\n")}\n`);
  const some = <One>(drawn: readonly One[]): One[] => drawn.filter((_, index) => index % 12 < BY_GIT);

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "prl-catalogue-"));
    git(["init", "-q"]);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("file after a patch", () => {
    for (const { problem, items } of some(drawnOf<Answer<PatchProblem>>(applyPatch))) {
      write("f", problem.file);
      git(["apply", "--recount", "-"], ["--- a/f", "+++ b/f", ...problem.patch, ""].join("\n"));
      expect(readFileSync(join(folder, "f"), "utf8").trimEnd().split("\n")).toEqual(items);
    }
  });

  test("merged file, with both sides where they conflict", () => {
    for (const { problem, items } of some(drawnOf<Answer<MergeProblem>>(threeWayMerge))) {
      for (const side of ["ours", "base", "theirs"] as const) write(side, problem[side]);
      expect(git(["merge-file", "-p", "--union", "ours", "base", "theirs"]).trimEnd().split("\n")).toEqual(items);
    }
  });

  /** What a shell prints in a new repository with these commands. */
  const printed = (commands: readonly string[]): string[] => {
    const place = mkdtempSync(join(folder, "r-"));
    const script = [
      "git init -q",
      "git symbolic-ref HEAD refs/heads/main",
      "git config user.name x",
      "git config user.email x@example.com",
      ...commands,
    ].join("\n");
    const options = { cwd: place, encoding: "utf8", timeout: TIMEOUT_MS, env: ENVIRONMENT } as const;
    return execFileSync("sh", ["-e"], { ...options, input: script, stdio: ["pipe", "pipe", "pipe"] })
      .trimEnd()
      .split("\n");
  };
  const few = <One>(drawn: readonly One[]): One[] => drawn.filter((_, index) => index % 12 < 2);

  test("origin of lines", () => {
    for (const { problem, items } of few(drawnOf<Answer<OriginProblem>>(lineOrigins))) {
      const { first, diffs, names } = problem;
      const patches = diffs.map((hunks, index) => {
        const text = ["--- a/f", "+++ b/f", ...hunks].join("\n");
        return `git apply --unidiff-zero - <<'END'\n${text}\nEND\ngit commit -qam ${names[index + 1] ?? ""}`;
      });
      const lines = printed([
        `cat > f <<'END'\n${first.join("\n")}\nEND\ngit add f; git commit -qm ${names[0] ?? ""}`,
        ...patches,
        "git blame --porcelain f",
      ]);
      const messages = new Map<string, string>();
      let commit = "";
      const found: string[] = [];
      for (const line of lines) {
        if (/^[0-9a-f]{40} /u.test(line)) commit = line.slice(0, 40);
        if (line.startsWith("summary ")) messages.set(commit, line.slice(8));
        if (line.startsWith("\t")) found.push(messages.get(commit) ?? "");
      }
      expect(found).toEqual(items);
    }
  });

  test("states of files", () => {
    for (const { problem, items } of few(drawnOf<Answer<StagingProblem>>(stagingStates))) {
      const tracked = problem.files.slice(0, -1);
      const lines = printed([
        ...tracked.map((file) => `echo 1 > ${file}`),
        "git add .; git commit -qm c1",
        ...problem.commands,
        "git status --porcelain --no-renames",
      ]);
      const shown = lines.map((line) => `${line.slice(0, 2).replaceAll(" ", ".")} ${line.slice(3)}`);
      const byName = (list: readonly string[]): string[] =>
        list.toSorted((a, b) => (a.slice(3) < b.slice(3) ? -1 : a.slice(3) > b.slice(3) ? 1 : 0));
      expect(byName(shown)).toEqual(items);
    }
  });

  test("first-parent histories of branches", () => {
    for (const { problem, items } of few(drawnOf<Answer<BranchProblem>>(branchPositions))) {
      const each =
        "for b in $(git branch --format='%(refname:short)' | grep -v HEAD | sort); do echo $b: $(git log --first-parent --format=%s $b); done";
      expect(printed([...problem.commands, each])).toEqual(items);
    }
  });

  test("commits of ranges, merge bases and paths", () => {
    for (const { problem, items } of some(drawnOf<Answer<GraphProblem>>(commitGraphQuery)).filter(
      (_, index) => index % 2 === 0,
    )) {
      const { parents, names, questions } = problem;
      const stream = parents.map((all, commit) => {
        const from = all.map((parent, index) => `${index === 0 ? "from" : "merge"} :${parent + 1}\n`).join("");
        // Without "from" fast-import would continue the branch; every commit has a branch for itself.
        return `commit refs/heads/${names[commit]}\nmark :${commit + 1}\ncommitter x <x@example.com> ${1_000 + commit} +0000\ndata 1\n${names[commit]}\n${from}\n`;
      });
      git(["fast-import", "--quiet", "--force"], stream.join(""));
      const found = questions.map((one) => {
        const [a, b] = [names[one.a] ?? "", one.kind === "path" ? "" : (names[one.b] ?? "")];
        const named = { range: `${a}..${b}`, difference: `${a}...${b}`, bases: "", path: "" }[one.kind];
        const hashes =
          one.kind === "path"
            ? git(["rev-parse", `${a}${one.path}`])
            : one.kind === "bases"
              ? git(["merge-base", "--all", a, b])
              : git(["rev-list", named]);
        const messages = git(["log", "--no-walk", "--format=%s", "--stdin"], hashes).trim().split("\n");
        return messages.toSorted().join(" ");
      });
      expect(found).toEqual(items);
    }
  });
});

test("dependency-lock: of all allowed choices the gold one is the first in the stated order", () => {
  for (const { problem, items } of drawnOf<Answer<LockProblem>>(dependencyLock, [1, 2, 3])) {
    const { needs } = problem;
    let choices: number[][] = [[]];
    for (const versions of needs)
      choices = choices.flatMap((chosen) => versions.map((_, index) => [...chosen, index + 1]));
    const allowed = choices.filter((chosen) =>
      chosen.every((version, index) =>
        (needs[index]?.[version - 1] ?? []).every(
          ({ on, from, to }) => (chosen[on] ?? 0) >= from && (chosen[on] ?? 0) <= to,
        ),
      ),
    );
    // One digit for each version: the largest text is the preferred one.
    const [best] = allowed
      .map((chosen) => chosen.join(""))
      .toSorted()
      .reverse();
    expect(best).toBe(items.join(""));
  }
});

test("list-edit-script: Dijkstra's search over lists finds no cheaper script", () => {
  interface Script {
    readonly from: string[];
    readonly to: string[];
    readonly costs: { readonly insert: number; readonly delete: number; readonly replace: number };
    readonly cost: number;
  }
  for (const { from, to, costs, cost } of drawnOf<Script>(listEditScript)) {
    // A state is a pair of positions; edges go to the right only, so that the cheapest open state is final.
    const best = new Map([["0,0", 0]]);
    const done = new Set<string>();
    for (;;) {
      const [key, spent] = [...best].filter(([one]) => !done.has(one)).toSorted(([, a], [, b]) => a - b)[0] ?? ["", 0];
      const [a = 0, b = 0] = key.split(",").map(Number);
      if (a === from.length && b === to.length) {
        expect(spent).toBe(cost);
        break;
      }
      done.add(key);
      const edges: [number, number, number][] = [
        [a + 1, b, costs.delete],
        [a, b + 1, costs.insert],
        [a + 1, b + 1, from[a] === to[b] ? 0 : costs.replace],
      ];
      for (const [nextA, nextB, price] of edges) {
        const next = `${nextA},${nextB}`;
        if (nextA <= from.length && nextB <= to.length)
          best.set(next, Math.min(best.get(next) ?? Infinity, spent + price));
      }
    }
  }
});

test("list-edit-script: another cheapest script scores, a dearer one does not", () => {
  const instance = {
    from: ["a", "b"],
    to: ["b", "c"],
    costs: { insert: 2, delete: 2, replace: 2 },
    script: [],
    cost: 4,
  };
  expect(listEditScript.score(instance, "delete 1\ninsert 2 c")).toBe(1);
  expect(listEditScript.score(instance, "replace 1 b\nreplace 2 c")).toBe(1);
  expect(listEditScript.score(instance, "delete 1\ndelete 1\ninsert 1 b\ninsert 2 c")).toBe(0);
  expect(listEditScript.score(instance, "delete 3\ninsert 2 c")).toBe(0);
});
