/** `prl sandbox serve | run | bench | doctor`: uses the sandbox executor without a run. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { constants } from "node:os";
import { buffer } from "node:stream/consumers";

import { onAbort } from "../../../async/aborted.ts";
import { PrlError } from "../../../errors.ts";
import { sandboxDaemonPath } from "../../../native/index.ts";
import { type RunLimits, type RunResult, type SandboxCapabilities, SandboxPool } from "../../../sandbox/index.ts";
import { numberOption, onlyOptions, parseOptions } from "../../arguments/args.ts";
import { chosenForm } from "../../arguments/form.ts";
import { EXIT, type Command, type CommandIo, type CommandOption } from "../../command.ts";
import { RULES } from "../../arguments/option-rule.ts";
import { stopExit } from "../../../stop-signal.ts";
import { BENCH_OPTIONS, bench } from "./sandbox-bench.ts";

/** After SIGTERM the daemon ends its runs; then it is killed. */
const STOP_SERVING_MS = 10_000;
/** Exit codes above this mean a signal, as in a shell. */
const SIGNAL_EXIT = 128;
/** Exit code when the program did not end by itself: a limit, a cancellation, or the infrastructure ended it. */
const NO_EXIT = 125;

const LIMIT_OPTIONS: readonly (CommandOption & { key: keyof RunLimits })[] = [
  { flag: "--wall-ms", value: "<ms>", rule: RULES.count, summary: "Limit of wall time (10000)", key: "wallMs" },
  {
    flag: "--cpu-ms",
    value: "<ms>",
    rule: RULES.count,
    summary: "Limit of the CPU time of all its processes (10000)",
    key: "cpuMs",
  },
  {
    flag: "--memory-bytes",
    value: "<n>",
    rule: RULES.count,
    summary: "Limit of the memory of all its processes (512 MiB)",
    key: "memoryBytes",
  },
  {
    flag: "--processes",
    value: "<n>",
    rule: RULES.count,
    summary: "Most processes and threads at once (64)",
    key: "processes",
  },
  {
    flag: "--output-bytes",
    value: "<n>",
    rule: RULES.count,
    summary: "Most output that is kept of each stream (1 MiB)",
    key: "outputBytes",
  },
  {
    flag: "--disk-bytes",
    value: "<n>",
    rule: RULES.count,
    summary: "Most bytes that it may write (256 MiB)",
    key: "diskBytes",
  },
];
const ADDRESS: CommandOption = {
  flag: "--address",
  value: "<address>",
  summary:
    "Use the daemon at unix:/path, host:port or https://host:port (its token in PRL_SANDBOX_TOKEN) instead of starting one",
};
const TLS_OPTIONS: readonly CommandOption[] = [
  {
    flag: "--ca",
    value: "<path>",
    summary: "With --address: certificate of the authority that signed the daemon's certificate (PEM)",
  },
  {
    flag: "--cert",
    value: "<path>",
    summary: "With --ca: certificate of this client, if the daemon asks for one (PEM)",
  },
  { flag: "--key", value: "<path>", summary: "With --cert: key of that certificate (PEM)" },
];

const FORMS: Readonly<Record<string, { options: readonly CommandOption[]; run: typeof serve }>> = {
  serve: {
    options: [
      { flag: "--socket", value: "<path>", summary: "serve: Unix socket to listen on, for this user only" },
      {
        flag: "--listen",
        value: "<address:port>",
        summary:
          "serve: TCP address to listen on; needs PRL_SANDBOX_TOKEN, or --token-file or --tls-client-ca after --",
      },
      {
        flag: "--metrics-address",
        value: "<[address:]port>",
        summary: "serve: answer GET /metrics there for Prometheus, without a key; the default address is 127.0.0.1",
      },
    ],
    run: serve,
  },
  run: {
    options: [
      ADDRESS,
      ...TLS_OPTIONS,
      { flag: "--file", value: "<path>", summary: "run: copy this file into the work directory, under the same name" },
      ...LIMIT_OPTIONS,
    ],
    run: runOne,
  },
  bench: { options: BENCH_OPTIONS, run: bench },
  doctor: { options: [ADDRESS, ...TLS_OPTIONS], run: doctor },
};

export const command: Command = {
  name: "sandbox",
  summary: "Run untrusted programs: a single one, or a daemon for others",
  usage:
    "sandbox serve --socket <path> [-- <daemon arguments>]\n       prl sandbox run [--wall-ms <ms>] [...] -- <program> [arguments]\n       prl sandbox bench [<scenario>...]\n       prl sandbox doctor",
  details:
    "serve   runs the daemon in the foreground until SIGTERM. Arguments after -- go unchanged to prl-sandboxd: --warm python=50,\n" +
    "        --token-file, --tls-cert, --tls-key, --tls-client-ca, --image and more; serve --socket x -- --help lists them.\n" +
    "run     runs one program in a new sandbox; stdin is passed on when it is not a terminal. Exit code: that of the program,\n" +
    `        ${SIGNAL_EXIT} + n when signal n ended it, ${NO_EXIT} when a limit or the infrastructure ended it (stderr says which).\n` +
    "bench   measures our sandboxes and other installed ones, on two cores; it also writes the figures to target/prl-bench/.\n" +
    "        Exit code 1 when a figure misses its bar.\n" +
    "doctor  prints which kernel facilities exist, which isolation they allow, and how to get a stronger one.\n",
  options: [
    ...new Map(
      Object.values(FORMS)
        .flatMap(({ options }) => options)
        .map(({ flag, value, summary }) => [flag, value === undefined ? { flag, summary } : { flag, value, summary }]),
    ).values(),
  ],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = args;
  const forms = Object.entries(FORMS).map(([known, form]) => ({ name: known, ...form }));
  return chosenForm("sandbox", forms, name).run(rest, io);
}

async function serve(args: readonly string[], io: CommandIo): Promise<number> {
  const form = { name: "sandbox serve", options: FORMS["serve"]?.options ?? [] };
  const { options, positionals: more } = parseOptions(form, args);
  const [socket, listen] = [options.get("--socket"), options.get("--listen")];
  if ((socket === undefined) === (listen === undefined)) {
    throw new PrlError("PRL_CLI_USAGE", "prl sandbox serve: expected one of --socket and --listen");
  }
  const isGuarded = more.includes("--token-file") || more.includes("--tls-client-ca") || more.includes("--help");
  if (listen !== undefined && (io.env["PRL_SANDBOX_TOKEN"] ?? "") === "" && !isGuarded) {
    throw new PrlError(
      "PRL_CLI_USAGE",
      "prl sandbox serve --listen: set PRL_SANDBOX_TOKEN, the token that clients must present",
    );
  }
  const { signal } = io;
  const where = socket === undefined ? ["--listen", listen ?? ""] : ["--socket", socket];
  const metrics = options.get("--metrics-address");
  if (metrics !== undefined) where.push("--metrics-address", metrics);
  const daemon = spawn(sandboxDaemonPath(io.env), [...where, ...more], { stdio: "inherit", env: { ...io.env } });
  onAbort(signal, () => {
    daemon.kill("SIGTERM");
    setTimeout(() => daemon.kill("SIGKILL"), STOP_SERVING_MS).unref();
  });
  const { code, died } = await ended(daemon);
  if (signal.aborted) return stopExit(signal.reason);
  if (code === 0) return EXIT.done;
  throw new PrlError("PRL_SANDBOX_START_FAILED", `the sandbox daemon ended: ${died ?? `exit code ${code}`}`);
}

async function ended(child: ChildProcess): Promise<{ code: number | null; died: string | null }> {
  return new Promise((resolve, reject) => {
    child.once("error", (cause) => {
      reject(new PrlError("PRL_SANDBOX_START_FAILED", "the sandbox daemon could not be started", { cause }));
    });
    child.once("exit", (code, died) => resolve({ code, died }));
  });
}

async function runOne(args: readonly string[], io: CommandIo): Promise<number> {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  const { options, positionals } = parseOptions({ name: "sandbox run", options: FORMS["run"]?.options ?? [] }, own);
  const program = [...positionals, ...(end < 0 ? [] : args.slice(end + 1))];
  if (program.length === 0) throw new PrlError("PRL_CLI_USAGE", "prl sandbox run: expected a program after --");
  const limits: RunLimits = {};
  for (const { flag, key } of LIMIT_OPTIONS) {
    if (options.has(flag)) limits[key] = numberOption(options, flag, 0);
  }
  const file = options.get("--file");
  const files = file === undefined ? {} : { [file.split("/").at(-1) ?? file]: await fileContent(file, "--file") };
  const { signal } = io;
  const stdin = process.stdin.isTTY ? Buffer.alloc(0) : await buffer(process.stdin);
  return withPool(options, io, async (pool) => {
    const result = await pool.runOnce({ command: program, stdin, files, limits, signal });
    if (io.json) io.writeJson(asJson(result));
    else {
      await write(process.stdout, result.stdout);
      await write(process.stderr, result.stderr);
    }
    return exitCode(result, io);
  });
}

async function fileContent(path: string, flag: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new PrlError("PRL_CLI_USAGE", `${flag}: ${path} cannot be read`, { cause });
  }
}

function exitCode(result: RunResult, io: CommandIo): number {
  const { cause, reason, detail, limitsHit } = result;
  const gap = result.stdoutGap + result.stderrGap;
  if (gap > 0) io.stderr.write(`prl sandbox: ${gap} bytes of output were dropped\n`);
  if (cause === "EXITED") return result.exitCode ?? NO_EXIT;
  const limits = limitsHit.length === 0 ? "" : ` (limits hit: ${limitsHit.join(", ")})`;
  io.stderr.write(
    `prl sandbox: ${[cause, reason, detail].filter((part) => part !== null && part !== "").join(": ")}${limits}\n`,
  );
  if (cause === "SIGNALED" && result.signal !== null) {
    return SIGNAL_EXIT + (constants.signals[result.signal as NodeJS.Signals] ?? 0);
  }
  return NO_EXIT;
}

/** Bytes as text where they are UTF-8, else in base64. */
function asJson(result: RunResult): Record<string, unknown> {
  const text = (bytes: Buffer): unknown => {
    const decoded = bytes.toString("utf8");
    return Buffer.from(decoded, "utf8").equals(bytes) ? decoded : { base64: bytes.toString("base64") };
  };
  const files = Object.fromEntries(Object.entries(result.files).map(([path, bytes]) => [path, text(bytes)]));
  return { ...result, stdout: text(result.stdout), stderr: text(result.stderr), files };
}

async function doctor(args: readonly string[], io: CommandIo): Promise<number> {
  const options = onlyOptions({ name: "sandbox doctor", options: FORMS["doctor"]?.options ?? [] }, args);
  return withPool(options, io, async (pool) => {
    const capabilities = await pool.capabilities();
    if (io.json) io.writeJson(capabilities);
    else io.stdout.write(report(capabilities));
    return capabilities.isolation === null ? EXIT.failed : EXIT.done;
  });
}

function report({ isolation, cgroups, facilities, unobservable, maxRunning }: SandboxCapabilities): string {
  const width = Math.max(0, ...facilities.map(({ name }) => name.length));
  const lines = facilities.map(
    ({ name, available, detail }) => `${available ? "ok     " : "MISSING"}  ${name.padEnd(width)}  ${detail}`,
  );
  const blind = unobservable.length === 0 ? "" : `\nnot observable here: ${unobservable.join(", ")}`;
  const better = isolation === "full" ? "" : "\nrepair what is MISSING for more isolation";
  return `${lines.join("\n")}\n\nisolation: ${isolation ?? "none"}; limits by cgroups: ${cgroups}; ${maxRunning} runs at once${blind}${better}\n`;
}

async function withPool(
  options: ReadonlyMap<string, string>,
  io: CommandIo,
  work: (pool: SandboxPool) => Promise<number>,
): Promise<number> {
  const pool = await openPool(options, io);
  try {
    return await work(pool);
  } finally {
    await pool.close();
  }
}

async function openPool(options: ReadonlyMap<string, string>, io: CommandIo): Promise<SandboxPool> {
  const address = options.get("--address");
  if (address === undefined) {
    const stray = TLS_OPTIONS.find(({ flag }) => options.has(flag));
    if (stray !== undefined) throw new PrlError("PRL_CLI_USAGE", `prl sandbox, ${stray.flag}: needs --address`);
    return SandboxPool.start();
  }
  const token = io.env["PRL_SANDBOX_TOKEN"];
  const pem = async (flag: string): Promise<string | undefined> => {
    const path = options.get(flag);
    return path === undefined ? undefined : (await fileContent(path, flag)).toString();
  };
  const [ca, certificate, key] = await Promise.all(["--ca", "--cert", "--key"].map(pem));
  if (ca === undefined && (certificate ?? key) !== undefined) {
    throw new PrlError("PRL_CLI_USAGE", "prl sandbox, --cert and --key: need --ca");
  }
  const identity = { ...(certificate === undefined ? {} : { certificate }), ...(key === undefined ? {} : { key }) };
  return SandboxPool.connect({
    addresses: [address],
    ...(token === undefined ? {} : { token }),
    ...(ca === undefined ? {} : { tls: { ca, ...identity } }),
  });
}

async function write(stream: NodeJS.WriteStream, bytes: Buffer): Promise<void> {
  await new Promise<void>((done, fail) => {
    stream.write(bytes, (error) => (error === null || error === undefined ? done() : fail(error)));
  });
}
