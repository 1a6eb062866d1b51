/** Tags and the text between them. */
import { TemplateUnsupported } from "../failures.ts";
import { tokenize } from "./lexer.ts";
import { parseExpression, parseFilter, parseFilterCall, parseTuple } from "./parse-expression.ts";
import type { Body, Expression, Signature, Statement, Target } from "./syntax.ts";
import { TokenStream } from "./token-stream.ts";

const CONSTANT_NAMES = ["true", "false", "none", "True", "False", "None"];
const UNSUPPORTED = ["block", "extends", "include", "import", "from", "autoescape", "print"];

/** The blocks around a tag, which decide what the tag may do. */
interface Surroundings {
  readonly inLoop: boolean;
  /** In any loop of the same function, whose `loop` must not be assigned. */
  readonly loopIsTaken: boolean;
}

export function parseTemplate(source: string): { body: Body; hasGeneration: boolean } {
  const parser = new Parser(new TokenStream(tokenize(source)));
  const body = parser.body([], { inLoop: false, loopIsTaken: false });
  return { body, hasGeneration: parser.hasGeneration };
}

class Parser {
  hasGeneration = false;
  readonly #tokens: TokenStream;

  constructor(tokens: TokenStream) {
    this.#tokens = tokens;
  }

  /** Up to one of the tags `ends`, whose name is then the current token. */
  body(ends: readonly string[], around: Surroundings): Body {
    const tokens = this.#tokens;
    const statements: Statement[] = [];
    for (;;) {
      const { kind, line } = tokens.current;
      if (kind === "end") {
        if (ends.length > 0) tokens.fail(`{% ${ends.join(" %} or {% ")} %} is expected`);
        return statements;
      }
      const { text } = tokens.next();
      if (kind === "data") {
        statements.push({ kind: "text", text, line });
      } else if (kind === "print") {
        statements.push({ kind: "print", value: parseTuple(tokens), line });
        tokens.expect("endprint");
      } else {
        if (ends.length > 0 && tokens.isName(...ends)) return statements;
        statements.push(tokens.nested(() => this.#statement(around)));
        tokens.expect("close");
      }
    }
  }

  /** The body behind a tag, its end tag read up to its name. */
  #block(ends: readonly string[], around: Surroundings): Body {
    this.#tokens.skip("sign", ":");
    this.#tokens.expect("close");
    return this.body(ends, around);
  }

  /** The body of a tag with one end. */
  #whole(end: string, around: Surroundings): Body {
    const body = this.#block([end], around);
    this.#tokens.next();
    return body;
  }

  #statement(around: Surroundings): Statement {
    const tokens = this.#tokens;
    const { line, text: tag } = tokens.expect("name");
    switch (tag) {
      case "if":
        return { line, ...this.#if(around) };
      case "for":
        return { line, ...this.#for(around) };
      case "break":
      case "continue":
        if (!around.inLoop) tokens.fail(`{% ${tag} %} stands outside of a loop`);
        return { line, kind: tag };
      case "set":
        return { line, ...this.#set(around) };
      case "with":
        return { line, ...this.#with(around) };
      case "macro": {
        const name = tokens.expect("name").text;
        const signature = this.#signature();
        return { line, kind: "macro", name, signature, body: this.#whole("endmacro", outside(around)) };
      }
      case "call":
        return { line, ...this.#call(around) };
      case "filter": {
        let filter = parseFilterCall(tokens, null);
        while (tokens.isSign("|")) filter = parseFilter(tokens, filter);
        return { line, kind: "filterblock", filter, body: this.#whole("endfilter", outside(around)) };
      }
      case "generation":
        this.hasGeneration = true;
        return { line, kind: "generation", body: this.#whole("endgeneration", outside(around)) };
      default:
        return this.#otherTag(tag, line);
    }
  }

  #otherTag(tag: string, line: number): never {
    if (UNSUPPORTED.includes(tag))
      throw new TemplateUnsupported(`line ${line}: the tag {% ${tag} %} is not implemented`);
    return this.#tokens.fail(`there is no tag {% ${tag} %} here`);
  }

  #if(around: Surroundings): Omit<Statement & { kind: "if" }, "line"> {
    const tokens = this.#tokens;
    const branches: { test: Expression; body: Body }[] = [];
    for (;;) {
      const test = parseTuple(tokens, { withCondition: false });
      branches.push({ test, body: this.#block(["elif", "else", "endif"], around) });
      const { text } = tokens.next();
      if (text === "endif") return { kind: "if", branches, otherwise: [] };
      if (text === "else") return { kind: "if", branches, otherwise: this.#whole("endif", around) };
    }
  }

  #for(around: Surroundings): Omit<Statement & { kind: "for" }, "line"> {
    const tokens = this.#tokens;
    const inside = { inLoop: true, loopIsTaken: true };
    const target = this.#target(inside, ["in"]);
    tokens.expect("name", "in");
    const over = parseTuple(tokens, { withCondition: false, endNames: ["recursive"] });
    const test = tokens.skip("name", "if") ? parseExpression(tokens) : null;
    const recursive = tokens.skip("name", "recursive");
    const body = this.#block(["endfor", "else"], inside);
    const otherwise = tokens.next().text === "endfor" ? [] : this.#whole("endfor", around);
    return { kind: "for", target, over, test, recursive, body, otherwise };
  }

  #set(
    around: Surroundings,
  ): Omit<Statement & { kind: "set" }, "line"> | Omit<Statement & { kind: "setblock" }, "line"> {
    const tokens = this.#tokens;
    const target = this.#target(around);
    if (tokens.skip("sign", "=")) return { kind: "set", target, value: parseTuple(tokens) };
    let filter: Expression | null = null;
    while (tokens.isSign("|")) filter = parseFilter(tokens, filter);
    return { kind: "setblock", target, filter, body: this.#whole("endset", outside(around)) };
  }

  #with(around: Surroundings): Omit<Statement & { kind: "with" }, "line"> {
    const tokens = this.#tokens;
    const bindings: [Target, Expression][] = [];
    while (!tokens.is("close")) {
      if (bindings.length > 0) tokens.expect("sign", ",");
      const target = this.#target(around);
      tokens.expect("sign", "=");
      bindings.push([target, parseExpression(tokens)]);
    }
    return { kind: "with", bindings, body: this.#whole("endwith", around) };
  }

  #call(around: Surroundings): Omit<Statement & { kind: "call" }, "line"> {
    const signature = this.#tokens.isSign("(") ? this.#signature() : { parameters: [], defaults: [] };
    const call = parseExpression(this.#tokens);
    if (call.kind !== "call") this.#tokens.fail("{% call %} wants the call of a macro");
    return { kind: "call", signature, call, body: this.#whole("endcall", outside(around)) };
  }

  #signature(): Signature {
    const tokens = this.#tokens;
    const parameters: string[] = [];
    const defaults: Expression[] = [];
    tokens.expect("sign", "(");
    while (!tokens.isSign(")")) {
      if (parameters.length > 0) tokens.expect("sign", ",");
      parameters.push(tokens.expect("name").text);
      if (tokens.skip("sign", "=")) defaults.push(parseExpression(tokens));
      else if (defaults.length > 0) tokens.fail("a parameter without a default follows one that has one");
    }
    tokens.next();
    return { parameters, defaults };
  }

  /** The target of an assignment: names, `namespace.attribute`, tuples of them. */
  #target(around: Surroundings, endNames: readonly string[] = []): Target {
    const tokens = this.#tokens;
    const targets: Target[] = [];
    let isTuple = false;
    while (!(tokens.isName(...endNames) || tokens.isSign("=", "|", ")") || tokens.is("close"))) {
      targets.push(this.#singleTarget(around));
      if (!tokens.skip("sign", ",")) break;
      isTuple = true;
    }
    const [only] = targets;
    if (only === undefined) return tokens.fail("a name is expected");
    return isTuple ? { kind: "tuple", targets } : only;
  }

  #singleTarget(around: Surroundings): Target {
    const tokens = this.#tokens;
    if (tokens.skip("sign", "(")) {
      const inner = tokens.nested(() => this.#target(around));
      tokens.expect("sign", ")");
      return inner;
    }
    const name = tokens.expect("name").text;
    if (tokens.skip("sign", ".")) return { kind: "namespace", name, attribute: tokens.expect("name").text };
    if (CONSTANT_NAMES.includes(name)) tokens.fail(`${name} cannot be assigned to`);
    if (name === "loop" && around.loopIsTaken) tokens.fail("'loop' cannot be assigned to inside of a loop");
    return { kind: "name", name };
  }
}

/** Inside a new function, the loops around it cannot be left. */
function outside({ loopIsTaken }: Surroundings): Surroundings {
  return { inLoop: false, loopIsTaken };
}
