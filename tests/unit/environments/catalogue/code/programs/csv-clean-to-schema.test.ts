/** The cleaner against the tables before they were made dirty, and against CPython's csv module. */
import { describe, expect, test } from "vitest";

import { cleaned } from "../../../../../../ts/environments/catalogue/code/csv-clean-to-schema/clean.ts";
import { dirtyFile } from "../../../../../../ts/environments/catalogue/code/csv-clean-to-schema/dirty.ts";
import { ALL, type Spec } from "../../../../../../ts/environments/catalogue/code/csv-clean-to-schema/spec.ts";
import {
  type Column,
  drawColumns,
  drawRows,
} from "../../../../../../ts/environments/catalogue/code/csv-clean-to-schema/table.ts";
import { sample } from "../../../../../../ts/random/draws.ts";
import { createRng, type Rng } from "../../../../../../ts/random/rng.ts";

const FILES = process.env["PRL_TEST_LONG"] === "1" ? 4_000 : 400;
const ALL_TYPES = new Set(["text", "code", "count", "money", "date", "flag"] as const);

function specOf(ids: readonly string[], rng: Rng): Spec {
  const corruptions = ALL.filter(({ id }) => ids.includes(id)).map(({ id, draw }) => ({
    id,
    setting: draw?.(rng) ?? "",
  }));
  return { columns: drawColumns(rng, 9, ALL_TYPES), corruptions, seed: 0 };
}

function fileOf({ corruptions }: Spec, columns: readonly Column[], rng: Rng): { file: string; rows: unknown } {
  const rows = drawRows(columns, 6, rng);
  const settings = new Map(corruptions.map(({ id, setting }) => [id, setting]));
  return { file: dirtyFile(columns, rows, settings, rng), rows };
}

describe("csv-clean-to-schema", () => {
  test.each(ALL.map(({ id }) => id))("undoes %s, which shows in most files", (id) => {
    const rng = createRng(4);
    let shown = 0;
    for (let turn = 0; turn < 12; turn++) {
      const spec = specOf([id], rng);
      const { file, rows } = fileOf(spec, spec.columns, rng);
      expect(cleaned(spec, file)).toEqual(rows);
      if (JSON.stringify(cleaned({ ...spec, ignored: id }, file)) !== JSON.stringify(rows)) shown += 1;
    }
    expect(shown).toBeGreaterThan(3);
  });

  test("undoes any mixture of corruptions that may meet", () => {
    const rng = createRng(5);
    for (let turn = 0; turn < FILES; turn++) {
      const groups = new Set<string>();
      const some = sample(ALL, 14, rng).filter(({ group }) => {
        if (group === undefined) return true;
        return !groups.has(group) && groups.add(group).size > 0;
      });
      const spec = specOf(
        some.map(({ id }) => id),
        rng,
      );
      const { file, rows } = fileOf(spec, spec.columns, rng);
      expect(cleaned(spec, file), file).toEqual(rows);
    }
  });
});
