/* C API of enerinfer-runtime: predicts decode throughput and power of a language model at every
 * operating point of the platform, and steers the operating point while tokens are decoded.
 *
 * Nothing allocates, blocks or unwinds; all memory is the caller's. Functions may be called from
 * any thread, but not on the same object at once. */
#ifndef ENERINFER_H
#define ENERINFER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Number of operating points: memory levels times accelerator levels. */
#define ENERINFER_POINTS @POINTS@

/* The shape lies outside the training data; the answer is that of the nearest edge. */
#define ENERINFER_EXTRAPOLATED 1
/* An argument was a null pointer. */
#define ENERINFER_NULL (-1)
/* The operating point stays as it is. */
#define ENERINFER_KEEP (-2)

/* Shape of a decoder-only transformer. Zero in the fields after `vocab` means: not given. */
typedef struct {
    uint32_t layers;
    uint32_t hidden;          /* hidden (embedding) size */
    uint32_t heads;           /* attention heads */
    uint32_t kv_heads;        /* key/value heads */
    uint32_t ffn;             /* intermediate size of one expert */
    uint32_t vocab;
    uint32_t head_dim;        /* size of one head; not given: hidden / heads */
    uint32_t experts;         /* experts per layer; not given: dense */
    uint32_t active_experts;  /* experts that run per token */
    uint32_t plain_ffn;       /* 1: the FFN has two matrices instead of three */
    uint32_t tied_embeddings; /* 1: the input embedding is also the LM head */
    uint64_t total_params;    /* parameters; not given: by formula */
} enerinfer_shape;

/* Predictions for every operating point; power is zero where it is not predicted. */
typedef struct {
    uint32_t throughput_utok_per_s[ENERINFER_POINTS]; /* 1 token/s = 1 000 000 */
    uint32_t power_uw[ENERINFER_POINTS];              /* 1 W = 1 000 000 */
    uint32_t accel_power_uw[ENERINFER_POINTS];
} enerinfer_tables;

/* Operating points worth choosing. Opaque; 8-byte aligned. */
typedef struct {
    uint64_t opaque[2 * ENERINFER_POINTS + 4];
} enerinfer_front;

/* Energy-aware controller of one decoding. Opaque; 8-byte aligned. */
typedef struct {
    uint64_t opaque[128];
} enerinfer_controller;

/* Predicts once, when a model is loaded. 0, ENERINFER_EXTRAPOLATED or ENERINFER_NULL. */
int32_t enerinfer_predict(const enerinfer_shape *shape, enerinfer_tables *tables);

/* Finds the points that no other beats in both throughput and efficiency. 0 or ENERINFER_NULL. */
int32_t enerinfer_front_init(enerinfer_front *front, const enerinfer_tables *tables);

/* The most efficient point faster than the given throughput, else the fastest point. */
int32_t enerinfer_choose(const enerinfer_front *front, uint32_t qoe_utok_per_s);

/* Prepares a controller. The front must stay where it is while the controller is used. */
int32_t enerinfer_controller_init(enerinfer_controller *controller, const enerinfer_front *front);

/* Decoding begins: the operating point to apply. `now_us` is a monotonic clock in µs. */
int32_t enerinfer_begin_decode(enerinfer_controller *controller, uint32_t qoe_utok_per_s,
                               uint64_t now_us);

/* A token was decoded: the operating point to apply, or ENERINFER_KEEP. */
int32_t enerinfer_on_token(enerinfer_controller *controller, uint64_t now_us);

/* Decoding ended. */
void enerinfer_end(enerinfer_controller *controller);

/* Clocks of an operating point in kHz; 0 if there is no such point. */
uint32_t enerinfer_accel_khz(uint32_t point);
uint32_t enerinfer_mem_khz(uint32_t point);

#ifdef __cplusplus
}
#endif

#endif
