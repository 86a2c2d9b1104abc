/* model.c: char_rnn, made by lathe from char_rnn.lua, configuration default.
 *   Edit that, not this file.  fp32.
 *
 *   350,593 parameters, 4,231,004,160 flop in a call of train, 46,596,096 bytes in all
 *
 *   First the kernels, each on all threads; then one function an entry, which calls them in order;
 *   then what the trainer knows of the model. */
#include "model.h"

/* d_lstm_mul: copy      char_rnn.lua:17 lstm      moves 32,768 bytes */
KERNEL void lstm_fill_back(float (*RESTRICT d_lstm_mul)[HIDDEN])
{
    for (int b = 0; b < BATCH; b++)
        for (int c = 0; c < HIDDEN; c++)
            d_lstm_mul[b][c] = 0;
}

/* embed_gather = embed_weight[tokens]      char_rnn.lua:16 embed      moves 1,056,768 bytes */
KERNEL void make_embed_gather(float (*RESTRICT embed_gather)[WIDTH],
        const float (*RESTRICT embed_weight)[WIDTH], const int *RESTRICT tokens)
{
    PARALLEL for (int r = 0; r < BATCH * SEQ; r++) {
        const int id = tokens[r];
        EACH for (int c = 0; c < WIDTH; c++)
            embed_gather[r][c] = embed_weight[id][c];
    }
}

/* d_lstm_permute: copy      char_rnn.lua:17 lstm      moves 1,048,576 bytes */
KERNEL void lstm_copy_back(float (*RESTRICT d_lstm_permute)[BATCH][WIDTH],
        const float (*RESTRICT embed_gather)[SEQ][WIDTH])
{
    PARALLEL for (int t = 0; t < SEQ; t++)
        for (int b = 0; b < BATCH; b++)
            EACH for (int c = 0; c < WIDTH; c++)
                d_lstm_permute[t][b][c] = embed_gather[b][t][c];
}

/* lstm_mul: copy      char_rnn.lua:17 lstm      moves 32,768 bytes */
KERNEL void lstm_fill(int from, int to, float (*RESTRICT lstm_mul)[HIDDEN])
{
    for (int b = from; b < to; b++)
        for (int c = 0; c < HIDDEN; c++)
            lstm_mul[b][c] = 0;
}

/* lstm_add, lstm_mul: add, mul, tanh      char_rnn.lua:17 lstm      moves 368,640 bytes */
KERNEL void lstm_tanh(int from, int to, float (*RESTRICT lstm_add)[HIDDEN],
        float (*RESTRICT lstm_mul)[HIDDEN], const float (*RESTRICT lstm_add_2)[HIDDEN],
        const float (*RESTRICT lstm_dot2)[4 * HIDDEN], const float *RESTRICT lstm_bias_ih_l0,
        const float (*RESTRICT lstm_dot)[4 * HIDDEN], const float *RESTRICT lstm_bias_hh_l0)
{
    for (int b = from; b < to; b++)
        for (int c = 0; c < HIDDEN; c++) {
            const float value = lstm_dot2[b][c + HIDDEN] + lstm_bias_ih_l0[c + HIDDEN] +
                    (lstm_dot[b][c + HIDDEN] + lstm_bias_hh_l0[c + HIDDEN]);
            const float value_2 = lstm_dot2[b][c + 2 * HIDDEN] + lstm_bias_ih_l0[c + 2 * HIDDEN] +
                    (lstm_dot[b][c + 2 * HIDDEN] + lstm_bias_hh_l0[c + 2 * HIDDEN]);
            const float product = (0.5f +
                    0.5f *
                    tanh_f32(0.5f * (lstm_dot2[b][c] + lstm_bias_ih_l0[c] +
                    (lstm_dot[b][c] + lstm_bias_hh_l0[c])))) * tanh_f32(value_2);
            const float value_3 = (0.5f + 0.5f * tanh_f32(0.5f * value)) * lstm_add_2[b][c] +
                    product;
            const float value_4 = lstm_dot2[b][c + 3 * HIDDEN] + lstm_bias_ih_l0[c + 3 * HIDDEN] +
                    (lstm_dot[b][c + 3 * HIDDEN] + lstm_bias_hh_l0[c + 3 * HIDDEN]);
            lstm_add[b][c] = value_3;
            lstm_mul[b][c] = (0.5f + 0.5f * tanh_f32(0.5f * value_4)) * tanh_f32(value_3);
        }
}

/* lstm_permute: copy      char_rnn.lua:17 lstm      moves 4,194,304 bytes */
KERNEL void lstm_copy(float (*RESTRICT lstm_permute)[SEQ][HIDDEN],
        const float (*RESTRICT lstm_mul)[BATCH][HIDDEN])
{
    PARALLEL for (int b = 0; b < BATCH; b++)
        for (int t = 0; t < SEQ; t++)
            EACH for (int c = 0; c < HIDDEN; c++)
                lstm_permute[b][t][c] = lstm_mul[t + 1][b][c];
}

/* linear_cross_entropy_sub2, accuracy_cast, linear_cross_entropy_sub,
 * d_head_bias: add, rmax, sub, exp, eq, where, cast, neg, sum, log, div, mul
 *     char_rnn.lua:21 linear_cross_entropy      moves 1,098,248 bytes */
KERNEL void linear_cross_entropy_accuracy_exp(float (*RESTRICT linear_cross_entropy_sub)[VOCAB],
        float *RESTRICT linear_cross_entropy_sub2, float *RESTRICT accuracy_cast,
        float *RESTRICT d_head_bias, float (*RESTRICT d_head_bias_partial)[VOCAB],
        const float (*RESTRICT linear_cross_entropy_dot2)[VOCAB], const float *RESTRICT head_bias,
        const int *RESTRICT targets)
{
    PARALLEL for (int k = 0; k < 32; k++) {
        for (int v = 0; v < VOCAB; v++)
            d_head_bias_partial[k][v] = 0;
        for (int r = k * 64; r < (k + 1) * 64; r++) {
            float e_row[VOCAB];
            float maxima[LANES];
            for (int l = 0; l < LANES; l++) maxima[l] = -INFINITY;
            for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
                SIMD for (int l = 0; l < LANES; l++)
                    maxima[l] = max_f32(maxima[l],
                            linear_cross_entropy_dot2[r][v + l] + head_bias[v + l]);
            for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++)
                maxima[v % LANES] = max_f32(maxima[v % LANES],
                        linear_cross_entropy_dot2[r][v] + head_bias[v]);
            const float largest = max_lanes_f32(maxima);
            const int x = targets[r];
            float sums[LANES] = {0};
            float sums_2[LANES] = {0};
            float maxima_2[LANES];
            for (int l = 0; l < LANES; l++) maxima_2[l] = -INFINITY;
            for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float diff = linear_cross_entropy_dot2[r][v + l] + head_bias[v + l] -
                            largest;
                    const float e = exp_f32(diff);
                    e_row[v + l] = e;
                    sums[l] += e;
                    sums_2[l] += v + l == x ? diff : 0;
                    maxima_2[l] = max_f32(maxima_2[l], diff == 0 ? -((float)(v + l)) : -64);
                }
            for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++) {
                const float diff = linear_cross_entropy_dot2[r][v] + head_bias[v] - largest;
                const float e = exp_f32(diff);
                e_row[v] = e;
                sums[v % LANES] += e;
                sums_2[v % LANES] += v == x ? diff : 0;
                maxima_2[v % LANES] = max_f32(maxima_2[v % LANES], diff == 0 ? -((float)v) : -64);
            }
            const float sum = sum_lanes_f32(sums);
            const float ratio = 0.00048828125f / sum;
            EACH for (int v = 0; v < VOCAB; v++) {
                const float diff = e_row[v] * ratio - (v == x ? 0.00048828125f : 0.0f);
                linear_cross_entropy_sub[r][v] = diff;
                d_head_bias_partial[k][v] += diff;
            }
            linear_cross_entropy_sub2[r] = log_f32(sum) - sum_lanes_f32(sums_2);
            accuracy_cast[r] = (float)((int)(-max_lanes_f32(maxima_2)) == x);
        }
    }
    for (int v = 0; v < VOCAB; v++)
        d_head_bias[v] = d_head_bias_partial[0][v];
    for (int k = 1; k < 32; k++)
        for (int v = 0; v < VOCAB; v++)
            d_head_bias[v] += d_head_bias_partial[k][v];
}

/* loss: sum, div      char_rnn.lua:21 linear_cross_entropy      moves 8,196 bytes */
KERNEL void linear_cross_entropy_div(float *RESTRICT loss,
        const float *RESTRICT linear_cross_entropy_sub2)
{
    float sums[LANES] = {0};
    for (int i = 0; i < BATCH * SEQ; i += LANES)
        SIMD for (int l = 0; l < LANES; l++)
            sums[l] += linear_cross_entropy_sub2[i + l];
    *loss = sum_lanes_f32(sums) / (BATCH * SEQ);
}

/* d_lstm_mul, d_lstm_concat: add, mul, tanh, sub      char_rnn.lua:17 lstm
 *     moves 565,248 bytes */
KERNEL void lstm_tanh_back(int from, int to, float (*RESTRICT d_lstm_mul)[HIDDEN],
        float (*RESTRICT d_lstm_concat)[4 * HIDDEN], const float (*RESTRICT d_lstm_dot2)[HIDDEN],
        const float (*RESTRICT linear_cross_entropy_dot)[HIDDEN],
        const float (*RESTRICT lstm_dot2)[4 * HIDDEN], const float *RESTRICT lstm_bias_ih_l0,
        const float (*RESTRICT lstm_dot)[4 * HIDDEN], const float *RESTRICT lstm_bias_hh_l0,
        const float (*RESTRICT lstm_add)[HIDDEN], int t)
{
    for (int b = from; b < to; b++)
        for (int c = 0; c < HIDDEN; c++) {
            const float x = d_lstm_mul[b][c];
            const float value = d_lstm_dot2[b][c] + linear_cross_entropy_dot[t + 64 * b][c];
            const float value_2 = lstm_dot2[b][c + 3 * HIDDEN] + lstm_bias_ih_l0[c + 3 * HIDDEN] +
                    (lstm_dot[b][c + 3 * HIDDEN] + lstm_bias_hh_l0[c + 3 * HIDDEN]);
            const float th = tanh_f32(0.5f * value_2);
            const float value_3 = lstm_dot2[b][c + HIDDEN] + lstm_bias_ih_l0[c + HIDDEN] +
                    (lstm_dot[b][c + HIDDEN] + lstm_bias_hh_l0[c + HIDDEN]);
            const float th_2 = tanh_f32(0.5f * value_3);
            const float value_4 = 0.5f + 0.5f * th_2;
            const float y = lstm_add[b][c];
            const float th_3 = tanh_f32(0.5f * (lstm_dot2[b][c] + lstm_bias_ih_l0[c] +
                    (lstm_dot[b][c] + lstm_bias_hh_l0[c])));
            const float value_5 = 0.5f + 0.5f * th_3;
            const float value_6 = lstm_dot2[b][c + 2 * HIDDEN] + lstm_bias_ih_l0[c + 2 * HIDDEN] +
                    (lstm_dot[b][c + 2 * HIDDEN] + lstm_bias_hh_l0[c + 2 * HIDDEN]);
            const float th_4 = tanh_f32(value_6);
            const float th_5 = tanh_f32(value_4 * y + value_5 * th_4);
            const float value_7 = x + value * (0.5f + 0.5f * th) * (1 - th_5 * th_5);
            d_lstm_mul[b][c] = value_7 * value_4;
            d_lstm_concat[b][c] = value_7 * th_4 * 0.5f * (1 - th_3 * th_3) * 0.5f;
            d_lstm_concat[b][c + HIDDEN] = value_7 * y * 0.5f * (1 - th_2 * th_2) * 0.5f;
            d_lstm_concat[b][c + 2 * HIDDEN] = value_7 * value_5 * (1 - th_4 * th_4);
            d_lstm_concat[b][c + 3 * HIDDEN] = value * th_5 * 0.5f * (1 - th * th) * 0.5f;
        }
}

/* d_lstm_bias_ih_l0: sum      char_rnn.lua:17 lstm      moves 8,392,704 bytes */
KERNEL void lstm_sum_back(float *RESTRICT d_lstm_bias_ih_l0,
        float (*RESTRICT d_lstm_bias_ih_l0_partial)[4 * HIDDEN],
        const float (*RESTRICT d_lstm_concat)[4 * HIDDEN])
{
    PARALLEL for (int k = 0; k < 32; k++) {
        for (int c = 0; c < 4 * HIDDEN; c++)
            d_lstm_bias_ih_l0_partial[k][c] = 0;
        for (int r = k * 64; r < (k + 1) * 64; r++)
            EACH for (int c = 0; c < 4 * HIDDEN; c++)
                d_lstm_bias_ih_l0_partial[k][c] += d_lstm_concat[r][c];
    }
    for (int c = 0; c < 4 * HIDDEN; c++)
        d_lstm_bias_ih_l0[c] = d_lstm_bias_ih_l0_partial[0][c];
    for (int k = 1; k < 32; k++)
        for (int c = 0; c < 4 * HIDDEN; c++)
            d_lstm_bias_ih_l0[c] += d_lstm_bias_ih_l0_partial[k][c];
}

/* d_embed_weight[tokens] += d_lstm_dot, in order      char_rnn.lua:16 embed
 *     moves 549,120 bytes */
KERNEL void embed_scatter_add_back(float (*RESTRICT d_embed_weight)[WIDTH],
        const float (*RESTRICT d_lstm_dot)[BATCH][WIDTH], const int (*RESTRICT tokens)[SEQ])
{
    for (int v = 0; v < VOCAB; v++)
        for (int c = 0; c < WIDTH; c++)
            d_embed_weight[v][c] = 0;
    const int parts = column_parts(WIDTH);
    PARALLEL for (int part = 0; part < parts; part++) {
        const int low = column_from(WIDTH, part, parts),
                high = column_from(WIDTH, part + 1, parts);
        for (int b = 0; b < BATCH; b++)
            for (int t = 0; t < SEQ; t++) {
                const int id = tokens[b][t];
                EACH for (int c = 0; c < high - low; c++)
                    d_embed_weight[id][low + c] += d_lstm_dot[t][b][low + c];
            }
    }
}

/* d_lstm_bias_hh_l0: copy      char_rnn.lua:17 lstm      moves 8,192 bytes */
KERNEL void lstm_copy_back_2(float *RESTRICT d_lstm_bias_hh_l0,
        const float *RESTRICT d_lstm_bias_ih_l0)
{
    for (int i = 0; i < 4 * HIDDEN; i++)
        d_lstm_bias_hh_l0[i] = d_lstm_bias_ih_l0[i];
}

/* logits, linear_cross_entropy_sub2, accuracy_cast, linear_cross_entropy_sub,
 * d_head_bias: add, rmax, sub, exp, eq, where, cast, neg, sum, log, div, mul
 *     char_rnn.lua:21 linear_cross_entropy      moves 2,163,468 bytes */
KERNEL void linear_cross_entropy_head_exp(float (*RESTRICT logits)[VOCAB],
        float (*RESTRICT linear_cross_entropy_sub)[VOCAB],
        float *RESTRICT linear_cross_entropy_sub2, float *RESTRICT accuracy_cast,
        float *RESTRICT d_head_bias, float (*RESTRICT d_head_bias_partial)[VOCAB],
        const float (*RESTRICT linear_cross_entropy_dot2)[VOCAB], const float *RESTRICT head_bias,
        const float (*RESTRICT head_dot)[VOCAB], const int *RESTRICT targets)
{
    PARALLEL for (int k = 0; k < 32; k++) {
        for (int v = 0; v < VOCAB; v++)
            d_head_bias_partial[k][v] = 0;
        for (int r = k * 64; r < (k + 1) * 64; r++) {
            float e_row[VOCAB];
            float maxima[LANES];
            for (int l = 0; l < LANES; l++) maxima[l] = -INFINITY;
            for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float x = head_bias[v + l];
                    logits[r][v + l] = head_dot[r][v + l] + x;
                    maxima[l] = max_f32(maxima[l], linear_cross_entropy_dot2[r][v + l] + x);
                }
            for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++) {
                const float x = head_bias[v];
                logits[r][v] = head_dot[r][v] + x;
                maxima[v % LANES] = max_f32(maxima[v % LANES],
                        linear_cross_entropy_dot2[r][v] + x);
            }
            const float largest = max_lanes_f32(maxima);
            const int x = targets[r];
            float sums[LANES] = {0};
            float sums_2[LANES] = {0};
            float maxima_2[LANES];
            for (int l = 0; l < LANES; l++) maxima_2[l] = -INFINITY;
            for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float diff = linear_cross_entropy_dot2[r][v + l] + head_bias[v + l] -
                            largest;
                    const float e = exp_f32(diff);
                    e_row[v + l] = e;
                    sums[l] += e;
                    sums_2[l] += v + l == x ? diff : 0;
                    maxima_2[l] = max_f32(maxima_2[l], diff == 0 ? -((float)(v + l)) : -64);
                }
            for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++) {
                const float diff = linear_cross_entropy_dot2[r][v] + head_bias[v] - largest;
                const float e = exp_f32(diff);
                e_row[v] = e;
                sums[v % LANES] += e;
                sums_2[v % LANES] += v == x ? diff : 0;
                maxima_2[v % LANES] = max_f32(maxima_2[v % LANES], diff == 0 ? -((float)v) : -64);
            }
            const float sum = sum_lanes_f32(sums);
            const float ratio = 0.00048828125f / sum;
            EACH for (int v = 0; v < VOCAB; v++) {
                const float diff = e_row[v] * ratio - (v == x ? 0.00048828125f : 0.0f);
                linear_cross_entropy_sub[r][v] = diff;
                d_head_bias_partial[k][v] += diff;
            }
            linear_cross_entropy_sub2[r] = log_f32(sum) - sum_lanes_f32(sums_2);
            accuracy_cast[r] = (float)((int)(-max_lanes_f32(maxima_2)) == x);
        }
    }
    for (int v = 0; v < VOCAB; v++)
        d_head_bias[v] = d_head_bias_partial[0][v];
    for (int k = 1; k < 32; k++)
        for (int v = 0; v < VOCAB; v++)
            d_head_bias[v] += d_head_bias_partial[k][v];
}

/* lstm_add, lstm_mul: add, mul, tanh      char_rnn.lua:17 lstm      moves 368,640 bytes */
KERNEL void lstm_tanh_2(int from, int to, float (*RESTRICT lstm_add)[HIDDEN],
        float (*RESTRICT lstm_mul)[HIDDEN], const float (*RESTRICT lstm_dot2)[4 * HIDDEN],
        const float *RESTRICT lstm_bias_ih_l0, const float (*RESTRICT lstm_dot)[4 * HIDDEN],
        const float *RESTRICT lstm_bias_hh_l0)
{
    for (int b = from; b < to; b++)
        for (int c = 0; c < HIDDEN; c++) {
            const float x = lstm_add[b][c];
            const float value = lstm_dot2[b][c + HIDDEN] + lstm_bias_ih_l0[c + HIDDEN] +
                    (lstm_dot[b][c + HIDDEN] + lstm_bias_hh_l0[c + HIDDEN]);
            const float value_2 = lstm_dot2[b][c + 2 * HIDDEN] + lstm_bias_ih_l0[c + 2 * HIDDEN] +
                    (lstm_dot[b][c + 2 * HIDDEN] + lstm_bias_hh_l0[c + 2 * HIDDEN]);
            const float product = (0.5f +
                    0.5f *
                    tanh_f32(0.5f * (lstm_dot2[b][c] + lstm_bias_ih_l0[c] +
                    (lstm_dot[b][c] + lstm_bias_hh_l0[c])))) * tanh_f32(value_2);
            const float value_3 = (0.5f + 0.5f * tanh_f32(0.5f * value)) * x + product;
            const float value_4 = lstm_dot2[b][c + 3 * HIDDEN] + lstm_bias_ih_l0[c + 3 * HIDDEN] +
                    (lstm_dot[b][c + 3 * HIDDEN] + lstm_bias_hh_l0[c + 3 * HIDDEN]);
            lstm_add[b][c] = value_3;
            lstm_mul[b][c] = (0.5f + 0.5f * tanh_f32(0.5f * value_4)) * tanh_f32(value_3);
        }
}

/* lstm_permute: copy      char_rnn.lua:17 lstm      moves 4,194,304 bytes */
KERNEL void lstm_copy_2(int from, int to, float (*RESTRICT lstm_permute)[SEQ][HIDDEN],
        const float (*RESTRICT lstm_mul)[BATCH][HIDDEN])
{
    for (int r = from; r < to; r++) {
        const int b = r / 64;
        const int t = r % SEQ;
        for (int c = 0; c < HIDDEN; c++)
            lstm_permute[b][t][c] = lstm_mul[t + 1][b][c];
    }
}

/* linear_cross_entropy_sub, accuracy_cast: add, rmax, sub, exp, eq, where, cast, neg, sum, log
 *     char_rnn.lua:22 accuracy      moves 565,508 bytes */
KERNEL void linear_cross_entropy_accuracy_exp_2(int from, int to,
        float *RESTRICT linear_cross_entropy_sub, float *RESTRICT accuracy_cast,
        const float (*RESTRICT linear_cross_entropy_dot)[VOCAB], const float *RESTRICT head_bias,
        const int *RESTRICT targets)
{
    for (int r = from; r < to; r++) {
        float maxima[LANES];
        for (int l = 0; l < LANES; l++) maxima[l] = -INFINITY;
        for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
            SIMD for (int l = 0; l < LANES; l++)
                maxima[l] = max_f32(maxima[l], linear_cross_entropy_dot[r][v + l] +
                        head_bias[v + l]);
        for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++)
            maxima[v % LANES] = max_f32(maxima[v % LANES],
                    linear_cross_entropy_dot[r][v] + head_bias[v]);
        const float largest = max_lanes_f32(maxima);
        const int x = targets[r];
        float sums[LANES] = {0};
        float sums_2[LANES] = {0};
        float maxima_2[LANES];
        for (int l = 0; l < LANES; l++) maxima_2[l] = -INFINITY;
        for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
            SIMD for (int l = 0; l < LANES; l++) {
                const float diff = linear_cross_entropy_dot[r][v + l] + head_bias[v + l] - largest;
                sums[l] += exp_f32(diff);
                sums_2[l] += v + l == x ? diff : 0;
                maxima_2[l] = max_f32(maxima_2[l], diff == 0 ? -((float)(v + l)) : -64);
            }
        for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++) {
            const float diff = linear_cross_entropy_dot[r][v] + head_bias[v] - largest;
            sums[v % LANES] += exp_f32(diff);
            sums_2[v % LANES] += v == x ? diff : 0;
            maxima_2[v % LANES] = max_f32(maxima_2[v % LANES], diff == 0 ? -((float)v) : -64);
        }
        linear_cross_entropy_sub[r] = log_f32(sum_lanes_f32(sums)) - sum_lanes_f32(sums_2);
        accuracy_cast[r] = (float)((int)(-max_lanes_f32(maxima_2)) == x);
    }
}

/* embed_gather = embed_weight[tokens]      char_rnn.lua:16 embed      moves 516 bytes */
KERNEL void embed_gather_2(float *RESTRICT embed_gather,
        const float (*RESTRICT embed_weight)[WIDTH], int tokens)
{
    const int id = tokens;
    for (int c = 0; c < WIDTH; c++)
        embed_gather[c] = embed_weight[id][c];
}

/* lstm_c, lstm_h: add, mul, tanh      char_rnn.lua:17 lstm      moves 19,456 bytes */
KERNEL void lstm_tanh_3(float *RESTRICT lstm_c, float *RESTRICT lstm_h,
        const float *RESTRICT lstm_dot2, const float *RESTRICT lstm_bias_ih_l0,
        const float *RESTRICT lstm_dot, const float *RESTRICT lstm_bias_hh_l0)
{
    for (int i = 0; i < HIDDEN; i++) {
        const float x = lstm_c[i];
        const float product = 0.5f * (lstm_dot2[i + HIDDEN] + lstm_bias_ih_l0[i + HIDDEN] +
                (lstm_dot[i + HIDDEN] + lstm_bias_hh_l0[i + HIDDEN]));
        const float value = lstm_dot2[i + 2 * HIDDEN] + lstm_bias_ih_l0[i + 2 * HIDDEN] +
                (lstm_dot[i + 2 * HIDDEN] + lstm_bias_hh_l0[i + 2 * HIDDEN]);
        const float product_2 = (0.5f +
                0.5f *
                tanh_f32(0.5f * (lstm_dot2[i] + lstm_bias_ih_l0[i] +
                (lstm_dot[i] + lstm_bias_hh_l0[i])))) * tanh_f32(value);
        const float value_2 = (0.5f + 0.5f * tanh_f32(product)) * x + product_2;
        const float value_3 = lstm_dot2[i + 3 * HIDDEN] + lstm_bias_ih_l0[i + 3 * HIDDEN] +
                (lstm_dot[i + 3 * HIDDEN] + lstm_bias_hh_l0[i + 3 * HIDDEN]);
        lstm_c[i] = value_2;
        lstm_h[i] = (0.5f + 0.5f * tanh_f32(0.5f * value_3)) * tanh_f32(value_2);
    }
}

/* logits: add      char_rnn.lua:20 head      moves 780 bytes */
KERNEL void head_add(float *RESTRICT logits, const float *RESTRICT head_dot,
        const float *RESTRICT head_bias)
{
    for (int v = 0; v < VOCAB; v++)
        logits[v] = head_dot[v] + head_bias[v];
}

/* Matrix products that are no plain ones: extents, and strides in numbers. */

/* lstm_dot2 = embed_gather . lstm_weight_ih_l0      char_rnn.lua:17 lstm */
static const Lathe_gemm lstm_matmul_shape = {.nbatch = 1, .batch = {32}, .a_batch = {4096},
        .b_batch = {0}, .c_batch = {1024}, .M = 64, .N = 1024, .K = 64, .a_m = 64, .a_k = 1,
        .b_k = 1, .b_n = 64, .c_m = 32768, .c_n = 1};

/* lstm_dot = lstm_mul . lstm_matmul_packed      char_rnn.lua:17 lstm */
static const Lathe_gemm lstm_matmul_shape_2 = {.M = 32, .N = 1024, .K = 256, .a_m = 256, .a_k = 1,
        .b_k = 0, .b_n = 0, .c_m = 1024, .c_n = 1};

/* d_lstm_dot2 = d_lstm_concat . lstm_matmul_back_packed      char_rnn.lua:17 lstm */
static const Lathe_gemm lstm_matmul_back_shape = {.M = 32, .N = 256, .K = 1024, .a_m = 1024,
        .a_k = 1, .b_k = 0, .b_n = 0, .c_m = 256, .c_n = 1};

/* linear_cross_entropy_dot = lstm_permute . linear_cross_entropy_matmul_packed
 *     char_rnn.lua:21 linear_cross_entropy */
static const Lathe_gemm linear_cross_entropy_matmul_shape = {.M = 2048, .N = 65, .K = 256,
        .a_m = 256, .a_k = 1, .b_k = 0, .b_n = 0, .c_m = 65, .c_n = 1};

/* train
 *
 *   memory: 33,161,216 bytes for 20 buffers, 0 of them made over an input
 *           38,576,256 without sharing, no less than 33,161,216
 *   buffer                   shape                        bytes    offset steps
 *   d_lstm_mul               [BATCH][HIDDEN]              32768  33095680   0-23  |----------|
 *   embed_gather             [BATCH][SEQ][WIDTH]         524288   8388608   1-6   |--|
 *   d_lstm_permute           [SEQ][BATCH][WIDTH]         524288  32571392   2-25   |----------|
 *   lstm_matmul_packed       [HIDDEN][4 * HIDDEN]       1048576  16777216   3-11   |---|
 *   lstm_matmul_back_packed  [4 * HIDDEN][HIDDEN]       1048576  31522816   4-23    |--------|
 *   lstm_add                 [SEQ + 1][BATCH][HIDDEN]   2129920  25165824   5-23    |--------|
 *   lstm_dot2                [SEQ][BATCH][4 * HIDDEN]   8388608         0   6-23     |-------|
 *   lstm_mul                 [SEQ + 1][BATCH][HIDDEN]   2129920  27295744   7-24     |--------|
 *   lstm_dot                 [SEQ][BATCH][4 * HIDDEN]   8388608   8388608   7-23     |-------|
 *   lstm_permute             [BATCH][SEQ][HIDDEN]       2097152  16777216  12-15        ||
 *   ..ear_cross_entropy_dot2 [BATCH * SEQ][VOCAB]        532480  18874368  13-14        ||
 *   linear_cross_entropy_sub [BATCH * SEQ][VOCAB]        532480  19406848  14-18         |-|
 *   accuracy_cast            [BATCH][SEQ]                  8192  19955840  14-17         ||
 *   ..ear_cross_entropy_sub2 [BATCH * SEQ]                 8192  19947648  14-16         ||
 *   d_head_bias_partial      [32][VOCAB]                   8320  19939328  14-14         |
 *   linear_cross_entropy_dot [BATCH * SEQ][HIDDEN]      2097152  29425664  18-23           |-|
 *   d_lstm_dot2              [BATCH][HIDDEN]              32768  33128448  19-23           |-|
 *   d_lstm_concat            [SEQ][BATCH][4 * HIDDEN]   8388608  16777216  19-27           |---|
 *   ..stm_bias_ih_l0_partial [32][4 * HIDDEN]            131072         0  26-26               |
 *   d_lstm_dot               [SEQ][BATCH][WIDTH]         524288         0  27-28               ||
 */
void char_rnn_train(const Char_rnn_params *p, Char_rnn_params *d, const Char_rnn_train_in *in,
        Char_rnn_train_out *out, char *work)
{
    float (*d_lstm_mul)[HIDDEN] = (void *)(work + 33095680);
    float (*embed_gather)[SEQ][WIDTH] = (void *)(work + 8388608);
    float (*d_lstm_permute)[BATCH][WIDTH] = (void *)(work + 32571392);
    float (*lstm_matmul_packed)[4 * HIDDEN] = (void *)(work + 16777216);
    float (*lstm_matmul_back_packed)[HIDDEN] = (void *)(work + 31522816);
    float (*lstm_add)[BATCH][HIDDEN] = (void *)(work + 25165824);
    float (*lstm_dot2)[BATCH][4 * HIDDEN] = (void *)(work + 0);
    float (*lstm_mul)[BATCH][HIDDEN] = (void *)(work + 27295744);
    float (*lstm_dot)[BATCH][4 * HIDDEN] = (void *)(work + 8388608);
    float (*lstm_permute)[SEQ][HIDDEN] = (void *)(work + 16777216);
    float (*linear_cross_entropy_dot2)[VOCAB] = (void *)(work + 18874368);
    float (*linear_cross_entropy_sub)[VOCAB] = (void *)(work + 19406848);
    float (*accuracy_cast)[SEQ] = (void *)(work + 19955840);
    float *linear_cross_entropy_sub2 = (void *)(work + 19947648);
    float (*d_head_bias_partial)[VOCAB] = (void *)(work + 19939328);
    float (*linear_cross_entropy_dot)[HIDDEN] = (void *)(work + 29425664);
    float (*d_lstm_dot2)[HIDDEN] = (void *)(work + 33128448);
    float (*d_lstm_concat)[BATCH][4 * HIDDEN] = (void *)(work + 16777216);
    float (*d_lstm_bias_ih_l0_partial)[4 * HIDDEN] = (void *)(work + 0);
    float (*d_lstm_dot)[BATCH][WIDTH] = (void *)(work + 0);

    backward_part();
    lstm_fill_back(d_lstm_mul);                                         LAP(0);
    forward_part();
    make_embed_gather(*embed_gather, p->embed_weight, *in->tokens);     LAP(1);
    backward_part();
    lstm_copy_back(d_lstm_permute, embed_gather);                       LAP(2);
    forward_part();
    pack_f32(*lstm_matmul_packed, *p->lstm_weight_hh_l0, HIDDEN, 4 * HIDDEN, 1, 256); LAP(3);
    backward_part();
    pack_f32(*lstm_matmul_back_packed, *p->lstm_weight_hh_l0, 4 * HIDDEN, HIDDEN, 256, 1); LAP(4);
    forward_part();
    lstm_fill_back(lstm_add[0]);                                        LAP(5);
    gemm_f32(**lstm_dot2, **embed_gather, *p->lstm_weight_ih_l0, &lstm_matmul_shape,
            false);                                                     LAP(6);
    TEAM {   /* panels of rows */
        const int tall = panel_rows(BATCH, 1, BATCH);
        SHARED for (int from = 0; from < BATCH; from += tall) {
            const int to = min_i32(from + tall, BATCH);
            lstm_fill(from, to, lstm_mul[0]);
            for (int t = 0; t < SEQ; t++) {    /* time */
                gemm_packed_rows_f32(*lstm_dot[t], *lstm_mul[t], *lstm_matmul_packed,
                        &lstm_matmul_shape_2, false, from, to);
                lstm_tanh(from, to, lstm_add[t + 1], lstm_mul[t + 1], lstm_add[t], lstm_dot2[t],
                        p->lstm_bias_ih_l0, lstm_dot[t], p->lstm_bias_hh_l0);
            }
        }
    }                                                                   LAP(7);
    lstm_copy(lstm_permute, lstm_mul);                                  LAP(12);
    matmul_nt_f32(*linear_cross_entropy_dot2, **lstm_permute, *p->head_weight,
            BATCH * SEQ, VOCAB, HIDDEN);                                LAP(13);
    backward_part();
    linear_cross_entropy_accuracy_exp(linear_cross_entropy_sub, linear_cross_entropy_sub2,
            *accuracy_cast, d->head_bias, d_head_bias_partial, linear_cross_entropy_dot2,
            p->head_bias, *in->targets);                                LAP(14);
    matmul_tn_f32(*d->head_weight, *linear_cross_entropy_sub, **lstm_permute, VOCAB,
            HIDDEN, BATCH * SEQ);                                       LAP(15);
    forward_part();
    linear_cross_entropy_div(&out->loss, linear_cross_entropy_sub2);    LAP(16);
    linear_cross_entropy_div(&out->accuracy, *accuracy_cast);           LAP(17);
    backward_part();
    matmul_nn_f32(*linear_cross_entropy_dot, *linear_cross_entropy_sub, *p->head_weight,
            BATCH * SEQ, HIDDEN, VOCAB);                                LAP(18);
    TEAM {   /* panels of rows */
        const int tall = panel_rows(BATCH, 1, BATCH);
        SHARED for (int from = 0; from < BATCH; from += tall) {
            const int to = min_i32(from + tall, BATCH);
            lstm_fill(from, to, d_lstm_dot2);
            for (int t = SEQ - 1; t >= 0; t--) {    /* time */
                lstm_tanh_back(from, to, d_lstm_mul, d_lstm_concat[t], d_lstm_dot2,
                        linear_cross_entropy_dot, lstm_dot2[t], p->lstm_bias_ih_l0, lstm_dot[t],
                        p->lstm_bias_hh_l0, lstm_add[t], t);
                gemm_packed_rows_f32(*d_lstm_dot2, *d_lstm_concat[t], *lstm_matmul_back_packed,
                        &lstm_matmul_back_shape, false, from, to);
            }
        }
    }                                                                   LAP(19);
    matmul_tn_f32(*d->lstm_weight_hh_l0, **d_lstm_concat, **lstm_mul, 4 * HIDDEN, HIDDEN,
            SEQ * BATCH);                                               LAP(24);
    matmul_tn_f32(*d->lstm_weight_ih_l0, **d_lstm_concat, **d_lstm_permute, 4 * HIDDEN,
            WIDTH, SEQ * BATCH);                                        LAP(25);
    lstm_sum_back(d->lstm_bias_ih_l0, d_lstm_bias_ih_l0_partial, *d_lstm_concat); LAP(26);
    matmul_nn_f32(**d_lstm_dot, **d_lstm_concat, *p->lstm_weight_ih_l0, SEQ * BATCH,
            WIDTH, 4 * HIDDEN);                                         LAP(27);
    embed_scatter_add_back(d->embed_weight, d_lstm_dot, in->tokens);    LAP(28);
    lstm_copy_back_2(d->lstm_bias_hh_l0, d->lstm_bias_ih_l0);           LAP(29);
}

static void run_train(const Lathe_call *c)
{
    char_rnn_train(c->params, c->grads, c->in, c->out, c->work);
}

/* grad
 *
 *   memory: 33,161,216 bytes for 21 buffers, 0 of them made over an input
 *           39,108,736 without sharing, no less than 33,161,216
 */
void char_rnn_grad(const Char_rnn_params *p, Char_rnn_params *d, const Char_rnn_grad_in *in,
        Char_rnn_grad_out *out, char *work)
{
    float (*d_lstm_mul)[HIDDEN] = (void *)(work + 33095680);
    float (*embed_gather)[SEQ][WIDTH] = (void *)(work + 8388608);
    float (*d_lstm_permute)[BATCH][WIDTH] = (void *)(work + 32571392);
    float (*lstm_matmul_packed)[4 * HIDDEN] = (void *)(work + 16777216);
    float (*lstm_matmul_back_packed)[HIDDEN] = (void *)(work + 31522816);
    float (*lstm_add)[BATCH][HIDDEN] = (void *)(work + 25165824);
    float (*lstm_dot2)[BATCH][4 * HIDDEN] = (void *)(work + 0);
    float (*lstm_mul)[BATCH][HIDDEN] = (void *)(work + 27295744);
    float (*lstm_dot)[BATCH][4 * HIDDEN] = (void *)(work + 8388608);
    float (*lstm_permute)[SEQ][HIDDEN] = (void *)(work + 16777216);
    float (*linear_cross_entropy_dot2)[VOCAB] = (void *)(work + 18874368);
    float (*head_dot)[SEQ][VOCAB] = (void *)(work + 19406848);
    float (*linear_cross_entropy_sub)[VOCAB] = (void *)(work + 19939328);
    float (*accuracy_cast)[SEQ] = (void *)(work + 20488320);
    float *linear_cross_entropy_sub2 = (void *)(work + 20480128);
    float (*d_head_bias_partial)[VOCAB] = (void *)(work + 20471808);
    float (*linear_cross_entropy_dot)[HIDDEN] = (void *)(work + 29425664);
    float (*d_lstm_dot2)[HIDDEN] = (void *)(work + 33128448);
    float (*d_lstm_concat)[BATCH][4 * HIDDEN] = (void *)(work + 16777216);
    float (*d_lstm_bias_ih_l0_partial)[4 * HIDDEN] = (void *)(work + 0);
    float (*d_lstm_dot)[BATCH][WIDTH] = (void *)(work + 0);

    backward_part();
    lstm_fill_back(d_lstm_mul);                                         LAP(0);
    forward_part();
    make_embed_gather(*embed_gather, p->embed_weight, *in->tokens);     LAP(1);
    backward_part();
    lstm_copy_back(d_lstm_permute, embed_gather);                       LAP(2);
    forward_part();
    pack_f32(*lstm_matmul_packed, *p->lstm_weight_hh_l0, HIDDEN, 4 * HIDDEN, 1, 256); LAP(3);
    backward_part();
    pack_f32(*lstm_matmul_back_packed, *p->lstm_weight_hh_l0, 4 * HIDDEN, HIDDEN, 256, 1); LAP(4);
    forward_part();
    lstm_fill_back(lstm_add[0]);                                        LAP(5);
    gemm_f32(**lstm_dot2, **embed_gather, *p->lstm_weight_ih_l0, &lstm_matmul_shape,
            false);                                                     LAP(6);
    TEAM {   /* panels of rows */
        const int tall = panel_rows(BATCH, 1, BATCH);
        SHARED for (int from = 0; from < BATCH; from += tall) {
            const int to = min_i32(from + tall, BATCH);
            lstm_fill(from, to, lstm_mul[0]);
            for (int t = 0; t < SEQ; t++) {    /* time */
                gemm_packed_rows_f32(*lstm_dot[t], *lstm_mul[t], *lstm_matmul_packed,
                        &lstm_matmul_shape_2, false, from, to);
                lstm_tanh(from, to, lstm_add[t + 1], lstm_mul[t + 1], lstm_add[t], lstm_dot2[t],
                        p->lstm_bias_ih_l0, lstm_dot[t], p->lstm_bias_hh_l0);
            }
        }
    }                                                                   LAP(7);
    lstm_copy(lstm_permute, lstm_mul);                                  LAP(12);
    matmul_nt_f32(*linear_cross_entropy_dot2, **lstm_permute, *p->head_weight,
            BATCH * SEQ, VOCAB, HIDDEN);                                LAP(13);
    matmul_nt_f32(**head_dot, **lstm_permute, *p->head_weight, BATCH * SEQ, VOCAB,
            HIDDEN);                                                    LAP(14);
    linear_cross_entropy_head_exp(*out->logits, linear_cross_entropy_sub,
            linear_cross_entropy_sub2, *accuracy_cast, d->head_bias, d_head_bias_partial,
            linear_cross_entropy_dot2, p->head_bias, *head_dot, *in->targets); LAP(15);
    backward_part();
    matmul_tn_f32(*d->head_weight, *linear_cross_entropy_sub, **lstm_permute, VOCAB,
            HIDDEN, BATCH * SEQ);                                       LAP(16);
    forward_part();
    linear_cross_entropy_div(&out->loss, linear_cross_entropy_sub2);    LAP(17);
    linear_cross_entropy_div(&out->accuracy, *accuracy_cast);           LAP(18);
    backward_part();
    matmul_nn_f32(*linear_cross_entropy_dot, *linear_cross_entropy_sub, *p->head_weight,
            BATCH * SEQ, HIDDEN, VOCAB);                                LAP(19);
    TEAM {   /* panels of rows */
        const int tall = panel_rows(BATCH, 1, BATCH);
        SHARED for (int from = 0; from < BATCH; from += tall) {
            const int to = min_i32(from + tall, BATCH);
            lstm_fill(from, to, d_lstm_dot2);
            for (int t = SEQ - 1; t >= 0; t--) {    /* time */
                lstm_tanh_back(from, to, d_lstm_mul, d_lstm_concat[t], d_lstm_dot2,
                        linear_cross_entropy_dot, lstm_dot2[t], p->lstm_bias_ih_l0, lstm_dot[t],
                        p->lstm_bias_hh_l0, lstm_add[t], t);
                gemm_packed_rows_f32(*d_lstm_dot2, *d_lstm_concat[t], *lstm_matmul_back_packed,
                        &lstm_matmul_back_shape, false, from, to);
            }
        }
    }                                                                   LAP(20);
    matmul_tn_f32(*d->lstm_weight_hh_l0, **d_lstm_concat, **lstm_mul, 4 * HIDDEN, HIDDEN,
            SEQ * BATCH);                                               LAP(25);
    matmul_tn_f32(*d->lstm_weight_ih_l0, **d_lstm_concat, **d_lstm_permute, 4 * HIDDEN,
            WIDTH, SEQ * BATCH);                                        LAP(26);
    lstm_sum_back(d->lstm_bias_ih_l0, d_lstm_bias_ih_l0_partial, *d_lstm_concat); LAP(27);
    matmul_nn_f32(**d_lstm_dot, **d_lstm_concat, *p->lstm_weight_ih_l0, SEQ * BATCH,
            WIDTH, 4 * HIDDEN);                                         LAP(28);
    embed_scatter_add_back(d->embed_weight, d_lstm_dot, in->tokens);    LAP(29);
    lstm_copy_back_2(d->lstm_bias_hh_l0, d->lstm_bias_ih_l0);           LAP(30);
}

static void run_grad(const Lathe_call *c)
{
    char_rnn_grad(c->params, c->grads, c->in, c->out, c->work);
}

/* eval
 *
 *   memory: 11,730,944 bytes for 11 buffers, 0 of them made over an input
 *           14,999,552 without sharing, no less than 11,730,944
 */
void char_rnn_eval(const Char_rnn_params *p, const Char_rnn_eval_in *in, Char_rnn_eval_out *out,
        char *work)
{
    float (*lstm_add)[HIDDEN] = (void *)(work + 11698176);
    float (*embed_gather)[SEQ][WIDTH] = (void *)(work + 8388608);
    float (*lstm_matmul_packed)[4 * HIDDEN] = (void *)(work + 10518528);
    float (*lstm_dot2)[BATCH][4 * HIDDEN] = (void *)(work + 0);
    float (*lstm_mul)[BATCH][HIDDEN] = (void *)(work + 8388608);
    float (*lstm_dot)[4 * HIDDEN] = (void *)(work + 11567104);
    float (*linear_cross_entropy_matmul_packed)[96] = (void *)(work + 2629632);
    float (*lstm_permute)[SEQ][HIDDEN] = (void *)(work + 0);
    float (*linear_cross_entropy_dot)[VOCAB] = (void *)(work + 2097152);
    float (*accuracy_cast)[SEQ] = (void *)(work + 2736128);
    float *linear_cross_entropy_sub = (void *)(work + 2727936);

    lstm_fill_back(lstm_add);                                           LAP(0);
    make_embed_gather(*embed_gather, p->embed_weight, *in->tokens);     LAP(1);
    pack_f32(*lstm_matmul_packed, *p->lstm_weight_hh_l0, HIDDEN, 4 * HIDDEN, 1, 256); LAP(2);
    gemm_f32(**lstm_dot2, **embed_gather, *p->lstm_weight_ih_l0, &lstm_matmul_shape,
            false);                                                     LAP(3);
    TEAM {   /* panels of rows */
        const int tall = panel_rows(BATCH, 1, BATCH);
        SHARED for (int from = 0; from < BATCH; from += tall) {
            const int to = min_i32(from + tall, BATCH);
            lstm_fill(from, to, lstm_mul[0]);
            for (int t = 0; t < SEQ; t++) {    /* time */
                gemm_packed_rows_f32(*lstm_dot, *lstm_mul[t], *lstm_matmul_packed,
                        &lstm_matmul_shape_2, false, from, to);
                lstm_tanh_2(from, to, lstm_add, lstm_mul[t + 1], lstm_dot2[t], p->lstm_bias_ih_l0,
                        lstm_dot, p->lstm_bias_hh_l0);
            }
        }
    }                                                                   LAP(4);
    TEAM {   /* panels of rows */
        const int tall = panel_rows(BATCH * SEQ, 1, 405);
        pack_shared_f32(*linear_cross_entropy_matmul_packed, *p->head_weight, HIDDEN, VOCAB, 1,
                256);
        MEET
        SHARED for (int from = 0; from < BATCH * SEQ; from += tall) {
            const int to = min_i32(from + tall, BATCH * SEQ);
            lstm_copy_2(from, to, lstm_permute, lstm_mul);
            gemm_packed_rows_f32(*linear_cross_entropy_dot, **lstm_permute,
                    *linear_cross_entropy_matmul_packed, &linear_cross_entropy_matmul_shape, false,
                    from, to);
            linear_cross_entropy_accuracy_exp_2(from, to, linear_cross_entropy_sub, *accuracy_cast,
                    linear_cross_entropy_dot, p->head_bias, *in->targets);
        }
    }                                                                   LAP(9);
    linear_cross_entropy_div(&out->loss, linear_cross_entropy_sub);     LAP(14);
    linear_cross_entropy_div(&out->accuracy, *accuracy_cast);           LAP(15);
}

static void run_eval(const Lathe_call *c)
{
    char_rnn_eval(c->params, c->in, c->out, c->work);
}

/* decode
 *
 *   memory: 8,192 bytes for 4 buffers, 0 of them made over an input
 *           8,768 without sharing, no less than 8,192
 */
void char_rnn_decode(const Char_rnn_params *p, const Char_rnn_decode_in *in,
        Char_rnn_decode_out *out, Char_rnn_state *s, char *work)
{
    float (*embed_gather)[1][WIDTH] = (void *)(work + 4096);
    float (*lstm_dot2)[4 * HIDDEN] = (void *)(work + 0);
    float (*lstm_dot)[4 * HIDDEN] = (void *)(work + 4096);
    float (*head_dot)[1][VOCAB] = (void *)(work + 0);

    embed_gather_2(embed_gather[0][0], p->embed_weight, in->tokens[0][0]); LAP(0);
    matmul_nt_f32(*lstm_dot2, **embed_gather, *p->lstm_weight_ih_l0, 1, 4 * HIDDEN, WIDTH); LAP(1);
    matmul_nt_f32(*lstm_dot, *s->lstm_h, *p->lstm_weight_hh_l0, 1, 4 * HIDDEN, HIDDEN); LAP(2);
    lstm_tanh_3(s->lstm_c[0], s->lstm_h[0], lstm_dot2[0], p->lstm_bias_ih_l0, lstm_dot[0],
            p->lstm_bias_hh_l0);                                        LAP(3);
    matmul_nt_f32(**head_dot, *s->lstm_h, *p->head_weight, 1, VOCAB, HIDDEN); LAP(4);
    head_add(out->logits[0][0], head_dot[0][0], p->head_bias);          LAP(5);
}

static void run_decode(const Lathe_call *c)
{
    char_rnn_decode(c->params, c->in, c->out, c->state, c->work);
}

/* ---------------------------------------------------------------- what the trainer knows of it */

static const Lathe_param params[] = {
    {.name = "embed.weight", .export_name = "embed.weight",
     .where = "models/char_rnn.lua:16", .rank = 2, .loops = 0,
     .dim = {65, 64}, .stride = {64, 1},
     .offset = offsetof(Char_rnn_params, embed_weight) / sizeof(float), .decay = true,
     .init = LATHE_NORMAL, .init_a = 1, .init_b = 0},
    {.name = "lstm.weight_ih_l0", .export_name = "lstm.weight_ih_l0",
     .where = "models/char_rnn.lua:17", .rank = 2, .loops = 0,
     .dim = {1024, 64}, .stride = {64, 1},
     .offset = offsetof(Char_rnn_params, lstm_weight_ih_l0) / sizeof(float), .decay = true,
     .init = LATHE_UNIFORM, .init_a = -0.0625, .init_b = 0.0625},
    {.name = "lstm.bias_ih_l0", .export_name = "lstm.bias_ih_l0",
     .where = "models/char_rnn.lua:17", .rank = 1, .loops = 0,
     .dim = {1024}, .stride = {1},
     .offset = offsetof(Char_rnn_params, lstm_bias_ih_l0) / sizeof(float), .decay = false,
     .init = LATHE_UNIFORM, .init_a = -0.0625, .init_b = 0.0625},
    {.name = "lstm.weight_hh_l0", .export_name = "lstm.weight_hh_l0",
     .where = "models/char_rnn.lua:17", .rank = 2, .loops = 0,
     .dim = {1024, 256}, .stride = {256, 1},
     .offset = offsetof(Char_rnn_params, lstm_weight_hh_l0) / sizeof(float), .decay = true,
     .init = LATHE_UNIFORM, .init_a = -0.0625, .init_b = 0.0625},
    {.name = "lstm.bias_hh_l0", .export_name = "lstm.bias_hh_l0",
     .where = "models/char_rnn.lua:17", .rank = 1, .loops = 0,
     .dim = {1024}, .stride = {1},
     .offset = offsetof(Char_rnn_params, lstm_bias_hh_l0) / sizeof(float), .decay = false,
     .init = LATHE_UNIFORM, .init_a = -0.0625, .init_b = 0.0625},
    {.name = "head.weight", .export_name = "head.weight",
     .where = "models/char_rnn.lua:20", .rank = 2, .loops = 0,
     .dim = {65, 256}, .stride = {256, 1},
     .offset = offsetof(Char_rnn_params, head_weight) / sizeof(float), .decay = true,
     .init = LATHE_UNIFORM, .init_a = -0.0625, .init_b = 0.0625},
    {.name = "head.bias", .export_name = "head.bias",
     .where = "models/char_rnn.lua:20", .rank = 1, .loops = 0,
     .dim = {65}, .stride = {1},
     .offset = offsetof(Char_rnn_params, head_bias) / sizeof(float), .decay = false,
     .init = LATHE_ZEROS, .init_a = 0, .init_b = 0},
};

static const Lathe_tensor states[] = {
    {.name = "lstm.c", .role = LATHE_STATE, .dtype = LATHE_F32, .rank = 2, .dim = {1, 256},
            .offset = offsetof(Char_rnn_state, lstm_c), .rows_axis = 0},
    {.name = "lstm.h", .role = LATHE_STATE, .dtype = LATHE_F32, .rank = 2, .dim = {1, 256},
            .offset = offsetof(Char_rnn_state, lstm_h), .rows_axis = 0},
};

static const Lathe_tensor train_in[] = {
    {.name = "tokens", .role = LATHE_TOKENS, .dtype = LATHE_I32, .rank = 2, .dim = {32, 64},
            .offset = offsetof(Char_rnn_train_in, tokens)},
    {.name = "targets", .role = LATHE_TARGETS, .dtype = LATHE_I32, .rank = 2, .dim = {32, 64},
            .offset = offsetof(Char_rnn_train_in, targets)},
};
static const Lathe_tensor train_out[] = {
    {.name = "loss", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 0, .dim = {0},
            .offset = offsetof(Char_rnn_train_out, loss)},
    {.name = "accuracy", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 0, .dim = {0},
            .offset = offsetof(Char_rnn_train_out, accuracy)},
};
static const Lathe_kernel train_kernels[] = {
    /* lap, name, formula, layer, line, flop, bytes, backward */
    {0, "lstm_fill_back", "d_lstm_mul: copy",
     "lstm", "char_rnn.lua:17", 0, 32768, true},
    {1, "make_embed_gather", "embed_gather = embed_weight[tokens]",
     "embed", "char_rnn.lua:16", 0, 1056768, false},
    {2, "lstm_copy_back", "d_lstm_permute: copy",
     "lstm", "char_rnn.lua:17", 0, 1048576, true},
    {3, "lstm_matmul_pack", "lstm_matmul_packed = lstm_weight_hh_l0, packed",
     "lstm", "char_rnn.lua:17", 0, 2097152, false},
    {4, "lstm_matmul_back_pack", "lstm_matmul_back_packed = lstm_weight_hh_l0, packed",
     "lstm", "char_rnn.lua:17", 0, 2097152, true},
    {5, "lstm_fill_back", "lstm_add: copy",
     "lstm", "char_rnn.lua:17", 0, 32768, false},
    {6, "lstm_matmul", "lstm_dot2 = embed_gather . lstm_weight_ih_l0",
     "lstm", "char_rnn.lua:17", 268435456, 17301504, false},
    {7, "lstm_fill_to_time", "panel by panel: lstm_fill, time",
     "lstm", "char_rnn.lua:17", 1073741824, 101220352, false},
    {12, "lstm_copy", "lstm_permute: copy",
     "lstm", "char_rnn.lua:17", 0, 4194304, false},
    {13, "linear_cross_entropy_matmul", "linear_cross_entropy_dot2 = lstm_permute . head_weight",
     "linear_cross_entropy", "char_rnn.lua:21", 68157440, 2696192, false},
    {14, "linear_cross_entropy_accuracy_exp", "linear_cross_entropy_sub2, accuracy_cast, linear...",
     "linear_cross_entropy", "char_rnn.lua:21", 0, 1098248, true},
    {15, "linear_cross_entropy_matmul", "d_head_weight = linear_cross_entropy_sub . lstm_permute",
     "linear_cross_entropy", "char_rnn.lua:21", 68157440, 2696192, true},
    {16, "linear_cross_entropy_div", "loss: sum, div",
     "linear_cross_entropy", "char_rnn.lua:21", 0, 8196, false},
    {17, "linear_cross_entropy_div", "accuracy: sum, div",
     "accuracy", "char_rnn.lua:22", 0, 8196, false},
    {18, "linear_cross_entropy_matmul", "linear_cross_entropy_dot = linear_cross_entropy_sub . ...",
     "linear_cross_entropy", "char_rnn.lua:21", 68157440, 2696192, true},
    {19, "lstm_fill_back_to_time", "panel by panel: lstm_fill_back, time",
     "lstm", "char_rnn.lua:17", 1073741824, 113803264, true},
    {24, "lstm_matmul_back", "d_lstm_weight_hh_l0 = d_lstm_concat . lstm_mul",
     "lstm", "char_rnn.lua:17", 1073741824, 11534336, true},
    {25, "lstm_matmul_back", "d_lstm_weight_ih_l0 = d_lstm_concat . d_lstm_permute",
     "lstm", "char_rnn.lua:17", 268435456, 9175040, true},
    {26, "lstm_sum_back", "d_lstm_bias_ih_l0: sum",
     "lstm", "char_rnn.lua:17", 0, 8392704, true},
    {27, "lstm_matmul_back", "d_lstm_dot = d_lstm_concat . lstm_weight_ih_l0",
     "lstm", "char_rnn.lua:17", 268435456, 9175040, true},
    {28, "embed_scatter_add_back", "d_embed_weight[tokens] += d_lstm_dot, in order",
     "embed", "char_rnn.lua:16", 0, 549120, true},
    {29, "lstm_copy_back_2", "d_lstm_bias_hh_l0: copy",
     "lstm", "char_rnn.lua:17", 0, 8192, true},
};
static const Lathe_tensor grad_in[] = {
    {.name = "tokens", .role = LATHE_TOKENS, .dtype = LATHE_I32, .rank = 2, .dim = {32, 64},
            .offset = offsetof(Char_rnn_grad_in, tokens)},
    {.name = "targets", .role = LATHE_TARGETS, .dtype = LATHE_I32, .rank = 2, .dim = {32, 64},
            .offset = offsetof(Char_rnn_grad_in, targets)},
};
static const Lathe_tensor grad_out[] = {
    {.name = "loss", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 0, .dim = {0},
            .offset = offsetof(Char_rnn_grad_out, loss)},
    {.name = "accuracy", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 0, .dim = {0},
            .offset = offsetof(Char_rnn_grad_out, accuracy)},
    {.name = "logits", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 3, .dim = {32, 64, 65},
            .offset = offsetof(Char_rnn_grad_out, logits)},
};
static const Lathe_tensor eval_in[] = {
    {.name = "tokens", .role = LATHE_TOKENS, .dtype = LATHE_I32, .rank = 2, .dim = {32, 64},
            .offset = offsetof(Char_rnn_eval_in, tokens)},
    {.name = "targets", .role = LATHE_TARGETS, .dtype = LATHE_I32, .rank = 2, .dim = {32, 64},
            .offset = offsetof(Char_rnn_eval_in, targets)},
};
static const Lathe_tensor eval_out[] = {
    {.name = "loss", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 0, .dim = {0},
            .offset = offsetof(Char_rnn_eval_out, loss)},
    {.name = "accuracy", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 0, .dim = {0},
            .offset = offsetof(Char_rnn_eval_out, accuracy)},
};
static const Lathe_tensor decode_in[] = {
    {.name = "tokens", .role = LATHE_TOKENS, .dtype = LATHE_I32, .rank = 2, .dim = {1, 1},
            .offset = offsetof(Char_rnn_decode_in, tokens)},
};
static const Lathe_tensor decode_out[] = {
    {.name = "logits", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 3, .dim = {1, 1, 65},
            .offset = offsetof(Char_rnn_decode_out, logits)},
};

static const Lathe_entry entries[] = {
    {.name = "train", .run = run_train, .work_bytes = 33161216, .flops = 4231004160,
     .in_bytes = sizeof(Char_rnn_train_in), .out_bytes = sizeof(Char_rnn_train_out), .inputs = 2,
             .outputs = 2, .input = train_in, .output = train_out, .kernels = 22,
             .kernel = train_kernels},
    {.name = "grad", .run = run_grad, .work_bytes = 33161216, .flops = 4299161600,
     .in_bytes = sizeof(Char_rnn_grad_in), .out_bytes = sizeof(Char_rnn_grad_out), .inputs = 2,
             .outputs = 3, .input = grad_in, .output = grad_out, .kernels = 0, .kernel = NULL},
    {.name = "eval", .run = run_eval, .work_bytes = 11730944, .flops = 1410334720,
     .in_bytes = sizeof(Char_rnn_eval_in), .out_bytes = sizeof(Char_rnn_eval_out), .inputs = 2,
             .outputs = 2, .input = eval_in, .output = eval_out, .kernels = 0, .kernel = NULL},
    {.name = "decode", .run = run_decode, .work_bytes = 8192, .flops = 688640,
     .in_bytes = sizeof(Char_rnn_decode_in), .out_bytes = sizeof(Char_rnn_decode_out), .inputs = 1,
             .outputs = 1, .input = decode_in, .output = decode_out, .kernels = 0, .kernel = NULL},
};

static const char *const knobs[][2] = {
    {"accumulate", "1"},
    {"batch", "32"},
    {"carry", "false"},
    {"clip", "1.0"},
    {"dropout", "0.0"},
    {"eval_every", "250"},
    {"final_lr", "0.0002"},
    {"hidden", "256"},
    {"layers", "1"},
    {"lr", "0.002"},
    {"seq", "64"},
    {"steps", "2000"},
    {"tokenizer", "chars"},
    {"vocab", "65"},
    {"warmup", "50"},
    {"width", "64"},
};

static const Lathe_bytes planned[] = {
    {"parameters", 1402432},
    {"gradients", 1402432},
    {"optimizer", 2804864},
    {"states", 2048},
    {"inputs", 16384},
    {"outputs", 128},
    {"work", 33161216},
    {"blas", 7798784},
    {"data", 0},
    {"generation", 7808},
};

const Lathe_model lathe_model = {
    .name = "char_rnn", .config = "default", .precision = "fp32",
            .source_hash = "1ef89cbfcd42c173",
    .needs = lathe_needs,
    .rebuild = "models/char_rnn.lua",
    .real = LATHE_F32, .batch = 32, .seq = 64, .vocab = 65,
    .params = 7, .entries = 4, .states = 2, .knobs = 16, .categories = 10,
    .param = params, .entry = entries, .state = states,
    .state_bytes = sizeof(Char_rnn_state),
    .parameter_count = 350593, .flat_elements = 350608,
    .recipe = {
        .optimizer = LATHE_ADAMW, .lr = 0.002, .beta1 = 0.9, .beta2 = 0.999,
        .eps = 1e-08, .decay = 0, .momentum = 0, .nesterov = 0,
        .schedule = LATHE_COSINE, .final_lr = 0.0002, .warmup = 50, .steps = 2000,
        .schedule_steps = 0, .cooldown = 0, .warm_fraction = 0.3,
        .start_div = 25, .final_div = 1e+04,
        .cycle_momentum = 1, .low_momentum = 0.85, .high_momentum = 0.95,
        .step_every = 0, .step_factor = 0.1, .milestones = NULL,
        .clip = 1, .clip_value = 0, .accumulate = 1,
        .eval_every = 250, .save_every = 0, .log_every = 0,
        .eval_epochs = 0, .eval_rows = 0, .patience = 0,
        .best = NULL, .best_mode = LATHE_MODE_KNOWN, .samples = NULL,
        .keep_last = 3,
        .tokenizer = LATHE_CHARS, .val_fraction = 0.1, .csv_target = NULL,
        .order = LATHE_ORDER_FOUND, .documents = LATHE_FILES, .pack = false,
        .bad_records = 0, .raw_id_size = 0,
        .shuffle_tokens = 4194304, .eval_tokens = 1048576, .stride = 0, .bos = NULL, .eos = NULL,
        .temperature = 0.8, .top_p = 1, .repetition_penalty = 1,
        .top_k = 0, .sample_tokens = 200, .rows = 1,
        .beams = 0, .min_tokens = 0, .no_repeat_ngram = 0, .length_penalty = 1,
    },
    .hf = NULL, .knob = knobs, .plan = planned,
    .planned_bytes = 46596096, .lower_bound_bytes = 46596096,
};

int main(int argc, char **argv) { return lathe_main(&lathe_model, argc, argv); }
