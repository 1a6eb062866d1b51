/** How programs of each language are built and started, and how invalid ones are recognised. */
import type { RunLimits } from "../../sandbox/index.ts";

export type ProgramLanguage = "python" | "javascript" | "c";

export interface Language {
  /** File that the code is written to. */
  readonly file: string;
  readonly program: readonly string[];
  /** Makes the program out of the file. */
  readonly build?: readonly string[];
  /** Exits with 0 when the file is a valid program; called only when a run suggests that it is not. */
  readonly check?: readonly string[];
  /** Text of standard error in that case. */
  readonly syntaxError?: RegExp;
  /** End of standard error when the language itself ran out of memory. */
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

/** A compiler may take longer than a program. */
export const BUILD_LIMITS: RunLimits = { wallMs: 30_000, cpuMs: 30_000 };
