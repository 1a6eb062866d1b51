/** secret-purge: secrets of a project, in many forms, are replaced by references that its programs resolve; a hidden run has other secrets. */
import { createHmac } from "node:crypto";
import { z } from "zod";

import type { Rng } from "../../../../../random/rng.ts";
import { type Commands, defineBoxRow, type LeftBox, type Level, type ShellStep } from "../../../row.ts";
import { literal, pythonCommand } from "../python.ts";
import { bare, type Holder, type Job, runOf, type Texts, tracesOf } from "./holders.ts";
import {
  drawProject,
  FULL_PURGE,
  loginOf,
  NO_PURGE,
  type Project,
  projectFiles,
  type Purge,
  vaultText,
} from "./project.ts";
import { WORDINGS } from "./wordings.ts";

/** What is left of the project. */
interface Left {
  /** Secrets of which no file shows a trace, and those of them whose job signs with what the vault says. */
  readonly clean: readonly string[];
  readonly purged: readonly string[];
  /** Whether every text that is no secret is still there. */
  readonly kept: boolean;
}

const VAULT = "vault.json";
const MOST_FILES = 400;
const MOST_BYTES = 1 << 20;
const ENCODED: readonly Holder[] = ["base64", "hex", "url"];
const DIVIDED: readonly Holder[] = ["adjacent", "continued"];

export const secretPurge = defineBoxRow<Project, Left>({
  id: "secret-purge",
  asks: "replace secrets in many forms by references and make the programs resolve them, while texts that look alike stay",
  make: (rng: Rng, level: Level) => drawProject(rng, level),
  effort: ({ jobs, papers, fixed }) =>
    5 * jobs.length + 3 * papers.length + Math.round(Object.values(fixed).join("").length / 100),
  prompts: WORDINGS,
  start: (project) => ({
    files: { [VAULT]: vaultText(project), ...below(project.root, projectFiles(project, NO_PURGE)) },
  }),
  gold: goldSteps,
  slips: (project) => {
    const purges: Record<string, Partial<Purge>> = {
      "purges one job less": { jobs: ({ name }) => name !== project.jobs[0]?.name },
      ...(project.papers.length > 0 ? { "overlooks papers": { papers: false } } : {}),
      ...(project.papers.length > 1 ? { "overlooks logins in base64": { logins: false } } : {}),
      ...(has(project, ENCODED)
        ? { "overlooks encoded secrets": { jobs: ({ holder }) => !ENCODED.includes(holder) } }
        : {}),
      ...(has(project, DIVIDED)
        ? { "overlooks divided secrets": { jobs: ({ holder }) => !DIVIDED.includes(holder) } }
        : {}),
    };
    return {
      ...Object.fromEntries(
        Object.entries(purges).map(([name, purge]) => [name, writeCommands(project, { ...FULL_PURGE, ...purge })]),
      ),
      "replaces texts and not their users": [replaceCommand(project)],
      "purges samples as well": [
        ...writeCommands(project, FULL_PURGE),
        `sed -i 's/= .*/= vault:sample/' ${project.root}/tests/samples.ini`,
      ],
    };
  },
  blankets: (project) => ({
    "deletes the files": [`rm -r ${project.root}/conf ${project.root}/jobs ${project.root}/docs ${project.root}/logs`],
    "replaces texts": [replaceCommand(project)],
    "empties the vault": [`echo '{}' > ${VAULT}`],
  }),
  look,
  grade: (project, left) => (left.kept ? shares(project, left).purged ** 2 : 0),
  parts: shares,
});

function shares({ jobs }: Project, { clean, purged, kept }: Left): Record<"purged" | "clean" | "kept", number> {
  return { purged: purged.length / jobs.length, clean: clean.length / jobs.length, kept: kept ? 1 : 0 };
}

function has({ jobs }: Project, holders: readonly Holder[]): boolean {
  return jobs.some(({ holder }) => holders.includes(holder));
}

function below(root: string, texts: Texts): Texts {
  return Object.fromEntries(Object.entries(texts).map(([path, text]) => [`${root}/${path}`, text]));
}

// ---- scripts ----

function goldSteps(project: Project): ShellStep[] {
  const files = Object.entries(projectFiles(project, NO_PURGE)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const shown = files.map(([path, text]) => `== ${project.root}/${path}\n${text}`).join("");
  return [
    { command: `cat ${VAULT}`, prints: vaultText(project) },
    {
      command: `for file in $(find ${project.root} -type f | LC_ALL=C sort); do echo "== $file"; cat "$file"; done`,
      prints: shown,
    },
    {
      command: writeCommands(project, FULL_PURGE)[0] ?? "",
      prints: `${Object.keys(changes(project, FULL_PURGE)).length} files written\n`,
    },
  ];
}

function changes(project: Project, purge: Purge): Texts {
  const before = projectFiles(project, NO_PURGE);
  const after = Object.entries(projectFiles(project, purge));
  return below(project.root, Object.fromEntries(after.filter(([path, text]) => before[path] !== text)));
}

function writeCommands(project: Project, purge: Purge): Commands {
  const files = Object.entries(changes(project, purge)).map(([path, text]) => [path, text.split("\n")]);
  return [
    pythonCommand(`
files = ${JSON.stringify(files, null, 0)}
for path, lines in files:
    with open(path, "w") as file:
        file.write("\\n".join(lines))
print(len(files), "files written")
`),
  ];
}

/** Puts references where a secret stands as it is. */
function replaceCommand({ root }: Project): string {
  return pythonCommand(`
import json, os
vault = json.load(open("${VAULT}"))
for folder, _, names in os.walk("${root}"):
    for name in names:
        path = os.path.join(folder, name)
        text = open(path).read()
        for key, value in vault.items():
            text = text.replace(value, "vault:" + key)
        open(path, "w").write(text)
`);
}

// ---- what is left ----

async function look(project: Project, { list, read, check }: LeftBox): Promise<Left> {
  const none: Left = { clean: [], purged: [], kept: false };
  const entries = await list(project.root, MOST_FILES);
  if (entries === null) return none;
  const files: Record<string, Buffer> = {};
  for (const { path, kind } of entries) {
    const bytes = kind === "file" ? await read(path, MOST_BYTES) : null;
    if (bytes !== null) files[path.slice(project.root.length + 1)] = bytes;
  }
  const texts = new Map(Object.entries(files).map(([path, bytes]) => [path, bytes.toString("latin1")]));
  const all = bare([...texts.values()].join("\n"));
  const clean = project.jobs.filter((job) => {
    const logins = project.papers.flatMap(({ parts }) =>
      parts.flatMap((part) =>
        typeof part !== "string" && part.login !== null ? [bare(loginOf(part.login, job.value)).slice(0, -2)] : [],
      ),
    );
    return ![...tracesOf(job.value), ...logins].some((trace) => all.includes(trace));
  });
  const before = new Map(Object.entries(projectFiles(project, NO_PURGE)));
  const kept =
    Object.entries(project.fixed).every(([path, text]) => texts.get(path) === text) &&
    project.papers.every(({ path, parts }) =>
      parts.every((part) => typeof part !== "string" || texts.get(path)?.includes(part) === true),
    ) &&
    project.jobs.every(({ alike }) =>
      [...before].every(([path, text]) => !text.includes(alike) || texts.get(path)?.includes(alike) === true),
    );
  return {
    clean: clean.map(({ secret }) => secret),
    purged: await workingSecrets(project, clean, files, check),
    kept,
  };
}

/** Runs jobs on a text that the policy has not seen, with other secrets in the vault. What is expected stays here. */
async function workingSecrets(
  { rotated, text }: Project,
  jobs: readonly Job[],
  files: Readonly<Record<string, Buffer>>,
  check: LeftBox["check"],
): Promise<string[]> {
  if (jobs.length === 0) return [];
  const program = `
import concurrent.futures, json, os, subprocess
with open("rotated.json", "w") as file:
    file.write(${literal(JSON.stringify(rotated))})
environment = {"PATH": os.environ["PATH"], "VAULT_FILE": os.path.abspath("rotated.json"), "LANG": "C.UTF-8"}
def run(command):
    try:
        done = subprocess.run(command, cwd="project", env=environment, capture_output=True, timeout=5, stdin=subprocess.DEVNULL)
        return done.stdout[:200].decode("latin-1").strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
with concurrent.futures.ThreadPoolExecutor(2) as threads:
    print(json.dumps(list(threads.map(run, ${literal(jobs.map((job) => [...runOf(job), text]))}))))
`;
  const given = Object.entries(files).map(([path, bytes]) => [`project/${path}`, bytes]);
  const found = printedTexts(await check(program, Object.fromEntries(given)));
  const signed = (secret: string): string =>
    createHmac("sha256", rotated[secret] ?? "")
      .update(text)
      .digest("hex");
  return jobs.filter(({ secret }, index) => found[index] === signed(secret)).map(({ secret }) => secret);
}

/** The project's own programs run beside the check, so what it prints may be anything. */
function printedTexts(printed: string | null): string[] {
  try {
    return z.array(z.string()).parse(JSON.parse(printed ?? "[]"));
  } catch {
    return [];
  }
}
