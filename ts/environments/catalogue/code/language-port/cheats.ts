/** Programs that try to earn something without porting anything. */
import type { ProgramLanguage } from "../../../../verify/index.ts";
import { programAttacks } from "../program-cheats.ts";

interface Shown {
  /** The program of the prompt. */
  readonly source: string;
  readonly sample: { readonly input: string; readonly output: string };
}

export function cheatsOf(to: ProgramLanguage, { source, sample }: Shown): string[] {
  const one = JSON.stringify("[0]\n[0]\n[0]\n[0]\n");
  const byLanguage: Record<ProgramLanguage, string[]> = {
    python: [`print(${one}, end="")`, "import sys\nprint(sys.stdin.read())"],
    javascript: [`process.stdout.write(${one});`, 'console.log(require("fs").readFileSync(0, "utf8"));'],
    c: [
      `#include <stdio.h>\nint main(void) { fputs(${one}, stdout); return 0; }`,
      "#include <stdio.h>\nint main(void) { int c; while ((c = getchar()) != EOF) putchar(c); return 0; }",
    ],
  };
  return [source, ...byLanguage[to], ...programAttacks(to, sample.output)];
}
