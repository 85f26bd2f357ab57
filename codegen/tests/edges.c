/* Calls every function of the C API with arguments at its edges; prints nothing if all is well. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "enerinfer.h"

static int failures;

#define CHECK(condition)                                              \
    do {                                                              \
        if (!(condition)) {                                           \
            printf("line %d: %s\n", __LINE__, #condition);            \
            failures++;                                               \
        }                                                             \
    } while (0)

static int is_point(int32_t point) { return point >= 0 && point < ENERINFER_POINTS; }

int main(void) {
    static enerinfer_tables tables, again;
    static enerinfer_front front;
    /* Memory behind the caller's objects stays as it is. */
    static struct {
        enerinfer_controller controller;
        uint64_t guard;
    } guarded = {.guard = 0x5aa5c33c0ff0f00f};
    enerinfer_controller *controller = &guarded.controller;
    enerinfer_shape shape = {.layers = 28, .hidden = 1536, .heads = 12, .kv_heads = 2,
                             .ffn = 8960, .vocab = 151936, .tied_embeddings = 1};

    CHECK(enerinfer_predict(NULL, &tables) == ENERINFER_NULL);
    CHECK(enerinfer_predict(&shape, NULL) == ENERINFER_NULL);
    CHECK(enerinfer_front_init(NULL, &tables) == ENERINFER_NULL);
    CHECK(enerinfer_front_init(&front, NULL) == ENERINFER_NULL);
    CHECK(enerinfer_choose(NULL, 1) == ENERINFER_NULL);
    CHECK(enerinfer_controller_init(NULL, &front) == ENERINFER_NULL);
    CHECK(enerinfer_controller_init(controller, NULL) == ENERINFER_NULL);
    CHECK(enerinfer_begin_decode(NULL, 1, 1) == ENERINFER_NULL);
    CHECK(enerinfer_on_token(NULL, 1) == ENERINFER_NULL);
    enerinfer_end(NULL);

    CHECK(enerinfer_predict(&shape, &tables) == 0);
    for (int i = 0; i < ENERINFER_POINTS; i++) CHECK(tables.throughput_utok_per_s[i] > 0);
    /* The formulas of the fields that were not given. */
    shape.head_dim = shape.hidden / shape.heads;
    shape.experts = shape.active_experts = 1;
    CHECK(enerinfer_predict(&shape, &again) == 0);
    CHECK(memcmp(&tables, &again, sizeof tables) == 0);
    /* Of experts that are active as given, or all. */
    shape.experts = shape.active_experts = 8;
    CHECK(enerinfer_predict(&shape, &tables) >= 0);
    shape.active_experts = 0;
    CHECK(enerinfer_predict(&shape, &again) >= 0);
    CHECK(memcmp(&tables, &again, sizeof tables) == 0);
    shape.active_experts = 2;
    CHECK(enerinfer_predict(&shape, &again) >= 0);
    CHECK(memcmp(&tables, &again, sizeof tables) != 0);

    CHECK(enerinfer_front_init(&front, &tables) == 0);
    CHECK(is_point(enerinfer_choose(&front, 0)));
    CHECK(is_point(enerinfer_choose(&front, UINT32_MAX)));
    CHECK(enerinfer_controller_init(controller, &front) == 0);
    CHECK(enerinfer_on_token(controller, 5) == ENERINFER_KEEP); /* no decoding yet */
    CHECK(is_point(enerinfer_begin_decode(controller, UINT32_MAX, UINT64_MAX)));
    int32_t point = enerinfer_on_token(controller, 0); /* a clock that ran backwards */
    CHECK(point == ENERINFER_KEEP || is_point(point));
    enerinfer_end(controller);
    enerinfer_end(controller);
    CHECK(guarded.guard == 0x5aa5c33c0ff0f00f);

    for (uint32_t i = 0; i < ENERINFER_POINTS; i++)
        CHECK(enerinfer_accel_khz(i) > 0 && enerinfer_mem_khz(i) > 0);
    CHECK(enerinfer_mem_khz(ENERINFER_POINTS) == 0);
    CHECK(enerinfer_mem_khz(UINT32_MAX) == 0);
    CHECK(enerinfer_accel_khz(UINT32_MAX) == 0);

    memset(&shape, 0xff, sizeof shape);
    CHECK(enerinfer_predict(&shape, &tables) == ENERINFER_EXTRAPOLATED);
    memset(&shape, 0, sizeof shape);
    CHECK(enerinfer_predict(&shape, &tables) == ENERINFER_EXTRAPOLATED);
    /* Tables of the caller's making. */
    memset(&tables, 0, sizeof tables);
    CHECK(enerinfer_front_init(&front, &tables) == 0);
    CHECK(is_point(enerinfer_choose(&front, 1)));
    return failures != 0;
}
