/**
 * An exception that ends a run in a small interpreter or checker. Generators throw thousands, mostly to drop a draw. Their stacks would never be read,
 * and would cost more than all the rest of the run.
 */
export class Stackless extends Error {
  constructor(message?: string) {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = limit;
  }
}
