/* The walk of recurl/simulation/kernel.py by hand, for benchmarks/simulate.py to compare with.
 * Same rows, same generator (xoshiro256++ seeded by splitmix64), hence the same episodes. */
#include <stdint.h>
#include <stdlib.h>

enum { STEP, CALLS, EXITS };

#define GOLDEN 0x9E3779B97F4A7C15ull

static inline uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static inline void seed_stream(uint64_t s[4], uint64_t seed, uint64_t stream) {
    uint64_t word = mix(seed + GOLDEN) ^ (stream * GOLDEN);
    for (int i = 0; i < 4; i++) {
        word += GOLDEN;
        s[i] = mix(word);
    }
}

static inline uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline double next_float(uint64_t s[4]) {
    const uint64_t result = rotate(s[0] + s[3], 23) + s[0], shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return (double)(result >> 11) * 0x1p-53;
}

void run_episodes(const int32_t *row_start, const double *below, const double *reward,
                  const uint8_t *move, const int32_t *landing, const int32_t *push,
                  const int32_t *start, const double *start_below, uint64_t seed, int64_t episodes,
                  int64_t step_limit, double *returns, int64_t *lengths, int64_t *depths,
                  uint8_t *truncated) {
    int64_t room = 64;
    int32_t *stack = malloc(room * sizeof *stack);
    for (int64_t episode = 0; episode < episodes; episode++) {
        uint64_t s[4];
        seed_stream(s, seed, (uint64_t)episode);
        double u = next_float(s), total = 0;
        int32_t i = 0;
        while (u >= start_below[i]) i++;
        int32_t slot = start[i];
        int64_t steps = 0, height = 0, deepest = 0;
        int running = 1;
        while (running && steps < step_limit) {
            steps++;
            i = row_start[slot];
            if (below[i] < 1.0) {
                u = next_float(s);
                while (u >= below[i]) i++;
            }
            total += reward[i];
            if (move[i] == STEP) {
                slot = landing[i];
            } else if (move[i] == CALLS) {
                if (height == room) stack = realloc(stack, (room *= 2) * sizeof *stack);
                stack[height++] = push[i];
                if (height > deepest) deepest = height;
                slot = landing[i];
            } else if (height == 0) {
                running = 0;
            } else {
                slot = stack[--height] + landing[i];
            }
        }
        returns[episode] = total;
        lengths[episode] = steps;
        depths[episode] = deepest + 1;
        truncated[episode] = (uint8_t)running;
    }
    free(stack);
}
