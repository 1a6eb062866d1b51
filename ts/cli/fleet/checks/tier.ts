/** Which isolation the sandboxes of a host have. */
import { explain } from "../../../errors.ts";
import { SandboxPool } from "../../../sandbox/index.ts";
import { withDeadline } from "../../../async/deadline.ts";
import { type Check, ok, warning } from "../../doctor/check.ts";

const NAME = "Sandbox tier";
const DEADLINE_MS = 60_000;
const ADVICE = "only environments that run programs need it: `prl sandbox doctor` on the host says what to mend";

export async function tierCheck(): Promise<Check> {
  const late = () => new Error(`no answer within ${DEADLINE_MS / 1000} s`);
  try {
    const isolation = await withDeadline(isolationHere(), DEADLINE_MS, late);
    if (isolation === null) return warning(NAME, "none", ADVICE);
    return { ...(isolation === "full" ? ok(NAME, isolation) : warning(NAME, isolation, ADVICE)), alike: isolation };
  } catch (error) {
    return warning(NAME, `not known: ${explain(error).split("\n")[0]}`, ADVICE);
  }
}

async function isolationHere(): Promise<string | null> {
  const pool = await SandboxPool.start();
  try {
    return (await pool.capabilities()).isolation;
  } finally {
    await pool.close();
  }
}
