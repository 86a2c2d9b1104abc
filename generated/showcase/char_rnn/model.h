/* model.h: sizes, parameters and entries of char_rnn, made by lathe.
 *     Edit char_rnn.lua, not this file. */
#ifndef CHAR_RNN_MODEL_H
#define CHAR_RNN_MODEL_H

#include "lathe_rt.h"

enum {
    BATCH = 32,
    HIDDEN = 256,
    SEQ = 64,
    VOCAB = 65,
    WIDTH = 64,
};

/* Parameters, and in the same layout their gradients: 350,593 numbers. */
typedef struct Char_rnn_params {
    float embed_weight[VOCAB][WIDTH];            /* embed.weight  char_rnn.lua:16 */
    float lstm_weight_ih_l0[4 * HIDDEN][WIDTH];  /* lstm.weight_ih_l0  char_rnn.lua:17 */
    float lstm_bias_ih_l0[4 * HIDDEN];           /* lstm.bias_ih_l0  char_rnn.lua:17 */
    float lstm_weight_hh_l0[4 * HIDDEN][HIDDEN]; /* lstm.weight_hh_l0  char_rnn.lua:17 */
    float lstm_bias_hh_l0[4 * HIDDEN];           /* lstm.bias_hh_l0  char_rnn.lua:17 */
    float head_weight[VOCAB][HIDDEN];            /* head.weight  char_rnn.lua:20 */
    float head_bias[VOCAB];                      /* head.bias  char_rnn.lua:20 */
    float head_bias_pad[15];
} Char_rnn_params;
static_assert(sizeof(Char_rnn_params) == 1402432, "the layout of the plan");

/* Kept between calls; zero at first. */
typedef struct Char_rnn_state {
    float lstm_c[1][HIDDEN];                                 /* char_rnn.lua:17 */
    float lstm_h[1][HIDDEN];                                 /* char_rnn.lua:17 */
} Char_rnn_state;

typedef struct Char_rnn_train_in {
    int tokens[BATCH][SEQ];
    int targets[BATCH][SEQ];
} Char_rnn_train_in;

typedef struct Char_rnn_train_out {
    float loss;
    float accuracy;
} Char_rnn_train_out;

typedef struct Char_rnn_grad_in {
    int tokens[BATCH][SEQ];
    int targets[BATCH][SEQ];
} Char_rnn_grad_in;

typedef struct Char_rnn_grad_out {
    float loss;
    float accuracy;
    float logits[BATCH][SEQ][VOCAB];
} Char_rnn_grad_out;

typedef struct Char_rnn_eval_in {
    int tokens[BATCH][SEQ];
    int targets[BATCH][SEQ];
} Char_rnn_eval_in;

typedef struct Char_rnn_eval_out {
    float loss;
    float accuracy;
} Char_rnn_eval_out;

typedef struct Char_rnn_decode_in {
    int tokens[1][1];
} Char_rnn_decode_in;

typedef struct Char_rnn_decode_out {
    float logits[1][1][VOCAB];
} Char_rnn_decode_out;

void char_rnn_train(const Char_rnn_params *p, Char_rnn_params *d, const Char_rnn_train_in *in,
        Char_rnn_train_out *out, char *work);
void char_rnn_grad(const Char_rnn_params *p, Char_rnn_params *d, const Char_rnn_grad_in *in,
        Char_rnn_grad_out *out, char *work);
void char_rnn_eval(const Char_rnn_params *p, const Char_rnn_eval_in *in, Char_rnn_eval_out *out,
        char *work);
void char_rnn_decode(const Char_rnn_params *p, const Char_rnn_decode_in *in,
        Char_rnn_decode_out *out, Char_rnn_state *s, char *work);

#endif
