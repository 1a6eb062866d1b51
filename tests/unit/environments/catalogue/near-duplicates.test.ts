/** No task of the catalogue is another one in nearly the same words, in whatever category it is. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../ts/environments/catalogue/drawn.ts";
import { nearDuplicates, signatureOf } from "../../../../ts/environments/catalogue/gate/near-duplicates.ts";
import { catalogueRows } from "../../../../ts/environments/catalogue/index.ts";
import { idOf } from "../../../../ts/environments/catalogue/row-environment.ts";
import { type AnyRow, type Level } from "../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../support/form.ts";

/** Each level is compared alone, in all wordings of one instance, so that the data of an instance does not outweigh what is asked. */
const COMPARED: readonly Level[] = IS_LONG ? [1, 3, 5] : [1];
/** Share of common word triples above which two tasks are one in other words. Two different ones had at most 0.2 when the bound was set. */
const MOST_ALIKE = 0.3;
/** Both show a whole project of the same kind; one asks for the repair of a fault, the other for a new feature. */
const SHARE_A_PROJECT = ["code/repo-issue-fix", "code/repo-feature"];

function signed(row: AnyRow, level: Level): Uint32Array {
  const { instance } = drawInstance(row, level, createRng(1));
  return signatureOf(row.prompts.map((prompt) => prompt(instance, createRng(1))));
}

test.each(COMPARED)("no task of level %d is another one in the same words, across all categories", async (level) => {
  const rows = (await catalogueRows()).map((placed) => ({ id: idOf(placed), signature: signed(placed.row, level) }));
  const alike = nearDuplicates(rows, MOST_ALIKE).filter((pair) => !SHARE_A_PROJECT.every((id) => pair.includes(id)));
  expect(alike).toEqual([]);
});

test("a task that is worded like one of another category is found", async () => {
  const [placed] = await catalogueRows(["logic"]);
  const copied = (await catalogueRows(["math"])).find(({ row }) => row.id === "congruence-system");
  if (placed === undefined || copied === undefined) throw new Error("the catalogue lacks a row of this test");
  const { row } = copied;
  const reworded: AnyRow = {
    ...row,
    prompts: row.prompts.map((prompt) => (instance, rng) => `Think step by step. ${prompt(instance, rng)} Check it.`),
  };
  const rows = [
    { id: idOf(placed), signature: signed(placed.row, 1) },
    { id: idOf(copied), signature: signed(row, 1) },
    { id: "logic/copied", signature: signed(reworded, 2) },
  ];
  expect(nearDuplicates(rows, MOST_ALIKE)).toEqual([
    expect.stringContaining("math/congruence-system and logic/copied"),
  ]);
});
