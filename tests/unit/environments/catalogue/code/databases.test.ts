/** Answers of the rows about databases against sqlite, and against enumeration with code that shares nothing with the rows. */
import { expect, test } from "vitest";

import {
  candidateKeys,
  type KeyProblem,
} from "../../../../../ts/environments/catalogue/code/databases/candidate-keys.ts";
import {
  snapshotReads,
  type SnapshotProblem,
} from "../../../../../ts/environments/catalogue/code/databases/snapshot-reads.ts";
import {
  type ResultProblem,
  sqlResultReading,
} from "../../../../../ts/environments/catalogue/code/databases/sql-result-reading.ts";
import { type Answer, drawnOf, HAS_PYTHON, printedByPython } from "./interpreters.ts";

test.skipIf(!HAS_PYTHON)(
  `sql-result-reading: sqlite returns the same rows${HAS_PYTHON ? "" : " (there is no python3 here)"}`,
  () => {
    const drawn = drawnOf<Answer<ResultProblem>>(sqlResultReading);
    const sources = drawn.map(
      ({ problem: { a, b, query } }) => `import json, sqlite3
database = sqlite3.connect(":memory:")
database.execute("CREATE TABLE a (id INTEGER, tag TEXT, n INTEGER)")
database.execute("CREATE TABLE b (id INTEGER, a_id INTEGER, m INTEGER)")
for name, rows in json.loads(${JSON.stringify(JSON.stringify({ a, b }))}).items():
    database.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
for row in database.execute(${JSON.stringify(query)}): print("|".join("NULL" if cell is None else str(cell) for cell in row))`,
    );
    expect(printedByPython(sources)).toEqual(drawn.map(({ items }) => items));
  },
);

test("candidate-keys: the sets that are inside of no closed set but the whole, found by listing the closed sets", () => {
  for (const { problem, items } of drawnOf<Answer<KeyProblem>>(candidateKeys)) {
    const size = problem.attributes.length;
    const bits = (text: string): number =>
      text.split("").reduce((mask, one) => mask | (1 << problem.attributes.indexOf(one)), 0);
    const rules = problem.dependencies.map(([from, to]) => [bits(from), bits(to)] as const);
    const all = Array.from({ length: 2 ** size }, (_, mask) => mask);
    const closed = all.filter(
      (mask) => mask !== 2 ** size - 1 && rules.every(([from, to]) => (mask & from) !== from || (mask & to) === to),
    );
    const determining = new Set(all.filter((mask) => closed.every((other) => (mask & other) !== mask)));
    const minimal = [...determining].filter((mask) =>
      Array.from({ length: size }, (_, bit) => mask & ~(1 << bit)).every(
        (less) => less === mask || !determining.has(less),
      ),
    );
    expect(minimal.toSorted((a, b) => a - b)).toEqual(items.map(bits).toSorted((a, b) => a - b));
  }
});

test("snapshot-reads: a store of all versions with their times of commit agrees", () => {
  for (const { problem, items } of drawnOf<Answer<SnapshotProblem>>(snapshotReads)) {
    const { keys, start, operations } = problem;
    const versions = keys.map((key, index) => ({ key, value: start[index] ?? 0, time: -1 }));
    const newest = (key: string, before: number): number =>
      versions.filter((one) => one.key === key && one.time < before).toSorted((a, b) => b.time - a.time)[0]?.value ??
      Number.NaN;
    const found = operations.flatMap(({ who, kind, key }, now) => {
      const own = operations
        .slice(0, now + 1)
        .map((one, time) => ({ ...one, time }))
        .filter((one) => one.who === who);
      const begun = own[0]?.time ?? 0;
      const valueOf = (name: string, until: number): number =>
        own
          .filter((one) => one.key === name && one.time < until && (one.kind === "write" || one.kind === "add"))
          .reduce((value, one) => (one.kind === "write" ? one.value : value + one.value), newest(name, begun));
      if (kind === "read") return [String(valueOf(key, now))];
      if (kind !== "commit") return [];
      const written = [...new Set(own.flatMap((one) => (one.kind === "write" || one.kind === "add" ? [one.key] : [])))];
      if (versions.some((one) => one.time > begun && written.includes(one.key))) return ["abort"];
      const values = written.map((name) => ({ key: name, value: valueOf(name, now), time: now }));
      versions.push(...values);
      return ["ok"];
    });
    expect([...found, ...keys.map((key) => String(newest(key, operations.length)))]).toEqual(items);
  }
});
