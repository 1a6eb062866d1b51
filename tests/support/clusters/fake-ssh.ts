/** A stand-in for ssh on PATH that does what a test says. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { onTestFinished, vi } from "vitest";

import { PROTOCOL } from "../../../ts/launcher/ssh/host-protocol.ts";
import { packageManifest } from "../../../ts/version.ts";

/** What `prl host-part` says first. */
export const HELLO = JSON.stringify({ prl: "hello", protocol: PROTOCOL, version: packageManifest().version });

/** Makes `script` (of sh) the program ssh until the end of the test. Returns its folder, which is the script's working directory too. */
export function fakeSsh(script: string): string {
  const dir = mkdtempSync(join(tmpdir(), "prl-fake-ssh-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "ssh"), `#!/bin/sh\ncd '${dir}' || exit 1\n${script}\n`);
  chmodSync(join(dir, "ssh"), 0o755);
  vi.stubEnv("PATH", `${dir}${delimiter}${process.env["PATH"] ?? ""}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  return dir;
}
