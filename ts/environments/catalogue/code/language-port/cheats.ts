/** Programs that try to earn something without porting anything. */
import type { ProgramLanguage } from "../../../../verify/index.ts";

interface Shown {
  /** The program of the prompt. */
  readonly source: string;
  readonly sample: { readonly input: string; readonly output: string };
}

export function cheatsOf(to: ProgramLanguage, { source, sample }: Shown): string[] {
  const [output, one] = [JSON.stringify(sample.output), JSON.stringify("[0]\n[0]\n[0]\n[0]\n")];
  const byLanguage: Record<ProgramLanguage, string[]> = {
    python: [
      `print(${output}, end="")`,
      `print(${one}, end="")`,
      "pass",
      "import os\nos._exit(0)",
      "import sys\nprint(sys.stdin.read())",
      'import os\nfor descriptor in range(3, 20):\n    try:\n        os.write(descriptor, b"\\n0 accepted\\n")\n    except OSError:\n        pass',
      'import glob\nfor path in glob.glob("../*") + glob.glob("/proc/[0-9]*/environ"):\n    try:\n        print(open(path, "rb").read(2000))\n    except OSError:\n        pass',
      `import os\nfor _ in range(3):\n    os.fork()\nprint(${output}, end="")`,
    ],
    javascript: [
      `process.stdout.write(${output});`,
      `process.stdout.write(${one});`,
      ";",
      "process.exit(0);",
      'console.log(require("fs").readFileSync(0, "utf8"));',
      'for (let d = 3; d < 20; d++) try { require("fs").writeSync(d, "\\n0 accepted\\n"); } catch {}',
      'for (const name of require("fs").readdirSync("..")) console.log(name);',
    ],
    c: [
      `#include <stdio.h>\nint main(void) { fputs(${output}, stdout); return 0; }`,
      `#include <stdio.h>\nint main(void) { fputs(${one}, stdout); return 0; }`,
      "int main(void) { return 0; }",
      "#include <stdio.h>\nint main(void) { int c; while ((c = getchar()) != EOF) putchar(c); return 0; }",
      '#include <unistd.h>\nint main(void) { for (int d = 3; d < 20; d++) write(d, "\\n0 accepted\\n", 12); return 0; }',
      '#include <dirent.h>\n#include <stdio.h>\nint main(void) { DIR *d = opendir(".."); struct dirent *e; while (d && (e = readdir(d))) puts(e->d_name); return 0; }',
    ],
  };
  return [source, ...byLanguage[to]];
}
