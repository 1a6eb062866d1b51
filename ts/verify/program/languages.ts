/** How programs of each language are built, started and recognised as no program at all. */
import type { RunLimits } from "../../sandbox/index.ts";

export type ProgramLanguage = "python" | "javascript" | "c";

export interface Language {
  /** What the code is written to. */
  readonly file: string;
  readonly program: readonly string[];
  /** Makes the program out of the file. */
  readonly build?: readonly string[];
  /** Exits with 0 when the file could be a program; asked only when a run looks as if it could not. */
  readonly check?: readonly string[];
  /** What standard error holds then. */
  readonly syntaxError?: RegExp;
  /** What standard error ends with when the language itself ran out of memory. */
  readonly outOfMemory: RegExp;
}

export const LANGUAGES: Readonly<Record<ProgramLanguage, Language>> = {
  python: {
    file: "main.py",
    program: ["python3", "main.py"],
    check: ["python3", "-c", "compile(open('main.py', 'rb').read(), 'main.py', 'exec')"],
    syntaxError: /\b(?:SyntaxError|IndentationError|TabError)\b/u,
    outOfMemory: /^MemoryError\b/mu,
  },
  javascript: {
    file: "main.js",
    program: ["node", "main.js"],
    check: ["node", "--check", "main.js"],
    syntaxError: /\bSyntaxError\b/u,
    outOfMemory: /heap out of memory|^RangeError: Array buffer allocation failed/mu,
  },
  c: {
    file: "main.c",
    program: ["./main"],
    build: ["gcc", "-O2", "-w", "-o", "main", "main.c", "-lm"],
    outOfMemory: /(?!)/u,
  },
};

/** A compiler takes longer than a program should. */
export const BUILD_LIMITS: RunLimits = { wallMs: 30_000, cpuMs: 30_000 };
