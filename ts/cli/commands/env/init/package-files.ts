/**
 * The files of a new environment package: those of a folder of `configs/environment-templates`, and the manifest that all have.
 *
 * The templates are real modules, so that they are type-checked and tested as they are; there the environment is called `my-env`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

import { ENVIRONMENT_API, ENVIRONMENT_KEYWORD } from "../../../../environments/internal.ts";
import type { Template } from "./templates.ts";

/** The npm package of prl; `prl` itself is the name of its command. */
const PRL_PACKAGE = "prl-lm";
/** The name in the templates. */
const PLACEHOLDER = /\bmy-env\b/gu;

export interface TemplateNames {
  /** Name of the npm package: `loud`, `@owner/loud`. */
  readonly packageName: string;
  /** Name of the environment. */
  readonly name: string;
  /** The specifier that npm installs `prl-lm` from. */
  readonly prlSpec: string;
}

/** Contents by path within the package. `folder`: that of the template. */
export function templateFiles(
  folder: string,
  template: Template,
  names: TemplateNames,
): Readonly<Record<string, string>> {
  const copied = filesBelow(folder).map((path) => {
    const called = path === "README.md" ? names.packageName : names.name;
    return [path, readFileSync(join(folder, path), "utf8").replaceAll(PLACEHOLDER, called)] as const;
  });
  return {
    "package.json": `${JSON.stringify(manifest(template, names), null, 2)}\n`,
    "tsconfig.json": `${JSON.stringify(TSCONFIG, null, 2)}\n`,
    ".gitignore": "node_modules/\ndist/\noutputs/\n",
    ...Object.fromEntries(copied),
  };
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .toSorted();
}

function manifest({ needs, ships = [] }: Template, { packageName, prlSpec }: TemplateNames): object {
  return {
    name: packageName,
    version: "0.1.0",
    description: "An environment for prl",
    keywords: [ENVIRONMENT_KEYWORD],
    license: "UNLICENSED",
    type: "module",
    exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
    files: ["dist", "!dist/*.test.*", "src", ...ships, "*.toml"],
    prl: {
      environment: "./dist/index.js",
      source: "./src/index.ts",
      api: ENVIRONMENT_API,
      ...(needs === undefined ? {} : { needs }),
    },
    scripts: {
      build: "tsc",
      prepack: "npm run build",
      test: "npm run build && node --test dist/index.test.js",
      gate: "prl env test .",
    },
    peerDependencies: { [PRL_PACKAGE]: "*" },
    peerDependenciesMeta: { [PRL_PACKAGE]: { optional: true } },
    devDependencies: { "@types/node": "^20.19.0", [PRL_PACKAGE]: prlSpec, typescript: ">=5.8" },
  };
}

const TSCONFIG = {
  compilerOptions: {
    rootDir: "src",
    outDir: "dist",
    target: "es2022",
    module: "nodenext",
    types: ["node"],
    strict: true,
    declaration: true,
    skipLibCheck: true,
  },
  include: ["src"],
};
