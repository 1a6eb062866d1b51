/** The prompts of hidden-law-table. */
import { at } from "../../lists.ts";
import { LAWS } from "./laws.ts";
import { decimal, type Given, LETTERS } from "./solve.ts";

export const PROMPTS: readonly ((given: Given) => string)[] = [
  (given) =>
    `A quantity y was measured at some x. It follows one of these laws, with whole numbers a and b of the stated ranges:\n${laws(given)}\n\n${table(given)}\n\nEach measured y differs from the law's value by at most ${decimal(given.bound)}. A law agrees with some rows if there are a and b in its ranges for which no row differs by more. One law, with one a and one b, agrees with all rows.`,
  (given) =>
    `${table(given)}\n\nThe error of every y is at most ${decimal(given.bound)} in either direction. What lies behind the table is one of the following, where a and b are whole numbers (ln is the natural logarithm, angles are in radians):\n${laws(given)}\n\nOnly one law fits all of the rows within the error, and only with one pair of parameters. To fit some rows means that there is any pair in the ranges with which none of these rows is off by more than the error.`,
  (given) =>
    `Candidates:\n${laws(given)}\n\nMeasurements, in the order in which they were made:\n${table(given)}\n\nBoth parameters are whole numbers within the ranges. Measured and true values are never more than ${decimal(given.bound)} apart. All rows together leave one candidate with one pair of parameters; the first ${given.early} rows alone may leave several candidates, each with some pair.`,
  (given) =>
    `Which law made this table?\n\n${table(given)}\n\n${laws(given)}\n\nThe instrument is off by ${decimal(given.bound)} at most, up or down; a and b are whole numbers from the ranges in brackets. For all ${given.rows.length} rows just one law with one pair (a, b) stays within that. A law is possible for fewer rows if it stays within that for some pair.`,
];

/** What the fields are, for the format of the answer. */
export function valuesText({ early, next }: Given): string {
  return `law is the letter of the law that agrees with all rows, a and b are its parameters, next is its value (without error) at x = ${next}, rounded to one decimal, and open is a list of the letters of all laws that agree with the first ${early} rows, separated by commas`;
}

function laws({ laws: ids }: Given): string {
  return ids
    .map((id, index) => {
      const { text, a, b } = at(
        LAWS.filter((one) => one.id === id),
        0,
      );
      return `${at(LETTERS, index)}: y = ${text} [a ${a.join(" to ")}, b ${b.join(" to ")}]`;
    })
    .join("\n");
}

function table({ rows }: Given): string {
  return ["x | y", ...rows.map(({ x, y }) => `${x} | ${decimal(y)}`)].join("\n");
}
