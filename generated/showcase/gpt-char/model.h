/* model.h: sizes, parameters and entries of gpt, made by lathe.  Edit gpt.lua, not this file. */
#ifndef GPT_MODEL_H
#define GPT_MODEL_H

#include "lathe_rt.h"

enum {
    BATCH = 12,
    HEADS = 4,
    LAYERS = 4,
    SEQ = 64,
    VOCAB = 65,
    WIDTH = 128,
};

/* Parameters, and in the same layout their gradients: 804,096 numbers. */
typedef struct Gpt_params {
    float wte_weight[VOCAB][WIDTH];              /* wte.weight  gpt.lua:145 */
    float wpe_weight[SEQ][WIDTH];                /* wpe.weight  gpt.lua:145 */
    struct {
        float ln_1_weight[WIDTH];                /* h.ln_1.weight  gpt.lua:17 */
        float attn_c_attn_weight[3 * WIDTH][WIDTH]; /* h.attn.c_attn.weight  gpt.lua:18 */
        float attn_c_proj_weight[WIDTH][WIDTH];  /* h.attn.c_proj.weight  gpt.lua:18 */
        float ln_2_weight[WIDTH];                /* h.ln_2.weight  gpt.lua:24 */
        float mlp_c_fc_weight[4 * WIDTH][WIDTH]; /* h.mlp.c_fc.weight  gpt.lua:25 */
        float mlp_c_proj_weight[WIDTH][4 * WIDTH]; /* h.mlp.c_proj.weight  gpt.lua:25 */
    } h[LAYERS];
    float ln_f_weight[WIDTH];                    /* ln_f.weight  gpt.lua:151 */
} Gpt_params;
static_assert(sizeof(Gpt_params) == 3216384, "the layout of the plan");

/* Kept between calls; zero at first. */
typedef struct Gpt_state {
    float h_attn_keys[LAYERS][1][SEQ][HEADS][WIDTH / HEADS]; /* gpt.lua:18 */
    float h_attn_values[LAYERS][1][SEQ][HEADS][WIDTH / HEADS]; /* gpt.lua:18 */
} Gpt_state;

typedef struct Gpt_train_in {
    int tokens[BATCH][SEQ];
    int targets[BATCH][SEQ];
} Gpt_train_in;

typedef struct Gpt_train_out {
    float loss;
    float accuracy;
} Gpt_train_out;

typedef struct Gpt_grad_in {
    int tokens[BATCH][SEQ];
    int targets[BATCH][SEQ];
} Gpt_grad_in;

typedef struct Gpt_grad_out {
    float loss;
    float accuracy;
    float logits[BATCH][SEQ][VOCAB];
} Gpt_grad_out;

typedef struct Gpt_eval_in {
    int tokens[BATCH][SEQ];
    int targets[BATCH][SEQ];
} Gpt_eval_in;

typedef struct Gpt_eval_out {
    float loss;
    float accuracy;
} Gpt_eval_out;

typedef struct Gpt_decode_in {
    int tokens[1][1];
    int position;
} Gpt_decode_in;

typedef struct Gpt_decode_out {
    float logits[1][1][VOCAB];
} Gpt_decode_out;

void gpt_train(const Gpt_params *p, Gpt_params *d, const Gpt_train_in *in, Gpt_train_out *out,
        char *work);
void gpt_grad(const Gpt_params *p, Gpt_params *d, const Gpt_grad_in *in, Gpt_grad_out *out,
        char *work);
void gpt_eval(const Gpt_params *p, const Gpt_eval_in *in, Gpt_eval_out *out, char *work);
void gpt_decode(const Gpt_params *p, const Gpt_decode_in *in, Gpt_decode_out *out, Gpt_state *s,
        char *work);

#endif
