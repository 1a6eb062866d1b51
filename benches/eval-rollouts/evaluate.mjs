// One evaluation in a separate process: prints rollouts per second, per second of CPU, and how late timers of 5 ms were, as JSON.
// evaluate.mjs <base url> <rollouts> <in flight> <folder>
import { evaluate, loadConfig } from "prl-lm";

const [url, rollouts, inFlight, dir] = process.argv.slice(2);
const config = async (examples, name) =>
  loadConfig(
    [],
    {
      eval: [{ env: { id: "reverse-text" } }],
      model: "mock",
      base_url: url,
      num_examples: examples,
      rollouts: 1,
      max_concurrent: Number(inFlight),
      output_dir: dir,
      run: { name },
      sampling: { max_completion_tokens: 64 },
    },
    { kind: "eval" },
  );

await evaluate(await config(Number(rollouts), `warm-${process.pid}`));
const measured = await config(Number(rollouts), `measured-${process.pid}`);
const late = [];
let last = performance.now();
const timer = setInterval(() => {
  const now = performance.now();
  late.push(Math.max(0, now - last - 5));
  last = now;
}, 5);
const cpu = process.cpuUsage();
const started = performance.now();
const { evaluations, error } = await evaluate(measured);
const seconds = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(cpu);
clearInterval(timer);
const [{ scored } = { scored: 0 }] = evaluations;
if (scored !== Number(rollouts)) throw new Error(`${scored} of ${rollouts} were scored: ${error?.message}`);
late.sort((a, b) => a - b);
const percentile = (share) => late[Math.min(late.length - 1, Math.floor(late.length * share))] ?? 0;
console.log(
  JSON.stringify({
    perSecond: scored / seconds,
    perCpuSecond: scored / ((user + system) / 1e6),
    lagP50Ms: percentile(0.5),
    lagP99Ms: percentile(0.99),
    lagMaxMs: late.at(-1) ?? 0,
  }),
);
