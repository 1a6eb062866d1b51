/** `[[orchestrator.filters]]`: which scored traces do not train. */
import { z } from "zod";
import { filePath, userDeadline } from "../fields.ts";

const unset = (type: z.ZodNumber | z.ZodInt, text: string) => type.nullable().default(null).describe(text);

export const filterBlock = z
  .strictObject({
    type: z
      .enum(["gibberish", "repetition", "zero_advantage", "custom"])
      .describe("Kind of filter; custom: a function that you write"),
    name: z.string().min(1).nullable().default(null).describe("Name in the metrics; unset: the type"),
    enforce: z
      .boolean()
      .default(true)
      .describe("Leave traces that the filter finds out of the batch; false: only count them"),
    token_id_threshold: unset(
      z.int().nonnegative(),
      "gibberish: a token with an id below this is never rare; unset: 100000",
    ),
    max_logprob: unset(
      z.number().max(0),
      "gibberish: a rare token that was sampled below this log-probability is gibberish; unset: -14",
    ),
    window: unset(z.int().positive(), "repetition: this many near-certain tokens in a row are a loop; unset: 3000"),
    prob_threshold: unset(
      z.number().min(0).lt(1),
      "repetition: a token above this probability is near-certain; unset: 0.99",
    ),
    path: filePath(
      "custom, which needs it: module and export of the function (trace, columns) => 'keep' or a reason, as './my.ts#name'; unset: none",
    )
      .nullable()
      .default(null),
    deadline_s: userDeadline("trace", "PRL_USER_DEADLINE"),
  })
  .describe("A filter");
export type FilterBlock = z.output<typeof filterBlock>;

const READS: Record<FilterBlock["type"], readonly string[]> = {
  gibberish: ["token_id_threshold", "max_logprob"],
  repetition: ["window", "prob_threshold"],
  zero_advantage: [],
  custom: ["path", "deadline_s"],
};

/** The name that a filter is counted under. */
export function filterName({ name, type }: FilterBlock): string {
  return name ?? type;
}

/** Problems between keys, by index of the filter and key. */
export function filterProblems(filters: readonly FilterBlock[]): { index: number; key: string; message: string }[] {
  return filters.flatMap((filter, index) => {
    const { type, name: _name, enforce: _enforce, ...params } = filter;
    const found = Object.entries(params)
      .filter(([key, value]) => value !== null && !READS[type].includes(key))
      .map(([key]) => ({ index, key, message: `is not read by the filter "${type}"` }));
    if (type === "custom" && filter.path === null)
      found.push({ index, key: "path", message: "is needed by a custom filter" });
    const isTwice = filters.slice(0, index).some((other) => filterName(other) === filterName(filter));
    if (isTwice)
      found.push({ index, key: "name", message: `"${filterName(filter)}" is the name of another filter too` });
    return found;
  });
}
