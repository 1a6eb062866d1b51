import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { endless, type Task, type TaskSource } from "../../../../ts/environments/index.ts";
import { occurrences, TaskReader } from "../../../../ts/environments/internal.ts";
import { taskHash } from "../../../../ts/datasets/index.ts";

interface Row {
  n: number;
}

const rows = (count: number): Row[] => Array.from({ length: count }, (_, n) => ({ n }));

function* numbers(): Generator<Row> {
  for (let n = 0; ; n += 1) yield { n };
}

async function* later(count: number): AsyncGenerator<Row> {
  for (const row of rows(count)) {
    await Promise.resolve();
    yield row;
  }
}

async function readAll(source: TaskSource, limit: number): Promise<Task[]> {
  const tasks: Task[] = [];
  let after: string | null = null;
  do {
    const page = await source.page(after, limit);
    expect(page.tasks.length).toBeLessThanOrEqual(limit);
    tasks.push(...page.tasks);
    after = page.next;
  } while (after !== null);
  return tasks;
}

const data = (tasks: readonly Task[]) => tasks.map((task) => task.data);

describe("TaskReader", () => {
  it("pages through a finite set completely, in order, whatever the page size and the kind of source", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(30), fc.integer({ min: 1, max: 40 }), async (count, limit) => {
        expect(data(await readAll(new TaskReader(() => rows(count)), limit))).toEqual(rows(count));
        expect(data(await readAll(new TaskReader(() => later(count)), limit))).toEqual(rows(count));
      }),
    );
  });

  it("answers any cursor the same, forwards, backwards and at once", async () => {
    const reader = new TaskReader(() => endless(numbers()));
    const cursors = [null, "100", "5", "5", "90", "0"];
    const pages = await Promise.all(cursors.map(async (cursor) => reader.page(cursor, 3)));
    pages.forEach((page, index) => {
      const start = Number(cursors[index] ?? 0);
      expect(data(page.tasks)).toEqual([{ n: start }, { n: start + 1 }, { n: start + 2 }]);
      expect(page).toMatchObject({ next: String(start + 3), endless: true });
    });
  });

  it("ends rows that it goes back from, so that they let go of their files", async () => {
    const open = new Set<number>();
    let begun = 0;
    async function* files(): AsyncGenerator<Row> {
      const own = begun++;
      open.add(own);
      try {
        yield* later(10);
      } finally {
        open.delete(own);
      }
    }
    const reader = new TaskReader(files);
    for (const cursor of ["5", null, "2"]) await reader.page(cursor, 3);
    expect([begun, [...open]]).toEqual([3, [2]]);
  });

  it("names a task by its hash, or by the environment's own key", async () => {
    const [plain] = (await new TaskReader(() => rows(1)).page(null, 1)).tasks;
    expect(plain?.key).toBe(plain?.hash);
    const [named] = (
      await new TaskReader(
        () => rows(1),
        (row, index) => `row-${row.n}-${index}`,
      ).page(null, 1)
    ).tasks;
    expect(named).toEqual({ key: "row-0-0", hash: plain?.hash, data: { n: 0 } });
  });

  it("names the mistake of a source and recovers from it", async () => {
    let broken = true;
    const reader = new TaskReader(function* (): Generator<Row> {
      yield { n: 0 };
      if (broken) throw new Error("no such file");
      yield { n: 1 };
    });
    await expect(reader.page(null, 5)).rejects.toMatchObject({ code: "PRL_ENVIRONMENT_FAILED" });
    broken = false;
    expect(data((await reader.page(null, 5)).tasks)).toEqual(rows(2));
    await expect(reader.page("x", 5)).rejects.toThrow(/no task cursor/);
    await expect(new TaskReader<unknown>(() => ["text"]).page(null, 1)).rejects.toMatchObject({
      code: "PRL_ENVIRONMENT_INVALID",
    });
    await expect(new TaskReader(() => endless(rows(2))).page(null, 5)).rejects.toThrow(/ended after 2/);
  });
});

describe("rows that give no task", () => {
  it("are counted up to the end of every page, from the front also for who begins in the middle", async () => {
    // Every third row is left out.
    const open = (leaveOut: () => void) =>
      (function* () {
        for (let n = 0; n < 10; n++) {
          if (n % 3 === 0) leaveOut();
          else yield { n };
        }
      })();
    const counts = async (reader: TaskReader<Row>, after: string | null) => {
      const seen: (number | undefined)[] = [];
      do {
        const page = await reader.page(after, 2);
        seen.push(page.left_out);
        after = page.next;
      } while (after !== null);
      return seen;
    };
    const reader = new TaskReader(open);
    expect(await counts(reader, null)).toEqual([1, 2, 3, 4]);
    expect(await counts(reader, null)).toEqual([1, 2, 3, 4]);
    expect(await counts(new TaskReader(open), "4")).toEqual([3, 4]);
    expect((await new TaskReader(() => rows(3)).page(null, 3)).left_out).toBeUndefined();
  });
});

describe("taskHash", () => {
  it("is XXH3-64 of the row's JSON with sorted keys", () => {
    // From Python's xxhash over {"answer":"cba","prompt":"reverse: abc\n"}.
    expect(taskHash({ prompt: "reverse: abc\n", answer: "cba" })).toBe("596b8e5dff6e80a0");
  });

  it("depends on content alone: not on key order, not on a trip over the wire", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (row) => {
        const reversed = Object.fromEntries(Object.entries(row).toReversed());
        expect(taskHash(reversed)).toBe(taskHash(row));
        expect(taskHash(JSON.parse(JSON.stringify(row)))).toBe(taskHash(row));
      }),
    );
    expect(taskHash({ a: 1, b: undefined })).toBe(taskHash({ a: 1 }));
    expect(taskHash({ a: 1 })).not.toBe(taskHash({ a: 2 }));
  });
});

it("equal tasks are distinguished by how many came before", () => {
  expect(occurrences(["a", "b", "a", "a"].map((key) => ({ key })))).toEqual([0, 0, 1, 2]);
});
