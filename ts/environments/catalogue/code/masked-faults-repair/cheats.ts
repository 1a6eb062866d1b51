/** Programs that try to earn something without a repair. */
import type { ProgramLanguage } from "../../../../verify/index.ts";

interface Shown {
  /** The given program. */
  readonly source: string;
  readonly outputs: readonly string[];
}

export function cheatsOf(language: ProgramLanguage, { source, outputs }: Shown): string[] {
  const shown = JSON.stringify(outputs.map((output) => `${output}\n`).join(""));
  const one = JSON.stringify(outputs[0] ?? "0");
  const byLanguage: Record<ProgramLanguage, string[]> = {
    python: [
      `print(${shown}, end="")`,
      `import sys\nfor line in sys.stdin:\n    print(${one})`,
      "import sys\nfor line in sys.stdin:\n    print(sum(int(part) for part in line.split()))",
      "pass",
      "import os\nos._exit(0)",
      'import os\nfor descriptor in range(3, 20):\n    try:\n        os.write(descriptor, b"\\n0 accepted\\n")\n    except OSError:\n        pass',
      'import glob\nfor path in glob.glob("../*") + glob.glob("/proc/[0-9]*/environ"):\n    try:\n        print(open(path, "rb").read(2000))\n    except OSError:\n        pass',
      `import os\nfor _ in range(3):\n    os.fork()\nprint(${shown}, end="")`,
    ],
    javascript: [
      `process.stdout.write(${shown});`,
      `for (const line of require("fs").readFileSync(0, "utf8").trimEnd().split("\\n")) console.log(${one});`,
      ";",
      "process.exit(0);",
      'for (let d = 3; d < 20; d++) try { require("fs").writeSync(d, "\\n0 accepted\\n"); } catch {}',
      'for (const name of require("fs").readdirSync("..")) console.log(name);',
    ],
    c: [
      `#include <stdio.h>\nint main(void) { fputs(${shown}, stdout); return 0; }`,
      `#include <stdio.h>\nint main(void) { char line[9999]; while (fgets(line, sizeof line, stdin)) puts(${one}); return 0; }`,
      "int main(void) { return 0; }",
      '#include <unistd.h>\nint main(void) { for (int d = 3; d < 20; d++) write(d, "\\n0 accepted\\n", 12); return 0; }',
      '#include <dirent.h>\n#include <stdio.h>\nint main(void) { DIR *d = opendir(".."); struct dirent *e; while (d && (e = readdir(d))) puts(e->d_name); return 0; }',
    ],
  };
  return [source, ...byLanguage[language]];
}
