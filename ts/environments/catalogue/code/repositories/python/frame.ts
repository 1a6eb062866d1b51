/** The state of a call, and of the machine that runs it. */
import { callOf } from "./built-ins.ts";
import { type Arguments, Instance, type Class, type Value } from "./values.ts";

/** A run that took more steps than it may: the program does not end, or not soon. */
export class OutOfSteps extends Error {}

export interface Machine {
  steps: number;
  /** Calls that are open. */
  depth: number;
  /** Called functions as `module:name`, with their depth, while a list stands here. */
  trace: { readonly called: string; readonly depth: number }[] | null;
  readonly load: (module: string) => ReadonlyMap<string, Value>;
}

export interface Frame {
  readonly locals: Map<string, Value>;
  readonly globals: Map<string, Value>;
  readonly module: string;
  readonly machine: Machine;
  /** What `return` gave. */
  result: Value;
}

const DEEPEST = 80;

export function spend({ machine }: Frame): void {
  machine.steps -= 1;
  if (machine.steps < 0 || machine.depth > DEEPEST) throw new OutOfSteps();
}

export function lambdaFrame(frame: Frame, names: readonly string[], values: readonly Value[]): Frame {
  const locals = new Map(frame.locals);
  for (const [index, name] of names.entries()) locals.set(name, values[index] ?? null);
  return { ...frame, locals, result: null };
}

export function instanceOf(is: Class, args: Arguments): Instance {
  const made = new Instance(is);
  const init = is.member("__init__");
  if (init !== undefined) callOf(init)({ values: [made, ...args.values], named: args.named });
  return made;
}
