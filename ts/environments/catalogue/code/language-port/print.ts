/** Prints a program in its own language, or as a port with helper functions; a port may be careless about some hazards. */
import type { ProgramLanguage } from "../../../../verify/index.ts";
import { HELPERS } from "./hazards/port-functions.ts";
import { LETTERS } from "./hazards/hazard.ts";
import { type Direction, hazardOf, hazardsOf, SIMULTANEOUS, type Step, type Unit } from "./program.ts";

interface Style {
  readonly from: ProgramLanguage;
  /** Of the text. */
  readonly language: ProgramLanguage;
  readonly isSource: boolean;
  readonly careless: ReadonlySet<string>;
}

export function sourceOf(units: readonly Unit[], from: ProgramLanguage): string {
  return printed(units, { from, language: from, isSource: true, careless: new Set() });
}

export function portOf(units: readonly Unit[], { from, to }: Direction, careless: Iterable<string> = []): string {
  return printed(units, { from, language: to, isSource: false, careless: new Set(careless) });
}

function printed(units: readonly Unit[], style: Style): string {
  const functions = units.map((unit, index) => functionOf(unit, index, style)).join("\n\n");
  const kinds = units.map(({ is }) => (is === "text" ? "t" : "n")).join("");
  const helpers = helpersOf(units, functions, style);
  const head = { python: "import math\nimport sys", javascript: '"use strict";', c: INCLUDES }[style.language];
  return [head, ...helpers, functions, mainOf(kinds, style)].join("\n\n");
}

function helpersOf(units: readonly Unit[], functions: string, { from, language, isSource }: Style): string[] {
  const hazards = units.flatMap(hazardsOf).filter((id) => id !== SIMULTANEOUS);
  if (isSource) return [...new Set(hazards.flatMap((id) => hazardOf(from, id).sourceHelper ?? []))];
  const named = new Set(hazards.flatMap((id) => hazardOf(from, id).ports[language]?.helpers ?? []));
  const texts = Object.entries(HELPERS[language]);
  const isCalled = (name: string, text: string): boolean => new RegExp(`\\b${name}\\(`, "u").test(text);
  const called = texts.filter(([name]) => named.has(name) && isCalled(name, functions));
  const inner = texts.filter(
    ([name]) => !called.some(([other]) => other === name) && called.some(([, text]) => isCalled(name, text)),
  );
  return texts.filter((one) => called.includes(one) || inner.includes(one)).map(([, text]) => text);
}

// ---- expressions ----

function numberText(value: string, { language, isSource }: Style): string {
  const digits = language === "javascript" && !isSource ? `${value}n` : value;
  return value.startsWith("-") ? `(${digits})` : digits;
}

/** `mul * x + add` in brackets. */
function innerText({ mul, add }: Step, x: string, style: Style): string {
  // A result of C may be an int, and sums with it would overflow.
  if (mul === 1 && add === 0) return style.language === "c" && x !== "x" ? `((long long)${x})` : x;
  const factor = style.language === "c" ? `${mul}LL` : numberText(String(mul), style);
  const rest = add === 0 ? "" : ` ${add < 0 ? "-" : "+"} ${numberText(String(Math.abs(add)), style)}`;
  return `(${factor} * ${x}${rest})`;
}

function stepText(step: Step, x: string, style: Style): string {
  const hazard = hazardOf(style.from, step.hazard);
  const port = hazard.ports[style.language];
  const isCareless = style.careless.has(step.hazard);
  const template = style.isSource ? hazard.source : isCareless ? port?.wrong : port?.right;
  if (template === undefined) throw new RangeError(`${step.hazard} is no hazard in ${style.language}`);
  const inner = hazard.takes === "int" ? innerText(step, x, style) : x;
  return template
    .replaceAll(/\$#([0-9])/gu, (_, index: string) => step.constants[Number(index)] ?? "")
    .replaceAll(/\$c([0-9])/gu, (_, index: string) => LETTERS[Number(step.constants[Number(index)])] ?? "")
    .replaceAll(/\$([0-9])/gu, (_, index: string) => numberText(step.constants[Number(index)] ?? "", style))
    .replaceAll("$x", () => inner);
}

// ---- functions ----

function functionOf(unit: Unit, index: number, style: Style): string {
  const lines = unit.is === "text" ? textLines(unit.steps, style) : numberLines(unit, style);
  const argument = unit.is === "text" ? "s" : "xs";
  switch (style.language) {
    case "python":
      return [`def f${index}(${argument}):`, ...lines].join("\n");
    case "javascript":
      return [`function f${index}(${argument}) {`, ...lines, "}"].join("\n");
    default:
      return [`static long long f${index}(const long long *xs, int n) {`, ...lines, "}"].join("\n");
  }
}

function textLines(steps: readonly Step[], style: Style): string[] {
  const end = style.language === "python" ? "" : ";";
  const indent = style.language === "python" ? "    " : "  ";
  return [...steps.map((step) => `${indent}s = ${stepText(step, "s", style)}${end}`), `${indent}return s${end}`];
}

function numberLines(unit: Exclude<Unit, { is: "text" }>, style: Style): string[] {
  const number = (value: number): string => numberText(String(value), style);
  const loop = (body: readonly string[]): string[] => {
    if (body.length === 0) return [];
    if (style.language === "python") return ["    for x in xs:", ...body.map((line) => `        ${line}`)];
    if (style.language === "javascript")
      return ["  for (const x of xs) {", ...body.map((line) => `    ${line};`), "  }"];
    return [
      "    for (int i = 0; i < n; i++) {",
      "        long long x = xs[i];",
      ...body.map((line) => `        ${line};`),
      "    }",
    ];
  };
  const line = (text: string): string =>
    ({ python: `    ${text}`, javascript: `  ${text};`, c: `    ${text};` })[style.language];
  const variable = (name: string, value: number): string =>
    line(`${{ python: "", javascript: "let ", c: "long long " }[style.language]}${name} = ${number(value)}`);
  if (unit.is === "pair")
    return [
      variable("p", unit.start[0]),
      variable("q", unit.start[1]),
      ...loop(pairLines(style)),
      line(`return ${number(unit.mul)} * p + q`),
    ];
  const statements = unit.terms.map(({ isAdded, steps }) => ({
    takesList: hazardOf(style.from, steps[0]?.hazard ?? "").takes === "list",
    text: `total ${isAdded ? "+" : "-"}= ${steps.reduce((x, step) => stepText(step, x, style), "x")}`,
  }));
  return [
    variable("total", unit.start),
    ...statements.filter(({ takesList }) => takesList).map(({ text }) => line(text)),
    ...loop(statements.filter(({ takesList }) => !takesList).map(({ text }) => text)),
    line("return total"),
  ];
}

function pairLines({ language, careless }: Style): string[] {
  if (careless.has(SIMULTANEOUS)) return ["p = q + x", "q = p - q"];
  if (language === "python") return ["p, q = q + x, p - q"];
  if (language === "javascript") return ["[p, q] = [q + x, p - q]"];
  return ["long long next = q + x", "q = p - q", "p = next"];
}

// ---- main ----

const INCLUDES = `#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>`;

function mainOf(kinds: string, { language, isSource }: Style): string {
  const names = Array.from(kinds)
    .map((_, index) => `f${index}`)
    .join(", ");
  switch (language) {
    case "python":
      return `FUNCTIONS = [${names}]
KINDS = "${kinds}"

sys.stdin.reconfigure(encoding="utf-8")
sys.stdout.reconfigure(encoding="utf-8")
for line in sys.stdin.read().split("\\n"):
    if line == "":
        continue
    which, rest = int(line[0]), line[2:]
    argument = rest if KINDS[which] == "t" else [int(part) for part in rest.split(" ")]
    print("[" + str(FUNCTIONS[which](argument)).replace(" ", "_") + "]")`;
    case "javascript":
      return `const FUNCTIONS = [${names}];
const KINDS = "${kinds}";

for (const line of require("fs").readFileSync(0, "utf8").split("\\n")) {
  if (line === "") continue;
  const which = Number(line[0]);
  const rest = line.slice(2);
  const argument = KINDS[which] === "t" ? rest : rest.split(" ").map(${isSource ? "Number" : "BigInt"});
  console.log("[" + String(FUNCTIONS[which](argument)).replaceAll(" ", "_") + "]");
}`;
    default:
      return `static long long (*const functions[])(const long long *, int) = {${names}};

int main(void) {
    static char line[65536];
    while (fgets(line, sizeof line, stdin)) {
        long long xs[64];
        int n = 0;
        char *at = line + 1, *end;
        for (; n < 64; at = end) {
            long long x = strtoll(at, &end, 10);
            if (end == at) break;
            xs[n++] = x;
        }
        if (line[0] >= '0' && line[0] <= '9') printf("[%lld]\\n", functions[line[0] - '0'](xs, n));
    }
    return 0;
}`;
  }
}
