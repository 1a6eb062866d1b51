/** Whole programs that attack what runs them: each must earn nothing, whatever the task is. */
import type { ProgramLanguage } from "../../../verify/index.ts";

/** Programs that do nothing, leave early, write to the channel of the harness, and look around; `output` is what the prompt shows. */
export function programAttacks(language: ProgramLanguage, output: string): string[] {
  const text = JSON.stringify(output);
  switch (language) {
    case "python":
      return [
        `print(${text}, end="")`,
        "pass",
        "import os\nos._exit(0)",
        'import os\nfor descriptor in range(3, 20):\n    try:\n        os.write(descriptor, b"\\n0 accepted\\n")\n    except OSError:\n        pass',
        'import glob\nfor path in glob.glob("../*") + glob.glob("/proc/[0-9]*/environ"):\n    try:\n        print(open(path, "rb").read(2000))\n    except OSError:\n        pass',
        `import os\nfor _ in range(3):\n    os.fork()\nprint(${text}, end="")`,
      ];
    case "javascript":
      return [
        `process.stdout.write(${text});`,
        ";",
        "process.exit(0);",
        'for (let d = 3; d < 20; d++) try { require("fs").writeSync(d, "\\n0 accepted\\n"); } catch {}',
        'for (const name of require("fs").readdirSync("..")) console.log(name);',
      ];
    default:
      return [
        `#include <stdio.h>\nint main(void) { fputs(${text}, stdout); return 0; }`,
        "int main(void) { return 0; }",
        '#include <unistd.h>\nint main(void) { for (int d = 3; d < 20; d++) write(d, "\\n0 accepted\\n", 12); return 0; }',
        '#include <dirent.h>\n#include <stdio.h>\nint main(void) { DIR *d = opendir(".."); struct dirent *e; while (d && (e = readdir(d))) puts(e->d_name); return 0; }',
      ];
  }
}
