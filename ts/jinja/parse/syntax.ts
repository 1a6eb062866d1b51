/** The syntax tree of a template. */
import type { Value } from "../values.ts";

export interface CallArguments {
  readonly positional: readonly Expression[];
  readonly named: readonly (readonly [string, Expression])[];
  /** `*expression` and `**expression`. */
  readonly spread: Expression | null;
  readonly namedSpread: Expression | null;
}

export type ComparisonOperator = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in";

export type BinaryOperator = "+" | "-" | "*" | "/" | "//" | "%" | "**";

export type Expression =
  | { readonly kind: "constant"; readonly value: Value }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "list"; readonly items: readonly Expression[] }
  | { readonly kind: "tuple"; readonly items: readonly Expression[] }
  | { readonly kind: "dict"; readonly entries: readonly (readonly [Expression, Expression])[] }
  | { readonly kind: "attribute"; readonly of: Expression; readonly name: string }
  | { readonly kind: "element"; readonly of: Expression; readonly key: Expression }
  | { readonly kind: "slice"; readonly of: Expression; readonly bounds: readonly (Expression | null)[] }
  | { readonly kind: "call"; readonly of: Expression; readonly args: CallArguments }
  /** `of` is null in `{% filter %}` and `{% set x | filter %}`, which apply to the block's text. */
  | { readonly kind: "filter"; readonly of: Expression | null; readonly name: string; readonly args: CallArguments }
  | { readonly kind: "test"; readonly of: Expression; readonly name: string; readonly args: CallArguments }
  | {
      readonly kind: "binary";
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: "concat"; readonly parts: readonly Expression[] }
  | {
      readonly kind: "comparison";
      readonly first: Expression;
      readonly rest: readonly (readonly [ComparisonOperator, Expression])[];
    }
  | { readonly kind: "and" | "or"; readonly left: Expression; readonly right: Expression }
  | { readonly kind: "not" | "negative" | "positive"; readonly of: Expression }
  | {
      readonly kind: "condition";
      readonly test: Expression;
      readonly yes: Expression;
      readonly no: Expression | null;
    };

export type Target =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "namespace"; readonly name: string; readonly attribute: string }
  | { readonly kind: "tuple"; readonly targets: readonly Target[] };

export interface Signature {
  readonly parameters: readonly string[];
  /** Defaults of the last parameters. */
  readonly defaults: readonly Expression[];
}

export type Body = readonly Statement[];

export type Statement = { readonly line: number } & (
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "print"; readonly value: Expression }
  | { readonly kind: "if"; readonly branches: readonly { test: Expression; body: Body }[]; readonly otherwise: Body }
  | {
      readonly kind: "for";
      readonly target: Target;
      readonly over: Expression;
      readonly test: Expression | null;
      readonly recursive: boolean;
      readonly body: Body;
      readonly otherwise: Body;
    }
  | { readonly kind: "break" | "continue" }
  | { readonly kind: "set"; readonly target: Target; readonly value: Expression }
  | { readonly kind: "setblock"; readonly target: Target; readonly filter: Expression | null; readonly body: Body }
  | { readonly kind: "with"; readonly bindings: readonly (readonly [Target, Expression])[]; readonly body: Body }
  | { readonly kind: "macro"; readonly name: string; readonly signature: Signature; readonly body: Body }
  | {
      readonly kind: "call";
      readonly signature: Signature;
      readonly call: Extract<Expression, { kind: "call" }>;
      readonly body: Body;
    }
  | { readonly kind: "filterblock"; readonly filter: Expression; readonly body: Body }
  | { readonly kind: "generation"; readonly body: Body }
);
