/** Arguments of environments whose tasks are data: a dataset of the hub, a file, or generated here. */
import { existsSync } from "node:fs";
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { rows, formatOf, ofSplit } from "../../datasets/index.ts";
import type { TasksContext } from "../model/environment.ts";
import { endless, type TaskRows } from "../model/tasks.ts";

/** Used in place of a dataset's name: endless tasks that the environment generates. */
export const GENERATED = "generated";

export function dataArguments(fallback: string) {
  return {
    data: z
      .string()
      .min(1)
      .default(fallback)
      .describe(`a dataset of the hub (owner/name), a local .jsonl, .csv or .parquet file, or "${GENERATED}"`),
    evalData: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe("file or dataset of the held-out tasks; unset: data has both, a file is cut by what is in its rows"),
    subset: z.string().min(1).nullable().default(null).describe("config of the dataset, where it has several"),
    revision: z.string().min(1).default("main").describe("branch, tag or commit of the dataset"),
    trainSplit: z.string().min(1).default("train").describe("split of the dataset to train on"),
    evalSplit: z.string().min(1).default("test").describe("split of the dataset that is held out"),
    shuffle: z.boolean().default(true).describe("training tasks in an order that the seed draws"),
  };
}

export type DataArguments = z.output<z.ZodObject<ReturnType<typeof dataArguments>>>;

/** Where the tasks of an environment come from. */
export interface TaskForms<Data, Row> {
  /** Makes a task of a row of data; null: it gives none, which is counted. */
  readonly row: (data: Data) => Row | null;
  readonly generated: () => Iterable<Row>;
  /** Decides the split of a generated task. */
  readonly content: (row: Row) => unknown;
}

/**
 * The tasks that the arguments name. Errors: those of `rows`,
 * PRL_CONFIG_INVALID for a name that is neither a dataset nor an existing file.
 */
export function dataTasks<Schema extends z.ZodType, Row extends object>(
  { config, split, rng, leaveOut }: TasksContext<DataArguments>,
  schema: Schema,
  { row, generated, content }: TaskForms<z.output<Schema>, Row>,
): TaskRows<Row> {
  const isHeldOut = split === "eval";
  const hasEvalFile = isHeldOut && config.evalData !== null;
  const name = hasEvalFile ? (config.evalData ?? "") : config.data;
  if (name === GENERATED) return endless(ofSplit(generated(), split, content));
  const order = config.shuffle && !isHeldOut ? { shuffle: rng } : {};
  if (formatOf(name) !== null) {
    if (!existsSync(name)) throw new PrlError("PRL_DATA_FILE", `data: there is no file ${name}`);
    const use = config.evalData === null ? { use: split } : {};
    return mapped(rows({ file: name }, schema, { ...order, ...use }), row, leaveOut);
  }
  if (!/^[\w-][\w.-]*\/[\w-][\w.-]*$/u.test(name)) {
    throw new PrlError(
      "PRL_CONFIG_INVALID",
      `data: "${name}" is no dataset (owner/name), no .jsonl, .json, .csv or .parquet file and not "${GENERATED}"`,
    );
  }
  const dataset = {
    dataset: name,
    split: isHeldOut ? config.evalSplit : config.trainSplit,
    revision: config.revision,
    ...(config.subset === null ? {} : { config: config.subset }),
  };
  return mapped(rows(dataset, schema, order), row, leaveOut);
}

async function* mapped<Data, Row>(
  data: AsyncIterable<Data>,
  row: (data: Data) => Row | null,
  leaveOut: () => void,
): AsyncGenerator<Row> {
  for await (const one of data) {
    const made = row(one);
    if (made === null) leaveOut();
    else yield made;
  }
}
