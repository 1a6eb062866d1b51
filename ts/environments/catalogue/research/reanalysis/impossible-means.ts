/** impossible-means: which printed means and percentages no group of the stated size can have. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Line {
  size: number;
  /** Items that are added to one score of a person. */
  items: number;
  /** Printed value in units of the last digit. */
  printed: number;
  isPercent: boolean;
}

interface Given {
  lines: Line[];
}

/** By level: lines, largest group, percentages, scores of several items. */
const SIZES = [
  [8, 30, false, false],
  [10, 45, false, true],
  [13, 60, true, true],
  [17, 80, true, true],
  [22, 95, true, true],
] as const;
/** Digits behind the point. */
const SCALE = 100;

export const impossibleMeans = fieldRow<Given>({
  id: "impossible-means",
  asks: "which reported means and percentages are impossible for whole-number scores of groups of the stated size",
  draw,
  solve,
  values: () => "the list of all lines whose value is impossible, such as L2, L5",
  wordings: [
    (one) => `${lines(one)}\n\n${RULE} Which lines cannot be right?`,
    (one) => `${RULE}\n\nCheck every line of this table:\n${lines(one)}`,
    (one) =>
      `A reader doubts a paper's results.\n${lines(one)}\n${RULE} Name the lines that no data can have produced.`,
    (one) => `Test the granularity of these statistics. ${RULE}\n${lines(one)}\nFind all inconsistent ones.`,
  ],
});

const RULE =
  "All answers are whole numbers. A score is the mean of the stated number of items of a person; a mean is over all persons of the group. Percentages are of persons. Values are rounded to the printed two decimals, halves in either direction.";

function draw(rng: Rng, level: Level): Given | null {
  const [count, largest, hasPercent, hasItems] = at(SIZES, level - 1);
  const drawn = range(count).map((): Line => {
    const isPercent = hasPercent && rng.integer(3) === 0;
    const size = between(rng, 11, isPercent ? 95 : largest);
    const items = hasItems && !isPercent && rng.integer(2) === 0 ? between(rng, 2, 3) : 1;
    const cells = size * items;
    const top = isPercent ? size : cells * 6;
    const exact = between(rng, Math.ceil(top / 6), top - 1);
    const printed = Math.round((exact * (isPercent ? 100 : 1) * SCALE) / cells);
    return { size, items, printed: rng.integer(3) === 0 ? printed + between(rng, 1, 3) : printed, isPercent };
  });
  return { lines: drawn };
}

/** Whether some whole total gives the printed value after rounding. */
function isPossible({ size, items, printed, isPercent }: Line, usesItems = true): boolean {
  const cells = size * (usesItems ? items : 1);
  const factor = isPercent ? 100 * SCALE : SCALE;
  // |total * factor / cells - printed| <= 1/2, in whole numbers.
  const nearest = Math.round((printed * cells) / factor);
  return [nearest - 1, nearest, nearest + 1].some(
    (total) => total >= 0 && Math.abs(2 * (total * factor - printed * cells)) <= cells,
  );
}

function solve({ lines: list }: Given): Solution | null {
  const marks = list.map((_, index) => `L${index + 1}`);
  const named = (isWrong: (line: Line) => boolean): string =>
    marked(marks.filter((_, index) => isWrong(at(list, index))));
  const wrong = named((line) => !isPossible(line));
  const count = wrong.split(", ").length;
  if (wrong === "" || count < 2 || count > list.length * 0.6) return null;
  const slips = [named((line) => !isPossible(line, false)), named((line) => isPossible(line)), marked(marks)].filter(
    (slip) => slip !== wrong && slip !== "",
  );
  return {
    fields: [{ name: "impossible", kind: "set", value: wrong, options: marks }],
    slips: slips.map((slip) => [slip]),
    steps: list.reduce((sum, { items, isPercent }) => sum + items + (isPercent ? 2 : 1), 0),
  };
}

function lines({ lines: list }: Given): string {
  return list
    .map(({ size, items, printed, isPercent }, index) => {
      const value = (printed / SCALE).toFixed(2);
      if (isPercent) return `L${index + 1}. ${value} % of ${size} persons`;
      const scores = items === 1 ? "answers to one item" : `scores of ${items} items each`;
      return `L${index + 1}. mean ${value} of ${size} persons (${scores})`;
    })
    .join("\n");
}
