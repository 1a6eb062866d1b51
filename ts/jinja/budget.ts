/** Limits of one rendering: steps, so that loops end; lengths, so that texts and lists fit into memory. */
import { TemplateFailure } from "./failures.ts";

/** One step is a statement, a round of a loop, a call, or an element that a filter looks at. */
export const MAX_STEPS = 2_000_000;
/** Most UTF-16 units of one text. */
export const MAX_TEXT = 1 << 26;
/** Most elements of one list. */
export const MAX_ITEMS = 1 << 22;
/** Calls of macros and rounds of recursive loops inside each other. */
export const MAX_CALL_DEPTH = 200;
/** Long texts cost a step for this many units. */
const UNITS_PER_STEP = 1024;
/** So do long lists that are copied or compared. */
const ITEMS_PER_STEP = 64;
/** A call of a macro makes new variables and a new output. */
const STEPS_PER_CALL = 5;

export class Budget {
  #left: number;
  #depth = 0;

  constructor(steps: number = MAX_STEPS) {
    this.#left = steps;
  }

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TemplateFailure("it does not end: it used up the steps that one rendering may take");
  }

  /** Charges steps for reading a text. */
  spendOnText(units: number): void {
    if (units >= UNITS_PER_STEP) this.spend(Math.floor(units / UNITS_PER_STEP));
  }

  /** Charges steps for copying or comparing a list. */
  spendOnItems(items: number): void {
    if (items >= ITEMS_PER_STEP) this.spend(Math.floor(items / ITEMS_PER_STEP));
  }

  /** Runs `body` one call deeper. */
  nested<T>(body: () => T): T {
    if (this.#depth >= MAX_CALL_DEPTH) {
      throw new TemplateFailure(`its macros call each other more than ${MAX_CALL_DEPTH} deep`);
    }
    this.spend(STEPS_PER_CALL);
    this.#depth += 1;
    try {
      return body();
    } finally {
      this.#depth -= 1;
    }
  }
}

/** Refuses a text before it is made. */
export function checkTextLength(units: number): void {
  if (units > MAX_TEXT) throw new TemplateFailure(`it makes a text of ${units} characters; ${MAX_TEXT} are the most`);
}

/** Refuses a list before it is made. */
export function checkItemCount(items: number): void {
  if (items > MAX_ITEMS) throw new TemplateFailure(`it makes a list of ${items} elements; ${MAX_ITEMS} are the most`);
}
