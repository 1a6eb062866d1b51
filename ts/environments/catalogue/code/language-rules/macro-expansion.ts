/**
 * Expansion of macros as the C preprocessor does it: arguments are expanded before they are inserted, except beside # and ##, and a name is never
 * expanded again inside of itself (Prosser's algorithm with hide sets, on which the C standard is based).
 */
import { at } from "../../lists.ts";

export interface Macro {
  readonly name: string;
  /** Null: the macro is used without brackets. */
  readonly parameters: readonly string[] | null;
  readonly body: string;
}

interface Token {
  readonly text: string;
  /** Whether white space stands before it. */
  readonly space: boolean;
  readonly hidden: readonly string[];
}

const MOST_TOKENS = 3_000;

export function tokensOf(source: string): Token[] {
  const found = source.matchAll(/(\s*)("(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|\d\w*|##|\S)/gu);
  return [...found].map(([, space = "", text = ""]) => ({ text, space: space !== "", hidden: [] }));
}

export class Expander {
  readonly macros: ReadonlyMap<string, Macro>;
  /** Of a reader who inserts arguments as they are. */
  readonly isLazy: boolean;
  /** Macros that were replaced. */
  replaced = 0;
  constructor(macros: readonly Macro[], isLazy = false) {
    this.macros = new Map(macros.map((macro) => [macro.name, macro]));
    this.isLazy = isLazy;
  }

  /** Null where the result is long, an argument too many or too few, or a pasted token none. */
  expand(tokens: readonly Token[]): Token[] | null {
    const out: Token[] = [];
    let left = [...tokens];
    while (left.length > 0) {
      if (left.length + out.length > MOST_TOKENS) return null;
      const [first, ...rest] = left;
      if (first === undefined) break;
      const macro = this.macros.get(first.text);
      const call = (macro?.parameters ?? null) === null ? null : argumentsIn(rest);
      if (macro === undefined || first.hidden.includes(first.text) || (macro.parameters !== null && call === null)) {
        out.push(first);
        left = rest;
        continue;
      }
      if (call !== null && call.all.length !== macro.parameters?.length) return null;
      this.replaced += 1;
      const hidden =
        call === null
          ? [...first.hidden, macro.name]
          : [...first.hidden.filter((name) => call.hidden.includes(name)), macro.name];
      const inserted = this.#insert(macro, call?.all ?? []);
      if (inserted === null) return null;
      const marked = inserted.map((token, index) => ({
        ...token,
        space: index === 0 ? first.space : token.space,
        hidden: [...new Set([...token.hidden, ...hidden])],
      }));
      left = [...marked, ...rest.slice(call?.length ?? 0)];
    }
    return out;
  }

  /** The body with the arguments in it. */
  #insert({ parameters, body }: Macro, all: readonly Token[][]): Token[] | null {
    const out: Token[] = [];
    const tokens = tokensOf(body);
    for (let place = 0; place < tokens.length; place++) {
      const token = at(tokens, place);
      const argument = all[parameters?.indexOf(token.text) ?? -1];
      if (token.text === "#" && parameters !== null) {
        const named = all[parameters.indexOf(at(tokens, place + 1).text)] ?? [];
        out.push({ text: `"${spelled(named).replaceAll(/["\\]/gu, "\\$&")}"`, space: token.space, hidden: [] });
        place += 1;
      } else if (token.text === "##") {
        const next = at(tokens, place + 1);
        const [first, ...rest] = all[parameters?.indexOf(next.text) ?? -1] ?? [next];
        const last = out.pop();
        if (last === undefined || first === undefined || !/^\w+$/u.test(last.text + first.text)) return null;
        out.push(
          { ...last, text: last.text + first.text, hidden: last.hidden.filter((name) => first.hidden.includes(name)) },
          ...rest,
        );
        place += 1;
      } else if (argument === undefined) out.push(token);
      else {
        const isPasted = tokens[place + 1]?.text === "##" || this.isLazy;
        const expanded = isPasted ? argument : this.expand(argument);
        if (expanded === null) return null;
        out.push(...expanded.map((one, index) => (index === 0 ? { ...one, space: token.space } : one)));
      }
    }
    return out;
  }
}

/** The text of tokens with one space where there was white space. */
function spelled(tokens: readonly Token[]): string {
  return tokens.map(({ text, space }, index) => (space && index > 0 ? ` ${text}` : text)).join("");
}

/** Arguments in brackets at the beginning; null where there are none. */
function argumentsIn(tokens: readonly Token[]): { all: Token[][]; length: number; hidden: readonly string[] } | null {
  if (tokens[0]?.text !== "(") return null;
  const all: Token[][] = [[]];
  let depth = 0;
  for (const [place, token] of tokens.entries()) {
    if (token.text === ")") depth -= 1;
    if (depth === 0 && place > 0) return { all, length: place + 1, hidden: token.hidden };
    if (token.text === "," && depth === 1) all.push([]);
    else if (depth > 0) all.at(-1)?.push(token);
    if (token.text === "(") depth += 1;
  }
  return null;
}
