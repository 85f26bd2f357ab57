/* Steering an inference engine from its token callback. Build, after `cargo build --release`:
 *
 *     cc -Iinclude examples/token_callback.c target/release/libenerinfer.a -o token_callback
 */
#include <inttypes.h>
#include <stdio.h>

#include "enerinfer.h"

/* On a device: write the clocks to the governor, vote for a minimum memory clock. */
static void apply(int32_t point) {
    printf("point %" PRId32 ": memory %" PRIu32 " kHz, accelerator %" PRIu32 " kHz\n", point,
           enerinfer_mem_khz((uint32_t)point), enerinfer_accel_khz((uint32_t)point));
}

/* What the engine calls after every token; `now_us` would come from a monotonic clock. */
static void on_token(enerinfer_controller *controller, uint64_t now_us) {
    int32_t point = enerinfer_on_token(controller, now_us);
    if (point >= 0) apply(point);
}

int main(void) {
    /* Qwen2-1.5B. */
    enerinfer_shape shape = {.layers = 28, .hidden = 1536, .heads = 12, .kv_heads = 2,
                             .ffn = 8960, .vocab = 151936, .tied_embeddings = 1};
    static enerinfer_tables tables;
    static enerinfer_front front;
    static enerinfer_controller controller;

    if (enerinfer_predict(&shape, &tables) == ENERINFER_EXTRAPOLATED)
        printf("outside the training range\n");
    for (int point = 0; point < ENERINFER_POINTS; point++)
        printf("predicted %d %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", point,
               tables.throughput_utok_per_s[point], tables.power_uw[point],
               tables.accel_power_uw[point]);

    enerinfer_front_init(&front, &tables);
    enerinfer_controller_init(&controller, &front);
    uint64_t now_us = 1000000;
    apply(enerinfer_begin_decode(&controller, 5000000, now_us)); /* 5 tokens/s */
    for (int token = 0; token < 20; token++) {
        now_us += 400000; /* too slow: 2.5 tokens/s */
        on_token(&controller, now_us);
    }
    enerinfer_end(&controller);
    return 0;
}
