/** The question in words. Every window is described by what it counts, never by the function that gives it. */
import { createRng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import { ordinal } from "../prose.ts";
import { tableOf } from "./data.ts";
import { type Domain, DOMAINS } from "./domains.ts";
import type { Measure, Spec } from "./spec.ts";

export function schemaOf({ owner, state, value }: Domain): string {
  return `id INTEGER, ${owner} TEXT, day INTEGER, ${state} TEXT, ${value} INTEGER`;
}

export function wording(spec: Spec, seed: number, index: number): string {
  const domain = at(DOMAINS, spec.domain);
  const create = `CREATE TABLE ${domain.table} (${schemaOf(domain)});`;
  const rows = tableOf(spec.domain, "mixed", createRng(seed + 1)).slice(0, 6);
  const sample = rows
    .map(({ id, owner, day, state, value }) => `(${id}, '${owner}', ${day}, '${state}', ${value ?? "NULL"})`)
    .join("\n");
  const story = at(domain.stories, index);
  const question = questionOf(spec, domain);
  const scoring =
    "The query runs on hidden tables with ties, missing values and gaps. Columns that are right everywhere earn a share if the right rows are given; all of it needs the order, too.";
  return at(
    [
      `${story}\n\n${create}\n\nSome rows:\n${sample}\n\n${question}\n\nAnswer with one SELECT statement of sqlite; WITH is allowed. ${scoring}`,
      `Write one sqlite query (a single SELECT, WITH is allowed).\n\n${question}\n\n${story}\n\n${create}\n\nThe table looks like this:\n${sample}\n\n${scoring}`,
      `${create}\n\n${story} For instance there are:\n${sample}\n\n${scoring}\n\nYour task, as a single SELECT (or WITH ... SELECT) for sqlite: ${question}`,
      `A sqlite database has this table:\n\n${create}\n\n${question}\n\n${story} A few rows, not all:\n${sample}\n\nOne SELECT statement, please; it may begin with WITH. ${scoring}`,
    ],
    index,
  );
}

function questionOf(spec: Spec, domain: Domain): string {
  const { one, many, owner, state, value } = domain;
  const which =
    spec.only === null
      ? `All ${many} belong to the question.`
      : `Only ${many} whose ${state} is '${spec.only}' belong to the question; the others are treated as if they were not there.`;
  const columns = spec.measures.map(
    (measure, index) => `- the ${ordinal(index + 2)} column: ${textOf(measure, domain)};`,
  );
  const order = {
    id: "by id, ascending",
    "latest-first": "by day, the last day first, and those of one day by id, ascending",
    owner: `by ${owner}, ascending, and then by id, ascending`,
  }[spec.order];
  return `${which} ${many.charAt(0).toUpperCase()}${many.slice(1)} follow each other by day, and those of one day by id. "Earlier" and "previous" mean this order. Several ${many} may have the same day and the same ${value}, and the ${value} of a ${one} may be NULL, which adds 0 to sums.

${keepText(spec, domain)} The first column is its id. The others are worked out over all ${many} that belong to the question, before any ${one} is left out of the result:

${columns.join("\n")}

Sort the result ${order}.`;
}

function keepText({ keep, measures }: Spec, { one, many, owner }: Domain): string {
  if (keep === null) return `Give one row for each ${one}.`;
  if (keep.is === "latest") return `Give one row for the last ${one} of each ${owner}, and none for the others.`;
  if (keep.is === "most")
    return `Give one row for each ${one} for which the second column is at most ${keep.value}, and none for the others.`;
  return `Give one row for the last ${one} of each streak (as in the second column, with steps of at most ${days(at(measures, 0).size)}), and none for the other ${many}.`;
}

function days(count: number): string {
  return count === 1 ? "1 day" : `${count} days`;
}

function textOf(measure: Measure, domain: Domain): string {
  const { one, many, owner, state, value } = domain;
  const { size, down } = measure;
  const of = {
    owner: ` of the same ${owner}`,
    state: ` of the same ${state}`,
    both: ` of the same ${owner} and the same ${state}`,
    all: " of the whole table",
  }[measure.by];
  const group = `the ${many}${of}`;
  const previous = `the previous ${one}${of}`;
  const large = down ? "the largest first" : "the smallest first";
  const streak = `Among ${group}, a streak is a longest series of ${many} that follow each other, each at most ${days(size)} after the one before it`;
  switch (measure.kind) {
    case "row-number":
      return `the number of the ${one} when ${group} are counted from 1, beginning with the ${down ? "last and going back" : "first"}`;
    case "rank":
      return `the rank of the ${one} among ${group} by ${value}, ${large} and NULL after all others: 1 plus the number of ${many} that come before it, those with the same ${value} not counted`;
    case "dense-rank":
      return `the rank of the ${one} among ${group} by ${value}, ${large} and NULL after all others, where the same ${value} gives the same rank and no rank is left out`;
    case "tile":
      return `the number of its part when ${group}, sorted by ${value} (${large}, NULL after all others, ties by id ascending), are cut into ${size} parts one after the other, numbered from 1; sizes differ by at most 1, and larger parts come first`;
    case "running-rows":
      return `the sum of ${value} over ${group} from the first up to and including this ${one}; of the same day, those with a larger id do not count`;
    case "running-days":
      return `the sum of ${value} over ${group} on this day and on all days before it, whatever their ids`;
    case "moving-rows":
      return `the sum of ${value} over the last ${size} of ${group} that end with this ${one} (fewer where there are not so many)`;
    case "moving-days":
      return `the sum of ${value} over ${group} on the ${size} days that end with the day of this ${one} (its day and the ${days(size - 1)} before it), including others of the same day`;
    case "around":
      return `the largest ${value} among the ${size} of ${group} just before and the ${size} just after this ${one} (fewer at the ends), itself not counted; NULL if there is none`;
    case "previous":
      return `the ${value} of ${previous}; NULL if there is no such ${one} or its ${value} is NULL`;
    case "change":
      return `its ${value} minus the ${value} of ${previous}; NULL if there is no such ${one} or one of the two is NULL`;
    case "last-known":
      return `the ${value} of the latest earlier ${one}${of} whose ${value} is not NULL; NULL if there is none`;
    case "last-of-all":
      return `the ${value} of the very last one of ${group}, which may be NULL`;
    case "share":
      return `its ${value} in percent of the sum of ${value} over ${group}, rounded down to a whole number; NULL where its ${value} is NULL`;
    case "streak-number":
      return `the number of its streak, counted from 1 by time. ${streak}`;
    case "streak-size":
      return `the number of ${many} in its streak. ${streak}`;
    case "streak-start":
      return `the day on which its streak begins. ${streak}`;
    case "state-run":
      return `how many of ${group} in a row, ending with this ${one}, have its ${state}`;
    case "states-so-far":
      return `the number of different values of ${state} among ${group} from the first up to and including this ${one}`;
    case "record":
      return `1 if its ${value} is larger than every ${value} of earlier ones of ${group} (those with NULL do not matter, and a first known ${value} counts), else 0; 0 if its ${value} is NULL`;
    case "smaller":
      return `how many of ${group} have a smaller ${value} (NULL is not smaller); NULL if its own ${value} is NULL`;
    case "days-since":
      return `the number of days from the nearest earlier day on which there is one of ${group}; another one of the same day does not matter; NULL if there is no earlier day`;
  }
}
