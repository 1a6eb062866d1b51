/** Answers of the rows about storage against sqlite, and against slower methods that share nothing with the rows. */
import { expect, test } from "vitest";

import {
  type CascadeProblem,
  cascadeDeletes,
  cascadeSchema,
  cascadeStatements,
} from "../../../../../../ts/environments/catalogue/code/storage/cascade-deletes.ts";
import {
  conflictClauses,
  type ConflictProblem,
  conflictScript,
} from "../../../../../../ts/environments/catalogue/code/storage/conflict-clauses.ts";
import {
  logRecovery,
  type RecoveryProblem,
} from "../../../../../../ts/environments/catalogue/code/storage/log-recovery.ts";
import { mergedRuns, type RunsProblem } from "../../../../../../ts/environments/catalogue/code/storage/merged-runs.ts";
import {
  treeAfterInserts,
  type TreeProblem,
} from "../../../../../../ts/environments/catalogue/code/storage/tree-after-inserts.ts";
import { type Answer, drawnOf, HAS_PYTHON, printedByPython } from "../interpreters.ts";

const without = HAS_PYTHON ? "" : " (there is no python3 here)";
const CONNECT = `import json, sqlite3
database = sqlite3.connect(":memory:", isolation_level=None)
def run(statement):
    try:
        return database.execute(statement).fetchall()
    except sqlite3.IntegrityError:
        return []
`;

test.skipIf(!HAS_PYTHON)(`cascade-deletes: sqlite keeps the same rows${without}`, () => {
  const drawn = drawnOf<Answer<CascadeProblem>>(cascadeDeletes);
  const sources = drawn.map(({ problem }) => {
    const inserts = problem.tables.flatMap(({ name, rows }) =>
      rows.map((row) => `INSERT INTO ${name} VALUES (${row.map((value) => value ?? "NULL").join(", ")})`),
    );
    const all = [...cascadeSchema(problem).split("\n"), ...inserts, ...cascadeStatements(problem)];
    return `${CONNECT}run("PRAGMA foreign_keys = ON")
for statement in json.loads(${JSON.stringify(JSON.stringify(all))}): run(statement)
for name in ${JSON.stringify(problem.tables.map(({ name }) => name))}:
    for row in run(f"SELECT * FROM {name} ORDER BY id"): print(name, *("null" if cell is None else cell for cell in row))`;
  });
  expect(printedByPython(sources)).toEqual(drawn.map(({ items }) => items));
});

test.skipIf(!HAS_PYTHON)(`conflict-clauses: sqlite has the same table${without}`, () => {
  const drawn = drawnOf<Answer<ConflictProblem>>(conflictClauses);
  const sources = drawn.map(
    ({
      problem,
    }) => `${CONNECT}for statement in json.loads(${JSON.stringify(JSON.stringify(conflictScript(problem)))}): run(statement)
for row in run("SELECT id, code, n FROM t ORDER BY id"): print(*row)`,
  );
  expect(printedByPython(sources)).toEqual(drawn.map(({ items }) => items));
});

test("tree-after-inserts: every answer is a balanced search tree with the keys, and its splits follow from the history", () => {
  for (const { problem, items } of drawnOf<Answer<TreeProblem>>(treeAfterInserts)) {
    const levels = items.map((line) => line.split(" | ").map((node) => node.split(" ").map(Number)));
    // Each node but those of the last level has one child more than keys.
    for (const [index, nodes] of levels.entries()) {
      const below = levels[index + 1];
      if (below !== undefined) expect(below.length).toBe(nodes.reduce((sum, keys) => sum + keys.length + 1, 0));
      for (const keys of nodes) expect(keys.length).toBeLessThanOrEqual(problem.most);
    }
    const sorted = problem.keys.toSorted((a, b) => a - b);
    const walk = (index: number, place: number): number[] => {
      const keys = levels[index]?.[place] ?? [];
      if (index === levels.length - 1) return keys;
      const before = (levels[index] ?? []).slice(0, place).reduce((sum, node) => sum + node.length + 1, 0);
      return [...keys, Number.NaN].flatMap((key, child) => {
        const inner = walk(index + 1, before + child);
        if (!problem.keepsInLeaves) return Number.isNaN(key) ? inner : [...inner, key];
        // A separator is the first key of what is right of it, or one that an earlier split left there.
        if (!Number.isNaN(key)) expect(Math.max(...inner)).toBeLessThan(key);
        return inner;
      });
    };
    expect(walk(0, 0)).toEqual(sorted);
  }
});

test("merged-runs: reads of every key see its last write", () => {
  for (const { problem, items } of drawnOf<Answer<RunsProblem>>(mergedRuns)) {
    for (const key of new Set(problem.writes.map((write) => write.key))) {
      const last = problem.writes.findLast((write) => write.key === key)?.value ?? null;
      const found = items.flatMap((run) => run.split(" ")).find((entry) => entry.startsWith(`${key}=`));
      expect([`${key}=x`, undefined].includes(found) ? null : Number(found?.slice(2))).toBe(last);
    }
    // The sizes of all runs follow from replaying the flushes with plain lists.
    const flushes: Map<string, number | null>[] = [new Map()];
    for (const { key, value } of problem.writes) {
      flushes.at(-1)?.set(key, value);
      if (flushes.at(-1)?.size === problem.flush) flushes.push(new Map());
    }
    const last = problem.levels - 1;
    const runs = flushes.slice(0, -1).reduce<{ level: number; first: number; end: number }[]>((stack, _, index) => {
      let all = [...stack, { level: 0, first: index, end: index + 1 }];
      for (let level = 0; level < last; level++) {
        if (all.filter((run) => run.level === level).length < problem.fan) continue;
        const taken = all.filter((run) => run.level === level || (level === last - 1 && run.level === last));
        const merged = {
          level: level + 1,
          first: Math.min(...taken.map(({ first }) => first)),
          end: Math.max(...taken.map(({ end }) => end)),
        };
        all = [...all.filter((run) => !taken.includes(run)), merged].toSorted((a, b) => a.first - b.first);
      }
      return all;
    }, []);
    const texts = runs.toReversed().map(({ level, first, end }) => {
      const content = new Map(flushes.slice(first, end).flatMap((table) => [...table]));
      const kept = [...content].filter(([, value]) => level < last || value !== null);
      return kept
        .toSorted(([a], [b]) => a.localeCompare(b))
        .map(([key, value]) => `${key}=${value ?? "x"}`)
        .join(" ");
    });
    const memory = [...(flushes.at(-1) ?? [])].toSorted(([a], [b]) => a.localeCompare(b));
    const all = [memory.map(([key, value]) => `${key}=${value ?? "x"}`).join(" "), ...texts];
    expect(all.filter((text) => text !== "")).toEqual(items);
  }
});

test("log-recovery: pages hold the values of committed transactions", () => {
  for (const { problem, items } of drawnOf<Answer<RecoveryProblem>>(logRecovery)) {
    const winners = problem.events.flatMap((event) => (event.do === "commit" ? [event.tx] : []));
    const pages = problem.pages.map(({ name, start }) => {
      // What losers wrote is gone; a compensation of a winner is one of its writes.
      const writes = problem.events.flatMap((event) =>
        (event.do === "update" || event.do === "compensate") && event.page === name && winners.includes(event.tx)
          ? [event.to]
          : [],
      );
      return `${name}=${writes.at(-1) ?? start}`;
    });
    expect(items[2]).toBe(pages.join(" "));
  }
});
