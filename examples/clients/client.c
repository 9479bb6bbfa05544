/* A client of ldpaudit's local mechanisms, in C99 with libc alone; docs/clients.md is what it implements. cc -O2 -o client client.c
 *
 * It reads JSON lines: a header, then requests {"input": x}, each answered by {"report": y}, drawn from the operating system's
 * randomness. A request that holds "bytes" is a test: its report is drawn from these, and the answer says how many it used. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t number;
typedef struct { size_t size; unsigned char *num, *den, *rest; } fraction; /* big-endian bytes, all of one size */

static const number PRIME = 2147483647;
static FILE *urandom;
static char *given; /* hex digits of a test, or NULL */
static size_t given_bytes, used;
static void fail(const char *why) { fprintf(stderr, "client: %s\n", why); exit(1); }
static void *room(size_t size) { void *found = calloc(size + 1, 1); if (!found) fail("needs more memory"); return found; }

/* The next byte of those that are given, or else of the operating system's. */
static int byte(void) {
    unsigned drawn = 0; /* where no more are given: the answer is an error then */
    used++;
    if (given && used <= given_bytes && sscanf(given + 2 * (used - 1), "%2x", &drawn) != 1) fail("needs bytes in hex");
    if (!given && (drawn = (unsigned)getc(urandom)) > 255) fail("needs /dev/urandom");
    return (int)drawn;
}

/* A number of 0 ... n-1, each as likely. */
static number uniform(number n) {
    int bits = 0;
    while (bits < 63 && (n - 1) >> bits) bits++;
    while (bits) {
        uint64_t drawn = 0;
        for (int taken = 0; taken < bits; taken += 8) drawn = drawn << 8 | (uint64_t)byte();
        drawn &= (UINT64_C(1) << bits) - 1;
        if (drawn < (uint64_t)n) return (number)drawn;
    }
    return 0;
}

static int doubled(unsigned char *a, size_t size) { /* a = 2 a; whether a is not 0 */
    int carry = 0, any = 0;
    for (size_t i = size; i-- > 0;) { int v = 2 * a[i] + carry; a[i] = (unsigned char)v; carry = v >> 8; any |= a[i]; }
    return any;
}

static void subtract(unsigned char *a, const unsigned char *b, size_t size) { /* a = a - b, which is not negative */
    int borrow = 0;
    for (size_t i = size; i-- > 0;) { int v = a[i] - b[i] - borrow; a[i] = (unsigned char)v; borrow = v < 0; }
}

/* 1 with probability exactly p, else 0: its base-256 digits are compared with bytes until these differ. */
static int coin(fraction p) {
    if (memcmp(p.num, p.den, p.size) == 0) return 1;
    memcpy(p.rest, p.num, p.size);
    for (;;) {
        int digit = 0, any = 0;
        for (int i = 0; i < 8; i++) {
            any |= doubled(p.rest, p.size);
            digit *= 2;
            if (memcmp(p.rest, p.den, p.size) >= 0) { subtract(p.rest, p.den, p.size); digit++; }
        }
        if (!any) return 0; /* only zeros are left of its expansion */
        int drawn = byte();
        if (drawn != digit) return drawn < digit;
    }
}

static fraction copied(fraction p, const unsigned char *num) {
    fraction found = {p.size, room(p.size), room(p.size), room(p.size)};
    memcpy(found.num, num, p.size);
    memcpy(found.den, p.den, p.size);
    return found;
}

static fraction not(fraction p) { fraction found = copied(p, p.den); subtract(found.num, p.num, p.size); return found; }
static fraction half(fraction p) { fraction found = copied(p, p.num); doubled(found.den, p.size); return found; }

/* JSON, as far as a header and a request have it: the text behind a key, or NULL. */
static char *value(char *line, const char *key) {
    size_t length = strlen(key);
    for (char *at = line; (at = strchr(at, '"')); at++) {
        if (strncmp(at + 1, key, length) || at[1 + length] != '"') continue;
        char *colon = at + length + 2 + strspn(at + length + 2, " ");
        if (*colon++ != ':') continue;
        colon += strspn(colon, " ");
        return *colon == '"' ? colon + 1 : colon;
    }
    return NULL;
}

static char *needed(char *line, const char *key) { char *at = value(line, key); if (!at) fail(key); return at; }
static number integer(char *line, const char *key) { char *at = value(line, key); return at ? strtoll(at, NULL, 10) : 0; }

static char *decimal(char *at, unsigned char *to, size_t size) { /* digits as a number of bytes; where they end */
    for (; *at >= '0' && *at <= '9'; at++) {
        int carry = *at - '0';
        for (size_t i = size; i-- > 0;) { int v = 10 * to[i] + carry; to[i] = (unsigned char)v; carry = v >> 8; }
    }
    return at;
}

static fraction rational(char *line, const char *key) {
    char *at = value(line, key);
    fraction found = {0, NULL, NULL, NULL};
    if (!at) return found;
    size_t size = strcspn(at, "\"") / 2 + 2; /* a digit has less than half a byte; one byte more to be doubled in */
    found = (fraction){size, room(size), room(size), room(size)};
    at = decimal(at, found.num, size);
    if (*at == '/') decimal(at + 1, found.den, size); else found.den[size - 1] = 1;
    return found;
}

static uint64_t splitmix(uint64_t index) {
    uint64_t z = index * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static number bucket(number j, number x, number width) { /* hash value under public function j */
    number a = 1 + (number)(splitmix(2 * (uint64_t)j + 1) % (uint64_t)(PRIME - 1));
    number b = (number)(splitmix(2 * (uint64_t)j + 2) % (uint64_t)PRIME);
    return (a * x + b) % PRIME % width;
}

static int parity(number v) { int odd = 0; for (; v; v &= v - 1) odd = !odd; return odd; }
static number another(number x, number n) { number drawn = uniform(n - 1); return drawn + (drawn >= x); }

static number k, g, d, bits, hashes, width, prime, reports;
static fraction p, q, f, not_p, kept_one, kept_zero, ones, zeros;
/* One report on x, which is -1 for an absent user; the number of its numbers, or 0 where it is a single one. */
static size_t report(const char *kind, number x, number *y) {
    if (!strcmp(kind, "randomized_response:")) { y[0] = coin(p) ? x : another(x, k); return 0; }
    if (!strcmp(kind, "unary_encoding:")) { for (number i = 0; i < k; i++) y[i] = coin(i == x ? p : q); return (size_t)k; }
    if (!strncmp(kind, "rappor:", 7) || !strcmp(kind, "longitudinal_unary:")) {
        char *kept = room((size_t)bits); /* what a device keeps for ever, one for each value */
        for (number j = 0; j < (hashes ? hashes : 1); j++) kept[hashes ? bucket(j, x, bits) : x] = 1;
        for (number i = 0; i < bits; i++) y[i] = kept[i] = (char)coin(kept[i] ? kept_one : kept_zero);
        for (number t = 0; t < reports; t++) for (number i = 0; i < bits; i++) y[i] = (t ? y[i] : 0) + coin(kept[i] ? ones : zeros);
        free(kept); /* no reports are asked of the permanent response: it is what is shown */
        return (size_t)bits;
    }
    if (!strcmp(kind, "local_hashing:") || !strcmp(kind, "loloha:")) {
        y[0] = uniform(prime), y[1] = uniform(prime);
        number truth = (y[0] * x + y[1]) % prime % g, kept = y[2] = coin(p.size ? p : kept_one) ? truth : another(truth, g);
        for (number t = 0; t < reports; t++) y[2 + t] = coin(ones) ? kept : another(kept, g); /* of LOLOHA */
        return 3 + (size_t)(reports ? reports - 1 : 0);
    }
    if (!strcmp(kind, "hadamard_response:")) {
        number row = x + 1, columns = 1;
        while (columns <= k) columns *= 2;
        y[0] = uniform(columns);
        if (coin(p) == parity(y[0] & row)) y[0] ^= row & -row;
        return 0;
    }
    if (!strncmp(kind, "count_mean_sketch:", 18)) {
        y[0] = uniform(hashes);
        number own = bucket(y[0], x, width);
        if (kind[18]) { y[1] = uniform(width); y[2] = coin(p) != parity(y[1] & own) ? 1 : -1; return 3; }
        for (number i = 0; i < width; i++) y[1 + i] = coin(i == own ? p : not_p);
        return (size_t)width + 1;
    }
    if (strcmp(kind, "one_bit:dbitflip")) fail("needs another client: this mechanism is not one of its own");
    for (number i = 0; i < k; i++) y[i] = -1;
    for (number last = k - d; last < k; last++) { number i = uniform(last + 1); y[y[i] < 0 ? i : last] = 0; }
    for (number i = 0; i < k; i++) if (y[i] >= 0) y[i] = coin(i == x ? p : not_p);
    return (size_t)k;
}

int main(void) {
    char *line = NULL, kind[64]; size_t size = 0;
    if (!(urandom = fopen("/dev/urandom", "rb")) || getline(&line, &size, stdin) < 0) fail("needs /dev/urandom and a header");
    if (strncmp(needed(line, "format"), "ldpaudit.vectors/1\"", 19)) fail("needs a header of format ldpaudit.vectors/1");
    char *stem = needed(line, "mechanism"), *variant = needed(line, "variant");
    snprintf(kind, sizeof kind, "%.*s:%.*s", (int)strcspn(stem, "\""), stem, (int)strcspn(variant, "\""), variant);
    k = integer(line, "k"), g = integer(line, "g"), d = integer(line, "d"), bits = integer(line, value(line, "p1") ? "k" : "bits");
    hashes = integer(line, "hashes"), width = integer(line, "width"), prime = integer(line, "prime");
    reports = integer(line, "reports"), p = rational(line, "p"), q = rational(line, "q"), f = rational(line, "f");
    kept_one = rational(line, "p1"), kept_zero = rational(line, "q1"), ones = rational(line, "p2"), zeros = rational(line, "q2");
    if (p.size) not_p = not(p);
    if (f.size) kept_zero = half(f), kept_one = not(kept_zero), ones = q, zeros = p;
    number *y = room(((size_t)(bits > width ? bits : width) + (size_t)reports + 3) * sizeof *y + (strchr("uo", *kind) ? (size_t)k * sizeof *y : 0));
    while (getline(&line, &size, stdin) >= 0) {
        char *input = needed(line, "input");
        used = 0, given = value(line, "bytes"), given_bytes = given ? strcspn(given, "\"") / 2 : 0;
        size_t count = report(kind, strncmp(input, "null", 4) ? strtoll(input, NULL, 10) : -1, y);
        int lacking = given && used > given_bytes;
        if (lacking) fputs("{\"error\": \"needs more bytes than it was given\"", stdout);
        else fputs(count ? "{\"report\": [" : "{\"report\": ", stdout);
        for (size_t i = 0; !lacking && i < (count ? count : 1); i++) printf(i ? ", %lld" : "%lld", (long long)y[i]);
        if (!lacking && count) putchar(']');
        if (!lacking && given) printf(", \"used\": %zu", used);
        puts("}"), fflush(stdout);
    }
    return 0;
}
