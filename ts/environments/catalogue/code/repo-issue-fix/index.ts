/** repo-issue-fix: a project of many files, a vague issue; the answer repairs the fault and adds a test. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineProgramRow, type Exam, type Family, type ProgramRow } from "../../row.ts";
import { literal } from "../json.ts";
import { filesIn, filesText } from "../repositories/answer-files.ts";
import { answeredText, BEFORE_CHECK, CHECK, checker, FAILED, PASSED, SUITE_MODULES } from "../repositories/checked.ts";
import { versionOf } from "../repositories/observed.ts";
import { codeOf, docsOf, pathOf } from "../repositories/project.ts";
import type { Files } from "../repositories/python/run-files.ts";
import { projectCheats } from "../repositories/project-cheats.ts";
import { suiteText } from "../repositories/suite-text.ts";
import { encoded, type Request } from "../repositories/streams.ts";
import { type Instance, make, shownOf, streamsOf } from "./draw.ts";
import { issueOf, type Symptom } from "./issue.ts";

const SUITE = "tests/test_issue.py";
const OLD_SUITE = "tests/test_desk.py";
/** What a repair earns without a test that tells. */
const FOR_REPAIR = 0.7;
const TIME_LIMIT_MS = 3_000;
/** Versions without a fault, on which the added test must pass. */
const RIGHT_VERSIONS = 2;

const row: ProgramRow = defineProgramRow<Instance>({
  id: "repo-issue-fix",
  asks: "the repair of a project of many files after a vague issue of a user, with a test that catches the fault",
  place: "code",
  reportsParts: true,
  make,
  effort: ({ indirection, read, project }) => 6 * indirection + read + 2 * project.features.length,
  canonical: ({ project, fault, report }) => ({ project, fault, report }),
  prompts: range(4).map((index) => (instance, rng) => wording(instance, index, rng)),
  gold: (instance) => filesText({ ...repairOf(instance), ...goldSuite(instance) }),
  nearMisses,
  exam: examOf,
  cheats: (instance) =>
    projectCheats({
      code: codeOf(instance.project, [instance.fault]),
      changed: pathOf(instance.project, instance.fault.path),
      main: pathOf(instance.project, "main.py"),
      suite: goldSuite(instance),
    }),
});

export const repoIssueFix: Family<ProgramRow> = { id: "repo-issue-fix", rows: [row] };

/** The file with the fault, without it. */
function repairOf({ project, fault }: Instance): Files {
  const path = pathOf(project, fault.path);
  return { [path]: codeOf(project)[path] ?? "" };
}

/** The report, and the streams that show the mutants. */
function goldSuite(instance: Instance): Files {
  const streams = streamsOf(instance);
  return {
    [SUITE]: suiteText(instance.project, [
      instance.report,
      ...instance.shows.map(({ stream, length }) => at(streams, stream).slice(0, length)),
    ]),
  };
}

function symptomOf({ project, fault, report }: Instance): Symptom {
  const requests = encoded(project, report);
  const [wanted, got] = [versionOf(project), versionOf(project, [fault])].map(
    (one) => one.answers(report)?.at(-1) ?? null,
  );
  return { request: at(requests, requests.length - 1), wanted: wanted ?? null, got: got ?? null };
}

function examOf(instance: Instance): Exam {
  const { project, fault, report, siblings, olds, mutants } = instance;
  const streams = streamsOf(instance);
  const right = versionOf(project);
  const given = codeOf(project, [fault]);
  const name = project.pkg;
  const behaviour = (some: readonly (readonly Request[])[]) => ({
    input: ["behave", name, given, some.map((one) => encoded(project, one))],
    output: some.map((one) => answeredText(right.answers(one) ?? null)),
  });
  const suite = (files: Files, output: string) => ({ input: ["suite", name, files, []], output });
  const chosen = (indices: readonly number[]): Request[][] => indices.map((index) => at(streams, index));
  const rights = range(RIGHT_VERSIONS);
  return {
    language: "python",
    modules: SUITE_MODULES,
    program: checker,
    refuses: (answer) => filesIn(answer) === null,
    beforeCall: BEFORE_CHECK,
    functionName: CHECK,
    tests: [
      behaviour(chosen(olds)),
      behaviour([report]),
      behaviour(chosen(siblings)),
      ...rights.map(() => suite(codeOf(project), PASSED)),
      suite(given, FAILED),
      ...mutants.map((mutant) => suite(codeOf(project, [mutant]), FAILED)),
    ],
    timeLimitMs: TIME_LIMIT_MS,
    gate: 1,
    parts: [
      ["old"],
      ["report"],
      ["siblings"],
      ...rights.map(() => ["test-accepts-right"]),
      ["test-catches-fault"],
      ...mutants.map(() => ["test-catches-others"]),
    ],
    credit(passed) {
      const [repaired, test] = [passed.slice(0, 3), passed.slice(3, 4 + RIGHT_VERSIONS)];
      if (repaired.includes(false)) return 0;
      if (test.includes(false)) return FOR_REPAIR;
      const caught = passed.slice(4 + RIGHT_VERSIONS).filter(Boolean).length / mutants.length;
      return FOR_REPAIR + (1 - FOR_REPAIR) * ((1 + caught ** 2) / 2);
    },
  };
}

/** Repairs without a good test, tests without a repair, a repair of the report alone, a feature that is gone, another fault. */
function nearMisses(instance: Instance): string[] {
  const { project, fault, report, mutants } = instance;
  const main = pathOf(project, "main.py");
  const given = codeOf(project, [fault]);
  const requests = literal(encoded(project, report), "python");
  const answers = literal(versionOf(project).answers(report) ?? [], "python");
  const special = `${given[main] ?? ""}\n\nORDINARY = run\n\n\ndef run(requests):\n    if requests == ${requests}:\n        return ${answers}\n    return ORDINARY(requests)\n`;
  const routes = pathOf(project, "routes.py");
  const name = at(report, report.length - 1).name;
  const gone = (given[routes] ?? "").replace(new RegExp(`^ {4}"${name}": .*\n`, "mu"), "");
  const suite = goldSuite(instance);
  const repair = repairOf(instance);
  return [
    filesText(repair),
    filesText({ ...repair, [SUITE]: "def test_issue():\n    assert True\n" }),
    filesText({ ...repair, [SUITE]: suiteText(project, [report], "assert run(requests) != answers") }),
    filesText({ [main]: special, ...suite }),
    filesText({ [routes]: gone, ...suite }),
    ...mutants.slice(0, 1).map((mutant) => {
      const changed = codeOf(project, [mutant]);
      return filesText({
        ...repair,
        [pathOf(project, mutant.path)]: changed[pathOf(project, mutant.path)] ?? "",
        ...suite,
      });
    }),
  ];
}

function wording(instance: Instance, index: number, rng: Rng): string {
  const { project, fault } = instance;
  const symptom = symptomOf(instance);
  const issue = issueOf(instance, symptom, rng)
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
  const name = project.pkg;
  const files = filesText({
    ...docsOf(project),
    ...codeOf(project, [fault]),
    [OLD_SUITE]: suiteText(project, [shownOf(instance)]),
  });
  const code = `\`\`\`\n${files}\n\`\`\``;
  const task = `One line of the project is wrong; docs/rules.md is right. Repair it for every case, not only for the one in the issue, and keep everything else as it is. Add ${SUITE} with tests for it: functions without arguments whose names begin with \`test\`, which import \`run\` from \`${name}.main\` and fail by raising an exception.`;
  const form = `Give each file that you change or add as a whole, after a line \`=== path\`, as above. Files that you do not give stay as they are. Only the standard library is there.`;
  const scoring = `Hidden requests are sent to your project, like those of the issue and quite different ones; if one answer is wrong, you earn nothing, else at least ${FOR_REPAIR}. The rest is for your tests: they must pass on versions of the project without a fault and fail on the one above, and should also fail on versions with another fault in the functions that the issue is about.`;
  return at(
    [
      `The project below has an open issue.\n\n${issue}\n\n${code}\n\n${task} ${form}\n\n${scoring}`,
      `${task}\n\nThe issue, as a user wrote it:\n\n${issue}\n\nAll files of the project:\n\n${code}\n\n${scoring}\n\n${form}`,
      `You maintain the service \`${name}\`. These are its files.\n\n${code}\n\nToday this came in:\n\n${issue}\n\n${task}\n\n${form} ${scoring}`,
      `${scoring} ${form}\n\n${code}\n\nA message from the people who use it:\n\n${issue}\n\n${task}`,
    ],
    index,
  );
}
