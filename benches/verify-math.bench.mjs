// Verdicts of `verifyMath` on ordinary answers, by the CPU that they take, worker thread and messages included. The rival is math-verify on the
// same pairs, one process (--python).
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { verifyMath } from "../dist/verify/index.js";
import { report, rival } from "./measurement/report.mjs";

const PAIRS = join(import.meta.dirname, "verify-math.pairs.json");
const VERDICTS = 6_000;
const ROUNDS = 3;
const pairs = JSON.parse(readFileSync(PAIRS, "utf8"));

async function perCpuSecond() {
  const begun = process.cpuUsage();
  for (let done = 0; done < VERDICTS;) {
    const some = pairs.slice(0, Math.min(pairs.length, VERDICTS - done));
    await Promise.all(some.map(([gold, answer]) => verifyMath(gold, answer)));
    done += some.length;
  }
  const { user, system } = process.cpuUsage(begun);
  return VERDICTS / ((user + system) / 1e6);
}

await perCpuSecond();
let best = 0;
for (let round = 0; round < ROUNDS; round++) best = Math.max(best, await perCpuSecond());
const theirs = rival("math_verify_pairs.py", [PAIRS]);
report({
  name: "verify-math",
  unit: "verdicts per CPU second",
  better: "higher",
  ours: best,
  rivals: { "math-verify": theirs?.perCpuSecond },
});
process.exit(0);
