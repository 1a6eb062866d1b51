/** The checks that all statistics share. */
import { PrlError } from "../../errors.ts";

export function fail(problem: string): never {
  throw new PrlError("PRL_STATISTICS_INPUT", problem);
}

/** At least one value, all of them finite. */
export function checkValues(name: string, values: readonly number[]): void {
  if (values.length === 0) fail(`${name}: there are no values`);
  const index = values.findIndex((value) => !Number.isFinite(value));
  if (index >= 0) fail(`${name}: value ${index} is ${String(values[index])}; all values must be finite`);
}
