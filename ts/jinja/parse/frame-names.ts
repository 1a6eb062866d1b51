/**
 * Finds the names that are local to a block from its beginning on.
 *
 * jinja2 decides by the order of the source: where the first use of a name in a block is an assignment, the blocks inside of it find the name
 * undefined until then, even if the template was given a variable of that name. An assignment in one branch of an `if` takes no name away.
 */
import type { Body, Expression, Statement, Target } from "./syntax.ts";

/** The names that a block and those around it know. */
export class FrameNames {
  readonly #around: FrameNames | null;
  readonly #known: Set<string>;
  /** Names that are undefined at the beginning of the block, also when the template has a variable of that name. */
  readonly shadowed: string[] = [];

  constructor(body: Body, parameters: readonly string[], around: FrameNames | null) {
    this.#around = around;
    this.#known = new Set(parameters);
    this.#visit(body, false);
  }

  #knows(name: string): boolean {
    return this.#known.has(name) || (this.#around !== null && this.#around.#knows(name));
  }

  #visit(body: Body, isBranch: boolean): void {
    for (const statement of body) this.#visitStatement(statement, isBranch);
  }

  /** Inner blocks have their own names, so only expressions that are evaluated here count. */
  #visitStatement(statement: Statement, isBranch: boolean): void {
    switch (statement.kind) {
      case "print":
        return this.#read(statement.value);
      case "if":
        for (const { test, body } of statement.branches) {
          this.#read(test);
          this.#visit(body, true);
        }
        return this.#visit(statement.otherwise, true);
      case "for":
        return this.#read(statement.over);
      case "set":
        this.#read(statement.value);
        return this.#assign(statement.target, isBranch);
      case "setblock":
        return this.#assign(statement.target, isBranch);
      case "with":
        return this.#read(statement.bindings.map(([, value]) => value));
      case "macro":
        return this.#store(statement.name, isBranch);
      case "call":
        return this.#read(statement.call);
      case "filterblock":
        return this.#read(statement.filter);
      default:
        return undefined;
    }
  }

  #read(expression: Expression | readonly Expression[]): void {
    for (const name of namesIn(expression)) if (!this.#knows(name)) this.#known.add(name);
  }

  #assign(target: Target, isBranch: boolean): void {
    if (target.kind === "name") this.#store(target.name, isBranch);
    else if (target.kind === "tuple") for (const one of target.targets) this.#assign(one, isBranch);
    else if (!this.#knows(target.name)) this.#known.add(target.name);
  }

  #store(name: string, isBranch: boolean): void {
    if (!isBranch && !this.#knows(name)) this.shadowed.push(name);
    this.#known.add(name);
  }
}

/** Names that a part of the syntax tree holds. */
export function namesIn(tree: unknown, found = new Set<string>()): Set<string> {
  if (typeof tree !== "object" || tree === null) return found;
  if ("kind" in tree && tree.kind === "name" && "name" in tree && typeof tree.name === "string") found.add(tree.name);
  else for (const part of Object.values(tree)) namesIn(part, found);
  return found;
}

/** Names that a target assigns. */
export function assignedNames(target: Target): string[] {
  if (target.kind === "tuple") return target.targets.flatMap(assignedNames);
  return target.kind === "name" ? [target.name] : [];
}
