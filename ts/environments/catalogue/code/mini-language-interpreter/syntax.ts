/** Programs as trees and as texts. Every token of a text stands between blanks. */
import type { Language, Word } from "./language.ts";

export type Operator = "+" | "-" | "*" | "/" | "%" | "<" | "=" | "and" | "or";
export type Expression =
  | { readonly number: number }
  | { readonly name: string }
  | { readonly tell: Expression }
  | { readonly op: Operator; readonly left: Expression; readonly right: Expression }
  | { readonly call: string; readonly values: readonly Expression[] };
export type Block = readonly Statement[];
export type Statement =
  | { readonly do: "set"; readonly name: string; readonly to: Expression }
  | { readonly do: "show" | "return" | "fail"; readonly value: Expression }
  | { readonly do: "if"; readonly test: Expression; readonly holds: Block; readonly fails: Block }
  | { readonly do: "repeat" | "while"; readonly test: Expression; readonly body: Block }
  | { readonly do: "define"; readonly name: string; readonly parameters: readonly string[]; readonly body: Block }
  | { readonly do: "attempt"; readonly body: Block; readonly rescue: Block };

const OPERATORS: readonly Operator[] = ["+", "-", "*", "/", "%", "<", "=", "and", "or"];

export function textOf(language: Language, program: Block): string {
  return linesOf(language, program, "").join("\n");
}

function linesOf(language: Language, block: Block, indent: string): string[] {
  const { words } = language;
  const inside = (body: Block): string[] => linesOf(language, body, `${indent}  `);
  const value = (one: Expression): string => expressionText(language, one);
  return block.flatMap((one): string[] => {
    switch (one.do) {
      case "set":
        return [`${indent}${words.set} ${one.name} ${value(one.to)}`];
      case "show":
      case "return":
      case "fail":
        return [`${indent}${words[one.do]} ${value(one.value)}`];
      case "if":
        return [
          `${indent}${words.if} ${value(one.test)} ${words.open}`,
          ...inside(one.holds),
          ...(one.fails.length === 0
            ? []
            : [`${indent}${words.close} ${words.else} ${words.open}`, ...inside(one.fails)]),
          `${indent}${words.close}`,
        ];
      case "repeat":
      case "while":
        return [
          `${indent}${words[one.do]} ${value(one.test)} ${words.open}`,
          ...inside(one.body),
          `${indent}${words.close}`,
        ];
      case "define":
        return [
          `${indent}${[words.define, one.name, ...one.parameters, words.open].join(" ")}`,
          ...inside(one.body),
          `${indent}${words.close}`,
        ];
      case "attempt":
        return [
          `${indent}${words.attempt} ${words.open}`,
          ...inside(one.body),
          `${indent}${words.close} ${words.rescue} ${words.open}`,
          ...inside(one.rescue),
          `${indent}${words.close}`,
        ];
    }
  });
}

function expressionText(language: Language, one: Expression): string {
  const { words, infix } = language;
  const operand = (inner: Expression): string => {
    const text = expressionText(language, inner);
    return infix && "op" in inner ? `( ${text} )` : text;
  };
  if ("number" in one) return String(one.number);
  if ("name" in one) return one.name;
  if ("tell" in one) return `${words.tell} ${operand(one.tell)}`;
  if ("call" in one) {
    const values = one.values.map((value) => expressionText(language, value)).join(infix ? " , " : " ");
    return [words.call, one.call, "[", ...(values === "" ? [] : [values]), "]"].join(" ");
  }
  const sign = words[one.op];
  if (!infix) return `${sign} ${expressionText(language, one.left)} ${expressionText(language, one.right)}`;
  return `${expressionText(language, one.left)} ${sign} ${operand(one.right)}`;
}

/** The tree of a correct text. Throws RangeError where it ends too early. */
export function parsed(language: Language, text: string): Block {
  return new Parser(language, text).program();
}

class Parser {
  private readonly language: Language;
  private readonly tokens: readonly string[];
  private place = 0;

  constructor(language: Language, text: string) {
    this.language = language;
    this.tokens = text.split(/\s+/u).filter((token) => token !== "");
  }

  program(): Block {
    const statements: Statement[] = [];
    while (this.place < this.tokens.length) statements.push(this.statement());
    return statements;
  }

  private is(word: Word): boolean {
    return this.tokens[this.place] === this.language.words[word];
  }

  private next(): string {
    const token = this.tokens[this.place];
    if (token === undefined) throw new RangeError(`the program ends at token ${this.place}`);
    this.place += 1;
    return token;
  }

  private operator(): Operator | undefined {
    return OPERATORS.find((one) => this.is(one));
  }

  private values(): Expression[] {
    const found: Expression[] = [];
    this.next();
    while (this.tokens[this.place] !== "]") {
      if (this.tokens[this.place] === ",") this.next();
      found.push(this.expression());
    }
    this.next();
    return found;
  }

  private operand(): Expression {
    if (this.is("tell")) {
      this.next();
      return { tell: this.operand() };
    }
    if (this.is("call")) {
      this.next();
      return { call: this.next(), values: this.values() };
    }
    const op = this.language.infix ? undefined : this.operator();
    const token = this.next();
    if (op !== undefined) return { op, left: this.operand(), right: this.operand() };
    if (token === "(") {
      const inner = this.expression();
      this.next();
      return inner;
    }
    return /^-?\d+$/u.test(token) ? { number: Number(token) } : { name: token };
  }

  private expression(): Expression {
    let left = this.operand();
    if (!this.language.infix) return left;
    for (let op = this.operator(); op !== undefined; op = this.operator()) {
      this.next();
      left = { op, left, right: this.operand() };
    }
    return left;
  }

  private block(): Block {
    this.next();
    const statements: Statement[] = [];
    while (!this.is("close")) statements.push(this.statement());
    this.next();
    return statements;
  }

  private statement(): Statement {
    const { words } = this.language;
    const word = this.next();
    switch (word) {
      case words.set:
        return { do: "set", name: this.next(), to: this.expression() };
      case words.show:
        return { do: "show", value: this.expression() };
      case words.return:
        return { do: "return", value: this.expression() };
      case words.fail:
        return { do: "fail", value: this.expression() };
      case words.if: {
        const [test, holds] = [this.expression(), this.block()];
        if (!this.is("else")) return { do: "if", test, holds, fails: [] };
        this.next();
        return { do: "if", test, holds, fails: this.block() };
      }
      case words.repeat:
        return { do: "repeat", test: this.expression(), body: this.block() };
      case words.while:
        return { do: "while", test: this.expression(), body: this.block() };
      case words.define: {
        const name = this.next();
        const parameters: string[] = [];
        while (!this.is("open")) parameters.push(this.next());
        return { do: "define", name, parameters, body: this.block() };
      }
      default: {
        const body = this.block();
        this.next();
        return { do: "attempt", body, rescue: this.block() };
      }
    }
  }
}
