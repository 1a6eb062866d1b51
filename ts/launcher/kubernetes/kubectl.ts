/**
 * Calls the user's `kubectl`. No shell sees the arguments, and every call but a follower of logs ends at its deadline, which for logs begins again with each
 * piece of them. What it may do in the cluster is what the user may: this file knows no address and no key of the cluster.
 */
import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";

import { z } from "zod";

import { onAbort } from "../../async/aborted.ts";
import { messageOf, PrlError } from "../../errors.ts";

/** Applying waits for the API server alone, never for pods. */
const DEADLINE_MS = 60_000;
/** A pod has its grace to end, up to this time; the longest `grace_s` comes to it. */
const DELETE_MS = 120_000;
const MOST_OUTPUT_BYTES = 64 * 1024 * 1024;
const STOP_MS = 3_000;

const listSchema = z.looseObject({ items: z.array(z.unknown()) });
const configSchema = z.looseObject({
  "current-context": z.string().default(""),
  contexts: z
    .array(z.looseObject({ name: z.string(), context: z.looseObject({ namespace: z.string().optional() }) }))
    .nullish(),
});

export type ClusterEnvironment = Readonly<Record<string, string | undefined>>;

/** Where objects are; null: as the user's kubectl is configured. */
export interface Place {
  readonly context: string | null;
  readonly namespace: string | null;
}

/**
 * The place by the names that kubectl's configuration has for it now: the user may choose another context between two calls. What it has no name for stays
 * null, as in a pod, where kubectl needs no configuration. Errors: PRL_KUBERNETES.
 */
export async function namedPlace({ context, namespace }: Place, env: ClusterEnvironment): Promise<Place> {
  if (context !== null && namespace !== null) return { context, namespace };
  const text = await call(["config", "view", "--output=json"], { context: null, namespace: null }, env);
  const { "current-context": current, contexts } = parsed(configSchema, text, "config view answered no configuration");
  const name = context ?? (current === "" ? null : current);
  const known = contexts?.find((one) => one.name === name)?.context;
  return { context: name, namespace: namespace ?? (known === undefined ? null : (known.namespace ?? "default")) };
}

/** Creates or changes the objects of a kustomize folder; returns what kubectl says. Errors: PRL_KUBERNETES. */
export function applyFolder(folder: string, place: Place, env: ClusterEnvironment): Promise<string> {
  return call(["apply", "--kustomize", folder], place, env);
}

/** Objects of the kinds (`job,pod`) that a selector finds. Errors: PRL_KUBERNETES. */
export async function objectsOf(
  kinds: string,
  selector: string,
  place: Place,
  env: ClusterEnvironment,
): Promise<unknown[]> {
  const text = await call(["get", kinds, `--selector=${selector}`, "--output=json"], place, env);
  return parsed(listSchema, text, "get answered no list of objects").items;
}

/**
 * Deletes objects and waits until they and their pods are gone, which might still write to the run's claim; none is no error.
 * Errors: PRL_KUBERNETES.
 */
export function deleteObjects(
  kinds: string,
  selector: string,
  place: Place & { readonly graceS: number },
  env: ClusterEnvironment,
): Promise<string> {
  const waitMs = DELETE_MS + place.graceS * 1000;
  // By default kubectl waits for the objects alone, and leaves their pods to the cluster.
  const wait = ["--ignore-not-found", "--cascade=foreground", "--wait=true", `--timeout=${waitMs / 1000}s`];
  return call(["delete", kinds, `--selector=${selector}`, ...wait], place, env, waitMs + DEADLINE_MS);
}

/** Hands out the lines of all containers of the pods that a selector finds. Errors: PRL_KUBERNETES. */
export async function followLogs(
  { selector, isFollowing, ...place }: Place & { readonly selector: string; readonly isFollowing: boolean },
  onLine: (line: string) => void,
  env: ClusterEnvironment,
  signal: AbortSignal,
): Promise<void> {
  const all = ["--all-containers", "--prefix", "--tail=-1", "--ignore-errors", "--max-log-requests=1024"];
  const args = ["logs", `--selector=${selector}`, ...all, ...(isFollowing ? ["--follow"] : []), ...ofPlace(place)];
  const child = spawn("kubectl", args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const kill = (): void => {
    child.kill("SIGKILL");
    // A program that kubectl has started may have them, too.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const stop = (): void => {
    child.kill("SIGTERM");
    setTimeout(kill, STOP_MS).unref();
  };
  let isLate = false;
  let silence: NodeJS.Timeout | undefined;
  const heard = (): void => {
    clearTimeout(silence);
    if (isFollowing) return;
    silence = setTimeout(() => {
      isLate = true;
      stop();
    }, DEADLINE_MS);
  };
  heard();
  child.stdout.on("data", heard);
  const release = onAbort(signal, stop);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-2000)));
  createInterface({ input: child.stdout }).on("line", onLine);
  try {
    await new Promise<void>((resolve, reject) => {
      child.once("error", (cause) => reject(refusal("logs", cause, said)));
      child.once("close", (code) => {
        if (isLate) reject(new PrlError("PRL_KUBERNETES", `kubectl logs said nothing for ${DEADLINE_MS / 1000} s`));
        else if (code === 0 || signal.aborted) resolve();
        else reject(refusal("logs", new Error(`exit code ${code}`), said));
      });
    });
  } finally {
    clearTimeout(silence);
    release();
  }
}

function parsed<T>(schema: z.ZodType<T>, text: string, problem: string): T {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new PrlError("PRL_KUBERNETES", `kubectl ${problem}: ${text.slice(0, 200)}`, { cause });
  }
}

function ofPlace({ context, namespace }: Place): string[] {
  return [
    ...(context === null ? [] : [`--context=${context}`]),
    ...(namespace === null ? [] : [`--namespace=${namespace}`]),
  ];
}

function call(
  args: readonly string[],
  place: Place,
  env: ClusterEnvironment,
  deadlineMs = DEADLINE_MS,
): Promise<string> {
  // A kubectl that waits for a program which gives it its login may pass over SIGTERM.
  const options = { env, timeout: deadlineMs, killSignal: "SIGKILL" as const, maxBuffer: MOST_OUTPUT_BYTES };
  return new Promise((resolve, reject) => {
    execFile("kubectl", [...args, ...ofPlace(place)], options, (cause, stdout, stderr) => {
      if (cause === null) resolve(stdout);
      else reject(refusal(args[0] ?? "", cause, stderr, deadlineMs));
    });
  });
}

function refusal(
  verb: string,
  cause: Error & { code?: unknown; killed?: boolean },
  said: string,
  deadlineMs = DEADLINE_MS,
): PrlError {
  if (cause.code === "ENOENT") {
    const advice = "install it and give it access to the cluster, or write the manifests alone with --dry-run";
    return new PrlError("PRL_KUBERNETES", `there is no program kubectl on PATH: ${advice}`, { cause });
  }
  // Node ends the program then, too: its error has both.
  if (cause.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") {
    const most = `${MOST_OUTPUT_BYTES / 2 ** 20} MiB`;
    return new PrlError("PRL_KUBERNETES", `kubectl ${verb} printed more than ${most}, which prl does not read`, {
      cause,
    });
  }
  if (cause.killed === true) {
    return new PrlError("PRL_KUBERNETES", `kubectl ${verb} did not end within ${deadlineMs / 1000} s`, { cause });
  }
  const text = said.trim();
  return new PrlError("PRL_KUBERNETES", `kubectl ${verb} refused: ${text === "" ? messageOf(cause) : text}`, { cause });
}
