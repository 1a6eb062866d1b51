/** Checks Node, Rust, the native addon and the processor's instruction sets. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { explain } from "../../errors.ts";
import { packageManifest } from "../../version.ts";
import { ok, problem, warning, type Check } from "./check.ts";

const BUILD_ADDON = "run `npm run build:native -- --release` in the package's folder";
const RUST_MINIMUM = [1, 95] as const;
const COMMAND_TIMEOUT_MS = 10_000;

export async function toolchainChecks(env: Readonly<Record<string, string | undefined>>): Promise<Check[]> {
  const [cargo, addon] = await Promise.all([cargoVersion(), loadAddonInfo()]);
  return [nodeCheck(process.versions.node), rustCheck(cargo, "info" in addon), ...addonChecks(addon, env["PRL_ISA"])];
}

/** Node's version against package.json's engines, `^20.19.0 || >=22.12.0`. */
export function nodeCheck(version: string): Check {
  const range = packageManifest().engines.node;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const fits = range.split("||").some((part) => {
    const match = /^(\^|>=)(\d+)\.(\d+)/.exec(part.trim());
    if (match === null) return false;
    const [wantedMajor, wantedMinor] = [Number(match[2]), Number(match[3])];
    if (major === wantedMajor) return minor >= wantedMinor;
    return match[1] === ">=" && major > wantedMajor;
  });
  if (fits) return ok("Node", version);
  return problem("Node", `${version} does not fit ${range}`, "install Node 20.19 or newer, 22.12 or newer, or 24");
}

export function rustCheck(version: string | null, hasAddon: boolean): Check {
  const wanted = RUST_MINIMUM.join(".");
  const make = hasAddon ? warning : problem;
  if (version === null)
    return make("Rust", "cargo was not found", `install Rust ${wanted} or newer; the native addon is built with it`);
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const fits = major > RUST_MINIMUM[0] || (major === RUST_MINIMUM[0] && minor >= RUST_MINIMUM[1]);
  return fits
    ? ok("Rust", `cargo ${version}`)
    : make("Rust", `cargo ${version} is older than ${wanted}`, "run `rustup update stable`");
}

type AddonState = { info: { version: string; isaTiers: readonly string[] } } | { error: string };

function addonChecks(addon: AddonState, chosen: string | undefined): Check[] {
  if ("error" in addon) return [problem("Native addon", addon.error, BUILD_ADDON)];
  const { version, isaTiers } = addon.info;
  const own = packageManifest().version;
  const versionCheck =
    version === own
      ? ok("Native addon", `version ${version}`)
      : warning("Native addon", `version ${version} in a package of version ${own}`, BUILD_ADDON);
  return [versionCheck, isaCheck(isaTiers, chosen)];
}

export function isaCheck(tiers: readonly string[], chosen: string | undefined): Check {
  const best = tiers.at(-1) ?? "none";
  const all = `${tiers.join(", ")}; the engine uses ${chosen ?? best}`;
  if (chosen !== undefined && !tiers.includes(chosen)) {
    return problem(
      "Instruction sets",
      `PRL_ISA=${chosen} is not among ${tiers.join(", ")}`,
      "unset PRL_ISA or choose one of these",
    );
  }
  if (tiers.length <= 1)
    return warning("Instruction sets", all, "without AVX2 the engine is several times slower; use another machine");
  return ok("Instruction sets", all);
}

async function loadAddonInfo(): Promise<AddonState> {
  try {
    const { addonInfo } = await import("../../native/index.ts");
    return { info: await addonInfo() };
  } catch (error) {
    return { error: explain(error).replaceAll("\n", ";") };
  }
}

async function cargoVersion(): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)("cargo", ["--version"], {
      timeout: COMMAND_TIMEOUT_MS,
      killSignal: "SIGKILL",
    });
    return /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null;
  } catch {
    return null; // It is not installed, or broken: installing it repairs both.
  }
}
