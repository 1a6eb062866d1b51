/** Test files for a project: one test for each stream of requests. */
import { literal } from "../json.ts";
import { versionOf } from "./observed.ts";
import { domainOf, type Project } from "./project.ts";
import { encoded, type Request } from "./streams.ts";

export function suiteText(
  project: Project,
  streams: readonly (readonly Request[])[],
  check = "assert run(requests) == answers",
): string {
  const right = versionOf(project);
  const tests = streams.map((requests, index) => {
    const lines = (values: Parameters<typeof literal>[0][]): string =>
      values.map((value) => `        ${literal(value, "python")},\n`).join("");
    const answers = lines([...(right.answers(requests) ?? [])]);
    return `def test_${index + 1}():\n    requests = [\n${lines(encoded(project, requests))}    ]\n    answers = [\n${answers}    ]\n    ${check}\n`;
  });
  return `from ${domainOf(project).pkg}.main import run\n\n\n${tests.join("\n\n")}`;
}
