// A second checker of ldpaudit's proofs, written from docs/proof-format.md alone, by another hand than verify_certificate.py.
//
//     node second_checker.mjs FILE.json ...
//
// VALID, INVALID or NO PROOF for each proof of a file (a bare proof or a certificate). The exit code is 0 if every file holds a
// proof and all proofs are valid. All numbers are BigInt: fractions [n, d] with d > 0, or ends of intervals in units of 2^-W.
// An index of an array is the only plain number.

import { readFileSync } from "node:fs";

class Refused extends Error {}
const need = (holds, reason) => { if (!holds) throw new Refused(reason); };
const max = (a, b) => (a > b ? a : b), min = (a, b) => (a < b ? a : b);
const floorDiv = (a, b) => { const q = a / b; return a % b < 0n ? q - 1n : q; }; // b > 0
const ceilDiv = (a, b) => -floorDiv(-a, b);
const bits = (n) => BigInt(n.toString(16).length) * 4n;
const gcd = (a, b) => { while (b) [a, b] = [b, a % b]; return a; };
const at = (table, i) => table[Number(i)];

// ---- Files: JSON with whole numbers, each key once. ----

function parse(text) {
  let i = 0;
  const match = (pattern) => { pattern.lastIndex = i; const m = pattern.exec(text); if (m) i = pattern.lastIndex; return m && m[0]; };
  const space = () => match(/[ \t\n\r]*/y);
  const string = () => {
    const token = match(/"(?:[^"\\\u0000-\u001f]+|\\.)*"/y);
    need(token !== null, "no JSON: a string was expected");
    try { return JSON.parse(token); } catch { throw new Refused("no JSON: a string has an unknown escape"); }
  };
  const value = (depth) => {
    need(depth < 64, "no JSON that is nested less than 64 deep");
    space();
    let found;
    if (text[i] === "{") {
      found = new Map();
      i++, space();
      while (text[i] !== "}") {
        if (found.size) need(match(/,/y), "no JSON: a comma was expected");
        space();
        const key = string();
        need(!found.has(key), "a key appears twice");
        space();
        need(match(/:/y), "no JSON: a colon was expected");
        found.set(key, value(depth + 1));
      }
      i++;
    } else if (text[i] === "[") {
      found = [];
      i++, space();
      while (text[i] !== "]") {
        if (found.length) need(match(/,/y), "no JSON: a comma was expected");
        found.push(value(depth + 1));
      }
      i++;
    } else if (text[i] === '"') found = string();
    else {
      const token = match(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|-?Infinity|NaN/y);
      need(token !== null, "no JSON: a value was expected");
      found = /^-?\d{1,10000}$/.test(token) ? BigInt(token) : Symbol.for(token); // a symbol is accepted nowhere in a proof
    }
    space();
    return found;
  };
  const whole = value(0);
  need(i === text.length, "no JSON: more than one value");
  return whole;
}

function fraction(value, what) {
  if (typeof value === "bigint") value = String(value);
  need(typeof value === "string" && value.length <= 10000, `${what}: a number is whole, or text`);
  const m = /^(\d+)(?:\/(\d+)|\.(\d+))?$/.exec(value);
  need(m && (m[0].length === value.length), `${what}: a number has at most one slash or one point`);
  const d = m[2] !== undefined ? BigInt(m[2]) : m[3] !== undefined ? 10n ** BigInt(m[3].length) : 1n;
  need(d > 0n, `${what}: a number has a denominator above 0`);
  const n = m[3] !== undefined ? BigInt(m[1] + m[3]) : BigInt(m[1]), g = gcd(n, d);
  return [n / g, d / g];
}
function whole(value, least, most, what) {
  const [n, d] = fraction(value, what);
  need(d === 1n && n >= least && n <= most, `${what} is a whole number from ${least} to ${most}`);
  return n;
}
function chance(value, what) {
  const f = fraction(value, what);
  need(f[0] <= f[1], `${what} is at most 1`);
  return f;
}
function keys(record, names, what) {
  need(record instanceof Map, `${what} is an object`);
  need(record.size === names.length && names.every((n) => record.has(n)), `${what} has exactly the keys ${names.join(", ")}`);
  return names.map((n) => record.get(n));
}

// ---- The exponential of n/d, in units of 2^-W: [below, above]. ----

function exponential([n, d], W) {
  if (n === 0n) return [1n << W, 1n << W];
  if (n < 0n) {
    const [low, high] = exponential([-n, d], W);
    return [(1n << (2n * W)) / high, ceilDiv(1n << (2n * W), low)];
  }
  need(n <= 100000n * d, "an epsilon of at most 100000");
  const halvings = bits(n / d) + 8n, w = W + 4n * halvings + 64n, one = 1n << w, den = d << halvings;
  let low = one, high = one, below = one, above = one;
  for (let k = 1n; above > 1n; k++) { // x <= 2^-8: what is left is less than the last term
    below = (below * n) / (den * k), above = ceilDiv(above * n, den * k);
    low += below, high += above;
  }
  high += above;
  for (let k = 0n; k < halvings; k++) low = (low * low) >> w, high = ((high * high) >> w) + 1n;
  return [low >> (w - W), (high >> (w - W)) + 1n];
}
const precision = ([n, d]) => 512n + 4n * (ceilDiv(n < 0n ? -n : n, d) + 1n);

// ---- Words. A pair of laws is {den, cells: [[p, q, b]]}: masses of classes of views, in units of 1/den. b is the blanket's. ----

const flipped = (pair) => ({ ...pair, cells: pair.cells.map(([p, q, b]) => [q, p, b]) });

// Independent runs of plans on inputs of their own, as {leaf: [[pairs of one direction], ...], times}. With a witness of "starts"
// sums are counts, with one of "step" shuffles hide reports; otherwise a view made of reports costs at most the reports.
function parts(plan, relation, times, sayNot, witness) {
  need(plan instanceof Map, "a plan is an object");
  const word = plan.get("word"), fields = (...names) => keys(plan, ["word", ...names], `the word ${String(word).slice(0, 40)}`).slice(1);
  const most = 10n ** 18n;
  if (word === "repeat") {
    const [of, n] = fields("of", "times");
    return parts(of, relation, times * whole(n, 1n, most, "times"), sayNot, witness);
  }
  if (word === "compose") {
    const [of] = fields("of");
    need(Array.isArray(of) && of.length > 0 && of.length <= 10000, "of is a list of plans");
    return of.flatMap((each) => parts(each, relation, times, sayNot, witness));
  }
  if (word === "shuffle" || word === "sum") {
    const noisy = word === "sum" && plan.has("discrete_gaussian");
    let [of, users, noise = []] = fields("of", "users", ...(noisy ? ["discrete_gaussian"] : []));
    need(Array.isArray(noise), "variances of noise");
    noise = noise.map((each) => fraction(each, "a variance"));
    users = whole(users, 1n, most, "users");
    need(!sayNot, "no rule for what a view that is made of reports costs at least");
    if (witness.has("starts")) {
      need(of instanceof Map, "a plan is an object");
      if (word === "sum" && of.get("word") === "bits") {
        const [p, q] = ["p", "q"].map((key) => chance(of.get(key), key)), [x, y] = ["only_here", "only_there"].map((key) => whole(of.get(key), 0n, 200n, key));
        return [{ leaf: [[counting(p, q, users, witness, noise)]], times: times * (x + y) }];
      }
      need(of.get("word") === "randomized_response" && of.get("k") === 2n && relation !== "add-remove" && !noise.length, "a count of bits, or of one of two values without noise"); // its two counts have noises of their own
      const p = chance(of.get("p"), "p");
      return [{ leaf: [[counting(p, [p[1] - p[0], p[1]], users, witness, noise)]], times }];
    }
    if (witness.has("step")) {
      const [inner, ...more] = parts(of, relation, 1n, sayNot, new Map());
      need(more.length === 0 && inner.times === 1n && relation !== "add-remove" && users > 1n, "a shuffle of one report");
      const seen = new Map(inner.leaf.flat().map((pair) => [pair.cells?.map(String).sort().join(";"), pair]));
      return [{ leaf: [[{ cost: (c) => worst([...seen.values()].map((pair) => shuffledDelta(pair, users, witness, c))) }]], times }];
    }
    return parts(of, relation, times, sayNot, witness);
  }
  return [{ leaf: leaf(word, fields, relation, witness), times }];
}

// ---- Counts: {first, low, high, rest}: from place `first` on a mass between low and high, in units of 2^-V; rest lies elsewhere. ----

const V = 256n;
const worst = (list) => list.reduce((a, b) => (atMost(a, b) ? b : a));
// The law of n coins: outward from the likeliest number of heads by the ratio of neighbouring probabilities, then divided by the sum.
function coins(n, [a, d]) {
  if (n === 0n || a === 0n || a === d) return { first: a === 0n ? 0n : n, low: [1n << V], high: [1n << V], rest: 0n };
  const mode = min(n, ((n + 1n) * a) / d), U = 2n * V, unit = 1n << U, least = 1n << (U - V / 2n);
  const walk = (step) => { // places on one side: ratio is at most 1, and falls
    const found = [];
    let low = unit, high = unit, k = mode, tail = 0n;
    for (;;) {
      const [x, y] = step > 0n ? [(n - k) * a, (k + 1n) * (d - a)] : [k * (d - a), (n - k + 1n) * a];
      if (x === 0n) break;
      if (n > 4000n && high < least && x < y) { tail = ceilDiv(high * x, y - x); break; }
      low = (low * x) / y, high = ceilDiv(high * x, y), k += step;
      found.push([low, high]);
      need(found.length < 2000000, "fewer coins");
    }
    return [found, tail];
  };
  const [below, lowTail] = walk(-1n), [above, highTail] = walk(1n), all = [...below.reverse(), [unit, unit], ...above];
  const sum = all.reduce(([u, v], [x, y]) => [u + x, v + y], [0n, lowTail + highTail]);
  return {
    first: mode - BigInt(below.length), low: all.map(([x]) => (x << V) / sum[1]), high: all.map(([, y]) => ceilDiv(y << V, sum[0])),
    rest: ceilDiv((lowTail + highTail) << V, sum[0]),
  };
}
function together(one, two) {
  const unit = 1n << V;
  return {
    first: one.first + two.first, low: polynomial(one.low, two.low).map((m) => m >> V),
    high: polynomial(one.high, two.high).map((m) => ceilDiv(m, unit)), rest: one.rest + two.rest,
  };
}
// What P - cQ is at most, where P adds `change` to what is hidden with chance p, and Q with chance q; and exchanged.
function toldBy(hidden, p, q, change) {
  const cost = ([a, b], [u, v], [cn, cd], least) => { // weights in units of 2^-V, rounded against what is shown
    const rounded = least ? floorDiv : ceilDiv, weight = (n) => rounded(n << V, b * v * cd), shift = Number(change);
    const near = weight((b - a) * v * cd - cn * (v - u) * b), far = weight(a * v * cd - cn * u * b), n = hidden.low.length;
    const [at0, atChange] = [near, far].map((w) => ((w > 0n) === !least ? hidden.high : hidden.low));
    let total = hidden.rest * (least ? floorDiv(-cn << V, cd) : 1n << V);
    for (let i = 0; i < n + shift; i++) {
      total += max(0n, (i < n ? near * at0[i] : 0n) + (i < shift ? 0n : far * atChange[i - shift]));
    }
    return [total, 1n << (2n * V)];
  };
  return (c, least = false) => worst([cost(p, q, c, least), cost(q, p, c, least)]);
}
// Discrete Gaussian noise of variance n/d: its law is in proportion to exp(-z^2 d / 2n), each power from below and from above.
function gaussian([n, d]) {
  need(n * 1000n >= d && n <= d * 10n ** 10n, "a variance from 1/1000 to 10^10");
  const side = [], W = 2n * V;
  while (!side.length || side.at(-1)[1] > 1n << V) { // down to 2^-V
    side.push(exponential([-(BigInt(side.length) ** 2n * d), 2n * n], W));
    need(side.length < 200000, "less noise");
  }
  const last = side.at(-1)[1], tail = 2n * ceilDiv(last * last, side.at(-2)[0] - last); // geometric: ratios fall outward
  const all = [...side.slice(1).reverse(), ...side], sum = all.reduce(([u, v], [x, y]) => [u + x, v + y], [0n, tail]);
  return {
    first: 1n - BigInt(side.length), low: all.map(([x]) => (x << V) / sum[1]), high: all.map(([, y]) => ceilDiv(y << V, sum[0])),
    rest: ceilDiv(tail << V, sum[0]),
  };
}
function counting(p, q, users, witness, noise) {
  const starts = witness.get("starts"), known = new Map();
  need(Array.isArray(starts) && starts[0] === 0n && users <= 10n ** 10n, "starts of ranges, from 0 on");
  const costs = starts.map((a, i) => {
    const after = i + 1 < starts.length ? starts[i + 1] : users;
    need(typeof a === "bigint" && typeof after === "bigint" && a < after && after <= users, "ranges in order");
    return toldBy(noise.map(gaussian).reduce(together, together(coins(a, p), coins(users - after, q))), p, q, 1n);
  });
  return { cost: (c) => { const key = String(c); if (!known.has(key)) known.set(key, worst(costs.map((each) => each(c)))); return known.get(key); } };
}

function leaf(word, fields, relation, witness) {
  const here = () => need(relation !== "add-remove", `the word ${word} has no absent user`);
  if (word === "channel") {
    let [rows] = fields("rows");
    need(Array.isArray(rows) && rows.length >= 2, "a channel has at least two rows");
    need(rows.every((r) => Array.isArray(r) && r.length === rows[0].length), "rows are lists of one length");
    need(rows.length ** 2 * rows[0].length <= 4e6, "fewer inputs and views");
    rows = rows.map((row) => row.map((v) => chance(v, "a probability")));
    let den = 1n;
    for (const [, d] of rows.flat()) den = (den / gcd(den, d)) * d;
    rows = rows.map((row) => row.map(([n, d]) => n * (den / d)));
    need(rows.every((row) => row.reduce((a, b) => a + b, 0n) === den), "the probabilities of a row sum to 1");
    const least = rows[0].map((_, y) => rows.reduce((m, row) => min(m, row[y]), den));
    const pair = (i, j) => ({ den, cells: rows[i].map((p, y) => [p, rows[j][y], least[y]]) });
    const others = rows.map((_, i) => i), away = others.slice(1);
    if (relation === "add-remove") return [away.map((x) => pair(0, x)), away.map((x) => pair(x, 0))];
    return [others.flatMap((i) => others.filter((j) => j !== i).map((j) => pair(i, j)))];
  }
  if (word === "randomized_response") {
    here();
    let [k, p] = fields("k", "p");
    k = whole(k, 2n, 10n ** 30n, "k");
    const [n, d] = chance(p, "p"), a = n * (k - 1n), o = d - n, m = min(a, o);
    return [[{ den: d * (k - 1n), cells: [[a, o, m], [o, a, m], [(k - 2n) * o, (k - 2n) * o, (k - 2n) * m]] }]];
  }
  if (word === "subset_selection") {
    here();
    let [k, s, p] = fields("k", "d", "p");
    k = whole(k, 2n, 10n ** 30n, "k"), s = whole(s, 1n, k - 1n, "d");
    const [n, d] = chance(p, "p"), no = d - n, f = s * (k - s), smaller = n * (k - s) >= no * s; // outside sets are rarer
    const both = n * (s - 1n), x = n * (k - s), other = no * s, neither = no * (k - 1n - s), m = min(x, other) * f;
    const bothLeast = smaller ? (s - 1n) * no * s * s : both * f;
    const neitherLeast = smaller ? neither * f : n * (k - 1n - s) * (k - s) * (k - s);
    return [[{ den: d * (k - 1n) * f, cells: [[both * f, both * f, bothLeast], [x * f, other * f, m], [other * f, x * f, m],
      [neither * f, neither * f, neitherLeast]] }]];
  }
  if (word === "hadamard_response") {
    here();
    let [columns, p] = fields("columns", "p");
    columns = whole(columns, 4n, 10n ** 30n, "columns");
    need(columns % 4n === 0n, "columns is a multiple of 4");
    const [n, d] = chance(p, "p"), o = d - n, m = min(n, o);
    return [[{ den: 2n * d, cells: [[n, n, m], [n, o, m], [o, n, m], [o, o, m]] }]];
  }
  if (word === "bits") {
    let [p, q, x, y] = fields("p", "q", "only_here", "only_there");
    p = chance(p, "p"), q = chance(q, "q"), x = whole(x, 0n, 200n, "only_here"), y = whole(y, 0n, 200n, "only_there");
    const d = p[1] * q[1], a = p[0] * q[1], b = q[0] * p[1], cells = [];
    const row = (n, k) => { const r = [1n]; for (let i = 0n; i < n; i++) r.push((r[Number(i)] * (n - i)) / (i + 1n)); return at(r, k); };
    const law = (u, n, k) => row(n, k) * u ** k * (d - u) ** (n - k);
    const factor = (d - a) * b <= a * (d - b) ? [d - a, d - b] : [a, b]; // the least ratio of a bit's law to that of an absent user
    const scale = b === 0n || b === d || x !== 1n || y !== 1n ? null : factor;
    for (let i = 0n; i <= x; i++) for (let j = 0n; j <= y; j++) {
      const cell = [law(a, x, i) * law(b, y, j), law(b, x, i) * law(a, y, j)];
      cells.push(scale ? [cell[0] * scale[1], cell[1] * scale[1], law(b, x, i) * law(b, y, j) * scale[0]] : cell);
    }
    const pair = { den: d ** (x + y) * (scale ? scale[1] : 1n), cells };
    if (x === y) return [[pair]]; // its own reverse
    if (relation === "add-remove" && (x === 0n || y === 0n)) return y === 0n ? [[flipped(pair)], [pair]] : [[pair], [flipped(pair)]];
    return [[pair, flipped(pair)]];
  }
  if (word === "discrete_laplace") {
    let [alpha, m] = fields("alpha", "change");
    m = whole(m, 0n, 20000n, "change");
    const [n, d] = fraction(alpha, "alpha"), cells = [];
    need(n > 0n && n < d, "alpha lies between 0 and 1");
    // In units of 1 / (d^m (n + d)): z <= 0, z >= m, and each count between.
    cells.push([d ** (m + 1n), n ** m * d], [n ** m * d, d ** (m + 1n)]);
    for (let z = 1n; z < m; z++) cells.push([(d - n) * n ** z * d ** (m - z), (d - n) * n ** (m - z) * d ** z]);
    return [[m === 0n ? { den: 1n, cells: [[1n, 1n]] } : { den: d ** m * (n + d), cells }]];
  }
  if (word === "binomial") {
    let [n, gamma, change] = fields("coins", "gamma", "change");
    n = whole(n, 1n, 10n ** 10n, "coins"), gamma = chance(gamma, "gamma"), change = whole(change, 1n, 100000n, "change");
    const told = toldBy(coins(n, gamma), [0n, 1n], [1n, 1n], change);
    return [[{ cost: told }]];
  }
  if (word === "discrete_gaussian") {
    const [variance, change] = fields("variance", "change");
    return [[{ cost: toldBy(gaussian(fraction(variance, "variance")), [0n, 1n], [1n, 1n], whole(change, 1n, 100000n, "change")) }]];
  }
  if (word === "laplace") {
    return [[{ laplace: fraction(fields("change")[0], "change") }]];
  }
  throw new Refused(`no rule for the word ${String(word).slice(0, 40)}`);
}

// H_c of one pair at c = n/d, times den and d; and the largest ratio, or null where it is infinite.
const hockeyStick = ({ cells }, [n, d]) => cells.reduce((sum, [p, q]) => sum + max(0n, p * d - n * q), 0n);
function largestRatio({ cells, cost }) {
  if (cost) return null;
  let best = [0n, 1n];
  for (const [p, q] of cells) {
    if (q === 0n && p > 0n) return null;
    if (p * best[1] > best[0] * q) best = [p, q];
  }
  return best;
}

// ---- Sums of independent values on a lattice: {start, masses, top, S}, masses in units of 1/S, top beyond all places. ----

const CUT = 10n ** 7n;
function trim({ start, masses, top, S }) {
  let low = 0n, i = 0, high = 0n, j = masses.length;
  while (i < j - 1 && low + masses[i] < CUT) low += masses[i++];
  while (j > i + 1 && high + masses[j - 1] < CUT) high += masses[--j];
  const kept = masses.slice(i, j);
  kept[0] += low;
  return { start: start + BigInt(i), masses: kept, top: top + high, S };
}
function polynomial(a, b) { // all coefficients of a product by one product of whole numbers, each in its own digits
  const most = (v) => bits(v.reduce(max, 0n)), width = Number((most(a) + most(b) + 32n) / 4n), count = a.length + b.length - 1;
  need((a.length + b.length) * width <= 2 ** 25, "a lattice with fewer places");
  const pack = (v) => BigInt(`0x${v.map((m) => m.toString(16).padStart(width, "0")).reverse().join("")}`), x = pack(a);
  const text = (a === b ? x * x : x * pack(b)).toString(16).padStart(count * width, "0");
  return Array.from({ length: count }, (_, i) => BigInt(`0x${text.slice(i === count - 1 ? 0 : text.length - (i + 1) * width, text.length - i * width)}`));
}
function times(a, b) {
  const S = a.S, total = (v) => v.reduce((x, y) => x + y, 0n), masses = polynomial(a.masses, b.masses).map((m) => ceilDiv(m, S));
  const top = ceilDiv(a.top * total(b.masses) + b.top * total(a.masses) + a.top * b.top, S);
  return trim({ start: a.start + b.start, masses, top, S });
}
function power(base, n) {
  let found = base;
  for (const bit of n.toString(2).slice(1)) {
    found = times(found, found);
    if (bit === "1") found = times(found, base);
  }
  return found;
}
function digitsOf(witness) {
  return 10n ** (whole(witness.get("digits"), 10n, 300n, "digits") + 4n);
}

// Compositions: the curve of each part is bounded by its chords between powers of the ratio; at a power r^i the law P has then the mass
// (D(r^(i+1)) - (1 + r) D(r^i) + r D(r^(i-1))) / (r - 1), which is rounded up.
function onLattice(pairs, [rn, rd], S, W) {
  const unit = 1n << W, up = [[unit, unit]], down = [[unit, unit]]; // powers of the ratio from 0 on, and from 0 down
  const step = (list, n, d) => {
    need(list.length < 60000, "a lattice with fewer places");
    const [low, high] = list[list.length - 1];
    list.push([(low * n) / d, ceilDiv(high * n, d)]);
  };
  let high = [0n, 1n], low = [1n, 1n];
  const sorted = pairs.map((pair) => {
    if (pair.laplace) return pair;
    const cells = pair.cells.filter(([p]) => p > 0n).sort((a, b) => { const v = a[0] * b[1] - b[0] * a[1]; return v < 0n ? -1 : v > 0n ? 1 : 0; });
    for (const [p, q] of cells) {
      if (q > 0n && p * high[1] > high[0] * q) high = [p, q];
      if (p * low[1] < low[0] * q) low = [p, q];
    }
    let sums = [[0n, 0n]];
    for (const [p, q] of [...cells].reverse()) sums.push([sums[sums.length - 1][0] + p, sums[sums.length - 1][1] + q]);
    return { den: pair.den, cells, sums: sums.reverse(), next: 0 };
  });
  const widest = pairs.filter((pair) => pair.laplace).map((pair) => pair.laplace).reduce((a, b) => (a[0] * b[1] > b[0] * a[1] ? a : b), [0n, 1n]);
  const wide = exponential(widest, W);
  while (up.at(-1)[0] < wide[1] || up.at(-1)[0] * high[1] < high[0] << W) step(up, rn, rd);
  while (down.length < 60000 && down.at(-1)[1] > 1n && (down.at(-1)[1] * wide[1] > unit << W || down.at(-1)[1] * low[1] > low[0] << W)) step(down, rd, rn);
  const places = [...down.slice(1).reverse(), ...up], start = 1n - BigInt(down.length);
  const shrink = new Map(pairs.filter((pair) => pair.laplace).map((pair) => [pair, exponential([-pair.laplace[0], pair.laplace[1]], W)]));
  const root = (n) => { if (n === 0n) return n; let x = 1n << (bits(n) / 2n + 1n); for (;;) { const y = (x + n / x) >> 1n; if (y >= x) return x; x = y; } };
  const curve = places.map(([cl, ch]) => {
    let below = 0n, above = 0n;
    for (const pair of sorted) {
      if (pair.laplace) { // 1 - sqrt(c e^-t) between e^-t and e^t
        const [el, eh] = shrink.get(pair);
        below = max(below, max(unit - ch, unit - root(ch * eh) - 1n)), above = max(above, max(unit - cl, unit - root(cl * el)));
        continue;
      }
      while (pair.next < pair.cells.length && pair.cells[pair.next][0] << W < cl * pair.cells[pair.next][1]) pair.next++;
      const [P, Q] = pair.sums[pair.next];
      below = max(below, floorDiv((P << W) - ch * Q, pair.den)), above = max(above, ceilDiv((P << W) - cl * Q, pair.den));
    }
    return [below, above];
  });
  const masses = curve.map(([below, above], i) => {
    let mass; // times (rn - rd) and 2^W
    if (i === curve.length - 1) mass = i ? rn * (curve[i - 1][1] - below) : (unit - below) * (rn - rd);
    else if (i === 0) mass = rd * (curve[1][1] - below) + (unit - below) * (rn - rd);
    else mass = rd * curve[i + 1][1] - (rn + rd) * below + rn * curve[i - 1][1];
    return max(0n, ceilDiv(mass * S, (rn - rd) << W));
  });
  return trim({ start, masses, top: ceilDiv(curve.at(-1)[1] * S, unit), S });
}
// Where only bounds from above are known of a curve D: the largest convex curve below these at powers of the ratio, and through D(0) = 1,
// is above D. Exchanged laws are among the pairs: D(c) = 1 - c + c D(1/c).
function fromAbove(cost, [rn, rd], S, W) {
  const unit = 1n << W, above = [], below = [];
  for (let i = 0n, up = unit, down = unit; ; i++, up = (up * rn) / rd, down = (down * rd) / rn) {
    const [n, d] = cost([up, unit]), height = min(unit, ceilDiv(n << W, d));
    if (down === 0n || (i > 0n && height >= above.at(-1)[1])) break;
    above.push([up, height, i]);
    if (i > 0n) below.unshift([down, unit - down + ceilDiv(down * height, unit), -i]);
    if (height * S < unit * CUT) break;
    need(i < 60000n, "a lattice with fewer places");
  }
  const hull = [];
  for (const point of [[0n, unit, 0n], ...below, ...above]) {
    const turn = ([x, y], [u, v]) => (u - x) * (point[1] - y) - (v - y) * (point[0] - x); // above 0: a turn to the left
    while (hull.length > 1 && turn(hull.at(-2), hull.at(-1)) <= 0n) hull.pop();
    hull.push(point);
  }
  const start = hull.slice(1).reduce((m, [, , i]) => min(m, i), 0n), masses = new Array(Number(above.at(-1)[2] - start) + 1).fill(0n);
  hull.forEach(([x, y, i], at) => { // mass: the place times the change of slope
    if (at === 0) return;
    const [u, v] = hull[at - 1], [s, t] = at + 1 < hull.length ? hull[at + 1] : [x + 1n, y];
    masses[Number(i - start)] += ceilDiv(x * S * ((t - y) * (x - u) - (y - v) * (s - x)), unit * (s - x) * (x - u));
  });
  return trim({ start, masses, top: ceilDiv(hull.at(-1)[1] * S, unit), S });
}
function composedDelta(direction, witness, epsilon) {
  need(witness.has("digits") && witness.has("ratio"), "a composition has a lattice as its witness");
  const ratio = fraction(witness.get("ratio"), "ratio"), S = digitsOf(witness), W = precision(epsilon) + 4n * bits(S);
  need(ratio[0] > ratio[1], "ratio is above 1");
  let sum = null;
  for (const { pairs, times: n } of direction) {
    const [{ cost }] = pairs, each = power(cost ? fromAbove(cost, ratio, S, W) : onLattice(pairs, ratio, S, W), n);
    sum = sum ? times(sum, each) : each;
  }
  const c = exponential(epsilon, W)[0];
  let total = sum.top << (2n * W), z = 1n << W; // z is below ratio^-place
  const last = sum.start + BigInt(sum.masses.length) - 1n;
  need(last < 2000000n, "a lattice with fewer places");
  for (let place = 0n; place <= last; place++) {
    if (place >= sum.start) total += at(sum.masses, place - sum.start) * max(0n, (1n << (2n * W)) - c * z);
    z = (z * ratio[1]) / ratio[0];
  }
  return [total, S << (2n * W)];
}

// Shuffles: E(w_1 + ... + w_n)_+ / n, each w split between two places of the lattice around it.
function shuffledDelta(pair, users, witness, [cn, cd]) {
  const [s, S] = [fraction(witness.get("step"), "step"), digitsOf(witness)];
  need(s[0] > 0n, "step is above 0");
  const summand = new Map(), add = (place, mass) => summand.set(place, (summand.get(place) ?? 0n) + mass);
  let blanket = 0n, most = [0n, 1n], alone = 0n; // where the blanket has no mass, the report itself is seen
  for (const [p, q, b] of pair.cells) {
    need(b !== undefined, "no blanket for this word");
    const w = p * cd - cn * q; // times b and cd
    if (b === 0n) { alone += max(0n, w); continue; }
    blanket += b;
    if (w * most[1] > most[0] * b) most = [w, b];
    const n = w * s[1], d = cd * b * s[0], place = floorDiv(n, d), rest = n - place * d; // w / step = n / d
    add(place, ceilDiv(b * (d - rest) * S, d * pair.den)), add(place + 1n, ceilDiv(b * rest * S, d * pair.den));
  }
  need(blanket > 0n, "a blanket");
  add(0n, ceilDiv((pair.den - blanket) * S, pair.den));
  const all = [...summand.keys()], start = all.reduce(min), end = all.reduce(max);
  need(end - start < 1000000n, "a lattice with fewer places");
  const masses = new Array(Number(end - start) + 1).fill(0n);
  for (const [place, mass] of summand) masses[Number(place - start)] = mass;
  const sum = power({ start, masses, top: 0n, S }, users);
  let mean = 0n;
  sum.masses.forEach((mass, i) => { mean += mass * max(0n, sum.start + BigInt(i)); });
  // mean * s / (n S) + top / S * most / cd + alone / (den cd)
  const d1 = s[1] * users * S, d2 = S * most[1] * cd, d3 = pair.den * cd;
  return [mean * s[0] * d2 * d3 + sum.top * most[0] * d1 * d3 + alone * d1 * d2, d1 * d2 * d3];
}

// ---- A proof. ----

const atMost = (a, b) => a[0] * b[1] <= b[0] * a[1];
function merged(pair) { // views of one ratio stand as one
  const found = new Map();
  for (const [p, q] of pair.cells) {
    if (p === 0n && q === 0n) continue;
    const g = gcd(p, q), key = `${p / g}/${q / g}`, old = found.get(key) ?? [0n, 0n];
    found.set(key, [old[0] + p, old[1] + q]);
  }
  return { den: pair.den, cells: [...found.values()] };
}
function product(list) { // of pairs and how often, or null where it is long
  let found = { den: 1n, cells: [[1n, 1n]] };
  for (const [pair, n] of list) {
    if (pair.laplace || pair.cost || n > 200n) return null;
    for (let i = 0n; i < n; i++) {
      if (found.cells.length * pair.cells.length > 4000 || bits(found.den) > 100000n) return null;
      const cells = found.cells.flatMap(([p, q]) => pair.cells.map(([u, v]) => [p * u, q * v]));
      found = merged({ den: found.den * pair.den, cells });
    }
  }
  return found;
}

function* words(plan) {
  yield plan.get("word");
  for (const inner of [plan.get("of") ?? []].flat()) yield* words(inner);
}

function check(proof) {
  const names = ["schema", "plan", "relation", "says", "epsilon", "delta", "witness"];
  const [schema, plan, relation, says, e, d, witness] = keys(proof, names, "a proof");
  need(schema === "ldpaudit.proof/1", "schema is ldpaudit.proof/1");
  need(says === "private" || says === "not private", "says is private or not private");
  need(typeof relation === "string" && /^(replace-one|add-remove|group-of-[1-9]\d{0,38})$/.test(relation), "a known relation");
  need(witness instanceof Map, "witness is an object");
  const epsilon = fraction(e, "epsilon"), delta = chance(d, "delta"), W = precision(epsilon), not = says === "not private";
  const group = relation.startsWith("group-of-") ? BigInt(relation.slice(9)) : 1n;
  const end = not ? 1 : 0, c = [exponential(epsilon, W)[end], 1n << W];
  const holds = (least) => need(least, not ? "this does not show that it is not private" : "this does not show that it is private");
  need([...witness.keys()].every((key) => ["digits", "ratio", "step", "starts"].includes(key)), "a witness has digits, ratio, step or starts");
  need(!not || witness.size === 0, "no witness, where it is not private");
  const list = parts(plan, relation, group, not, new Map()), noisy = [...words(plan)].some((word) => /laplace|binomial|gaussian/.test(word));
  need(delta[0] === 0n || !relation.startsWith("group") || !noisy, "of a group a delta of 0, where there is noise on a number");
  const ways = list.reduce((n, { leaf }) => Math.max(n, leaf.length), 1), way = (i) => list.map(({ leaf, times: n }) => ({ pairs: leaf[i % leaf.length], times: n }));
  const directions = ways === 2 ? [way(0), way(1)] : [way(0)]; // from absence to presence, and back
  if ((witness.has("starts") || witness.has("step")) && !directions.every((direction) => pure(direction, epsilon, end))) {
    need(!relation.startsWith("group"), "of a group of users one report each");
    const seen = parts(plan, relation, 1n, not, witness).map(({ leaf, times }) => ({ pairs: leaf.flat(), times }));
    const alone = seen.length === 1 && seen[0].times === 1n && seen[0].pairs[0].cost;
    return holds(atMost(alone ? alone(c) : composedDelta(seen, witness, epsilon), delta));
  }
  const verdicts = directions.map((direction) => {
    if (direction.length === 1 && direction[0].times === 1n) { // one report
      return direction[0].pairs.map((pair) => {
        if (pair.cost) return atMost(pair.cost(c, not), delta);
        if (!pair.laplace) return atMost([hockeyStick(pair, c), pair.den * c[1]], delta);
        const [t, u] = pair.laplace, x = [epsilon[0] * u - t * epsilon[1], 2n * epsilon[1] * u]; // H = 1 - exp((epsilon - t) / 2)
        return x[0] >= 0n || atMost([delta[1] - delta[0], delta[1]], [exponential(x, precision(x))[end], 1n << precision(x)]);
      }).every(Boolean);
    }
    if (pure(direction, epsilon, end)) return true; // no ratio is above c
    if (delta[0] === 0n) return false;
    if (witness.has("ratio") && !not) return atMost(composedDelta(direction, witness, epsilon), delta);
    const longest = direction.reduce((n, { pairs }) => Math.max(n, pairs.length), 1);
    if (!not) need(longest === 1, "a lattice as a witness");
    let result = true;
    for (let i = 0; i < longest; i++) {
      const whole = product(direction.map(({ pairs, times: n }) => [pairs[i % pairs.length], n]));
      need(whole !== null, not ? "a composition that is written out" : "a lattice as a witness");
      result &&= atMost([hockeyStick(whole, c), whole.den * c[1]], delta);
    }
    return result;
  });
  holds(not ? verdicts.includes(false) : verdicts.every(Boolean));
}

// Whether the product of the largest ratios is at most e^epsilon, below (end 0) or above (end 1); Laplace noise of t has the ratio e^t.
function pure(direction, epsilon, end) {
  let rest = epsilon;
  const ratios = [];
  for (const { pairs, times: n } of direction) {
    const laplace = pairs[0].laplace;
    if (laplace) { rest = [rest[0] * laplace[1] - laplace[0] * n * rest[1], rest[1] * laplace[1]]; continue; }
    let best = [0n, 1n];
    for (const pair of pairs) {
      const ratio = largestRatio(pair);
      if (!ratio) return false;
      if (!atMost(ratio, best)) best = ratio;
    }
    const g = gcd(best[0], best[1]), same = ratios.find(([r]) => r[0] === best[0] / g && r[1] === best[1] / g);
    if (same) same[1] += n;
    else ratios.push([[best[0] / g, best[1] / g], n]);
  }
  const common = ratios.reduce((g, [, n]) => gcd(g, n), 0n) || 1n, root = [rest[0], rest[1] * common]; // of so many equal parts one
  const size = ratios.reduce((sum, [r, n]) => sum + (n / common) * (bits(r[0]) + bits(r[1])), 0n);
  need(size < 1000000n, "a composition of fewer different parts");
  const whole = ratios.reduce((a, [r, n]) => [a[0] * r[0] ** (n / common), a[1] * r[1] ** (n / common)], [1n, 1n]), W = precision(root);
  return atMost(whole, [exponential(root, W)[end], 1n << W]);
}

function checkClaim(claim, proof) {
  const verdict = claim.get("verdict");
  if (!(proof instanceof Map)) return need(verdict !== "PROVED", "a claim is said to be proved, and has no proof");
  check(proof);
  need(claim.get("neighbours") === proof.get("relation"), "the proof is of other neighbours");
  const own = claim.get("epsilon") === Symbol.for("null") ? null : fraction(claim.get("epsilon"), "the claim's epsilon");
  const delta = fraction(claim.get("delta"), "the claim's delta"), [e, d] = ["epsilon", "delta"].map((key) => fraction(proof.get(key), key));
  need((proof.get("says") === "not private") === (verdict === "REFUTED"), "the proof does not say the claim's verdict");
  if (verdict === "REFUTED") need((!own || atMost(own, e)) && atMost(delta, d), "the proof does not refute the claim");
  else need((!own || atMost(e, [own[0] * (10n ** 9n + 1n), own[1] * 10n ** 9n])) && atMost(d, delta), "the proof is of less than the claim");
  return true;
}

let good = process.argv.length > 2;
for (const file of process.argv.slice(2)) {
  let proofs = 0;
  const attempt = (name, task) => {
    let line;
    try {
      line = task() ? "VALID" : "NO PROOF";
      if (line === "VALID") proofs++;
    } catch (error) {
      if (!(error instanceof Refused || error instanceof RangeError || error.code)) throw error;
      good = false, line = `INVALID (${error.message})`;
    }
    console.log(`${JSON.stringify(file)}${name}: ${JSON.stringify(line).slice(1, -1)}`);
  };
  let record, inner = null;
  const read = () => {
    const bytes = readFileSync(file);
    need(bytes.length <= 2 ** 24, "a file of at most 16 MiB");
    try { record = parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)); } catch (error) {
      throw error instanceof TypeError ? new Refused("no UTF-8") : error;
    }
    need(record instanceof Map, "neither a proof nor a certificate");
    if (record.get("schema") !== "ldpaudit.certificate/1") return check(record), true;
    inner = record.get("claims");
    need(Array.isArray(inner) && inner.every((claim) => claim instanceof Map), "a certificate has claims");
    return inner.some((claim) => claim.get("proof") instanceof Map);
  };
  attempt("", read);
  for (const claim of inner ?? []) attempt(` ${JSON.stringify(String(claim.get("id")))}`, () => checkClaim(claim, claim.get("proof")));
  if (!proofs) good = false;
}
process.exitCode = good ? 0 : 1;
