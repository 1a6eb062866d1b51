/**
 * What a process of a run says of its own failure: `run/failure-<component>-<index>.json`, written as the last thing it does, for whoever
 * started it. A process that was killed leaves none. Written without waiting: the process may be about to exit.
 */
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describeError, type ErrorDescription, explain } from "./errors.ts";
import { ifThere } from "./file-presence.ts";

/** A process's place in a run. */
export interface RunPlace {
  runDir: string;
  component: string;
  index: number;
}

/** Of this process; null: it is no part of a run. */
let ownPlace: RunPlace | null = null;

export function tellFailureAt(place: RunPlace): void {
  ownPlace = place;
}

/** Leaves a note of what ends this process, when it is part of a run. */
export function noteFailure(error: unknown): void {
  if (ownPlace === null) return;
  const path = notePath(ownPlace);
  try {
    mkdirSync(join(ownPlace.runDir, "run"), { recursive: true });
    writeFileSync(`${path}.tmp`, JSON.stringify({ pid: process.pid, ...describeError(error) }));
    renameSync(`${path}.tmp`, path);
  } catch (cause) {
    // A full disk may be what ends it; its log and its exit code say the rest.
    process.stderr.write(`prl: no note of the failure: ${explain(cause)}\n`);
  }
}

/** What the process `pid` noted at this place; null when it noted nothing that can be read. Errors: PRL_IO. */
export async function readFailureNote(place: RunPlace, pid: number): Promise<ErrorDescription | null> {
  const path = notePath(place);
  const text = await ifThere(readFile(path, "utf8"), path);
  if (text === null) return null;
  const note = parsed(text);
  if (note?.["pid"] !== pid) return null;
  const { code, message } = note;
  return typeof code === "string" && typeof message === "string" ? { code, message } : null;
}

function notePath({ runDir, component, index }: RunPlace): string {
  return join(runDir, "run", `failure-${component}-${index}.json`);
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}
