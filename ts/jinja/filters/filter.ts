/** What a filter is, and what it may use of the rendering that applies it. */
import type { Arguments, Value } from "../values.ts";

export type Filter = (value: Value, args: Arguments, context: FilterContext) => Value;

export interface FilterContext {
  /** The elements of a value; each costs a step. */
  items(value: Value): Iterable<Value>;
  filter(name: string, value: Value, args: Arguments): Value;
  test(name: string, value: Value, args: Arguments): boolean;
}
