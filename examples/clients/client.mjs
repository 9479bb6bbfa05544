// A client of ldpaudit's local mechanisms, for node, without dependencies; docs/clients.md is what it implements.
//
// It reads JSON lines: a header, then requests {"input": x}, each answered by {"report": y}, drawn from the operating system's
// randomness. A request that holds "bytes" is a test: its report is drawn from these, and the answer says how many it used.
import { randomFillSync } from "node:crypto";
import { createInterface } from "node:readline";

const PRIME = 2n ** 31n - 1n;
const pool = Buffer.alloc(4096);
let left = 0; // bytes of the pool that are not used yet

/** Exact draws from bytes: those that are given, or else the operating system's. */
class Randomness {
  constructor(given) {
    this.given = given;
    this.used = 0;
  }

  byte() {
    this.used += 1;
    if (this.given) {
      if (this.used > this.given.length) throw new RangeError("needs more bytes than it was given");
      return this.given[this.used - 1];
    }
    if (left === 0) left = randomFillSync(pool).length;
    left -= 1;
    const byte = pool[left];
    pool[left] = 0; // nobody reads it again
    return byte;
  }

  /** A number of 0 ... n-1, each as likely. */
  uniform(n) {
    const bits = n === 1n ? 0 : (n - 1n).toString(2).length;
    while (bits) {
      let drawn = 0n;
      for (let taken = 0; taken < bits; taken += 8) drawn = drawn * 256n + BigInt(this.byte());
      drawn = BigInt.asUintN(bits, drawn);
      if (drawn < n) return drawn;
    }
    return 0n;
  }

  /** True with probability exactly p = [num, den]: its digits are compared with bytes until these differ. */
  coin([num, den]) {
    if (num === den) return true;
    while (num) {
      num *= 256n;
      const digit = Number(num / den), byte = this.byte();
      if (byte !== digit) return byte < digit;
      num %= den;
    }
    return false;
  }
}

const not = ([num, den]) => [den - num, den];
const half = ([num, den]) => [num, 2n * den];
const bit = (coin) => (coin ? 1n : 0n);
const range = (n) => Array.from({ length: Number(n) }, (_, i) => BigInt(i));

/** Hash value of x under public function j: its coefficients are outputs of SplitMix64. */
function bucket(j, x, width) {
  const a = 1n + splitmix(2n * j + 1n) % (PRIME - 1n), b = splitmix(2n * j + 2n) % PRIME;
  return (a * x + b) % PRIME % width;
}

function splitmix(index) {
  let z = BigInt.asUintN(64, index * 0x9e3779b97f4a7c15n);
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

function parity(number) {
  let odd = false;
  for (; number; number &= number - 1n) odd = !odd;
  return odd;
}

/** One of 0 ... n-1 but x. */
function another(x, n, r) {
  const drawn = r.uniform(n - 1n);
  return drawn < x ? drawn : drawn + 1n;
}

function permanent(x, r, { bits, hashes, f }) {
  const signature = new Set(range(hashes).map((j) => bucket(j, x, bits)));
  return range(bits).map((each) => bit(r.coin(signature.has(each) ? not(half(f)) : half(f))));
}

/** How often reports show each bit of what a device keeps for ever, one copy for each value, as 1. */
function shown(kept, r, reports, one, zero) {
  let counts = kept.map(() => 0n);
  for (let i = 0n; i < reports; i++) counts = counts.map((count, each) => count + bit(r.coin(kept[each] ? one : zero)));
  return counts;
}

function hashed(x, r, { g, p, prime }) {
  const a = r.uniform(prime), b = r.uniform(prime), truth = (a * x + b) % prime % g;
  return [a, b, r.coin(p) ? truth : another(truth, g, r)];
}

const MECHANISMS = {
  "randomized_response:": (x, r, { k, p }) => (r.coin(p) ? x : another(x, k, r)),
  "unary_encoding:": (x, r, { k, p, q }) => range(k).map((each) => bit(r.coin(each === x ? p : q))),
  "rappor:permanent": permanent,
  "rappor:": (x, r, m) => shown(permanent(x, r, m), r, m.reports, m.q, m.p),
  "longitudinal_unary:": (x, r, { k, p1, q1, p2, q2, reports }) =>
    shown(range(k).map((each) => bit(r.coin(each === x ? p1 : q1))), r, reports, p2, q2),
  "local_hashing:": hashed,
  "loloha:": (x, r, { g, p1, p2, prime, reports }) => {
    const [a, b, kept] = hashed(x, r, { g, p: p1, prime });
    return [a, b, ...range(reports).map(() => (r.coin(p2) ? kept : another(kept, g, r)))];
  },
  "hadamard_response:": (x, r, { k, p }) => {
    const row = x + 1n, y = r.uniform(2n ** BigInt(k.toString(2).length));
    return r.coin(p) !== parity(y & row) ? y : y ^ (row & -row);
  },
  "count_mean_sketch:": (x, r, { width, hashes, p }) => {
    const j = r.uniform(hashes), own = bucket(j, x, width);
    return [j, ...range(width).map((each) => bit(r.coin(each === own ? p : not(p))))];
  },
  "count_mean_sketch:hadamard": (x, r, { width, hashes, p }) => {
    const j = r.uniform(hashes), coefficient = r.uniform(width);
    return [j, coefficient, r.coin(p) !== parity(coefficient & bucket(j, x, width)) ? 1n : -1n];
  },
  "one_bit:dbitflip": (x, r, { k, d, p }) => {
    const drawn = new Set();
    for (let last = k - d; last < k; last++) {
      const each = r.uniform(last + 1n);
      drawn.add(drawn.has(each) ? last : each);
    }
    return range(k).map((each) => (drawn.has(each) ? bit(r.coin(each === x ? p : not(p))) : -1n));
  },
};

/** JSON of which large integers, which JavaScript would round, are texts. */
const parsed = (line) => JSON.parse(line.replace(/([:[,]\s*)(\d{16,})/g, '$1"$2"'));

/** A fraction "num/den" as a pair, a whole number as itself. */
function exact(value) {
  const [num, den] = String(value).split("/").map(BigInt);
  return typeof value === "string" && !/^\d{16,}$/.test(value) ? [num, den ?? 1n] : num;
}

function answer(request, report, parameters) {
  const r = new Randomness(request.bytes === undefined ? null : Buffer.from(request.bytes, "hex"));
  try {
    const y = report(request.input === null ? null : BigInt(request.input), r, parameters);
    const used = r.given ? `, "used": ${r.used}` : "";
    return `{"report": ${Array.isArray(y) ? `[${y.join(", ")}]` : y}${used}}`;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return JSON.stringify({ error: error.message });
  }
}

let report, parameters;
for await (const line of createInterface({ input: process.stdin })) {
  if (report) {
    console.log(answer(parsed(line), report, parameters));
    continue;
  }
  const header = parsed(line);
  if (header.format !== "ldpaudit.vectors/1") throw new Error("needs a header of format ldpaudit.vectors/1");
  report = MECHANISMS[`${header.mechanism}:${header.variant}`];
  if (!report) throw new Error(`needs another client: ${header.mechanism} is not one of this one's`);
  parameters = Object.fromEntries(Object.entries(header.parameters).map(([key, value]) => [key, exact(value)]));
}
