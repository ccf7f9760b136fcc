/* Recursive Q-learning on one model, as one would write it by hand in C.
 *
 * The same algorithm as the library's kernel: contexts interned in a hash table, three cases of the
 * target, epsilon-greedy, constant step size, episodes cut at a limit, xoshiro256++. The model comes
 * as arrays on standard input; prints the seconds that learning took and a checksum of the table.
 *
 *   cc -O3 -march=native -o tabular tabular.c -lm && ./tabular < model.txt
 */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { double below, reward; int landing, box, move; } Outcome;

static int *action_start, *row_start, *box_component, *box_return, *first_action, *n_exits;
static Outcome *outcomes;
static double *q, *values;
static long *block, *value_start;
static int *component_of, *slots, *visits;
static long contexts, pairs, value_count, mask;
static uint64_t s0, s1, s2, s3;

static inline uint64_t word(void) {
    uint64_t t = s0 + s3, r = ((t << 23) | (t >> 41)) + s0, u = s1 << 17;
    s2 ^= s0; s3 ^= s1; s1 ^= s2; s0 ^= s3; s2 ^= u;
    s3 = (s3 << 45) | (s3 >> 19);
    return r;
}
static inline double uniform(void) { return (double)(word() >> 11) * 0x1p-53; }
static uint64_t mix(uint64_t w) {
    w = (w ^ (w >> 30)) * 0xBF58476D1CE4E5B9u;
    w = (w ^ (w >> 27)) * 0x94D049BB133111EBu;
    return w ^ (w >> 31);
}
static void seed(uint64_t n) {
    uint64_t g = 0x9E3779B97F4A7C15u, w = mix(n + g);
    s0 = mix(w += g); s1 = mix(w += g); s2 = mix(w += g); s3 = mix(w += g);
}
static inline double best(long row, int count) {
    double b = q[row];
    for (long i = row + 1; i < row + count; i++) if (q[i] > b) b = q[i];
    return b;
}
static inline double ahead(int context, int vertex) {
    return best(block[context] + action_start[vertex], action_start[vertex + 1] - action_start[vertex]);
}
static int intern(int component, const double *v) {
    int k = n_exits[component];
    uint64_t w = (uint64_t)(component + 1) * 0x9E3779B97F4A7C15u;
    for (int i = 0; i < k; i++) {
        uint64_t b;
        memcpy(&b, &v[i], 8);
        w = (w ^ b) * 0x9E3779B97F4A7C15u;
        w ^= w >> 29;
    }
    long slot = (long)(w >> 32) & mask;
    for (;; slot = (slot + 1) & mask) {
        int c = slots[slot];
        if (c < 0) break;
        if (component_of[c] == component && !memcmp(values + value_start[c], v, 8 * k)) return c;
    }
    int c = (int)contexts++, size = first_action[component + 1] - first_action[component];
    slots[slot] = c;
    component_of[c] = component;
    block[c] = pairs - first_action[component];
    for (int i = 0; i < size; i++) q[pairs + i] = 0.0;
    pairs += size;
    value_start[c] = value_count;
    memcpy(values + value_count, v, 8 * k);
    value_count += k;
    return c;
}
static int *read_ints(long count) {
    int *a = malloc(sizeof(int) * (count + 1));
    for (long i = 0; i < count; i++) if (scanf("%d", &a[i]) != 1) exit(1);
    return a;
}
int main(void) {
    long V, A, T, B, C, steps;
    int start, start_component, limit;
    double alpha, epsilon, quantum;
    if (scanf("%ld %ld %ld %ld %ld %d %d %ld %d %lf %lf %lf", &V, &A, &T, &B, &C, &start,
              &start_component, &steps, &limit, &alpha, &epsilon, &quantum) != 12) return 1;
    action_start = read_ints(V + 1); row_start = read_ints(A + 1); box_component = read_ints(B);
    box_return = read_ints(B); first_action = read_ints(C + 1); n_exits = read_ints(C);
    outcomes = malloc(sizeof(Outcome) * T);
    for (long i = 0; i < T; i++)
        if (scanf("%lf %lf %d %d %d", &outcomes[i].below, &outcomes[i].reward, &outcomes[i].landing,
                  &outcomes[i].box, &outcomes[i].move) != 5) return 1;
    long room = 1 << 16, largest = 0, exits = 1;
    for (int c = 0; c < C; c++) {
        if (first_action[c + 1] - first_action[c] > largest) largest = first_action[c + 1] - first_action[c];
        if (n_exits[c] > exits) exits = n_exits[c];
    }
    q = malloc(8 * (A + 256 * largest + room * 4)); visits = calloc(A + 256 * largest + room * 4, 4);
    values = malloc(8 * room * exits); block = malloc(8 * room); value_start = malloc(8 * room);
    component_of = malloc(4 * room); slots = malloc(4 * 4 * room); mask = 4 * room - 1;
    for (long i = 0; i <= mask; i++) slots[i] = -1;
    int *stack = malloc(4 * (limit + 2)), *boxes = malloc(4 * (limit + 2));
    double *v = calloc(exits, 8);
    intern(start_component, v);
    seed(0);
    struct timespec t0, t1;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
    int vertex = start, context = 0, height = 0, length = 0;
    for (long step = 0; step < steps; step++) {
        int begin = action_start[vertex], count = action_start[vertex + 1] - begin, action = 0;
        long row = block[context] + begin;
        if (count > 1) {
            if (uniform() < epsilon) action = (int)(uniform() * count);
            else for (int i = 1; i < count; i++) if (q[row + i] > q[row + action]) action = i;
        }
        Outcome *o = outcomes + row_start[begin + action];
        if (o->below < 1.0) {
            double u = uniform();
            while (u >= o->below) o++;
        }
        double target = o->reward;
        int ended = 0;
        if (o->move == 0) {
            vertex = o->landing;
            target += ahead(context, vertex);
        } else if (o->move == 1) {
            int callee = box_component[o->box], k = n_exits[callee];
            double m = INFINITY;
            for (int i = 0; i < k; i++) {
                v[i] = ahead(context, box_return[o->box] + i);
                if (v[i] < m) m = v[i];
            }
            for (int i = 0; i < k; i++) v[i] = rint((v[i] - m) / quantum) * quantum;
            stack[height] = context;
            boxes[height++] = o->box;
            context = intern(callee, v);
            vertex = o->landing;
            target += ahead(context, vertex) + m;
        } else {
            target += values[value_start[context] + o->landing];
            if (height == 0) ended = 1;
            else {
                context = stack[--height];
                vertex = box_return[boxes[height]] + o->landing;
            }
        }
        visits[row + action]++;
        q[row + action] += alpha * (target - q[row + action]);
        if (ended || ++length == limit) { vertex = start; context = height = length = 0; }
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
    double sum = 0;
    for (long i = 0; i < pairs; i++) sum += q[i];
    printf("%.9f %.12g %ld\n", (t1.tv_sec - t0.tv_sec) + 1e-9 * (t1.tv_nsec - t0.tv_nsec), sum, contexts);
    return 0;
}
