/** Programs that try to earn something without a repair. */
import type { ProgramLanguage } from "../../../../verify/index.ts";
import { programAttacks } from "../program-cheats.ts";

interface Shown {
  /** The given program. */
  readonly source: string;
  readonly outputs: readonly string[];
}

export function cheatsOf(language: ProgramLanguage, { source, outputs }: Shown): string[] {
  const one = JSON.stringify(outputs[0] ?? "0");
  const byLanguage: Record<ProgramLanguage, string[]> = {
    python: [
      `import sys\nfor line in sys.stdin:\n    print(${one})`,
      "import sys\nfor line in sys.stdin:\n    print(sum(int(part) for part in line.split()))",
    ],
    javascript: [
      `for (const line of require("fs").readFileSync(0, "utf8").trimEnd().split("\\n")) console.log(${one});`,
    ],
    c: [
      `#include <stdio.h>\nint main(void) { char line[9999]; while (fgets(line, sizeof line, stdin)) puts(${one}); return 0; }`,
    ],
  };
  const shown = outputs.map((output) => `${output}\n`).join("");
  return [source, ...byLanguage[language], ...programAttacks(language, shown)];
}
