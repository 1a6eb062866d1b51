/** Where a text is being translated: its tokens, and the names that it has assigned so far. */
import type { Tokens } from "./tokens.ts";

export interface Context {
  readonly tokens: Tokens;
  /** Dotted name of the module. */
  readonly module: string;
  /** Names that are assigned in the function, or in the module outside of functions. */
  readonly names: Set<string>;
}

const MARK = "§";
const MARKED = /§(\w+)§/gu;

/** A name whose scope is not known yet. */
export function mention(name: string): string {
  return `${MARK}${name}${MARK}`;
}

/** The code with the mentions of these names as variables of a scope. */
export function resolved(code: string, names: ReadonlySet<string>, scope: "l" | "p" | "g"): string {
  return code.replaceAll(MARKED, (all, name: string) => (names.has(name) ? `${scope}_${name}` : all));
}

/** What no scope has is built in. */
export function builtInMentions(code: string): string {
  return code.replaceAll(MARKED, (_, name: string) => `R.builtIn("${name}")`);
}
