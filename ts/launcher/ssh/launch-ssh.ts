/**
 * `prl launch ssh`: a run whose parts are on machines that ssh reaches.
 *
 * The hosts get the configs of the run and nothing else: prl, models and data are there. Each part is a child of one ssh session, so that nothing stays
 * on a host when this process or the connection is gone. Logs, metrics and events come back into the run directory here, which is a run directory
 * like any other.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import {
  type Host,
  type HostsFile,
  loadConfig,
  type Provenance,
  type RlConfig,
  tomlWithOrigins,
} from "../../config/index.ts";
import { workerToken as workerTokenOf } from "../../environments/records.ts";
import { messageOf, PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { takeLock } from "../../files/run-lock.ts";
import type { RunEvent } from "../../monitors/index.ts";
import { transportToken } from "../../transports/index.ts";
import { writeRunKey } from "../clusters/run-key-file.ts";
import { placeRun } from "../clusters/run-place.ts";
import { writeConfig } from "../processes/child-configs.ts";
import { logLimits, logRules } from "../processes/log-rotation.ts";
import { endWith, launcherPrometheusPort, type RunEnd } from "../run/launch.ts";
import { madeUpRunName, whileHeld } from "../run/run-directory.ts";
import type { ResumeRequest } from "../run/resume-run.ts";
import { RunSession } from "../run/run-session.ts";
import { runStage, untilInterrupted } from "../run/stage.ts";
import { askHost } from "./ask-host.ts";
import { Collector, type LineOwner, receivedBytes, removeTornLines } from "./collector.ts";
import { type HostPlan, type Part, planHosts } from "./host-plan.ts";
import { type PartOrder, PROTOCOL } from "./host-protocol.ts";
import { HostSession, type SessionEvents } from "./host-session.ts";
import { assertShared } from "./shared-folder.ts";
import { watchParts } from "./watch-parts.ts";

export interface SshOptions {
  readonly hosts: HostsFile;
  readonly hostsProvenance: Provenance;
  readonly provenance: Provenance;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly resume: ResumeRequest | undefined;
  /** Aborting it stops every part. */
  readonly signal: AbortSignal;
  /** Aborting it as well kills them. */
  readonly hurry: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
}

/** Connecting, login scripts, and starting Node on a busy machine. */
const GREETING_MS = 60_000;

/** Names of the files in `<run>/ssh/`; those of the configs are the same on the hosts. */
const FILES = { config: "rl.toml", warmStart: "warm-start.toml", key: "key", plan: "plan.json" } as const;

/** @throws PrlError `PRL_CONFIG_INVALID`, `PRL_RUN_EXISTS`, `PRL_RUN_UNKNOWN`, `PRL_RUN_LOCKED`, `PRL_SSH`; later failures are in the summary */
export async function launchSsh(given: RlConfig, options: SshOptions): Promise<RunEnd> {
  const { resume, env } = options;
  // A config that cannot be launched and a host that does not answer are refused before there is a directory.
  const draft = planHosts(named(given, given.run.name ?? madeUpRunName([], "")), options);
  await greet(new Set(draft.parts.map(({ host }) => host)), options);
  await assertShared(draft, given, options);
  const { name, path } = await placeRun(given, { resume, verb: "launch" });
  const config = named(given, name);
  const plan = planHosts(config, options);
  await takeLock(path);
  const { session, key } = await whileHeld(path, async () => {
    makeFolder(join(path, "ssh"));
    // Before this launcher's own first line.
    await removeTornLines(path);
    await writeConfig(path, "rl", config);
    await writeRunKey(join(path, "ssh", FILES.key));
    await atomicWriteJson(join(path, "ssh", FILES.plan), shown(plan));
    const noted = await readFile(join(path, "ssh", FILES.key), "utf8");
    return { session: await openSession(config, { name, path }, options), key: transportToken(env) ?? noted };
  });
  return endWith(session, async () => {
    session.enter("starting");
    const warmStart = await warmStartText(config);
    const { logs, directory } = session;
    const collector = new Collector(path, logs);
    // It follows from the run's key, and does not tell it.
    const workerToken = workerTokenOf(env) ?? createHash("sha256").update(`env-worker ${key}`).digest("hex");
    const orders = await ordersOf(plan, { ...options, key, workerToken, attempt: directory.attempt, path, warmStart });
    await runParts(session, options, ({ signal }) => {
      const events = eventsOf(session);
      const { hosts, hurry } = options;
      const sessions = orders.map(([part, order]) => new HostSession(part, order, hosts, { collector, events }));
      session.enter("training");
      return watchParts(sessions, { logs, signal, hurry });
    });
    session.enter("stopping");
  });
}

/**
 * Follows the metrics while `work` goes on. The user's signal ends the work, which ends the stage, so that nothing that the parts say meanwhile is lost.
 * A stage that fails, because its directory was removed, ends the work, too.
 */
async function runParts(
  session: RunSession,
  { signal }: SshOptions,
  work: (options: { signal: AbortSignal }) => Promise<void>,
): Promise<void> {
  const forever = new AbortController().signal;
  const failed = new AbortController();
  let working: Promise<void> = Promise.resolve();
  try {
    await runStage({ ...session.stage, signal: forever, hurry: forever }, () => {
      working = work({ signal: AbortSignal.any([signal, failed.signal]) });
      return working;
    });
  } catch (error) {
    failed.abort();
    await working.catch(() => undefined);
    throw error;
  }
}

function eventsOf(session: RunSession): SessionEvents {
  return {
    onBegun: (step) => {
      const { name, attempt } = session.directory;
      session.note(`Resumed: run ${name}, from step ${step}, attempt ${attempt}`);
      session.beginAt(step);
    },
    onAgain: ({ component, index }, how) => session.restarted({ component, index, exit: how, deaths: 1 }),
  };
}

/** Asks every host for its version. Errors: that of `askHost` for the only host that has one, else `PRL_SSH` with all of them. */
async function greet(hosts: ReadonlySet<Host>, { hosts: file, signal }: SshOptions): Promise<void> {
  const asked = [...hosts].map((host) => askHost(host, file, { order: null, deadlineMs: GREETING_MS, signal }));
  const answers = await untilInterrupted(signal, Promise.allSettled(asked));
  const refused = answers.filter((answer) => answer.status === "rejected").map(({ reason }): unknown => reason);
  if (refused.length === 1) throw refused[0];
  const lines = refused.map((error) => `\n  ${messageOf(error)}`);
  if (lines.length > 0) throw new PrlError("PRL_SSH", `${lines.length} hosts cannot take part:${lines.join("")}`);
}

function named(config: RlConfig, name: string): RlConfig {
  return { ...config, run: { ...config.run, name } };
}

async function openSession(
  config: RlConfig,
  { name, path }: { name: string; path: string },
  { signal, hurry, onEvent, resume }: SshOptions,
): Promise<RunSession> {
  const attempt = resume === undefined ? 1 : (await lastAttempt(path)) + 1;
  return RunSession.open({
    directory: { name, path, attempt, isHeld: true },
    startStep: resume === undefined ? 0 : Infinity,
    maxSteps: config.max_steps,
    sftSteps: null,
    supervised: false,
    evaluationSources: (config.orchestrator.eval?.source ?? []).map((source) => source.name),
    prometheusPort: launcherPrometheusPort(config),
    logRules: logRules(config.log),
    signal,
    hurry,
    onEvent,
  });
}

async function lastAttempt(runDir: string): Promise<number> {
  const logs = join(runDir, "logs");
  const names = (await ifThere(readdir(logs), logs)) ?? [];
  return Math.max(0, ...names.map((name) => Number(/^attempt_(\d+)$/u.exec(name)?.[1] ?? 0)));
}

/** The config of the warm start, which the trainer's host gets too. */
async function warmStartText(config: RlConfig): Promise<string | null> {
  if (config.warm_start === null) return null;
  const overrides = { model: config.model, seed: config.seed };
  const { config: sft } = await loadConfig([config.warm_start.sft], overrides, { kind: "sft", env: {} });
  return tomlWithOrigins(sft, new Map());
}

interface OrderSources {
  readonly resume: ResumeRequest | undefined;
  readonly key: string;
  /** PRL_ENV_WORKER_TOKEN of the orchestrator and the env workers. */
  readonly workerToken: string;
  readonly attempt: number;
  /** The run directory here. */
  readonly path: string;
  readonly warmStart: string | null;
}

async function ordersOf(plan: HostPlan, sources: OrderSources): Promise<[Part, PartOrder][]> {
  const isTogether = plan.trainer === plan.orchestrator;
  const owners = new Map<string, LineOwner>([["orchestrator-0", isTogether ? "all" : "others"]]);
  if (!isTogether) owners.set("trainer-0", "trainer");
  const { path, resume, key, workerToken, attempt, warmStart } = sources;
  const orders = plan.parts.map(async (part): Promise<[Part, PartOrder]> => {
    const { name, component, command, index, kind, runDir, host } = part;
    const owner = owners.get(name);
    const follow = owner === undefined ? {} : await receivedBytes(path, owner);
    const isWorker = component === "env-worker";
    const callsWorkers = plan.hasRemoteWorkers && component === "orchestrator";
    // Code of environments gets no key of the run.
    const tokens = {
      ...(!isWorker && { PRL_TRANSPORT_TOKEN: key }),
      ...((isWorker || callsWorkers) && { PRL_ENV_WORKER_TOKEN: workerToken }),
    };
    const env = { ...host.env, ...tokens };
    const log = logLimits(part.config.log);
    const place = { do: "part", protocol: PROTOCOL, name, component, command, index, kind, runDir, log } as const;
    return [part, { ...place, configs: configsOf(part, warmStart), attempt, resume: resume ?? null, env, follow }];
  });
  return Promise.all(orders);
}

function configsOf({ name, config, runDir }: Part, warmStart: string | null): Record<string, string> {
  // Parts on one host share the file, except for workers, each of which listens on another port.
  const file = config.orchestrator.remote_env_workers.listen === null ? FILES.config : `${name}.toml`;
  const { warm_start: stage } = config;
  const own =
    stage === null ? config : { ...config, warm_start: { ...stage, sft: join(runDir, "ssh", FILES.warmStart) } };
  return {
    [file]: tomlWithOrigins(own, new Map()),
    ...(warmStart !== null && { [FILES.warmStart]: warmStart }),
  };
}

/** Records which part is on which host, for commands that look at the run later. */
function shown({ parts }: HostPlan): object[] {
  return parts.map(({ name, host, runDir }) => ({
    part: name,
    host: host.name,
    address: host.address,
    run_dir: runDir,
  }));
}
