/** Functions that ports call, by language and name. */
import type { ProgramLanguage } from "../../../../../verify/index.ts";

export const HELPERS: Readonly<Record<ProgramLanguage, Readonly<Record<string, string>>>> = {
  python: {
    to_int32: "def to_int32(a):\n    return (a + 2 ** 31) % 2 ** 32 - 2 ** 31",
    narrow: "def narrow(a, bits):\n    return (a + 2 ** (bits - 1)) % 2 ** bits - 2 ** (bits - 1)",
    trunc_div: "def trunc_div(a, b):\n    q = abs(a) // abs(b)\n    return q if (a < 0) == (b < 0) else -q",
    trunc_mod: "def trunc_mod(a, b):\n    r = abs(a) % abs(b)\n    return -r if a < 0 else r",
    half_up: "def half_up(a, b):\n    return (2 * a + b) // (2 * b)",
    steps: "def steps(a, p, q, r):\n    return [p + q, q, r, r][a & 3]",
    steps_apart: "def steps_apart(a, p, q, r):\n    return [p, q, r, r][a & 3]",
    prefix_number:
      'def prefix_number(s):\n    import re\n    found = re.match(r"\\s*[+-]?[0-9]+", s)\n    return int(found.group()) if found else 0',
    whole_number: 'def whole_number(s):\n    s = s.strip()\n    return int(s) if s.removeprefix("-").isdigit() else 0',
    unit_index:
      'def unit_index(s, c):\n    at = s.find(c)\n    return at if at < 0 else len(s[:at].encode("utf-16-le")) // 2',
  },
  javascript: {
    floorDiv:
      "function floorDiv(a, b) {\n  const q = a / b;\n  return a % b !== 0n && (a < 0n) !== (b < 0n) ? q - 1n : q;\n}",
    floorMod: "function floorMod(a, b) {\n  return ((a % b) + b) % b;\n}",
    halfEven:
      "function halfEven(a, b) {\n  const twice = 2n * floorMod(a, b);\n  const down = (a - floorMod(a, b)) / b;\n  return twice > b || (twice === b && down % 2n !== 0n) ? down + 1n : down;\n}",
    pick: "function pick(list, i) {\n  const last = list.length - 1;\n  if (i < 0n) return list[Math.max(0, Number(i) + list.length)];\n  return list[Math.min(last, Number(i))];\n}",
    pickFirst: "function pickFirst(list, i) {\n  return list[Math.max(0, Math.min(list.length - 1, Number(i)))];\n}",
    steps: "function steps(a, p, q, r) {\n  return [p + q, q, r, r][Number(a & 3n)];\n}",
    stepsApart: "function stepsApart(a, p, q, r) {\n  return [p, q, r, r][Number(a & 3n)];\n}",
    stripSet:
      'function stripSet(s, set) {\n  const letters = [...s];\n  while (letters.length > 0 && set.includes(letters[0])) letters.shift();\n  while (letters.length > 0 && set.includes(letters.at(-1))) letters.pop();\n  return letters.join("");\n}',
    capital:
      'function capital(s) {\n  const [first = "", ...rest] = [...s];\n  return first.toUpperCase() + rest.join("").toLowerCase();\n}',
    upperFirst:
      'function upperFirst(s) {\n  const [first = "", ...rest] = [...s];\n  return first.toUpperCase() + rest.join("");\n}',
  },
  c: {
    floor_div:
      "static long long floor_div(long long a, long long b) {\n    long long q = a / b;\n    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;\n}",
    floor_mod:
      "static long long floor_mod(long long a, long long b) {\n    long long r = a % b;\n    return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n}",
    half_even:
      "static long long half_even(long long a, long long b) {\n    long long r = a % b < 0 ? a % b + b : a % b;\n    long long down = (a - r) / b;\n    return 2 * r > b || (2 * r == b && down % 2 != 0) ? down + 1 : down;\n}",
    half_up:
      "static long long half_up(long long a, long long b) {\n    long long n = 2 * a + b, d = 2 * b, q = n / d;\n    return n % d < 0 ? q - 1 : q;\n}",
    mul_mod:
      "static long long mul_mod(long long a, long long b, long long m) {\n    __int128 r = (__int128)a * b % m;\n    return (long long)(r < 0 ? r + m : r);\n}",
    pick: "static long long pick(long long p, long long q, long long r, long long s, long long i) {\n    long long list[4] = {p, q, r, s};\n    if (i < 0) i += 4;\n    return list[i < 0 ? 0 : i > 3 ? 3 : i];\n}",
    pick_first:
      "static long long pick_first(long long p, long long q, long long r, long long s, long long i) {\n    long long list[4] = {p, q, r, s};\n    return list[i < 0 ? 0 : i > 3 ? 3 : i];\n}",
    second_as_text:
      'static int by_text(const void *a, const void *b) {\n    char p[32], q[32];\n    snprintf(p, sizeof p, "%lld", *(const long long *)a);\n    snprintf(q, sizeof q, "%lld", *(const long long *)b);\n    return strcmp(p, q);\n}\n\nstatic long long second_as_text(const long long *xs, int n) {\n    long long copy[64];\n    memcpy(copy, xs, n * sizeof *xs);\n    qsort(copy, n, sizeof *copy, by_text);\n    return copy[1];\n}',
    second:
      "static int by_value(const void *a, const void *b) {\n    long long p = *(const long long *)a, q = *(const long long *)b;\n    return (p > q) - (p < q);\n}\n\nstatic long long second(const long long *xs, int n) {\n    long long copy[64];\n    memcpy(copy, xs, n * sizeof *xs);\n    qsort(copy, n, sizeof *copy, by_value);\n    return copy[1];\n}",
  },
};
