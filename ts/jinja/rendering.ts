/** One rendering: its output so far, its budget, and its interface for filters. */
import { Budget, checkTextLength } from "./budget.ts";
import type { FilterContext } from "./filters/filter.ts";
import { findFilter, isFilterName } from "./filters/filters.ts";
import { str } from "./python/printing.ts";
import { items } from "./python/sequences.ts";
import { findTest, isTestName } from "./filters/tests.ts";
import { type Arguments, Dict, Tuple, type Value } from "./values.ts";

/** Texts that are written where a `{% generation %}` block begins and ends. */
export interface GenerationMarks {
  readonly start: string;
  readonly end: string;
}

export class Rendering implements FilterContext {
  readonly budget: Budget;
  readonly marks: GenerationMarks | null;
  output = "";
  /** The line of the statement at work, for error messages. */
  line = 1;

  constructor(budget: Budget, marks: GenerationMarks | null) {
    this.budget = budget;
    this.marks = marks;
  }

  write(text: string): void {
    checkTextLength(this.output.length + text.length);
    this.output += text;
  }

  /** Returns the text that `body` writes, which does not go to the output. */
  capture(body: () => void): string {
    const before = this.output;
    this.output = "";
    try {
      body();
      return this.output;
    } finally {
      this.output = before;
    }
  }

  /** The elements for a loop; the loop itself is charged for its rounds. */
  elements(value: Value): Iterable<Value> {
    return items(value);
  }

  *items(value: Value): Generator<Value> {
    for (const item of items(value)) {
      this.budget.spend(1);
      yield item;
    }
  }

  filter(name: string, value: Value, args: Arguments): Value {
    if (typeof value === "string") this.weigh(value);
    const result = findFilter(name)(value, args, this);
    if (typeof result === "string") this.weigh(result);
    return result;
  }

  test(name: string, value: Value, args: Arguments): boolean {
    if (typeof value === "string") this.weigh(value);
    if (name === "filter") return isFilterName(str(value));
    return name === "test" ? isTestName(str(value)) : findTest(name)(value, args);
  }

  /** Charges additional steps for handling a large value as a whole. */
  weigh(value: Value): void {
    if (typeof value === "string") this.budget.spendOnText(value.length);
    else if (Array.isArray(value)) this.budget.spendOnItems(value.length);
    else if (value instanceof Dict) this.budget.spendOnItems(value.size);
    else if (value instanceof Tuple) this.budget.spendOnItems(value.items.length);
  }
}
