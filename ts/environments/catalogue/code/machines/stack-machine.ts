/** stack-machine: an interpreter for a small machine whose instructions have described edge cases. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const stackMachine = variantRow({
  id: "stack-machine",
  asks: "an interpreter of a stack machine with wrapping, traps, calls, a bounded stack and fuel",
  name: "run",
  parameters: ["program", "start"],
  extras: ["bounded", "trap", "call", "reverse", "skip-zero", "memory", "swap-compare"],
  constants: (rng) => ({
    modulus: between(rng, 50, 400),
    depth: between(rng, 4, 7),
    fuel: between(rng, 60, 150),
    empty: between(rng, 1, 30),
  }),
  stories: [
    "The rules of a card game are compiled to a tiny machine.",
    "A calculator from the seventies is emulated.",
    "Filters for packets are programs of a small stack machine.",
    "A puzzle game has robots that run programs of this kind.",
  ],
  rules: `
The stack begins with the start values, the last one on top. The instructions are numbered from 0; after each one the next is carried out, unless a rule says otherwise. The machine stops behind the last one, or after {{fuel}} instructions.
Taking from an empty stack gives {{empty}}. All values are kept modulo {{modulus}}, from 0 to {{modulus}} minus 1.
["push", n] puts n on the stack. #!bounded
["push", n] puts n on the stack. If there are more than {{depth}} values after any instruction, the lowest ones are lost until there are {{depth}}. #?bounded
["add"], ["mul"] and ["sub"] take the top b and then a, and put a + b, a * b or a - b. #!reverse
["add"], ["mul"] and ["sub"] take the top a and then b, and put a + b, a * b or a - b. #?reverse
["div"] takes the top b and then a, and puts a / b, rounded down; if b is 0, it puts 0. #!trap
["div"] takes the top b and then a, and puts a / b, rounded down; if b is 0, both stay taken and the machine goes on at instruction 0, once; the second time the machine stops. #?trap
["dup"] puts the top once more (it takes a value and puts it twice). ["swap"] takes two values and puts them in the other order.
["jump", n] goes on at instruction n. ["if", n] takes a value and goes on at instruction n unless it is 0. #!skip-zero
["jump", n] goes on at instruction n. ["if", n] takes a value and goes on at instruction n if it is 0. #?skip-zero
["less"] takes b and then a and puts 1 if a < b, else 0. #!swap-compare
["less"] takes b and then a and puts 1 if a < b, else 0; but where they are equal, it puts {{empty}}. #?swap-compare
["call", n] remembers the number of the next instruction and goes on at n; ["back"] goes on at the number remembered last, which is forgotten; if there is none, the machine stops. #?call
["store", n] takes a value and puts it into cell n; ["load", n] puts the value of cell n on the stack, 0 at first. #?memory
`,
  types: `
The first argument is the list of the instructions, the second the list of the start values. The result is the list of two lists or numbers: the stack at the end, the lowest value first, and the number of instructions that were carried out.
`,
  calls({ modulus }, rng, on) {
    const kinds = [
      ..."push push push add mul sub div dup dup swap if less jump".split(" "),
      ...(on("call") ? ["call", "back"] : []),
      ...(on("memory") ? ["store", "load", "load"] : []),
    ];
    const program = (length: number): Json =>
      range(length).map((index): Json => {
        const kind = rng.pick(kinds);
        if (kind === "push") return [kind, rng.integer(Math.min(30, modulus))];
        if (kind === "store" || kind === "load") return [kind, rng.integer(3)];
        if (kind === "if") return [kind, rng.integer(length + 1)];
        return kind === "jump" || kind === "call" ? [kind, Math.min(length, index + between(rng, 1, 3))] : [kind];
      });
    const some = (length: number): Json[][] =>
      range(7).map(() => [program(length), range(3).map(() => rng.integer(20))]);
    return { short: some(6), medium: some(10), long: some(16), longest: some(25) };
  },
  solve([program, start]: readonly [readonly (readonly [string, number])[], readonly number[]], values, on) {
    const { modulus, depth, fuel, empty } = values;
    let stack = [...start];
    const [cells, returns] = [new Map<number, number>(), [] as number[]];
    let [place, steps, traps] = [0, 0, 0];
    const take = (): number => stack.pop() ?? empty;
    const put = (value: number): void => void stack.push(((value % modulus) + modulus) % modulus);
    while (steps < fuel) {
      const instruction = program[place];
      if (instruction === undefined) break;
      const [kind, n] = instruction;
      place += 1;
      steps += 1;
      if (kind === "push") put(n);
      else if (kind === "jump") place = n;
      else if (kind === "if") {
        if ((take() === 0) === on("skip-zero")) place = n;
      } else if (kind === "dup") {
        const value = take();
        put(value);
        put(value);
      } else if (kind === "call") {
        returns.push(place);
        place = n;
      } else if (kind === "back") place = returns.pop() ?? program.length;
      else if (kind === "store") cells.set(n, take());
      else if (kind === "load") put(cells.get(n) ?? 0);
      else {
        const [top, below] = [take(), take()];
        const [a, b] = on("reverse") ? [top, below] : [below, top];
        if (kind === "add") put(a + b);
        else if (kind === "mul") put(a * b);
        else if (kind === "sub") put(a - b);
        else if (kind === "less") put(below === top && on("swap-compare") ? empty : below < top ? 1 : 0);
        else if (kind === "swap") {
          put(top);
          put(below);
        } else if (top !== 0) put(Math.floor(below / top));
        else if (!on("trap")) put(0);
        else {
          traps += 1;
          place = traps === 1 ? 0 : program.length;
        }
      }
      if (on("bounded")) stack = stack.slice(-depth);
    }
    return [stack, steps];
  },
  python: `
def run(program, start):
    stack, cells, returns = list(start), {}, []
    place = steps = traps = 0

    def take():
        return stack.pop() if stack else {{empty}}

    while place < len(program) and steps < {{fuel}}:
        kind, *rest = program[place]
        place, steps = place + 1, steps + 1
        new = []
        if kind == "push":
            new = [rest[0]]
        elif kind == "jump":
            place = rest[0]
        elif kind == "if":
            if take() != 0: #!skip-zero
            if take() == 0: #?skip-zero
                place = rest[0]
        elif kind == "dup":
            new = [take()] * 2
        elif kind == "call": #?call
            returns.append(place) #?call
            place = rest[0] #?call
        elif kind == "back": #?call
            place = returns.pop() if returns else len(program) #?call
        elif kind == "store": #?memory
            cells[rest[0]] = take() #?memory
        elif kind == "load": #?memory
            new = [cells.get(rest[0], 0)] #?memory
        else:
            y = take()
            x = take()
            a, b = x, y #!reverse
            a, b = y, x #?reverse
            if kind == "add":
                new = [a + b]
            elif kind == "mul":
                new = [a * b]
            elif kind == "sub":
                new = [a - b]
            elif kind == "swap":
                new = [y, x]
            elif kind == "less":
                new = [int(x < y)]
                if x == y: #?swap-compare
                    new = [{{empty}}] #?swap-compare
            elif y:
                new = [x // y]
            else:
                new = [0] #!trap
                traps += 1 #?trap
                place = 0 if traps == 1 else len(program) #?trap
        stack += [value % {{modulus}} for value in new]
        stack = stack[-{{depth}}:] #?bounded
    return [stack, steps]
`,
});
