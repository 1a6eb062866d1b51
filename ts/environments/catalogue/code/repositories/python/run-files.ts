/** Runs the Python files of a project in this process, as JavaScript. Texts are translated once, however many projects share them. */
import { compileFunction } from "node:vm";

import type { Json } from "../../json.ts";
import { callable } from "./built-ins.ts";
import { Machine, OutOfSteps, RUN_TIME } from "./machine.ts";
import { translated } from "./statements.ts";
import { fromJson, Raised, raised, toJson, type Value } from "./values.ts";

/** Source text by path, such as `app/store.py`. */
export type Files = Readonly<Record<string, string>>;

/** Called functions as `module:name`; `depth` is 1 for the one that was called from outside. */
export type Trace = readonly { readonly called: string; readonly depth: number }[];

type Names = ReadonlyMap<string, Value>;
type Module = (runTime: typeof RUN_TIME, machine: Machine, load: (module: string) => Names) => Names;

const MOST_KEPT = 4_000;
const MOST_STEPS = 60_000;
const MODULES = new Map<string, Module>();

/** What a call that raised, or did not end, gives. */
export const CRASH = "!crash";

function compiled(source: string, module: string): Module {
  const key = `${module}\n${source}`;
  const known = MODULES.get(key);
  if (known !== undefined) return known;
  if (MODULES.size >= MOST_KEPT) MODULES.clear();
  // Only texts of this catalogue come here: no answer of a model does.
  const made = compileFunction(translated(source, module), ["R", "M", "load"]) as Module;
  MODULES.set(key, made);
  return made;
}

export class Project {
  readonly #files: Files;
  readonly #modules = new Map<string, Names>();
  readonly #machine = new Machine();

  constructor(files: Files) {
    this.#files = files;
  }

  /** The result of a function, or CRASH. Throws SyntaxError for files outside of what is translated. */
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
      return { result: toJson(callable(called)(...args.map(fromJson))), trace };
    } catch (error) {
      if (error instanceof Raised || error instanceof OutOfSteps) return { result: CRASH, trace };
      throw error;
    }
  }

  #load(module: string): Names {
    const known = this.#modules.get(module);
    if (known !== undefined) return known;
    const source = this.#files[`${module.replaceAll(".", "/")}.py`];
    if (source === undefined) throw raised("NameError");
    const made = compiled(source, module)(RUN_TIME, this.#machine, (other) => this.#load(other));
    this.#modules.set(module, made);
    return made;
  }
}
