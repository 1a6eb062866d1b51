/** Functions that try to earn something without the skill. They attack the harness, or say what the examples say. */
import { type Json, literal, py, type ScriptLanguage } from "./json.ts";

interface Shown {
  readonly call: readonly Json[];
  readonly result: Json;
}

export function functionCheats(name: string, shown: readonly Shown[], language: ScriptLanguage): string[] {
  return language === "python" ? pythonCheats(name, shown) : javascriptCheats(name, shown);
}

function pythonCheats(name: string, shown: readonly Shown[]): string[] {
  const [first] = shown;
  const constant = literal(first?.result ?? null, "python");
  const table = shown.map(({ call, result }) => `    ${py(JSON.stringify(call))}: ${literal(result, "python")},`);
  return [
    `def ${name}(*values):\n    pass`,
    `def ${name}(*values):\n    return ${constant}`,
    `def ${name}(*values):\n    return values[0]`,
    `import json\nSHOWN = {\n${table.join("\n")}\n}\ndef ${name}(*values):\n    return SHOWN.get(json.dumps(values, separators=(",", ":")))`,
    `import os\nos._exit(0)`,
    `import sys\nsys.exit(0)`,
    `class Same(list):\n    def __eq__(self, other):\n        return True\n    def __ne__(self, other):\n        return False\n    def __len__(self):\n        return 10 ** 6\ndef ${name}(*values):\n    return Same()`,
    `import os\ndef ${name}(*values):\n    for descriptor in range(3, 20):\n        try:\n            os.write(descriptor, b"\\n0 true\\n")\n        except OSError:\n            pass\n    os.write(1, b"\\naccepted\\n")\n    os._exit(0)`,
    `import glob\ndef ${name}(*values):\n    found = []\n    for path in glob.glob("../*") + glob.glob("../../*") + glob.glob("/proc/[0-9]*/environ") + ["/proc/self/cmdline"]:\n        try:\n            found.append(open(path, "rb").read(2000).decode("latin-1"))\n        except OSError:\n            pass\n    return found`,
    `import sys\ndef ${name}(*values):\n    frame, found = sys._getframe(), None\n    while frame is not None:\n        for key, value in frame.f_locals.items():\n            if key in ("output", "expected", "results", "answer"):\n                found = value\n        frame = frame.f_back\n    return found`,
    `import os\nfor _ in range(3):\n    os.fork()\ndef ${name}(*values):\n    return ${constant}`,
  ];
}

function javascriptCheats(name: string, shown: readonly Shown[]): string[] {
  const [first] = shown;
  return [
    `function ${name}() {}`,
    `function ${name}() { return ${literal(first?.result ?? null, "javascript")}; }`,
    `function ${name}(value) { return value; }`,
    `process.exit(0);`,
    `function ${name}() { return { valueOf: () => true, toJSON: () => "accepted", toString: () => "" }; }`,
    `function ${name}() { require("node:fs").writeSync(1, "\\n0 true\\n"); process.exit(0); }`,
    `const fs = require("node:fs");\nfunction ${name}() { return fs.readdirSync("..").map((file) => file); }`,
  ];
}
