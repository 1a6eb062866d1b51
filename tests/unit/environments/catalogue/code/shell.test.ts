/** Answers of the rows about shells and text tools against bash, sh, the tools, GNU sed, make, and Python's calendar. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { cronFirings, type CronProblem } from "../../../../../ts/environments/catalogue/code/shell/cron-firings.ts";
import {
  exitStatusFlow,
  type FlowProblem,
} from "../../../../../ts/environments/catalogue/code/shell/exit-status-flow.ts";
import {
  pipelineReading,
  type PipelineProblem,
} from "../../../../../ts/environments/catalogue/code/shell/pipeline-reading.ts";
import {
  redirectionOrder,
  type RedirectProblem,
} from "../../../../../ts/environments/catalogue/code/shell/redirection-order.ts";
import { shellWords, type WordsProblem } from "../../../../../ts/environments/catalogue/code/shell/shell-words.ts";
import { type StaleProblem, staleTargets } from "../../../../../ts/environments/catalogue/code/shell/stale-targets.ts";
import {
  type EditorProblem,
  streamEditorReading,
} from "../../../../../ts/environments/catalogue/code/shell/stream-editor-reading.ts";
import { type Answer, drawnOf, HAS_PYTHON, printedByPython } from "./interpreters.ts";

const TIMEOUT_MS = 200_000;
const versionOf = (tool: string): string =>
  spawnSync(tool, ["--version"], { encoding: "utf8", timeout: TIMEOUT_MS }).stdout ?? "";
/** Older ones expand and fail in other ways; sh may be one. */
const HAS_BASH = /GNU bash, version ([4-9]|\d\d)/u.test(versionOf("bash"));
const HAS_SED = versionOf("sed").includes("GNU sed");
const HAS_TOOLS = versionOf("sort").includes("GNU coreutils");
const HAS_MAKE = HAS_TOOLS && versionOf("make").includes("GNU Make");
const HAS_SHELL =
  process.platform === "linux" && spawnSync("sh", ["-c", "exit 3"], { timeout: TIMEOUT_MS }).status === 3;
const without = (tool: string, has: boolean): string => (has ? "" : ` (there is no ${tool} here)`);
/** Ends the output of each script. */
const END = "----";

describe("shells and tools", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "prl-catalogue-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** What each script prints, run one after the other in subshells of one process. */
  const printedBy = (shell: string, scripts: readonly string[]): string[][] => {
    const file = join(folder, "all.sh");
    writeFileSync(file, scripts.map((script) => `(\n${script}\n)\necho ${END}\n`).join(""));
    const options = {
      cwd: folder,
      encoding: "utf8",
      timeout: TIMEOUT_MS,
      env: { ...process.env, LC_ALL: "C" },
    } as const;
    const text = execFileSync(shell, [file], { ...options, stdio: ["ignore", "pipe", "pipe"] });
    return text
      .split(`${END}\n`)
      .slice(0, -1)
      .map((one) => one.trimEnd().split("\n"));
  };

  test.skipIf(!HAS_BASH)(`shell-words: bash makes the same arguments${without("bash 4", HAS_BASH)}`, () => {
    const drawn = drawnOf<Answer<WordsProblem>>(shellWords);
    const printed = printedBy(
      "bash",
      drawn.map(({ problem }) => problem.script.join("\n")),
    );
    expect(printed).toEqual(drawn.map(({ items }) => items));
  });

  test.skipIf(!HAS_SHELL)(`exit-status-flow: sh prints the same${without("sh", HAS_SHELL)}`, () => {
    const drawn = drawnOf<Answer<FlowProblem>>(exitStatusFlow);
    const printed = printedBy(
      "sh",
      drawn.map(({ problem }) => problem.script.join("\n")),
    );
    expect(printed).toEqual(drawn.map(({ items }) => items));
  });

  test.skipIf(!HAS_SHELL)(`redirection-order: sh fills the same files${without("sh", HAS_SHELL)}`, () => {
    const drawn = drawnOf<Answer<RedirectProblem>>(redirectionOrder);
    const printed = printedBy(
      "sh",
      drawn.map(({ problem }, index) => {
        const names = ["terminal", ...problem.files];
        const shown = names.map((name) => `echo "${name}:" $(cat ${name})`).join("\n");
        return `mkdir r${index}; cd r${index}\n(\n${problem.script.join("\n")}\n) >>terminal 2>>terminal\n${shown}`;
      }),
    );
    expect(printed.map((lines) => lines.map((line) => (line.endsWith(":") ? `${line} -` : line)))).toEqual(
      drawn.map(({ items }) => items),
    );
  });

  test.skipIf(!HAS_TOOLS)(`pipeline-reading: the tools print the same${without("GNU coreutils", HAS_TOOLS)}`, () => {
    const drawn = drawnOf<Answer<PipelineProblem>>(pipelineReading);
    const printed = printedBy(
      "sh",
      drawn.map(({ problem }) =>
        problem.command.replace("cat data.txt", `printf '%s\\n' ${problem.file.map((line) => `'${line}'`).join(" ")}`),
      ),
    );
    expect(printed).toEqual(drawn.map(({ items }) => items));
  });

  test.skipIf(!HAS_SED)(`stream-editor-reading: GNU sed prints the same${without("GNU sed", HAS_SED)}`, () => {
    const drawn = drawnOf<Answer<EditorProblem>>(streamEditorReading, [1, 3, 5]);
    const printed = printedBy(
      "sh",
      drawn.map(({ problem }, index) => {
        writeFileSync(join(folder, `${index}.sed`), `${problem.script.join("\n")}\n`);
        writeFileSync(join(folder, `${index}.txt`), `${problem.lines.join("\n")}\n`);
        return `sed ${problem.quiet ? "-n" : ""} -f ${index}.sed ${index}.txt`;
      }),
    );
    expect(printed).toEqual(drawn.map(({ items }) => items));
  });

  test.skipIf(!HAS_MAKE)(
    `stale-targets: make runs the same recipes${without("GNU make or coreutils", HAS_MAKE)}`,
    () => {
      const drawn = drawnOf<Answer<StaleProblem>>(staleTargets).filter((_, index) => index % 12 < 4);
      const printed = printedBy(
        "sh",
        drawn.map(({ problem }, index) => {
          const { rules, sources, touched, deleted, goal } = problem;
          const phony = rules.filter(({ isPhony }) => isPhony).map(({ target }) => target);
          const real = rules.filter(({ isPhony }) => !isPhony).map(({ target }) => target);
          const lines = rules.map(
            ({ target, needs, orderOnly, isPhony }) =>
              `${target}: ${needs.join(" ")} | ${orderOnly.join(" ")}\n\t@echo $@${isPhony ? "" : "; touch $@"}`,
          );
          mkdirSync(join(folder, `m${index}`));
          writeFileSync(join(folder, `m${index}`, "Makefile"), `.PHONY: ${phony.join(" ")}\n${lines.join("\n")}\n`);
          const gone = deleted.length === 0 ? "" : `rm ${deleted.join(" ")}\n`;
          return `cd m${index}\ntouch -d @1000 ${sources.join(" ")}\ntouch -d @2000 ${real.join(" ")}\ntouch -d @3000 ${touched.join(" ")}\n${gone}make -s ${goal}`;
        }),
      );
      expect(printed).toEqual(drawn.map(({ items }) => items));
      expect(readFileSync(join(folder, "m0", "Makefile"), "utf8")).toContain(".PHONY");
    },
  );
});

test.skipIf(!HAS_PYTHON)(
  `cron-firings: a walk over all minutes finds the same${without("python3", HAS_PYTHON)}`,
  () => {
    const drawn = drawnOf<Answer<CronProblem>>(cronFirings);
    const sources = drawn.map(
      ({ problem: { fields, after, count } }) => `from datetime import datetime, timedelta
fields, bounds, sets = ${JSON.stringify(fields)}, [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)], []
for field, (low, high) in zip(fields, bounds):
    chosen = set()
    for part in field.split(","):
        part, _, step = part.partition("/")
        a, _, b = part.partition("-")
        a, b = (low, high) if part == "*" else (int(a), int(b or a))
        chosen |= set(range(a, b + 1, int(step or 1)))
    sets.append(chosen)
now, found = datetime(*${JSON.stringify(after)}) + timedelta(minutes=1), 0
while found < ${count}:
    day, week = now.day in sets[2], now.isoweekday() % 7 in sets[4]
    both = fields[2].startswith("*") or fields[4].startswith("*")
    if now.month not in sets[3] or not ((day and week) if both else (day or week)):
        now = datetime(now.year, now.month, now.day) + timedelta(days=1)
        continue
    if now.minute in sets[0] and now.hour in sets[1]:
        print(now.strftime("%Y-%m-%d %H:%M"))
        found += 1
    now += timedelta(minutes=1)`,
    );
    expect(printedByPython(sources)).toEqual(drawn.map(({ items }) => items));
  },
);
