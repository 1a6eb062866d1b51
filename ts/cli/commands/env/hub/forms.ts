/** The forms of `prl env` that use a hub: an npm registry with environment packages. */
import type { EnvForm } from "../forms.ts";
import { ARGS } from "../options.ts";
import { REGISTRY, TIMEOUT, UNSIGNED, YES } from "./hub-options.ts";

export const HUB_FORMS: readonly EnvForm[] = [
  {
    name: "install",
    usage: "<owner/name[@range] | npm spec | folder>... [--yes]",
    summary:
      "Install environment packages with npm, without running any of their code, and lock them in environments.lock",
    options: [REGISTRY, YES, UNSIGNED, TIMEOUT],
    load: () => import("./install.ts"),
  },
  {
    name: "uninstall",
    usage: "<owner/name>...",
    summary: "Remove installed environment packages and their lines in environments.lock",
    options: [TIMEOUT],
    load: () => import("./uninstall.ts"),
  },
  {
    name: "outdated",
    usage: "",
    summary: "List installed environments of which the hub has newer versions",
    options: [REGISTRY, TIMEOUT],
    load: () => import("./outdated.ts"),
  },
  {
    name: "update",
    usage: "[<owner/name>...] [--yes]",
    summary: "Install the newest versions that package.json allows, of all locked environments or of the named ones",
    options: [REGISTRY, YES, UNSIGNED, TIMEOUT],
    load: () => import("./update.ts"),
  },
  {
    name: "search",
    usage: "[<text>]",
    summary: "Search a hub for environments",
    options: [REGISTRY, TIMEOUT],
    load: () => import("./search.ts"),
  },
  {
    name: "pull",
    usage: "<owner/name[@range]> [--dir <folder>]",
    summary: "Copy the files of a package into a folder, to read or change them",
    options: [
      { flag: "--dir", value: "<folder>", summary: "Folder to make (default: a new one with its name)" },
      REGISTRY,
      UNSIGNED,
      TIMEOUT,
    ],
    load: () => import("./pull.ts"),
  },
  {
    name: "push",
    usage: "[<folder>] [--dry-run]",
    summary: "Check a built package, validate its environment and publish it in a hub",
    options: [
      ARGS,
      { flag: "--dry-run", summary: "Everything but the publication" },
      {
        flag: "--access",
        value: "<who>",
        rule: { is: "one of", values: ["public", "restricted"] },
        summary: "Who may install a scoped package (public)",
      },
      { flag: "--tag", value: "<name>", summary: "Name of the newest version (latest)" },
      REGISTRY,
      TIMEOUT,
    ],
    load: () => import("./push.ts"),
  },
  {
    name: "login",
    usage: "--registry <url> --user <name> [--owner <name>]",
    summary:
      "Write a token of a hub into npm's settings; the password, or with --with-token the token, is read from the input",
    options: [
      REGISTRY,
      { flag: "--user", value: "<name>", summary: "Account; a hub that is open makes it" },
      { flag: "--with-token", summary: "The input is a token" },
      { flag: "--owner", value: "<name>", summary: "Packages of this owner come from this hub from now on" },
    ],
    load: () => import("./login.ts"),
  },
  {
    name: "deprecate",
    usage: "<owner/name[@range]> <message>",
    summary: "Warn at the installation of these versions; an empty message takes the warning back",
    options: [REGISTRY, TIMEOUT],
    load: () => import("./deprecate.ts"),
  },
];
