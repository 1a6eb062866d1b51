/** The Python interpreter that tests of the torch trainer use: `PRL_TEST_PYTHON`, else `python3`. */
import { execFileSync } from "node:child_process";

/** It is named by a full path, because a config takes a path only. */
export const TORCH_PYTHON = pathOf(process.env["PRL_TEST_PYTHON"] ?? "python3");

/** Which of the packages the interpreter lacks, as a part of a test's name; "" when it has all. */
export function withoutPython(packages: readonly string[]): string {
  if (TORCH_PYTHON === null) return "there is no Python interpreter";
  const code = "import importlib.util, sys; print(*[n for n in sys.argv[1:] if importlib.util.find_spec(n) is None])";
  const missing = execFileSync(TORCH_PYTHON, ["-c", code, ...packages], { encoding: "utf8" }).trim();
  return missing === "" ? "" : `PRL_TEST_PYTHON has no ${missing.replaceAll(" ", ", ")}`;
}

export const NEEDED_PACKAGES = ["torch", "transformers", "safetensors"];

function pathOf(command: string): string | null {
  try {
    const found = execFileSync(command, ["-c", "import sys; print(sys.executable)"], {
      encoding: "utf8",
      stdio: "pipe",
    });
    return found.trim();
  } catch {
    return null;
  }
}
