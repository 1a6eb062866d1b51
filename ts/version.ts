/** `prl --version`: this package, its native addon, and what they run on. */
import { readFileSync } from "node:fs";

export interface VersionInfo {
  readonly version: string;
  readonly node: string;
  /** Null when the addon is not built or does not load. */
  readonly addon: { readonly version: string; readonly isaTiers: readonly string[] } | null;
}

export async function versionInfo(): Promise<VersionInfo> {
  return { version: packageManifest().version, node: process.versions.node, addon: await addon() };
}

export function versionText({ version, node, addon: native }: VersionInfo): string {
  const nativeText =
    native === null ? "not built (prl doctor says more)" : `${native.version}, ${native.isaTiers.join(" ")}`;
  return `prl ${version}\nnative addon: ${nativeText}\nnode: ${node}\n`;
}

/** The versions in package.json. Sources and build output are equally deep below it. */
export function packageManifest(): { version: string; engines: { node: string } } {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as ReturnType<
    typeof packageManifest
  >;
}

async function addon(): Promise<VersionInfo["addon"]> {
  try {
    const { addonInfo } = await import("./native/index.ts");
    const { version, isaTiers } = await addonInfo();
    return { version, isaTiers };
  } catch {
    return null; // `prl doctor` shows the reason.
  }
}
