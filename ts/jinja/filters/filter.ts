/** The interface of a filter, and the part of the rendering that it may use. */
import type { Arguments, Value } from "../values.ts";

export type Filter = (value: Value, args: Arguments, context: FilterContext) => Value;

export interface FilterContext {
  /** The elements of a value; each costs a step. */
  items(value: Value): Iterable<Value>;
  filter(name: string, value: Value, args: Arguments): Value;
  test(name: string, value: Value, args: Arguments): boolean;
}
