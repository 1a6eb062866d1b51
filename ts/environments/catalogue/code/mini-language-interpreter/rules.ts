/** The definition of a language in prose. Only what the language has is described. */
import { listed } from "../prose.ts";
import { hasFunctions, type Language } from "./language.ts";

/** Paragraphs by topic: syntax first. */
export function definitionOf(language: Language): { syntax: string; meaning: string[] } {
  return {
    syntax: syntaxOf(language),
    meaning: [...basics(language), ...flow(language), ...calls(language), ...failures(language)],
  };
}

function syntaxOf({ words, infix, features }: Language): string {
  const has = new Set(features);
  const operators = [
    words["+"],
    words["-"],
    words["*"],
    ...(has.has("division") ? [words["/"], words["%"]] : []),
    words["<"],
    words["="],
    ...(has.has("logic") ? [words.and, words.or] : []),
  ];
  const list = operators.map((word) => `\`${word}\``);
  const code = (text: string): string => `    ${text}`;
  const block = `${words.open} STATEMENTS ${words.close}`;
  const statements = [
    `${words.set} NAME EXPR`,
    `${words.show} EXPR`,
    `${words.if} EXPR ${block}`,
    `${words.if} EXPR ${block} ${words.else} ${block}`,
    ...(has.has("repeat") ? [`${words.repeat} EXPR ${block}`] : []),
    ...(has.has("while") ? [`${words.while} EXPR ${block}`] : []),
    ...(has.has("attempt") ? [`${words.attempt} ${block} ${words.rescue} ${block}`, `${words.fail} EXPR`] : []),
    ...(hasFunctions(features) ? [`${words.define} NAME NAMES ${block}`, `${words.return} EXPR`] : []),
  ];
  const call = hasFunctions(features) ? [`${words.call} NAME [ EXPR ${infix ? ", " : ""}EXPR ... ]`] : [];
  const expressions = infix
    ? ["OPERAND OPERATOR OPERAND ... (any number of operators, all of one rank, grouped from the left)"]
    : ["OPERATOR EXPR EXPR", "NUMBER", "NAME", `${words.tell} EXPR`, ...call];
  const operands = infix ? ["NUMBER", "NAME", "( EXPR )", `${words.tell} OPERAND`, ...call] : [];
  return [
    "A program is a sequence of statements. All tokens are separated by blanks or line ends, which mean nothing else. A statement is one of",
    statements.map(code).join("\n"),
    `An expression (EXPR) is${infix ? "" : " one of"}`,
    expressions.map(code).join("\n"),
    ...(infix ? ["where an OPERAND is one of", operands.map(code).join("\n")] : []),
    `OPERATOR is one of ${listed(list)}. A NUMBER is a decimal whole number, perhaps with a minus sign; a NAME consists of letters.`,
  ].join("\n\n");
}

function basics({ words, rules, features }: Language): string[] {
  const has = new Set(features);
  return [
    `\`${words.show}\` shows a value: it appends it as a line of output. \`${words.tell}\` shows the value of its operand, and has this value.`,
    `\`${words["+"]}\`, \`${words["-"]}\` and \`${words["*"]}\` add, subtract and multiply. \`${words["<"]}\` gives 1 if the first value is smaller than the second, else 0; \`${words["="]}\` gives 1 if they are equal, else 0.`,
    ...(has.has("division")
      ? [
          `\`${words["/"]}\` divides and rounds the quotient ${rules.division === "down" ? "down (-7 by 2 gives -4)" : "toward 0 (-7 by 2 gives -3)"}; x \`${words["%"]}\` y is x minus y times this quotient. A division by 0, also for the remainder, is the error \`zero\`.`,
        ]
      : []),
    ...(has.has("range")
      ? [
          `A result of ${has.has("division") ? "the operators so far" : "these operators"} beyond ${rules.largest} or below -${rules.largest} is ${rules.range === "stop" ? "replaced by the nearer of these two" : `moved back by multiples of ${2 * rules.largest + 1} until it lies between the two`}. Numbers in the program may lie outside.`,
        ]
      : []),
    `The operands of an operator${hasFunctions(features) ? ", and the arguments of a call," : ""} are computed from the ${rules.order}${rules.order === "right" ? ", the last one first" : ""}${has.has("logic") && rules.logic === "short" ? `, except for \`${words.and}\` and \`${words.or}\`` : ""}.`,
    `A name that has no value ${rules.unknown === "error" ? "where it is read is the error `name`" : `counts as ${rules.unknown === "less" ? -1 : 0}`}.`,
    `A value counts as true if it is ${{ nonzero: "not 0", positive: "greater than 0", odd: "odd (negative numbers, too)" }[rules.truth]}.`,
    ...(has.has("logic") ? [logic({ words, rules })] : []),
  ];
}

function logic({ words, rules }: Pick<Language, "words" | "rules">): string {
  const how =
    rules.logic === "short"
      ? `compute their first operand first, and the second one only if it is needed: \`${words.and}\` if the first is true, \`${words.or}\` if it is not`
      : "always compute both operands";
  const operand = `\`${words.and}\` is its first operand if that is not true, else its second; \`${words.or}\` is its first operand if that is true, else its second`;
  if (rules.logicValue === "operand") return `\`${words.and}\` and \`${words.or}\` ${how}. The value of ${operand}.`;
  return `\`${words.and}\` and \`${words.or}\` ${how}. Take as value of ${operand}; the result is 1 if this value counts as true, else 0.`;
}

function flow({ words, rules, features }: Language): string[] {
  const has = new Set(features);
  return [
    ...(has.has("repeat")
      ? [
          `\`${words.repeat}\` carries its block out as often as its count says, never if that is not above 0. The count is computed ${rules.repeat === "once" ? "once, before the first round" : "before the first round, and again after each round: it ends as soon as as many rounds are done as the latest count says, or more"}.`,
        ]
      : []),
    ...(has.has("while")
      ? [
          `\`${words.while}\` computes its condition before each round and ends when it does not hold. If the condition holds after ${rules.most} rounds, ${rules.atMost === "end" ? "it ends all the same" : "that is the error `loop`"}.`,
        ]
      : []),
    has.has("blocks")
      ? rules.blocks
        ? `A variable that is first set inside a block of \`${words.if}\`${listOf(has, words)} exists only until the end of this block (of a round, where there are several); setting a variable that exists outside of the block changes that one.`
        : "Blocks have no variables for themselves: one that is set in a block exists after it, too."
      : "Blocks have no variables for themselves.",
  ];
}

function listOf(has: ReadonlySet<string>, words: Language["words"]): string {
  const more = [
    `\`${words.else}\``,
    ...(has.has("repeat") ? [`\`${words.repeat}\``] : []),
    ...(has.has("while") ? [`\`${words.while}\``] : []),
    ...(has.has("attempt") ? [`\`${words.attempt}\``, `\`${words.rescue}\``] : []),
  ];
  return more.map((word) => `, ${word}`).join("");
}

function calls({ words, rules, features }: Language): string[] {
  if (!hasFunctions(features)) return [];
  const sees =
    rules.sight === "global"
      ? `A function sees its parameters, variables that it has made itself, and those of the program outside of functions${rules.blocks ? " and of blocks" : ""}, but none of its caller`
      : "A function sees its parameters, variables that it has made itself, and all that its caller sees, its innermost caller's first";
  const sets =
    rules.assign === "outer"
      ? `\`${words.set}\` in a function changes the variable that the function sees under this name; if there is none, it makes one that ends with the call`
      : `\`${words.set}\` in a function never changes a variable outside of it: if neither a parameter nor a variable of this call has the name, it makes one that ends with the call`;
  return [
    `\`${words.define}\` makes a function with parameters; \`${words.return}\` ends its call with a value. A call that ends without it has the value 0. Calls of functions are expressions.`,
    `${sees}. ${sets}.`,
    rules.passing === "value"
      ? "Parameters begin with the values of the arguments, and changes of them do not matter to the caller."
      : "Parameters begin with the values of the arguments. When a call ends (not by an error), each argument that is a bare name is set, in the order of the parameters and as if by a statement of the caller, to what the parameter holds then; arguments beyond the parameters are left alone.",
    rules.arity === "error"
      ? "A call with fewer or more arguments than parameters is the error `count`, after the arguments were computed."
      : "Parameters without an argument begin with 0; arguments beyond the parameters are computed and dropped.",
  ];
}

function failures({ words, rules, features }: Language): string[] {
  const has = new Set(features);
  const end = "An error ends the program: the last line of output is then `! ` and the name of the error.";
  if (!has.has("attempt")) return [end];
  return [
    `\`${words.fail}\` is an error whose name is the value of its expression.`,
    `If an error occurs in the first block of \`${words.attempt}\`, also inside calls, this block ends and the second one is carried out; without an error the second one is passed over. ${rules.undo ? "Before the second block, all variables get back what they held when the first block began, and those made since then are gone" : "Variables keep what they held when the error occurred"}; what was shown stays shown.`,
    `Elsewhere, also in a block of \`${words.rescue}\`: ${end[0]?.toLowerCase() ?? ""}${end.slice(1)}`,
  ];
}
