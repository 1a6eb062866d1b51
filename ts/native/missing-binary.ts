/** Says how the user gets a missing compiled part (the addon, the sandbox daemon). */
import { existsSync } from "node:fs";
import { arch, platform } from "node:os";
import { fileURLToPath } from "node:url";

/** Sources and build output are equally deep below the package's folder. */
const PACKAGE_ROOT = new URL("../../", import.meta.url);

/**
 * One sentence with advice. A checkout builds the part; an installed package got it from the checkout that packed it, and cannot
 * build it; a bundle has no package folder, so files beside it cannot be found.
 *
 * @param what the part, with its article: `the native addon`
 * @param cause what the lookup threw
 */
export function cureForMissing(what: string, cause: unknown): string {
  if (isBundled(cause))
    return `prl-lm was bundled, and ${what} is loaded from the package's own folder: leave prl-lm out of the bundle (esbuild: --external:prl-lm)`;
  if (existsSync(fileURLToPath(new URL("native/Cargo.toml", PACKAGE_ROOT))))
    return "run `npm run build:native -- --release` in the checkout (needs Rust)";
  return (
    `this copy of prl-lm was packed without ${what} for ${platform()}-${arch()}: on such a machine run \`npm install\` and \`npm pack\` ` +
    "in a checkout (needs Rust), and install the tarball that it makes"
  );
}

/** `#native` is a name in this package's manifest: where it is unknown, the code was bundled without its package. */
function isBundled(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  const code = "code" in cause ? cause.code : undefined;
  const isUnknownName = code === "ERR_PACKAGE_IMPORT_NOT_DEFINED" || code === "MODULE_NOT_FOUND";
  // A bundle of CommonJS modules has no import.meta.url.
  return (isUnknownName && cause.message.includes("#native")) || code === "ERR_INVALID_ARG_VALUE";
}

/**
 * The cause that helps: why a file that is there does not load (another libc, a truncated file). napi's generated loader tries the
 * addon's file and three packages that prl does not have, and chains their errors below advice about npm, which would mislead here;
 * where every one of them is only missing there is no cause. What another loader throws is returned as it is.
 */
export function loadFailure(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !thrown.message.startsWith("Cannot find native binding")) return thrown;
  for (let cause = thrown.cause; cause instanceof Error; cause = cause.cause) {
    if (!cause.message.startsWith("Cannot find module")) return new Error(cause.message);
  }
  return undefined;
}
