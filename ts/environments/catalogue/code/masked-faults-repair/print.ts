/** Programs of the small Python as whole programs in three languages. They have no negative numbers, so division means the same in all. */
import type { ProgramLanguage } from "../../../../verify/index.ts";
import {
  type Expression,
  expressionText,
  linesOfProgram,
  type Program,
  type Statement,
} from "../small-python/syntax.ts";

export function programText(program: Program, language: ProgramLanguage): string {
  const names = namesIn(program);
  switch (language) {
    case "python":
      return `import sys


def result_of(xs):
${linesOfProgram(program.slice(0, -1), undefined, "    ").join("\n")}
    return total


for line in sys.stdin:
    print(result_of([int(part) for part in line.split()]))`;
    case "javascript":
      return `function resultOf(xs) {
  let ${names.numbers.join(", ")};
${bracedLines(program.slice(0, -1), "  ", language).join("\n")}
  return total;
}

for (const line of require("fs").readFileSync(0, "utf8").trimEnd().split("\\n"))
  console.log(resultOf(line.split(" ").filter((part) => part !== "").map(Number)));`;
    default:
      return `#include <stdio.h>
#include <stdlib.h>

static long long result_of(const long long *xs, int xs_count) {
    long long ${names.numbers.join(", ")};
    long long ${names.lists.map((list) => `${list}[64]`).join(", ")};
    int ${names.lists.map((list) => `${list}_count`).join(", ")};
${bracedLines(program.slice(0, -1), "    ", language).join("\n")}
    return total;
}

int main(void) {
    static char line[65536];
    while (fgets(line, sizeof line, stdin)) {
        long long xs[64];
        int n = 0;
        for (char *at = line, *end; n < 64; at = end) {
            long long x = strtoll(at, &end, 10);
            if (end == at) break;
            xs[n++] = x;
        }
        printf("%lld\\n", result_of(xs, n));
    }
    return 0;
}`;
  }
}

function namesIn(program: Program): { numbers: string[]; lists: string[] } {
  const numbers = new Set<string>();
  const lists = new Set<string>();
  const visit = (statement: Statement): void => {
    if (statement.do === "list") lists.add(statement.name);
    if (statement.do === "set") numbers.add(statement.name);
    if (statement.do === "each") numbers.add(statement.name);
    if ("body" in statement) statement.body.forEach(visit);
    if (statement.do === "if") [...statement.holds, ...statement.fails].forEach(visit);
  };
  program.forEach(visit);
  return { numbers: [...numbers], lists: [...lists] };
}

function bracedLines(program: Program, indent: string, language: "javascript" | "c"): string[] {
  const step = language === "c" ? "    " : "  ";
  return program.flatMap((statement): string[] => {
    const inner = (body: Program): string[] => bracedLines(body, `${indent}${step}`, language);
    const line = (text: string): string => `${indent}${text}`;
    switch (statement.do) {
      case "set":
        return [line(`${statement.name} = ${valueText(statement.to, language)};`)];
      case "list":
        return [line(language === "c" ? `${statement.name}_count = 0;` : `const ${statement.name} = [];`)];
      case "append": {
        const value = valueText(statement.value, language);
        return [
          line(
            language === "c"
              ? `${statement.list}[${statement.list}_count++] = ${value};`
              : `${statement.list}.push(${value});`,
          ),
        ];
      }
      case "if": {
        const { left, is, right } = statement.test;
        const sign =
          language === "javascript" ? (({ "==": "===", "!=": "!==" } as Record<string, string>)[is] ?? is) : is;
        return [
          line(`if (${valueText(left, language)} ${sign} ${valueText(right, language)}) {`),
          ...inner(statement.holds),
          ...(statement.fails.length === 0 ? [] : [line("} else {"), ...inner(statement.fails)]),
          line("}"),
        ];
      }
      case "each":
        return [
          ...(language === "c"
            ? [
                line(`for (int i = 0; i < ${statement.list}_count; i++) {`),
                line(`${step}${statement.name} = ${statement.list}[i];`),
              ]
            : [line(`for (${statement.name} of ${statement.list}) {`)]),
          ...inner(statement.body),
          line("}"),
        ];
      case "break":
      case "continue":
        return [line(`${statement.do};`)];
      default:
        throw new RangeError(`no step has the statement ${statement.do}`);
    }
  });
}

function valueText(expression: Expression, language: "javascript" | "c"): string {
  if (!("op" in expression)) return expressionText(expression);
  const [left, right] = [expression.left, expression.right].map((side) => {
    const text = valueText(side, language);
    return "op" in side ? `(${text})` : text;
  });
  if (expression.op !== "//") return `${left} ${expression.op} ${right}`;
  return language === "c" ? `${left} / ${right}` : `Math.floor(${left} / ${right})`;
}
