/** Finds the folder of a model that a command line names, and shows a download on stderr. */
import { stat } from "node:fs/promises";

import { PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";
import { hubSettings } from "../../hub/index.ts";
import { adapterBase, type DownloadProgress, ensureModel } from "../../models/index.ts";
import { DownloadBar, DownloadLines } from "../../monitors/index.ts";
import type { CommandIo } from "../command.ts";

/** Shows a download: a bar on a terminal, else lines. */
export function downloadView(io: CommandIo): (progress: DownloadProgress) => void {
  const write = (text: string): void => void io.stderr.write(text);
  const view = io.isTerminal ? new DownloadBar(write, io.columns) : new DownloadLines((line) => write(`${line}\n`));
  return (progress) => view.show(progress);
}

/** `work`, which ends by itself when a signal stops the process; its error then names the signal. */
export async function namingTheStop<Result>({ signal }: CommandIo, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    throw signal.aborted ? new Error(`stopped by ${String(signal.reason)}; what has come is kept`) : cause;
  }
}

/** A model on this disk. */
export interface ModelFolder {
  /** Absolute path. */
  readonly dir: string;
  /** As servers name it: `org/name`, or the last part of the path. */
  readonly name: string;
  /** Folder of the adapter that was named, whose model is in `dir`; null: the model itself was named. */
  readonly adapter: string | null;
}

/**
 * The folder that `model` means: a path, or the name of a model of the hub, which is downloaded; for an adapter's folder, that of its model.
 * Errors: PRL_CONFIG_FILE, PRL_WEIGHTS_ADAPTER, those of a download.
 */
export async function modelFolder(model: string, io: CommandIo): Promise<ModelFolder> {
  const { cwd, env, signal } = io;
  const options = { cwd, settings: hubSettings(env), signal, onProgress: downloadView(io) };
  const located = await namingTheStop(io, ensureModel(model, options));
  await assertFolder(located.dir);
  const base = await adapterBase(located.dir);
  if (base === null) return { ...located, adapter: null };
  const { dir } = await namingTheStop(io, ensureModel(base, options));
  await assertFolder(dir);
  return { dir, name: located.name, adapter: located.dir };
}

async function assertFolder(dir: string): Promise<void> {
  const found = await ifThere(stat(dir), dir);
  if (found?.isDirectory() !== true) throw new PrlError("PRL_CONFIG_FILE", `${dir} is no folder with a model`);
}
