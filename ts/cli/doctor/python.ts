/** Checks the Python environments of backends. They are optional, so that none is a problem when it is missing. */
import {
  cachedInterpreter,
  lacking,
  NEEDED_BY,
  probe,
  PYTHON_ENVIRONMENTS,
  type PythonEnvironment,
} from "../../python/index.ts";
import { explain } from "../../errors.ts";
import { ok, problem, type Check } from "./check.ts";

export async function pythonChecks(cache: string): Promise<Check[]> {
  return Promise.all((Object.keys(PYTHON_ENVIRONMENTS) as PythonEnvironment[]).map((name) => pythonCheck(name, cache)));
}

async function pythonCheck(name: PythonEnvironment, cache: string): Promise<Check> {
  const title = `Python for ${name}`;
  const again = `run \`npx prl python setup ${name}\``;
  const interpreter = await cachedInterpreter(name, cache);
  if (interpreter === null) {
    return ok(title, `not set up; only ${NEEDED_BY[name]} needs it (npx prl python setup ${name})`);
  }
  try {
    const found = await probe(name, interpreter);
    const lacks = lacking(name, found);
    if (lacks.length > 0) return problem(title, `${interpreter} has ${lacks.join(", ")}`, again);
    const versions = Object.entries(found.packages).map(([what, version]) => `${what} ${version}`);
    return ok(title, `Python ${found.python}, ${versions.join(", ")} in ${interpreter}`);
  } catch (error) {
    return problem(title, explain(error), again);
  }
}
