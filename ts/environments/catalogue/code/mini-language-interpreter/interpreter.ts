/** The gold program: an interpreter in Python with only what the language has. It turns the tokens into closures, unlike `run.ts`. */
import { hasFunctions, type Language, type Word } from "./language.ts";

/** A line, with the condition on which it stands. */
type Line = string | readonly [boolean, string];

const RUNNING: readonly Line[] = [
  "    parts = []",
  "    while place < len(tokens):",
  "        parts.append(statement())",
  "    try:",
  "        for part in parts:",
  "            part()",
  "    except Failure as failure:",
  '        shown.append("! " + failure.args[0])',
  "    return shown",
];

export function interpreterOf(language: Language): string {
  return [...machine(language), ...expressions(language), ...statements(language), ...RUNNING]
    .flatMap((line) => (typeof line === "string" ? [line] : line[0] ? [line[1]] : []))
    .join("\n");
}

function quoted(language: Language, word: Word): string {
  return JSON.stringify(language.words[word]);
}

/** State: `scopes` is the chain of the current call, innermost last; `floor` the index of the first scope of this call in it. */
function machine({ rules, features }: Language): Line[] {
  const has = new Set(features);
  const isShort = rules.range !== "none";
  return [
    "class Failure(Exception):",
    "    pass",
    "",
    "class Leave(Exception):",
    "    pass",
    "",
    "def run(source):",
    "    tokens, place, shown, functions = source.split(), 0, [], {}",
    "    chain, floor = [{}], 0",
    "",
    "    def truth(value):",
    `        return ${{ nonzero: "value != 0", positive: "value > 0", odd: "value % 2 == 1" }[rules.truth]}`,
    "",
    "    def ranged(value):",
    [rules.range === "stop", `        return max(-${rules.largest}, min(${rules.largest}, value))`],
    [rules.range === "wrap", `        return (value + ${rules.largest}) % ${2 * rules.largest + 1} - ${rules.largest}`],
    [!isShort, "        return value"],
    "",
    "    def quotient(a, b):",
    "        if b == 0:",
    '            raise Failure("zero")',
    [rules.division === "down", "        return a // b"],
    [rules.division === "zero", "        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)"],
    "",
    "    def read(name):",
    "        for scope in reversed(chain):",
    "            if name in scope:",
    "                return scope[name]",
    [rules.unknown === "error", '        raise Failure("name")'],
    [rules.unknown !== "error", `        return ${rules.unknown === "less" ? -1 : 0}`],
    "",
    "    def write(name, value):",
    `        for index in range(len(chain) - 1, ${rules.assign === "own" ? "floor - 1" : "-1"}, -1):`,
    "            if name in chain[index]:",
    "                chain[index][name] = value",
    "                return",
    "        chain[-1][name] = value",
    "",
    "    def all_of(parts):",
    [rules.order === "left", "        return [part() for part in parts]"],
    [rules.order === "right", "        return [part() for part in reversed(parts)][::-1]"],
    "",
    "    def inside(body):",
    [rules.blocks, "        chain.append({})"],
    [rules.blocks, "        try:"],
    [rules.blocks, "            body()"],
    [rules.blocks, "        finally:"],
    [rules.blocks, "            chain.pop()"],
    [!rules.blocks, "        body()"],
    "",
    "    def take():",
    "        nonlocal place",
    "        place += 1",
    "        return tokens[place - 1]",
    "",
    [has.has("logic"), "    def decide(is_and, first, second):"],
    [has.has("logic") && rules.logic === "both", "        a, b = all_of([first, second])"],
    [has.has("logic") && rules.logic === "short", "        a = first()"],
    [has.has("logic"), `        value = ${rules.logic === "both" ? "b" : "second()"} if truth(a) == is_and else a`],
    [has.has("logic"), `        return ${rules.logicValue === "operand" ? "value" : "int(truth(value))"}`],
    "",
  ];
}

function expressions(language: Language): Line[] {
  const { features, infix } = language;
  const has = new Set(features);
  const word = (name: Word): string => quoted(language, name);
  const callable = hasFunctions(features);
  return [
    "    operators = {",
    `        ${word("+")}: lambda a, b: a + b,`,
    `        ${word("-")}: lambda a, b: a - b,`,
    `        ${word("*")}: lambda a, b: a * b,`,
    `        ${word("<")}: lambda a, b: int(a < b),`,
    `        ${word("=")}: lambda a, b: int(a == b),`,
    [has.has("division"), `        ${word("/")}: quotient,`],
    [has.has("division"), `        ${word("%")}: lambda a, b: a - b * quotient(a, b),`],
    "    }",
    "",
    "    def binary(sign, left, right):",
    [has.has("logic"), `        if sign in (${word("and")}, ${word("or")}):`],
    [has.has("logic"), `            return lambda: decide(sign == ${word("and")}, left, right)`],
    "        return lambda: ranged(operators[sign](*all_of([left, right])))",
    "",
    "    def is_sign(token):",
    `        return token in operators${has.has("logic") ? ` or token in (${word("and")}, ${word("or")})` : ""}`,
    "",
    "    def operand():",
    "        token = take()",
    `        if token == ${word("tell")}:`,
    "            inner = operand()",
    "            def spoken():",
    "                value = inner()",
    "                shown.append(str(value))",
    "                return value",
    "            return spoken",
    [infix, '        if token == "(":'],
    [infix, "            inner = expression()"],
    [infix, "            take()"],
    [infix, "            return inner"],
    [!infix, "        if is_sign(token):"],
    [!infix, "            left = operand()"],
    [!infix, "            return binary(token, left, operand())"],
    [callable, `        if token == ${word("call")}:`],
    [callable, "            name, values, bare = take(), [], []"],
    [callable, "            take()"],
    [callable, '            while tokens[place] != "]":'],
    [callable && infix, '                if tokens[place] == ",":'],
    [callable && infix, "                    take()"],
    [callable, "                begin = place"],
    [callable, "                values.append(expression())"],
    [
      callable,
      "                bare.append(tokens[begin] if place == begin + 1 and tokens[begin].isalpha() else None)",
    ],
    [callable, "            take()"],
    [callable, "            return lambda: called(name, values, bare)"],
    '        if token.lstrip("-").isdigit():',
    "            return lambda: int(token)",
    "        return lambda: read(token)",
    "",
    "    def expression():",
    "        value = operand()",
    [infix, "        while place < len(tokens) and is_sign(tokens[place]):"],
    [infix, "            sign = take()"],
    [infix, "            value = binary(sign, value, operand())"],
    "        return value",
    "",
    ...calls(language),
  ];
}

/** Calls swap the chain of scopes. */
function calls({ rules, features }: Language): Line[] {
  const callable = hasFunctions(features);
  return [
    [callable, "    def called(name, values, bare):"],
    [callable, "        nonlocal chain, floor"],
    [callable, "        given = all_of(values)"],
    [callable, "        parameters, body = functions[name]"],
    [callable && rules.arity === "error", "        if len(given) != len(parameters):"],
    [callable && rules.arity === "error", '            raise Failure("count")'],
    [callable && rules.arity === "nought", "        given = given + [0] * len(parameters)"],
    [callable, "        own, saved, result = dict(zip(parameters, given)), (chain, floor), 0"],
    [callable, `        chain = ${rules.sight === "caller" ? "chain" : "chain[:1]"} + [own]`],
    [callable, "        floor = len(chain) - 1"],
    [callable, "        try:"],
    [callable, "            body()"],
    [callable, "        except Leave as leave:"],
    [callable, "            result = leave.args[0]"],
    [callable, "        finally:"],
    [callable, "            chain, floor = saved"],
    [callable && rules.passing === "back", "        for name, parameter in zip(bare, parameters):"],
    [callable && rules.passing === "back", "            if name is not None:"],
    [callable && rules.passing === "back", "                write(name, own[parameter])"],
    [callable, "        return result"],
    [callable, ""],
  ];
}

function statements(language: Language): Line[] {
  const { rules, features } = language;
  const has = new Set(features);
  const word = (name: Word): string => quoted(language, name);
  const callable = hasFunctions(features);
  return [
    "    def block():",
    "        take()",
    "        parts = []",
    `        while tokens[place] != ${word("close")}:`,
    "            parts.append(statement())",
    "        take()",
    "        def body():",
    "            for part in parts:",
    "                part()",
    "        return body",
    "",
    "    def statement():",
    "        word = take()",
    `        if word == ${word("set")}:`,
    "            name, value = take(), expression()",
    "            return lambda: write(name, value())",
    `        if word == ${word("show")}:`,
    "            value = expression()",
    "            return lambda: shown.append(str(value()))",
    `        if word == ${word("if")}:`,
    "            test, holds, fails = expression(), block(), lambda: None",
    `            if place < len(tokens) and tokens[place] == ${word("else")}:`,
    "                take()",
    "                fails = block()",
    "            return lambda: inside(holds if truth(test()) else fails)",
    [has.has("repeat"), `        if word == ${word("repeat")}:`],
    [has.has("repeat"), "            count, body = expression(), block()"],
    [has.has("repeat"), "            def repeated():"],
    [has.has("repeat"), "                done, most = 0, count()"],
    [has.has("repeat"), "                while done < most:"],
    [has.has("repeat"), "                    inside(body)"],
    [has.has("repeat"), "                    done += 1"],
    [has.has("repeat") && rules.repeat === "again", "                    most = count()"],
    [has.has("repeat"), "            return repeated"],
    [has.has("while"), `        if word == ${word("while")}:`],
    [has.has("while"), "            test, body = expression(), block()"],
    [has.has("while"), "            def looped():"],
    [has.has("while"), `                for _ in range(${rules.most}):`],
    [has.has("while"), "                    if not truth(test()):"],
    [has.has("while"), "                        return"],
    [has.has("while"), "                    inside(body)"],
    [has.has("while") && rules.atMost === "error", "                if truth(test()):"],
    [has.has("while") && rules.atMost === "error", '                    raise Failure("loop")'],
    // The condition is computed once more, and may show something.
    [has.has("while") && rules.atMost === "end", "                test()"],
    [has.has("while"), "            return looped"],
    ...attempts(language),
    [callable, `        if word == ${word("return")}:`],
    [callable, "            value = expression()"],
    [callable, "            def left():"],
    [callable, "                raise Leave(value())"],
    [callable, "            return left"],
    [callable, "        name, parameters = take(), []"],
    [callable, `        while tokens[place] != ${word("open")}:`],
    [callable, "            parameters.append(take())"],
    [callable, "        body = block()"],
    [callable, "        return lambda: functions.update({name: (parameters, body)})"],
    "",
  ];
}

function attempts(language: Language): Line[] {
  const has = language.features.includes("attempt");
  const { undo } = language.rules;
  return [
    [has, `        if word == ${quoted(language, "attempt")}:`],
    [has, "            body = block()"],
    [has, "            take()"],
    [has, "            rescue = block()"],
    [has, "            def attempted():"],
    [has && undo, "                before = [(scope, dict(scope)) for scope in chain]"],
    [has, "                try:"],
    [has, "                    inside(body)"],
    [has, "                except Failure:"],
    [has && undo, "                    for scope, values in before:"],
    [has && undo, "                        scope.clear()"],
    [has && undo, "                        scope.update(values)"],
    [has, "                    inside(rescue)"],
    [has, "            return attempted"],
    [has, `        if word == ${quoted(language, "fail")}:`],
    [has, "            code = expression()"],
    [has, "            def failed():"],
    [has, "                raise Failure(str(code()))"],
    [has, "            return failed"],
  ];
}
