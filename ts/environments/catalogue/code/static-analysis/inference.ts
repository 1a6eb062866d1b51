/** Type inference by unification (Damas and Milner's algorithm W) for a small functional language, and the notation of its types. */
import { Stackless } from "../../stackless.ts";

export type Term =
  | { is: "name"; name: string }
  | { is: "number"; value: number }
  | { is: "fun"; name: string; body: Term }
  | { is: "call"; of: Term; on: Term }
  | { is: "let"; name: string; value: Term; body: Term }
  | { is: "pair"; left: Term; right: Term }
  | { is: "first" | "second"; of: Term }
  | { is: "sum"; left: Term; right: Term };

export type Type = { is: "variable"; id: number } | { is: "int" } | { is: "arrow" | "pair"; left: Type; right: Type };

interface Scheme {
  bound: readonly number[];
  type: Type;
}

class Untypable extends Stackless {}

const LETTERS = "abcdefghij";

/** The principal type, and how many equations between types were solved; null where there is none. */
export function typeOf(term: Term): { type: Type; unifications: number } | null {
  const types = new Types();
  try {
    return { type: types.copied(infer(types, term, new Map()), new Map()), unifications: types.equations };
  } catch (error) {
    if (error instanceof Untypable) return null;
    throw error;
  }
}

/** Type variables and what is known of them. */
class Types {
  equations = 0;
  #variables = 0;
  readonly #solved = new Map<number, Type>();

  fresh(): Type {
    return { is: "variable", id: this.#variables++ };
  }

  free(type: Type): number[] {
    const now = this.#resolved(type);
    if (now.is === "variable") return [now.id];
    return now.is === "int" ? [] : [...this.free(now.left), ...this.free(now.right)];
  }

  equate(a: Type, b: Type): void {
    this.equations += 1;
    this.#unify(a, b);
  }

  /** The type with what is known put in, and with some variables replaced. */
  copied(type: Type, names: ReadonlyMap<number, Type>): Type {
    const now = this.#resolved(type);
    if (now.is === "variable") return names.get(now.id) ?? now;
    return now.is === "int"
      ? now
      : { ...now, left: this.copied(now.left, names), right: this.copied(now.right, names) };
  }

  #resolved(type: Type): Type {
    const known = type.is === "variable" ? this.#solved.get(type.id) : undefined;
    return known === undefined ? type : this.#resolved(known);
  }

  #unify(one: Type, other: Type): void {
    const [a, b] = [this.#resolved(one), this.#resolved(other)];
    if (a.is === "variable") {
      if (b.is === "variable" && a.id === b.id) return;
      if (this.free(b).includes(a.id)) throw new Untypable();
      this.#solved.set(a.id, b);
    } else if (b.is === "variable") this.#unify(b, a);
    else if (a.is === "int" || b.is === "int") {
      if (a.is !== b.is) throw new Untypable();
    } else {
      if (a.is !== b.is) throw new Untypable();
      this.#unify(a.left, b.left);
      this.#unify(a.right, b.right);
    }
  }
}

function infer(types: Types, term: Term, scope: ReadonlyMap<string, Scheme>): Type {
  switch (term.is) {
    case "number":
      return { is: "int" };
    case "name": {
      const scheme = scope.get(term.name);
      if (scheme === undefined) throw new Untypable();
      return types.copied(scheme.type, new Map(scheme.bound.map((id) => [id, types.fresh()])));
    }
    case "fun": {
      const left = types.fresh();
      const right = infer(types, term.body, new Map(scope).set(term.name, { bound: [], type: left }));
      return { is: "arrow", left, right };
    }
    case "call": {
      const [of, on, right] = [infer(types, term.of, scope), infer(types, term.on, scope), types.fresh()];
      types.equate(of, { is: "arrow", left: on, right });
      return right;
    }
    case "let": {
      const type = infer(types, term.value, scope);
      const schemes = [...scope.values()];
      const outer = new Set(schemes.flatMap((one) => types.free(one.type).filter((id) => !one.bound.includes(id))));
      const bound = types.free(type).filter((id) => !outer.has(id));
      return infer(types, term.body, new Map(scope).set(term.name, { bound, type }));
    }
    case "pair":
      return { is: "pair", left: infer(types, term.left, scope), right: infer(types, term.right, scope) };
    case "first":
    case "second": {
      const [left, right] = [types.fresh(), types.fresh()];
      types.equate(infer(types, term.of, scope), { is: "pair", left, right });
      return term.is === "first" ? left : right;
    }
    case "sum":
      types.equate(infer(types, term.left, scope), { is: "int" });
      types.equate(infer(types, term.right, scope), { is: "int" });
      return { is: "int" };
  }
}

export function typeText(type: Type, place: "whole" | "left" | "part" = "whole"): string {
  if (type.is === "variable") return `t${type.id}`;
  if (type.is === "int") return "int";
  const text =
    type.is === "arrow"
      ? `${typeText(type.left, "left")} -> ${typeText(type.right)}`
      : `${typeText(type.left, "part")} * ${typeText(type.right, "part")}`;
  const needsBrackets = place === "part" || (place === "left" && type.is === "arrow");
  return needsBrackets ? `(${text})` : text;
}

/** The type with variables renamed in the order of their appearance; null for what is no type. */
export function normalised(text: string): string | null {
  const tokens = text.match(/->|→|[()*]|[A-Za-z]\w*|'[a-z]|\S/gu) ?? [];
  const names = new Map<string, string>();
  let [place, depth] = [0, 0];
  const atom = (): Type | null => {
    const token = tokens[place++];
    if (token === "(") {
      if (++depth > 50) return null;
      const inner = arrow();
      depth -= 1;
      return tokens[place++] === ")" ? inner : null;
    }
    if (token === "int") return { is: "int" };
    if (token === undefined || !/^(?:'?[a-z]|t\d{1,3})$/u.test(token)) return null;
    if (!names.has(token)) names.set(token, LETTERS.charAt(names.size));
    return { is: "variable", id: [...names.keys()].indexOf(token) };
  };
  const pair = (): Type | null => {
    const left = atom();
    if (left === null || tokens[place] !== "*") return left;
    place += 1;
    const right = atom();
    return right === null ? null : { is: "pair", left, right };
  };
  const arrow = (): Type | null => {
    const left = pair();
    if (left === null || (tokens[place] !== "->" && tokens[place] !== "→")) return left;
    place += 1;
    const right = arrow();
    return right === null ? null : { is: "arrow", left, right };
  };
  const type = tokens.length > 400 ? null : arrow();
  if (type === null || place !== tokens.length || names.size > LETTERS.length) return null;
  return typeText(type).replaceAll(/\bt(\d+)\b/gu, (_, id: string) => LETTERS.charAt(Number(id)));
}
