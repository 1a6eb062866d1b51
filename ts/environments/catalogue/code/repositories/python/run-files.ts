/** Runs the Python files of a project in this process. Texts are parsed once, however many projects share them. */
import type { Json } from "../../json.ts";
import { callOf } from "./built-ins.ts";
import type { Frame, Machine } from "./frame.ts";
import { OutOfSteps } from "./frame.ts";
import { type Execute, moduleOf } from "./statements.ts";
import { fromJson, Raised, raised, toJson, type Value } from "./values.ts";

/** Source text by path, such as `app/store.py`. */
export type Files = Readonly<Record<string, string>>;

/** Called functions as `module:name`; `depth` is 1 for the one that was called from outside. */
export type Trace = readonly { readonly called: string; readonly depth: number }[];

const MOST_PARSED = 4_000;
const MOST_STEPS = 60_000;
const PARSED = new Map<string, Execute>();

/** What a call that raised, or did not end, gives. */
export const CRASH = "!crash";

function parsedModule(source: string): Execute {
  const known = PARSED.get(source);
  if (known !== undefined) return known;
  if (PARSED.size >= MOST_PARSED) PARSED.clear();
  const made = moduleOf(source);
  PARSED.set(source, made);
  return made;
}

export class Project {
  readonly #files: Files;
  readonly #modules = new Map<string, Map<string, Value>>();
  readonly #machine: Machine;

  constructor(files: Files) {
    this.#files = files;
    this.#machine = { steps: MOST_STEPS, depth: 0, trace: null, load: (module) => this.#load(module) };
  }

  /** The result of a function, or CRASH. Throws SyntaxError for files outside of what is interpreted. */
  call(module: string, name: string, args: readonly Json[]): Json {
    return this.traced(module, name, args, false).result;
  }

  /** The same with the functions that were called on the way. */
  traced(module: string, name: string, args: readonly Json[], isTraced = true): { result: Json; trace: Trace } {
    const trace: { called: string; depth: number }[] = [];
    this.#machine.steps = MOST_STEPS;
    this.#machine.depth = 0;
    this.#machine.trace = isTraced ? trace : null;
    try {
      const called = this.#load(module).get(name);
      if (called === undefined) throw raised("NameError");
      const result = toJson(callOf(called)({ values: args.map(fromJson), named: new Map() }));
      return { result, trace };
    } catch (error) {
      if (error instanceof Raised || error instanceof OutOfSteps) return { result: CRASH, trace };
      throw error;
    }
  }

  #load(module: string): Map<string, Value> {
    const known = this.#modules.get(module);
    if (known !== undefined) return known;
    const source = this.#files[`${module.replaceAll(".", "/")}.py`];
    if (source === undefined) throw raised("NameError");
    const globals = new Map<string, Value>();
    this.#modules.set(module, globals);
    const frame: Frame = { locals: globals, globals, module, machine: this.#machine, result: null };
    parsedModule(source)(frame);
    return globals;
  }
}
