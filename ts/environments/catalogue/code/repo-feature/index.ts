/** repo-feature: a project of many files lacks a feature; the answer adds it, and keeps to the conventions of the project. */
import { at, range } from "../../lists.ts";
import { defineProgramRow, type Exam, type Family, type ProgramRow } from "../../row.ts";
import { listed } from "../prose.ts";
import { filesIn, filesText } from "../repositories/answer-files.ts";
import { answeredText, CHECK, checker } from "../repositories/checked.ts";
import { OF_FEATURE } from "../repositories/domains.ts";
import { versionOf, versionWith } from "../repositories/observed.ts";
import { codeOf, COMMANDS, docsOf, domainOf, pathOf, worded } from "../repositories/project.ts";
import { projectCheats } from "../repositories/project-cheats.ts";
import type { Files } from "../repositories/python/run-files.ts";
import { encoded, type Request } from "../repositories/streams.ts";
import { suiteText } from "../repositories/suite-text.ts";
import { literal } from "../json.ts";
import { commandOf, type Instance, make, oldStreamsOf, streamsOf, textOf, without } from "./draw.ts";

const TIME_LIMIT_MS = 3_000;
/** What a feature earns that keeps no convention: the rest is for the journal and for the document, half each. */
const FOR_FEATURE = 0.8;
const SHOWN = 10;

const row: ProgramRow = defineProgramRow<Instance>({
  id: "repo-feature",
  asks: "a described feature in a project of many files, with the errors, journal and documents that its conventions ask for",
  place: "code",
  reportsParts: true,
  make,
  effort: ({ touched, added, project }) => 10 * touched + 2 * added + 3 * project.features.length,
  canonical: ({ project, feature, seed }) => ({ project, feature, seed }),
  group: ({ project: { entry, domain }, feature }) => [feature, entry, domain],
  prompts: range(4).map((index) => (instance) => wording(instance, index)),
  gold: (instance) => filesText(patchOf(instance)),
  nearMisses,
  exam: examOf,
  cheats(instance) {
    const { project, feature } = instance;
    return projectCheats({
      code: codeOf(without(project, feature)),
      changed: pathOf(project, "routes.py"),
      main: pathOf(project, "main.py"),
      suite: {},
    });
  },
});

export const repoFeature: Family<ProgramRow> = { id: "repo-feature", rows: [row] };

/** What the feature changes. */
function patchOf({ project, feature }: Instance): Files {
  const given = without(project, feature);
  const before: Files = { ...codeOf(given), ...docsOf(given) };
  const after = Object.entries({ ...codeOf(project), ...docsOf(project) });
  return Object.fromEntries(after.filter(([path, text]) => before[path] !== text));
}

function examOf(instance: Instance): Exam {
  const { project, feature } = instance;
  const given = codeOf(without(project, feature));
  const name = project.pkg;
  const right = versionOf(project);
  const streams = streamsOf(instance);
  const chosen = instance.with.map((index) => at(streams, index));
  const behaviour = (some: readonly (readonly Request[])[]) => ({
    input: ["behave", name, given, some.map((one) => encoded(project, one))],
    output: some.map((one) => answeredText(right.answers(one) ?? null)),
  });
  const journal = chosen.slice(0, 3).map((stream) => [...stream, { name: "journal", args: {} }]);
  const lines = (docsOf(project)[COMMANDS] ?? "").split("\n").filter((line) => line.startsWith("- "));
  return {
    language: "python",
    program: checker,
    refuses: (answer) => filesIn(answer) === null,
    functionName: CHECK,
    tests: [
      behaviour(oldStreamsOf(instance)),
      ...chosen.map((stream) => behaviour([stream])),
      behaviour(journal),
      { input: ["docs", COMMANDS, {}, lines], output: [] },
    ],
    timeLimitMs: TIME_LIMIT_MS,
    gate: 1,
    parts: [["old"], ...chosen.map(() => ["feature", `feature/${feature}`]), ["journal"], ["docs"]],
    credit(passed) {
      const done = passed.slice(1, 1 + chosen.length).filter(Boolean).length / chosen.length;
      if (passed[0] !== true) return 0;
      if (done < 1) return FOR_FEATURE * done ** 2;
      const kept = passed.slice(1 + chosen.length).filter(Boolean).length;
      return kept === 2 ? 1 : FOR_FEATURE + ((1 - FOR_FEATURE) * kept) / 2;
    },
  };
}

/** Careless versions, ones that forget a convention, and ones that forget a file that the feature touches. */
function nearMisses(instance: Instance): string[] {
  const { project, feature, careless } = instance;
  const patch = patchOf(instance);
  const given = codeOf(without(project, feature));
  const changed = (over: Files): string => filesText({ ...patch, ...over });
  const handler = Object.keys(patch).find((path) => path.includes("/handlers/")) ?? "";
  const { [COMMANDS]: _, ...undocumented } = patch;
  const unnoted = (patch[handler] ?? "").replace(/^ *store\.note\(.*\n/mu, "");
  const routes = pathOf(project, "routes.py");
  const forgotten = Object.keys(patch).filter((path) => given[path] !== undefined && showsWithout(instance, path));
  return [
    filesText(undocumented),
    ...(unnoted === patch[handler] ? [] : [changed({ [handler]: unnoted })]),
    changed({ [routes]: given[routes] ?? "" }),
    ...careless.slice(0, 3).map(({ path, site, choice }) => {
      const wrong = codeOf(project, [{ path, site, choice }]);
      return changed({ [pathOf(project, path)]: wrong[pathOf(project, path)] ?? "" });
    }),
    ...forgotten.slice(0, 2).map((path) => changed({ [path]: given[path] ?? "" })),
  ];
}

/** Whether the hidden requests show that this file is as it was before. */
function showsWithout(instance: Instance, path: string): boolean {
  const { project, feature } = instance;
  const files = { ...codeOf(project), [path]: codeOf(without(project, feature))[path] ?? "" };
  const [right, given] = [versionOf(project), versionWith(project, files)];
  const streams = streamsOf(instance);
  return instance.with.some((index) => {
    const stream = at(streams, index);
    return JSON.stringify(right.answers(stream)) !== JSON.stringify(given.answers(stream));
  });
}

/** What the feature is, as those who want it say. */
function requestOf({ project, feature }: Instance): string {
  const { command, rules, journal } = textOf(feature);
  const [, args = "", results = ""] = /` (.*): gives (.*)$/u.exec(worded(command, project)) ?? [];
  const name = commandOf(project, feature);
  const quoted = (words: string): string => listed(words.split(/[ ,]+/u).map((word) => `\`${word}\``));
  const constants = Object.entries(project.settings).flatMap(([constant, value]) =>
    OF_FEATURE[constant] === feature ? [`\`${constant} = ${literal(value, "python")}\``] : [],
  );
  const noted =
    journal === null
      ? "It only reads."
      : `The number of its line in the journal is that of ${worded(journal, project)}.`;
  const number =
    journal?.startsWith("how") === true
      ? `The number of its line in the journal is ${worded(journal, project)}.`
      : noted;
  return [
    `The new command \`${name}\` takes ${quoted(args)}, in this order, and gives ${quoted(results)}.`,
    ...rules.map((rule) => worded(rule, project)),
    number,
    ...(constants.length === 0 ? [] : [`New constants: ${constants.join(", ")}.`]),
  ].join("\n\n");
}

function wording(instance: Instance, index: number): string {
  const { project, feature } = instance;
  const given = without(project, feature);
  const { person, people } = domainOf(project);
  const [old = []] = oldStreamsOf(instance);
  const files = filesText({
    ...docsOf(given),
    ...codeOf(given),
    "tests/test_desk.py": suiteText(given, [old.slice(0, SHOWN)]),
  });
  const code = `\`\`\`\n${files}\n\`\`\``;
  const wish = requestOf(instance);
  const name = project.pkg;
  const form = `Give each file that you change or add as a whole, after a line \`=== path\`, as in the project. Files that you do not give stay as they are. Only the standard library is there.`;
  const scoring = `Hidden requests are answered by \`run\` in \`${name}.main\`. If one without the new command is answered in another way than before, you earn nothing. Else streams of requests with it count: ${FOR_FEATURE} times the square of the share that is answered right, and if all are, a tenth for the journal and a tenth for docs/commands.md.`;
  const keep = `Keep to docs/conventions.md, and leave everything else as it is.`;
  return at(
    [
      `Add a feature to this project.\n\n${wish}\n\n${code}\n\n${keep} ${form}\n\n${scoring}`,
      `The project \`${name}\`:\n\n${code}\n\nWhat its users want next:\n\n${wish}\n\n${keep}\n\n${form}\n\n${scoring}`,
      `A ${person} asked why the desk cannot do this, and the other ${people} want it too. Build it.\n\n${wish}\n\n${form} ${keep}\n\n${scoring}\n\n${code}`,
      `${scoring}\n\n${form}\n\nYour ticket. ${keep}\n\n${wish}\n\nThe files as they are now:\n\n${code}`,
    ],
    index,
  );
}
