/** Chooses the worked examples of a question, as lm-evaluation-harness chooses them where the mode follows it. */
import { existsSync } from "node:fs";

import { formatOf, placedRows } from "../../datasets/index.ts";
import { PrlError } from "../../errors.ts";
import { PythonRandom } from "../../random/python-random.ts";
import type { Benchmark, Protocol, Shots } from "./benchmark.ts";
import { benchmarkRows, type OtherSource } from "./benchmark-data.ts";

/** The seed that lm-evaluation-harness draws worked examples with, unless it is given another. */
const DRAW_SEED = 1234;

interface Settings extends OtherSource {
  readonly shots: number | string | null;
  readonly mode: string;
}

/**
 * Gives the examples of each question; call it once per question, in their order. Errors: PRL_CONFIG_INVALID when the mode shows examples and has
 * none, or `shots` asks for what it does not have; PRL_DATA_FILE.
 */
export async function shotChooser<Row extends object, Gold>(
  { name, row: schema }: Pick<Benchmark<Row, Gold>, "name" | "row">,
  { shots }: Protocol<Row, Gold>,
  settings: Settings,
): Promise<(row: Row) => readonly Row[]> {
  const fail = (problem: string): never => {
    throw new PrlError("PRL_CONFIG_INVALID", `benchmark "${name}", mode ${settings.mode}: shots: ${problem}`);
  };
  if (shots === undefined) {
    if (settings.shots === null || settings.shots === 0) return () => [];
    return fail("this mode shows no worked examples");
  }
  const count = typeof settings.shots === "number" ? settings.shots : shots.count;
  if (count === 0) return () => [];
  const file = typeof settings.shots === "string" ? settings.shots : null;
  if (file === null && shots.from === "file")
    return fail(
      `its ${count} worked examples are not part of prl: name a .jsonl file with them (${shots.advice}), or 0 to show none`,
    );
  if (file !== null && (formatOf(file) === null || !existsSync(file)))
    throw new PrlError("PRL_DATA_FILE", `benchmark "${name}": shots: there is no data file ${file}`);
  const pool: Row[] = [];
  const rows =
    file === null
      ? benchmarkRows(name, shots.from as Exclude<typeof shots.from, "file">, { row: schema }, settings)
      : placedRows({ file }, schema);
  for await (const { row } of rows) pool.push(row);
  if (pool.length < count) return fail(`${count} worked examples are shown, and there are ${pool.length}`);
  return chooserOf(shots, pool, count);
}

function chooserOf<Row>({ choose, groupOf }: Shots<Row>, pool: readonly Row[], count: number): (row: Row) => Row[] {
  if (choose === "first") return () => pool.slice(0, count);
  if (choose === "first-of-group") {
    return (row) => pool.filter((shot) => groupOf?.(shot) === groupOf?.(row)).slice(0, count);
  }
  const random = new PythonRandom(DRAW_SEED);
  return () => random.sample(pool.length, count).flatMap((at) => pool[at] ?? []);
}
