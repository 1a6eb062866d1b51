/** Variables of a block; missing ones are searched in the blocks around it. Assignments stay inside. */
import { Undefined, type Value } from "../values.ts";

export class Scope {
  readonly #around: Scope | null;
  #variables: Map<string, Value> | null;

  constructor(around: Scope | null, variables: Map<string, Value> | null = null) {
    this.#around = around;
    this.#variables = variables;
  }

  set(name: string, value: Value): void {
    this.#variables ??= new Map();
    this.#variables.set(name, value);
  }

  get(name: string): Value {
    const own = this.#variables?.get(name);
    if (own !== undefined) return own;
    return this.#around === null ? new Undefined(`'${name}' is undefined`) : this.#around.get(name);
  }
}
