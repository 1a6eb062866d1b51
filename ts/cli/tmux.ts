/**
 * The part of tmux that watching a run needs: sessions that are marked as ours, a pane per command, joining a session.
 *
 * Every call except joining ends within seconds or fails. Sessions of others are never touched: our sessions carry the option `@prl_run`.
 */
import { execFile, spawn } from "node:child_process";

import { PrlError } from "../errors.ts";

const DEADLINE_MS = 10_000;
const MARK = "@prl_run";
const WINDOW = { "remain-on-exit": "on", "pane-border-status": "top", "pane-border-format": " #{pane_title} " };

export interface TmuxSession {
  name: string;
  /** Run directory that it watches. */
  runDir: string;
}

export interface Pane {
  title: string;
  /** Program and its arguments; no shell sees them. */
  command: readonly string[];
}

export type TmuxEnvironment = Readonly<Record<string, string | undefined>>;

/** Existing sessions that prl made. @throws PrlError `PRL_TMUX` from here and from everything below */
export async function sessions(env: TmuxEnvironment): Promise<TmuxSession[]> {
  let text: string;
  try {
    text = await tmux(["list-sessions", "-F", `#{session_name}\t#{${MARK}}`], env);
  } catch (error) {
    // Without a session there is no server to ask.
    if (error instanceof PrlError && /no server running|error connecting to/.test(error.message)) return [];
    throw error;
  }
  return text.split("\n").flatMap((line) => {
    const [name = "", runDir = ""] = line.split("\t");
    return runDir === "" ? [] : [{ name, runDir }];
  });
}

/** Makes a session of these panes, tiled; it stays when their commands have ended. */
export async function openSession(
  { name, runDir }: TmuxSession,
  panes: readonly Pane[],
  cwd: string,
  env: TmuxEnvironment,
): Promise<void> {
  const [first, ...others] = panes;
  if (first === undefined) return;
  // The size has room for every pane; a terminal that joins sets its own size. Windows may count from 1, so panes are named by their ids.
  const size = ["-x", "200", "-y", String(20 * panes.length)];
  const print = ["-P", "-F", "#{pane_id}", "-c", cwd];
  let pane = await tmux(["new-session", "-d", "-s", name, ...print, ...size, "-n", "logs", ...first.command], env);
  const window = pane;
  await tmux(["set-option", "-t", window, MARK, runDir], env);
  for (const [option, value] of Object.entries(WINDOW)) {
    await tmux(["set-option", "-w", "-t", window, option, value], env);
  }
  await tmux(["select-pane", "-t", pane, "-T", first.title], env);
  for (const { title, command } of others) {
    pane = await tmux(["split-window", "-d", ...print, "-t", pane, ...command], env);
    await tmux(["select-pane", "-t", pane, "-T", title], env);
    await tmux(["select-layout", "-t", window, "tiled"], env);
  }
  await tmux(["select-pane", "-t", window], env);
}

export async function killSession(name: string, env: TmuxEnvironment): Promise<void> {
  await tmux(["kill-session", "-t", `=${name}`], env);
}

/** Gives the terminal to the session until its user leaves it; inside tmux its client goes there. */
export async function join(name: string, env: TmuxEnvironment): Promise<void> {
  if ((env["TMUX"] ?? "") !== "") {
    await tmux(["switch-client", "-t", `=${name}`], env);
    return;
  }
  await new Promise<void>((resolve, reject) => {
    const child = spawn("tmux", ["attach-session", "-t", `=${name}`], { stdio: "inherit", env });
    child.on("error", (cause) => reject(refusal(cause, "")));
    child.on("close", (code) => (code === 0 ? resolve() : reject(refusal(null, `attach-session ended with ${code}`))));
  });
}

async function tmux(args: readonly string[], env: TmuxEnvironment): Promise<string> {
  return new Promise((resolve, reject) => {
    // -u: names and paths as they are, whatever the locale.
    execFile("tmux", ["-u", ...args], { env, timeout: DEADLINE_MS, killSignal: "SIGKILL" }, (cause, stdout, stderr) => {
      if (cause === null) resolve(stdout.trimEnd());
      else reject(refusal(cause, `${args[0] ?? ""}: ${stderr.trim()}`));
    });
  });
}

function refusal(cause: (Error & { code?: unknown }) | null, said: string): PrlError {
  if (cause?.code === "ENOENT") {
    const advice = "install it (apt install tmux, brew install tmux), or use prl logs -f <run> <component> instead";
    return new PrlError("PRL_TMUX", `there is no program tmux on PATH: ${advice}`, { cause });
  }
  return new PrlError("PRL_TMUX", `tmux refused: ${said}`, cause === null ? {} : { cause });
}
