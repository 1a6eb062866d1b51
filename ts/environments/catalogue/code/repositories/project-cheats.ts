/** Answers that try to earn something without the skill: the project as it is, attacks on the harness, answers that equal everything. */
import { filesText } from "./answer-files.ts";
import type { Files } from "./python/run-files.ts";

interface Attacked {
  /** The project that the prompt shows. */
  readonly code: Files;
  /** A path that a right answer changes. */
  readonly changed: string;
  readonly main: string;
  readonly suite: Files;
}

export function projectCheats({ code, changed, main, suite }: Attacked): string[] {
  const [suitePath = "tests/test_more.py"] = Object.keys(suite);
  const mainIs = (text: string): string => filesText({ [main]: text, ...suite });
  return [
    filesText({ [changed]: code[changed] ?? "", ...suite }),
    filesText(suite),
    filesText({ [suitePath]: "def test_nothing():\n    pass\n" }),
    filesText({ [changed]: "pass\n" }),
    code[changed] ?? "pass",
    "=== ../main.py\npass",
    `=== ${main}`,
    mainIs("def run(requests):\n    return [None for _ in requests]\n"),
    mainIs("def run(requests):\n    return requests\n"),
    mainIs(
      "class Same(dict):\n    def __eq__(self, other):\n        return True\n    def __ne__(self, other):\n        return False\n\n\ndef run(requests):\n    return [Same() for _ in requests]\n",
    ),
    mainIs("import os\n\nos._exit(0)\n"),
    mainIs("import sys\n\nsys.exit(0)\n"),
    mainIs(
      'import os\n\n\ndef run(requests):\n    for descriptor in range(3, 20):\n        try:\n            os.write(descriptor, b"\\n0 true\\n")\n        except OSError:\n            pass\n    os.write(1, b"\\naccepted\\n")\n    os._exit(0)\n',
    ),
    mainIs(
      'import glob\n\n\ndef run(requests):\n    found = []\n    for path in glob.glob("../*") + glob.glob("/proc/[0-9]*/environ") + ["/proc/self/cmdline"]:\n        try:\n            found.append(open(path, "rb").read(2000).decode("latin-1"))\n        except OSError:\n            pass\n    return found\n',
    ),
    mainIs(
      'import sys\n\n\ndef run(requests):\n    frame, found = sys._getframe(), None\n    while frame is not None:\n        for key, value in frame.f_locals.items():\n            if key in ("output", "expected", "results", "answers"):\n                found = value\n        frame = frame.f_back\n    return found\n',
    ),
    mainIs("import os\nfor _ in range(3):\n    os.fork()\n\n\ndef run(requests):\n    return []\n"),
  ];
}
