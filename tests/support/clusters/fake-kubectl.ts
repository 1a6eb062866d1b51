/** A `kubectl` for tests: it notes every call and gives the answer that the test has set. No cluster is asked. */
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";

export interface FakeKubectl {
  /** With the program first in PATH. */
  readonly env: Record<string, string>;
  /** The arguments of every call so far. */
  readonly calls: () => Promise<string[][]>;
  /** What it prints to both outputs and its exit code, from now on; `only`: to calls with this verb, while the cluster takes others and has nothing. */
  readonly answer: (answer: { stdout?: string; stderr?: string; code?: number; only?: string }) => Promise<void>;
}

/** Makes it in `dir`. */
export async function fakeKubectl(dir: string): Promise<FakeKubectl> {
  const [bin, home] = [join(dir, "bin"), join(dir, "kubectl-state")];
  await mkdir(bin, { recursive: true });
  await mkdir(home, { recursive: true });
  const program = `#!/bin/sh
{ printf '%s\\0' "$@"; printf '\\n\\0'; } >>'${home}/calls'
only=$(cat '${home}/only')
if [ -n "$only" ] && [ "$only" != "$1" ]; then
  if [ "$1" = get ]; then echo '{"items":[]}'; fi
  exit 0
fi
cat '${home}/stdout'
cat '${home}/stderr' >&2
exit "$(cat '${home}/code')"
`;
  await writeFile(join(bin, "kubectl"), program);
  await chmod(join(bin, "kubectl"), 0o755);
  const answer: FakeKubectl["answer"] = async ({ stdout = "", stderr = "", code = 0, only = "" }) => {
    await writeFile(join(home, "stdout"), stdout);
    await writeFile(join(home, "stderr"), stderr);
    await writeFile(join(home, "code"), String(code));
    await writeFile(join(home, "only"), only);
  };
  await answer({ only: "nothing" });
  return {
    env: { PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` },
    calls: async () => {
      const text = await readFile(join(home, "calls"), "utf8").catch(() => "");
      return text
        .split("\n\0")
        .filter((call) => call !== "")
        .map((call) => call.split("\0").slice(0, -1));
    },
    answer,
  };
}
