/* model.c: gpt, made by lathe from gpt.lua, configuration char.
 *   Edit that, not this file.  fp32.
 *
 *   804,096 parameters, 4,014,538,752 flop in a call of train, 40,650,496 bytes in all
 *
 *   First the kernels, each on all threads; then one function an entry, which calls them in order;
 *   then what the trainer knows of the model. */
#include "model.h"

/* wte_gather = wte_weight[tokens]      gpt.lua:141 wte      moves 789,504 bytes */
KERNEL void make_wte_gather(float (*RESTRICT wte_gather)[WIDTH],
        const float (*RESTRICT wte_weight)[WIDTH], const int *RESTRICT tokens)
{
    PARALLEL for (int r = 0; r < BATCH * SEQ; r++) {
        const int id = tokens[r];
        EACH for (int c = 0; c < WIDTH; c++)
            wte_gather[r][c] = wte_weight[id][c];
    }
}

/* h_add: add      gpt.lua:142      moves 819,200 bytes */
KERNEL void add(float (*RESTRICT h_add)[SEQ][WIDTH],
        const float (*RESTRICT wte_gather)[SEQ][WIDTH], const float (*RESTRICT wpe_weight)[WIDTH])
{
    PARALLEL_2 for (int b = 0; b < BATCH; b++)
        for (int t = 0; t < SEQ; t++)
            EACH for (int c = 0; c < WIDTH; c++)
                h_add[b][t][c] = wte_gather[b][t][c] + wpe_weight[t][c];
}

/* ln_1_mul: sum, div, sub, mul, add, rsqrt      gpt.lua:17 h.ln_1      moves 786,944 bytes */
KERNEL void ln_1(int from, int to, float (*RESTRICT ln_1_mul)[WIDTH],
        const float (*RESTRICT h_add)[WIDTH], const float *RESTRICT ln_1_weight)
{
    for (int r = from; r < to; r++) {
        float sums[LANES] = {0};
        for (int c = 0; c < WIDTH; c += LANES)
            SIMD for (int l = 0; l < LANES; l++)
                sums[l] += h_add[r][c + l];
        const float mean = sum_lanes_f32(sums) / WIDTH;
        float sums_2[LANES] = {0};
        for (int c = 0; c < WIDTH; c += LANES)
            SIMD for (int l = 0; l < LANES; l++) {
                const float diff = h_add[r][c + l] - mean;
                sums_2[l] += diff * diff;
            }
        const float rstd = rsqrt_f32(sum_lanes_f32(sums_2) / WIDTH + 1e-05f);
        for (int c = 0; c < WIDTH; c++)
            ln_1_mul[r][c] = (h_add[r][c] - mean) * rstd * ln_1_weight[c];
    }
}

/* h_add2, ln_2_mul: add, sum, div, sub, mul, rsqrt      gpt.lua:24 h.ln_2
 *     moves 1,573,376 bytes */
KERNEL void h_ln_2(int from, int to, float (*RESTRICT h_add2)[WIDTH],
        float (*RESTRICT ln_2_mul)[WIDTH], const float (*RESTRICT h_add)[WIDTH],
        const float (*RESTRICT c_proj_dot)[WIDTH], const float *RESTRICT ln_2_weight)
{
    for (int r = from; r < to; r++) {
        float sums[LANES] = {0};
        for (int c = 0; c < WIDTH; c += LANES)
            SIMD for (int l = 0; l < LANES; l++) {
                const float value = h_add[r][c + l] + c_proj_dot[r][c + l];
                h_add2[r][c + l] = value;
                sums[l] += value;
            }
        const float mean = sum_lanes_f32(sums) / WIDTH;
        float sums_2[LANES] = {0};
        for (int c = 0; c < WIDTH; c += LANES)
            SIMD for (int l = 0; l < LANES; l++) {
                const float diff = h_add[r][c + l] + c_proj_dot[r][c + l] - mean;
                sums_2[l] += diff * diff;
            }
        const float rstd = rsqrt_f32(sum_lanes_f32(sums_2) / WIDTH + 1e-05f);
        for (int c = 0; c < WIDTH; c++)
            ln_2_mul[r][c] = (h_add[r][c] + c_proj_dot[r][c] - mean) * rstd * ln_2_weight[c];
    }
}

/* mlp_mul: mul, erf, add      gpt.lua:25 h.mlp      moves 3,145,728 bytes */
KERNEL void mlp_erf(int from, int to, float (*RESTRICT mlp_mul)[4 * WIDTH],
        const float (*RESTRICT c_fc_dot)[4 * WIDTH])
{
    for (int r = from; r < to; r++)
        for (int c = 0; c < 4 * WIDTH; c++) {
            const float x = c_fc_dot[r][c];
            mlp_mul[r][c] = 0.5f * x * (1 + erf_f32(x * 0.70710677f));
        }
}

/* h_add: add      gpt.lua:29 h      moves 1,179,648 bytes */
KERNEL void make_h_add(int from, int to, float (*RESTRICT h_add)[WIDTH],
        const float (*RESTRICT h_add2)[WIDTH], const float (*RESTRICT c_proj_dot2)[WIDTH])
{
    for (int r = from; r < to; r++)
        for (int c = 0; c < WIDTH; c++)
            h_add[r][c] = h_add2[r][c] + c_proj_dot2[r][c];
}

/* ln_f_mul: sum, div, sub, mul, add, rsqrt      gpt.lua:148 ln_f      moves 786,944 bytes */
KERNEL void ln_f(float (*RESTRICT ln_f_mul)[WIDTH], const float (*RESTRICT h_add)[WIDTH],
        const float *RESTRICT ln_f_weight)
{
    PARALLEL for (int r = 0; r < BATCH * SEQ; r++) {
        float sums[LANES] = {0};
        for (int c = 0; c < WIDTH; c += LANES)
            SIMD for (int l = 0; l < LANES; l++)
                sums[l] += h_add[r][c + l];
        const float mean = sum_lanes_f32(sums) / WIDTH;
        float sums_2[LANES] = {0};
        for (int c = 0; c < WIDTH; c += LANES)
            SIMD for (int l = 0; l < LANES; l++) {
                const float diff = h_add[r][c + l] - mean;
                sums_2[l] += diff * diff;
            }
        const float rstd = rsqrt_f32(sum_lanes_f32(sums_2) / WIDTH + 1e-05f);
        EACH for (int c = 0; c < WIDTH; c++)
            ln_f_mul[r][c] = (h_add[r][c] - mean) * rstd * ln_f_weight[c];
    }
}

/* linear_cross_entropy_sub2, accuracy_cast,
 * linear_cross_entropy_sub: rmax, sub, exp, eq, where, cast, neg, sum, log, div, mul
 *     gpt.lua:152 linear_cross_entropy      moves 411,648 bytes */
KERNEL void linear_cross_entropy_accuracy_exp(float (*RESTRICT linear_cross_entropy_sub)[VOCAB],
        float *RESTRICT linear_cross_entropy_sub2, float *RESTRICT accuracy_cast,
        const int *RESTRICT targets)
{
    PARALLEL for (int r = 0; r < BATCH * SEQ; r++) {
        float e_row[VOCAB];
        float maxima[LANES];
        for (int l = 0; l < LANES; l++) maxima[l] = -INFINITY;
        for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
            SIMD for (int l = 0; l < LANES; l++)
                maxima[l] = max_f32(maxima[l], linear_cross_entropy_sub[r][v + l]);
        for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++)
            maxima[v % LANES] = max_f32(maxima[v % LANES], linear_cross_entropy_sub[r][v]);
        const float largest = max_lanes_f32(maxima);
        const int x = targets[r];
        float sums[LANES] = {0};
        float sums_2[LANES] = {0};
        float maxima_2[LANES];
        for (int l = 0; l < LANES; l++) maxima_2[l] = -INFINITY;
        for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
            SIMD for (int l = 0; l < LANES; l++) {
                const float y = linear_cross_entropy_sub[r][v + l];
                const float diff = y - largest;
                const float e = exp_f32(diff);
                e_row[v + l] = e;
                sums[l] += e;
                sums_2[l] += v + l == x ? diff : 0;
                maxima_2[l] = max_f32(maxima_2[l], diff == 0 ? -((float)(v + l)) : -64);
            }
        for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++) {
            const float y = linear_cross_entropy_sub[r][v];
            const float diff = y - largest;
            const float e = exp_f32(diff);
            e_row[v] = e;
            sums[v % LANES] += e;
            sums_2[v % LANES] += v == x ? diff : 0;
            maxima_2[v % LANES] = max_f32(maxima_2[v % LANES], diff == 0 ? -((float)v) : -64);
        }
        const float sum = sum_lanes_f32(sums);
        const float ratio = 0.0013020834f / sum;
        EACH for (int v = 0; v < VOCAB; v++)
            linear_cross_entropy_sub[r][v] = e_row[v] * ratio - (v == x ? 0.0013020834f : 0.0f);
        linear_cross_entropy_sub2[r] = log_f32(sum) - sum_lanes_f32(sums_2);
        accuracy_cast[r] = (float)((int)(-max_lanes_f32(maxima_2)) == x);
    }
}

/* loss: sum, div      gpt.lua:152 linear_cross_entropy      moves 3,076 bytes */
KERNEL void linear_cross_entropy_div(float *RESTRICT loss,
        const float *RESTRICT linear_cross_entropy_sub2)
{
    float sums[LANES] = {0};
    for (int i = 0; i < BATCH * SEQ; i += LANES)
        SIMD for (int l = 0; l < LANES; l++)
            sums[l] += linear_cross_entropy_sub2[i + l];
    *loss = sum_lanes_f32(sums) / (BATCH * SEQ);
}

/* d_ln_f_weight, d_h_add: sum, div, sub, mul, add, rsqrt, neg      gpt.lua:148 ln_f
 *     moves 1,180,672 bytes */
KERNEL void ln_f_back(float *RESTRICT d_ln_f_weight,
        float (*RESTRICT d_ln_f_weight_partial)[WIDTH], float (*RESTRICT d_h_add)[WIDTH],
        const float (*RESTRICT h_add)[WIDTH], const float *RESTRICT ln_f_weight)
{
    PARALLEL for (int k = 0; k < 32; k++) {
        for (int c = 0; c < WIDTH; c++)
            d_ln_f_weight_partial[k][c] = 0;
        for (int r = k * 24; r < (k + 1) * 24; r++) {
            float sums[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++)
                    sums[l] += h_add[r][c + l];
            const float mean = sum_lanes_f32(sums) / WIDTH;
            float sums_2[LANES] = {0};
            float sums_3[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float x = d_h_add[r][c + l];
                    const float diff = h_add[r][c + l] - mean;
                    sums_2[l] += diff * diff;
                    sums_3[l] += x * ln_f_weight[c + l] * diff;
                }
            const float rstd = rsqrt_f32(sum_lanes_f32(sums_2) / WIDTH + 1e-05f);
            const float ratio = sum_lanes_f32(sums_3) * (-0.5f * (rstd * (rstd * rstd))) / WIDTH;
            float sums_4[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float x = d_h_add[r][c + l];
                    const float diff = h_add[r][c + l] - mean;
                    const float product = ratio * diff;
                    sums_4[l] += -(x * ln_f_weight[c + l] * rstd + product + product);
                    d_ln_f_weight_partial[k][c + l] += x * (diff * rstd);
                }
            const float mean_2 = sum_lanes_f32(sums_4) / WIDTH;
            EACH for (int c = 0; c < WIDTH; c++) {
                const float product = ratio * (h_add[r][c] - mean);
                d_h_add[r][c] = d_h_add[r][c] * ln_f_weight[c] * rstd + product + product + mean_2;
            }
        }
    }
    for (int c = 0; c < WIDTH; c++)
        d_ln_f_weight[c] = d_ln_f_weight_partial[0][c];
    for (int k = 1; k < 32; k++)
        for (int c = 0; c < WIDTH; c++)
            d_ln_f_weight[c] += d_ln_f_weight_partial[k][c];
}

/* d_c_fc_add, d_mlp_mul: mul, neg, exp, erf, add      gpt.lua:25 h.mlp
 *     moves 6,291,456 bytes */
KERNEL void mlp_c_fc_erf_back(float (*RESTRICT d_c_fc_add)[4 * WIDTH],
        float (*RESTRICT d_mlp_mul)[4 * WIDTH], const float (*RESTRICT c_fc_dot)[4 * WIDTH])
{
    PARALLEL for (int r = 0; r < BATCH * SEQ; r++)
        EACH for (int c = 0; c < 4 * WIDTH; c++) {
            const float x = d_c_fc_add[r][c];
            const float y = c_fc_dot[r][c];
            const float product = 0.5f * y;
            const float product_2 = y * 0.70710677f;
            const float value = 1 + erf_f32(product_2);
            d_c_fc_add[r][c] = x * product * (1.1283792f * exp_f32(-(product_2 * product_2))) *
                    0.70710677f + x * value * 0.5f;
            d_mlp_mul[r][c] = product * value;
        }
}

/* d_ln_2_mul, d_ln_2_weight, d_h_add3: add, sum, div, sub, mul, rsqrt, neg
 *     gpt.lua:24 h.ln_2      moves 2,360,320 bytes */
KERNEL void ln_2_h_back(float (*RESTRICT d_ln_2_mul)[WIDTH], float *RESTRICT d_ln_2_weight,
        float (*RESTRICT d_h_ln_2_weight_partial)[WIDTH], float (*RESTRICT d_h_add3)[WIDTH],
        const float (*RESTRICT h_add)[WIDTH], const float (*RESTRICT c_proj_dot)[WIDTH],
        const float *RESTRICT ln_2_weight, const float (*RESTRICT d_h_add)[WIDTH])
{
    PARALLEL for (int k = 0; k < 32; k++) {
        for (int c = 0; c < WIDTH; c++)
            d_h_ln_2_weight_partial[k][c] = 0;
        for (int r = k * 24; r < (k + 1) * 24; r++) {
            float sums[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++)
                    sums[l] += h_add[r][c + l] + c_proj_dot[r][c + l];
            const float mean = sum_lanes_f32(sums) / WIDTH;
            float sums_2[LANES] = {0};
            float sums_3[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float x = d_h_add3[r][c + l];
                    const float diff = h_add[r][c + l] + c_proj_dot[r][c + l] - mean;
                    sums_2[l] += diff * diff;
                    sums_3[l] += x * ln_2_weight[c + l] * diff;
                }
            const float rstd = rsqrt_f32(sum_lanes_f32(sums_2) / WIDTH + 1e-05f);
            const float ratio = sum_lanes_f32(sums_3) * (-0.5f * (rstd * (rstd * rstd))) / WIDTH;
            float sums_4[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float x = d_h_add3[r][c + l];
                    const float y = ln_2_weight[c + l];
                    const float diff = h_add[r][c + l] + c_proj_dot[r][c + l] - mean;
                    const float product = ratio * diff;
                    const float product_2 = diff * rstd;
                    d_ln_2_mul[r][c + l] = product_2 * y;
                    sums_4[l] += -(x * y * rstd + product + product);
                    d_h_ln_2_weight_partial[k][c + l] += x * product_2;
                }
            const float mean_2 = sum_lanes_f32(sums_4) / WIDTH;
            EACH for (int c = 0; c < WIDTH; c++) {
                const float product = ratio * (h_add[r][c] + c_proj_dot[r][c] - mean);
                d_h_add3[r][c] = d_h_add[r][c] + (d_h_add3[r][c] * ln_2_weight[c] * rstd +
                        product + product) + mean_2;
            }
        }
    }
    for (int c = 0; c < WIDTH; c++)
        d_ln_2_weight[c] = d_h_ln_2_weight_partial[0][c];
    for (int k = 1; k < 32; k++)
        for (int c = 0; c < WIDTH; c++)
            d_ln_2_weight[c] += d_h_ln_2_weight_partial[k][c];
}

/* d_ln_1_mul, d_ln_1_weight, d_h_add: sum, div, sub, mul, add, rsqrt, neg
 *     gpt.lua:17 h.ln_1      moves 1,967,104 bytes */
KERNEL void ln_1_h_back(int from, int to, float (*RESTRICT d_ln_1_mul)[WIDTH],
        float (*RESTRICT d_h_ln_1_weight_partial)[WIDTH], float (*RESTRICT d_h_add)[WIDTH],
        const float (*RESTRICT h_add)[WIDTH], const float (*RESTRICT d_c_attn_dot)[WIDTH],
        const float *RESTRICT ln_1_weight, const float (*RESTRICT d_h_add3)[WIDTH])
{
    for (int k = from / 24; k * 24 < to; k++) {
        for (int c = 0; c < WIDTH; c++)
            d_h_ln_1_weight_partial[k][c] = 0;
        for (int r = k * 24; r < (k + 1) * 24; r++) {
            float sums[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++)
                    sums[l] += h_add[r][c + l];
            const float mean = sum_lanes_f32(sums) / WIDTH;
            float sums_2[LANES] = {0};
            float sums_3[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float diff = h_add[r][c + l] - mean;
                    sums_2[l] += diff * diff;
                    sums_3[l] += d_c_attn_dot[r][c + l] * ln_1_weight[c + l] * diff;
                }
            const float rstd = rsqrt_f32(sum_lanes_f32(sums_2) / WIDTH + 1e-05f);
            const float ratio = sum_lanes_f32(sums_3) * (-0.5f * (rstd * (rstd * rstd))) / WIDTH;
            float sums_4[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float x = d_c_attn_dot[r][c + l];
                    const float y = ln_1_weight[c + l];
                    const float diff = h_add[r][c + l] - mean;
                    const float product = ratio * diff;
                    const float product_2 = diff * rstd;
                    d_ln_1_mul[r][c + l] = product_2 * y;
                    sums_4[l] += -(x * y * rstd + product + product);
                    d_h_ln_1_weight_partial[k][c + l] += x * product_2;
                }
            const float mean_2 = sum_lanes_f32(sums_4) / WIDTH;
            for (int c = 0; c < WIDTH; c++) {
                const float product = ratio * (h_add[r][c] - mean);
                d_h_add[r][c] = d_h_add3[r][c] + (d_c_attn_dot[r][c] * ln_1_weight[c] * rstd +
                        product + product) + mean_2;
            }
        }
    }
}

/* d_ln_1_mul, d_ln_1_weight, d_h_add: sum, div, sub, mul, add, rsqrt, neg
 *     gpt.lua:17 h.ln_1      moves 16,384 bytes */
KERNEL void ln_1_h_back_sums(float *RESTRICT d_ln_1_weight,
        float (*RESTRICT d_h_ln_1_weight_partial)[WIDTH])
{
    for (int c = 0; c < WIDTH; c++)
        d_ln_1_weight[c] = d_h_ln_1_weight_partial[0][c];
    for (int k = 1; k < 32; k++)
        for (int c = 0; c < WIDTH; c++)
            d_ln_1_weight[c] += d_h_ln_1_weight_partial[k][c];
}

/* d_wte_weight[tokens] += d_h_add, in order      gpt.lua:141 wte      moves 429,568 bytes */
KERNEL void wte_scatter_add_back(float (*RESTRICT d_wte_weight)[WIDTH],
        const float (*RESTRICT d_h_add)[WIDTH], const int *RESTRICT tokens)
{
    const int parts = column_parts(WIDTH);
    PARALLEL for (int part = 0; part < parts; part++) {
        const int low = column_from(WIDTH, part, parts),
                high = column_from(WIDTH, part + 1, parts);
        for (int r = 0; r < BATCH * SEQ; r++) {
            const int id = tokens[r];
            EACH for (int c = 0; c < high - low; c++)
                d_wte_weight[id][low + c] += d_h_add[r][low + c];
        }
    }
}

/* d_wpe_weight: sum      gpt.lua:142 wpe      moves 425,984 bytes */
KERNEL void wpe_sum_back(float *RESTRICT d_wpe_weight,
        float (*RESTRICT d_wpe_weight_partial)[SEQ * WIDTH],
        const float (*RESTRICT d_h_add)[SEQ * WIDTH])
{
    PARALLEL for (int k = 0; k < 2; k++) {
        for (int c = 0; c < SEQ * WIDTH; c++)
            d_wpe_weight_partial[k][c] = 0;
        for (int b = k * 6; b < (k + 1) * 6; b++)
            EACH for (int c = 0; c < SEQ * WIDTH; c++)
                d_wpe_weight_partial[k][c] += d_h_add[b][c];
    }
    for (int c = 0; c < SEQ * WIDTH; c++)
        d_wpe_weight[c] = d_wpe_weight_partial[0][c];
    for (int k = 1; k < 2; k++)
        for (int c = 0; c < SEQ * WIDTH; c++)
            d_wpe_weight[c] += d_wpe_weight_partial[k][c];
}

/* linear_cross_entropy_sub, accuracy_cast: rmax, sub, exp, eq, where, cast, neg, sum, log
 *     gpt.lua:153 accuracy      moves 211,968 bytes */
KERNEL void linear_cross_entropy_accuracy_exp_2(int from, int to,
        float *RESTRICT linear_cross_entropy_sub, float *RESTRICT accuracy_cast,
        const float (*RESTRICT linear_cross_entropy_dot)[VOCAB], const int *RESTRICT targets)
{
    for (int r = from; r < to; r++) {
        float maxima[LANES];
        for (int l = 0; l < LANES; l++) maxima[l] = -INFINITY;
        for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
            SIMD for (int l = 0; l < LANES; l++)
                maxima[l] = max_f32(maxima[l], linear_cross_entropy_dot[r][v + l]);
        for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++)
            maxima[v % LANES] = max_f32(maxima[v % LANES], linear_cross_entropy_dot[r][v]);
        const float largest = max_lanes_f32(maxima);
        const int x = targets[r];
        float sums[LANES] = {0};
        float sums_2[LANES] = {0};
        float maxima_2[LANES];
        for (int l = 0; l < LANES; l++) maxima_2[l] = -INFINITY;
        for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
            SIMD for (int l = 0; l < LANES; l++) {
                const float diff = linear_cross_entropy_dot[r][v + l] - largest;
                sums[l] += exp_f32(diff);
                sums_2[l] += v + l == x ? diff : 0;
                maxima_2[l] = max_f32(maxima_2[l], diff == 0 ? -((float)(v + l)) : -64);
            }
        for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++) {
            const float diff = linear_cross_entropy_dot[r][v] - largest;
            sums[v % LANES] += exp_f32(diff);
            sums_2[v % LANES] += v == x ? diff : 0;
            maxima_2[v % LANES] = max_f32(maxima_2[v % LANES], diff == 0 ? -((float)v) : -64);
        }
        linear_cross_entropy_sub[r] = log_f32(sum_lanes_f32(sums)) - sum_lanes_f32(sums_2);
        accuracy_cast[r] = (float)((int)(-max_lanes_f32(maxima_2)) == x);
    }
}

/* wte_gather = wte_weight[tokens]      gpt.lua:141 wte      moves 1,028 bytes */
KERNEL void wte_gather_2(float *RESTRICT wte_gather, const float (*RESTRICT wte_weight)[WIDTH],
        int tokens)
{
    const int id = tokens;
    for (int c = 0; c < WIDTH; c++)
        wte_gather[c] = wte_weight[id][c];
}

/* h_add: add      gpt.lua:142      moves 1,536 bytes */
KERNEL void add_2(float *RESTRICT h_add, const float *RESTRICT wte_gather,
        const float *RESTRICT wpe_gather)
{
    for (int i = 0; i < WIDTH; i++)
        h_add[i] = wte_gather[i] + wpe_gather[i];
}

/* ln_1_mul: sum, div, sub, mul, add, rsqrt      gpt.lua:17 h.ln_1      moves 2,048 bytes */
KERNEL void ln_1_2(float *RESTRICT ln_1_mul, const float *RESTRICT h_add,
        const float *RESTRICT ln_1_weight)
{
    float sums[LANES] = {0};
    for (int i = 0; i < WIDTH; i += LANES)
        SIMD for (int l = 0; l < LANES; l++)
            sums[l] += h_add[i + l];
    const float mean = sum_lanes_f32(sums) / WIDTH;
    float sums_2[LANES] = {0};
    for (int i = 0; i < WIDTH; i += LANES)
        SIMD for (int l = 0; l < LANES; l++) {
            const float diff = h_add[i + l] - mean;
            sums_2[l] += diff * diff;
        }
    const float rstd = rsqrt_f32(sum_lanes_f32(sums_2) / WIDTH + 1e-05f);
    for (int i = 0; i < WIDTH; i++)
        ln_1_mul[i] = (h_add[i] - mean) * rstd * ln_1_weight[i];
}

/* h_attn_keys[position] = c_attn_dot      gpt.lua:18 h.attn      moves 66,052 bytes */
KERNEL void attn_overwrite(float (*RESTRICT h_attn_keys)[WIDTH], const float *RESTRICT c_attn_dot,
        int position)
{
    const int id = position;
    for (int r = 0; r < WIDTH; r++)
        h_attn_keys[id][r] = c_attn_dot[r + WIDTH];
}

/* h_attn_values[position] = c_attn_dot      gpt.lua:18 h.attn      moves 66,052 bytes */
KERNEL void attn_overwrite_2(float (*RESTRICT h_attn_values)[WIDTH],
        const float *RESTRICT c_attn_dot, int position)
{
    const int id = position;
    for (int r = 0; r < WIDTH; r++)
        h_attn_values[id][r] = c_attn_dot[r + 2 * WIDTH];
}

/* h_add3, ln_2_mul: add, sum, div, sub, mul, rsqrt      gpt.lua:24 h.ln_2
 *     moves 2,560 bytes */
KERNEL void h_ln_2_2(float *RESTRICT h_add3, float *RESTRICT ln_2_mul, const float *RESTRICT h_add,
        const float *RESTRICT c_proj_dot2, const float *RESTRICT ln_2_weight)
{
    float sums[LANES] = {0};
    for (int i = 0; i < WIDTH; i += LANES)
        SIMD for (int l = 0; l < LANES; l++) {
            const float value = h_add[i + l] + c_proj_dot2[i + l];
            h_add3[i + l] = value;
            sums[l] += value;
        }
    const float mean = sum_lanes_f32(sums) / WIDTH;
    float sums_2[LANES] = {0};
    for (int i = 0; i < WIDTH; i += LANES)
        SIMD for (int l = 0; l < LANES; l++) {
            const float diff = h_add[i + l] + c_proj_dot2[i + l] - mean;
            sums_2[l] += diff * diff;
        }
    const float rstd = rsqrt_f32(sum_lanes_f32(sums_2) / WIDTH + 1e-05f);
    for (int i = 0; i < WIDTH; i++)
        ln_2_mul[i] = (h_add[i] + c_proj_dot2[i] - mean) * rstd * ln_2_weight[i];
}

/* mlp_mul: mul, erf, add      gpt.lua:25 h.mlp      moves 4,096 bytes */
KERNEL void mlp_erf_2(float *RESTRICT mlp_mul, const float *RESTRICT c_fc_dot)
{
    for (int i = 0; i < 4 * WIDTH; i++) {
        const float x = c_fc_dot[i];
        mlp_mul[i] = 0.5f * x * (1 + erf_f32(x * 0.70710677f));
    }
}

/* Matrix products that are no plain ones: extents, and strides in numbers. */

/* c_attn_dot = ln_1_mul . c_attn_matmul_packed      gpt.lua:18 h.attn.c_attn */
static const Lathe_gemm c_attn_matmul_shape = {.M = 768, .N = 384, .K = 128, .a_m = 128, .a_k = 1,
        .b_k = 0, .b_n = 0, .c_m = 384, .c_n = 1};

/* c_proj_dot = attn_heads . c_proj_matmul_packed      gpt.lua:18 h.attn.c_proj */
static const Lathe_gemm c_proj_matmul_shape = {.M = 768, .N = 128, .K = 128, .a_m = 128, .a_k = 1,
        .b_k = 0, .b_n = 0, .c_m = 128, .c_n = 1};

/* c_fc_dot = ln_2_mul . c_fc_matmul_packed      gpt.lua:25 h.mlp.c_fc */
static const Lathe_gemm c_fc_matmul_shape = {.M = 768, .N = 512, .K = 128, .a_m = 128, .a_k = 1,
        .b_k = 0, .b_n = 0, .c_m = 512, .c_n = 1};

/* c_proj_dot2 = mlp_mul . c_proj_matmul_packed_2      gpt.lua:25 h.mlp.c_proj */
static const Lathe_gemm c_proj_matmul_shape_2 = {.M = 768, .N = 128, .K = 512, .a_m = 512,
        .a_k = 1, .b_k = 0, .b_n = 0, .c_m = 128, .c_n = 1};

/* d_c_attn_dot = d_c_attn_concat . c_attn_matmul_back_packed      gpt.lua:18 h.attn.c_attn */
static const Lathe_gemm c_attn_matmul_back_shape = {.M = 768, .N = 128, .K = 384, .a_m = 384,
        .a_k = 1, .b_k = 0, .b_n = 0, .c_m = 128, .c_n = 1};

/* linear_cross_entropy_dot = ln_f_mul . linear_cross_entropy_matmul_packed
 *     gpt.lua:152 linear_cross_entropy */
static const Lathe_gemm linear_cross_entropy_matmul_shape = {.M = 768, .N = 65, .K = 128,
        .a_m = 128, .a_k = 1, .b_k = 0, .b_n = 0, .c_m = 65, .c_n = 1};

/* Attention: extents, and strides of its operands in numbers. */

/* attn_heads, attn_lse = attention of c_attn_dot, c_attn_dot, c_attn_dot
 *     gpt.lua:18 h.attn */
static const Lathe_attention attn_attention_heads = {.nbatch = 1, .batch = {12}, .T = 64, .S = 64,
        .H = 4, .G = 4, .D = 32, .E = 32, .scale = 0.17677669529663687, .causal = true,
        .q = {.batch = {24576}, .time = 384, .head = 32},
        .k = {.batch = {24576}, .time = 384, .head = 32},
        .v = {.batch = {24576}, .time = 384, .head = 32},
        .o = {.batch = {8192}, .time = 128, .head = 32},
        .lse = {.batch = {256}, .time = 1, .head = 64}};

/* d_c_attn_concat, d_c_attn_concat,
 * d_c_attn_concat = gradients of attention of c_attn_dot, c_attn_dot, c_attn_dot
 *     gpt.lua:18 h.attn */
static const Lathe_attention attn_attention_back_heads = {.nbatch = 1, .batch = {12}, .T = 64,
        .S = 64, .H = 4, .G = 4, .D = 32, .E = 32, .scale = 0.17677669529663687, .causal = true,
        .q = {.batch = {24576}, .time = 384, .head = 32},
        .k = {.batch = {24576}, .time = 384, .head = 32},
        .v = {.batch = {24576}, .time = 384, .head = 32},
        .o = {.batch = {8192}, .time = 128, .head = 32},
        .lse = {.batch = {256}, .time = 1, .head = 64},
        .d_o = {.batch = {8192}, .time = 128, .head = 32},
        .d_q = {.batch = {24576}, .time = 384, .head = 32},
        .d_k = {.batch = {24576}, .time = 384, .head = 32},
        .d_v = {.batch = {24576}, .time = 384, .head = 32}};

/* attn_heads = attention of c_attn_dot, c_attn_dot, c_attn_dot      gpt.lua:18 h.attn */
static const Lathe_attention attn_attention_heads_2 = {.nbatch = 1, .batch = {12}, .T = 64,
        .S = 64, .H = 4, .G = 4, .D = 32, .E = 32, .scale = 0.17677669529663687, .causal = true,
        .q = {.batch = {24576}, .time = 384, .head = 32},
        .k = {.batch = {24576}, .time = 384, .head = 32},
        .v = {.batch = {24576}, .time = 384, .head = 32},
        .o = {.batch = {8192}, .time = 128, .head = 32}};

/* attn_heads = attention of c_attn_dot, h_attn_keys, h_attn_values      gpt.lua:18 h.attn */
static const Lathe_attention attn_attention_heads_3 = {.nbatch = 1, .batch = {1}, .T = 1, .S = 64,
        .H = 4, .G = 4, .D = 32, .E = 32, .scale = 0.17677669529663687, .causal = true,
        .q = {.batch = {0}, .time = 0, .head = 32}, .k = {.batch = {8192}, .time = 128,
        .head = 32}, .v = {.batch = {8192}, .time = 128, .head = 32}, .o = {.batch = {128},
        .time = 128, .head = 32}};

/* train
 *
 *   memory: 19,709,952 bytes for 38 buffers, 4 of them made over an input
 *           30,650,368 without sharing, no less than 19,709,952
 *   buffer                   shape                          bytes    offset steps
 *   wte_gather               [BATCH][SEQ][WIDTH]           393216         0   0-1   |
 *   h_add                    [5][BATCH][SEQ][WIDTH]       1966080  11010048   1-41  |------------|
 *   c_fc_dot                 [LAYERS][BATCH][SEQ][512]    6291456         0   2-41  |------------|
 *   c_proj_dot               [4][BATCH][SEQ][WIDTH]       1572864  12976128   2-41  |------------|
 *   attn_heads               [4][BATCH][SEQ][HEADS][32]   1572864  14548992   2-41  |------------|
 *   c_attn_dot               [LAYERS][BATCH][SEQ][384]    4718592   6291456   2-41  |------------|
 *   attn_lse                 [4][BATCH][HEADS][SEQ]         49152  19660800   2-41  |------------|
 *   c_attn_matmul_packed     [WIDTH][3 * WIDTH]            196608  16515072   3-6   ||
 *   ln_1_mul                 [BATCH][SEQ][WIDTH]           393216  16121856   3-6   ||
 *   c_proj_matmul_packed     [WIDTH][WIDTH]                 65536  19398656   8-17    |--|
 *   c_fc_matmul_packed       [WIDTH][4 * WIDTH]            262144  18874368   8-17    |--|
 *   c_proj_matmul_packed_2   [4 * WIDTH][WIDTH]            262144  19136512   8-17    |--|
 *   ln_2_mul                 [BATCH][SEQ][WIDTH]           393216  18087936   8-17    |--|
 *   h_add2                   [BATCH][SEQ][WIDTH]           393216  18481152   8-17    |--|
 *   mlp_mul                  [BATCH][SEQ][4 * WIDTH]      1572864  16121856   8-17    |--|
 *   c_proj_dot2              [BATCH][SEQ][WIDTH]           393216  17694720   8-17    |--|
 *   ln_f_mul                 [BATCH][SEQ][WIDTH]           393216  16121856  18-21       ||
 *   ..ear_cross_entropy_dot2 [BATCH * SEQ][VOCAB]          199680  16515072  19-24        ||
 *   accuracy_cast            [BATCH][SEQ]                    3072  16717824  20-23        ||
 *   ..ear_cross_entropy_sub2 [BATCH * SEQ]                   3072  16714752  20-22        ||
 *   linear_cross_entropy_dot [BATCH * SEQ][WIDTH]          393216  19267584  24-43         |------|
 *   d_ln_f_weight_partial    [32][WIDTH]                    16384  16121856  25-25          |
 *   d_c_proj_dot2            [BATCH][SEQ][4 * WIDTH]      1572864  16121856  27-32          |-|
 *   d_mlp_mul                [BATCH][SEQ][4 * WIDTH]      1572864  17694720  28-29           |
 *   d_c_fc_dot               [BATCH][SEQ][WIDTH]           393216  17694720  30-39           |--|
 *   d_ln_2_mul               [BATCH][SEQ][WIDTH]           393216  18087936  31-32            |
 *   d_h_ln_2_weight_partial  [32][WIDTH]                    16384  18481152  31-31            |
 *   d_c_proj_dot             [BATCH][SEQ][WIDTH]           393216  17301504  34-35             |
 *   d_c_attn_concat          [BATCH][SEQ][3 * WIDTH]      1179648  16121856  35-40             |-|
 *   ..ttn_matmul_back_packed [3 * WIDTH][WIDTH]            196608  18481152  36-39             ||
 *   d_c_attn_dot             [BATCH][SEQ][WIDTH]           393216  17301504  36-39             ||
 *   d_ln_1_mul               [BATCH][SEQ][WIDTH]           393216  18087936  36-40             |-|
 *   d_h_ln_1_weight_partial  [32][WIDTH]                    16384  18677760  36-41             |-|
 *   d_wpe_weight_partial     [2][SEQ * WIDTH]               65536         0  43-43                |
 */
void gpt_train(const Gpt_params *p, Gpt_params *d, const Gpt_train_in *in, Gpt_train_out *out,
        char *work)
{
    float (*wte_gather)[SEQ][WIDTH] = (void *)(work + 0);
    float (*h_add)[BATCH][SEQ][WIDTH] = (void *)(work + 11010048);
    float (*c_fc_dot)[BATCH][SEQ][4 * WIDTH] = (void *)(work + 0);
    float (*c_proj_dot)[BATCH][SEQ][WIDTH] = (void *)(work + 12976128);
    float (*attn_heads)[BATCH][SEQ][HEADS][WIDTH / HEADS] = (void *)(work + 14548992);
    float (*c_attn_dot)[BATCH][SEQ][3 * WIDTH] = (void *)(work + 6291456);
    float (*attn_lse)[BATCH][HEADS][SEQ] = (void *)(work + 19660800);
    float (*c_attn_matmul_packed)[3 * WIDTH] = (void *)(work + 16515072);
    float (*ln_1_mul)[SEQ][WIDTH] = (void *)(work + 16121856);
    float (*c_proj_matmul_packed)[WIDTH] = (void *)(work + 19398656);
    float (*c_fc_matmul_packed)[4 * WIDTH] = (void *)(work + 18874368);
    float (*c_proj_matmul_packed_2)[WIDTH] = (void *)(work + 19136512);
    float (*ln_2_mul)[SEQ][WIDTH] = (void *)(work + 18087936);
    float (*h_add2)[SEQ][WIDTH] = (void *)(work + 18481152);
    float (*mlp_mul)[SEQ][4 * WIDTH] = (void *)(work + 16121856);
    float (*c_proj_dot2)[SEQ][WIDTH] = (void *)(work + 17694720);
    float (*ln_f_mul)[SEQ][WIDTH] = (void *)(work + 16121856);
    float (*linear_cross_entropy_dot2)[VOCAB] = (void *)(work + 16515072);
    float (*linear_cross_entropy_sub)[VOCAB] = (void *)linear_cross_entropy_dot2;
    float (*accuracy_cast)[SEQ] = (void *)(work + 16717824);
    float *linear_cross_entropy_sub2 = (void *)(work + 16714752);
    float (*linear_cross_entropy_dot)[WIDTH] = (void *)(work + 19267584);
    float (*d_h_add)[SEQ][WIDTH] = (void *)linear_cross_entropy_dot;
    float (*d_ln_f_weight_partial)[WIDTH] = (void *)(work + 16121856);
    float (*d_c_proj_dot2)[SEQ][4 * WIDTH] = (void *)(work + 16121856);
    float (*d_mlp_mul)[SEQ][4 * WIDTH] = (void *)(work + 17694720);
    float (*d_c_fc_add)[SEQ][4 * WIDTH] = (void *)d_c_proj_dot2;
    float (*d_c_fc_dot)[SEQ][WIDTH] = (void *)(work + 17694720);
    float (*d_ln_2_mul)[SEQ][WIDTH] = (void *)(work + 18087936);
    float (*d_h_add3)[SEQ][WIDTH] = (void *)d_c_fc_dot;
    float (*d_h_ln_2_weight_partial)[WIDTH] = (void *)(work + 18481152);
    float (*d_c_proj_dot)[SEQ][WIDTH] = (void *)(work + 17301504);
    float (*d_c_attn_concat)[SEQ][3 * WIDTH] = (void *)(work + 16121856);
    float (*c_attn_matmul_back_packed)[WIDTH] = (void *)(work + 18481152);
    float (*d_c_attn_dot)[SEQ][WIDTH] = (void *)(work + 17301504);
    float (*d_ln_1_mul)[SEQ][WIDTH] = (void *)(work + 18087936);
    float (*d_h_ln_1_weight_partial)[WIDTH] = (void *)(work + 18677760);
    float (*d_wpe_weight_partial)[SEQ * WIDTH] = (void *)(work + 0);

    forward_part();
    make_wte_gather(*wte_gather, p->wte_weight, *in->tokens);           LAP(0);
    add(h_add[0], wte_gather, p->wpe_weight);                           LAP(1);
    for (int l = 0; l < LAYERS; l++) {    /* layer */
        TEAM {   /* panels of rows */
            const int tall = panel_rows(BATCH * SEQ, 1, 255);
            pack_shared_f32(*c_attn_matmul_packed, *p->h[l].attn_c_attn_weight, WIDTH, 3 * WIDTH,
                    1, 128);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += tall) {
                const int to = min_i32(from + tall, BATCH * SEQ);
                ln_1(from, to, *ln_1_mul, *h_add[l], p->h[l].ln_1_weight);
                gemm_packed_rows_f32(**c_attn_dot[l], **ln_1_mul, *c_attn_matmul_packed,
                        &c_attn_matmul_shape, false, from, to);
            }
        }                                                               LAP(3);
        attention_f32(***attn_heads[l], **attn_lse[l], **c_attn_dot[l],
                &c_attn_dot[l][0][0][WIDTH], &c_attn_dot[l][0][0][2 * WIDTH],
                &attn_attention_heads, NULL);                           LAP(7);
        TEAM {   /* panels of rows */
            const int tall = panel_rows(BATCH * SEQ, 1, 192);
            pack_shared_f32(*c_proj_matmul_packed, *p->h[l].attn_c_proj_weight, WIDTH, WIDTH, 1,
                    128);
            pack_shared_f32(*c_fc_matmul_packed, *p->h[l].mlp_c_fc_weight, WIDTH, 4 * WIDTH, 1,
                    128);
            pack_shared_f32(*c_proj_matmul_packed_2, *p->h[l].mlp_c_proj_weight, 4 * WIDTH, WIDTH,
                    1, 512);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += tall) {
                const int to = min_i32(from + tall, BATCH * SEQ);
                gemm_packed_rows_f32(**c_proj_dot[l], ***attn_heads[l], *c_proj_matmul_packed,
                        &c_proj_matmul_shape, false, from, to);
                h_ln_2(from, to, *h_add2, *ln_2_mul, *h_add[l], *c_proj_dot[l],
                        p->h[l].ln_2_weight);
                gemm_packed_rows_f32(**c_fc_dot[l], **ln_2_mul, *c_fc_matmul_packed,
                        &c_fc_matmul_shape, false, from, to);
                mlp_erf(from, to, *mlp_mul, *c_fc_dot[l]);
                gemm_packed_rows_f32(**c_proj_dot2, **mlp_mul, *c_proj_matmul_packed_2,
                        &c_proj_matmul_shape_2, false, from, to);
                make_h_add(from, to, *h_add[l + 1], *h_add2, *c_proj_dot2);
            }
        }                                                               LAP(8);
    }
    ln_f(*ln_f_mul, *h_add[LAYERS], p->ln_f_weight);                    LAP(18);
    matmul_nt_f32(*linear_cross_entropy_dot2, **ln_f_mul, *p->wte_weight, BATCH * SEQ,
            VOCAB, WIDTH);                                              LAP(19);
    backward_part();
    linear_cross_entropy_accuracy_exp(linear_cross_entropy_sub, linear_cross_entropy_sub2,
            *accuracy_cast, *in->targets);                              LAP(20);
    matmul_tn_f32(*d->wte_weight, *linear_cross_entropy_sub, **ln_f_mul, VOCAB, WIDTH,
            BATCH * SEQ);                                               LAP(21);
    forward_part();
    linear_cross_entropy_div(&out->loss, linear_cross_entropy_sub2);    LAP(22);
    linear_cross_entropy_div(&out->accuracy, *accuracy_cast);           LAP(23);
    backward_part();
    matmul_nn_f32(*linear_cross_entropy_dot, *linear_cross_entropy_sub, *p->wte_weight,
            BATCH * SEQ, WIDTH, VOCAB);                                 LAP(24);
    ln_f_back(d->ln_f_weight, d_ln_f_weight_partial, *d_h_add, *h_add[LAYERS],
            p->ln_f_weight);                                            LAP(25);
    for (int l = LAYERS - 1; l >= 0; l--) {    /* layer */
        matmul_nn_f32(**d_c_proj_dot2, **d_h_add, *p->h[l].mlp_c_proj_weight, BATCH * SEQ,
                4 * WIDTH, WIDTH);                                      LAP(27);
        mlp_c_fc_erf_back(*d_c_fc_add, *d_mlp_mul, *c_fc_dot[l]);       LAP(28);
        matmul_tn_f32(*d->h[l].mlp_c_proj_weight, **d_h_add, **d_mlp_mul, WIDTH,
                4 * WIDTH, BATCH * SEQ);                                LAP(29);
        matmul_nn_f32(**d_c_fc_dot, **d_c_fc_add, *p->h[l].mlp_c_fc_weight, BATCH * SEQ,
                WIDTH, 4 * WIDTH);                                      LAP(30);
        ln_2_h_back(*d_ln_2_mul, d->h[l].ln_2_weight, d_h_ln_2_weight_partial, *d_h_add3,
                *h_add[l], *c_proj_dot[l], p->h[l].ln_2_weight, *d_h_add); LAP(31);
        matmul_tn_f32(*d->h[l].mlp_c_fc_weight, **d_c_fc_add, **d_ln_2_mul, 4 * WIDTH,
                WIDTH, BATCH * SEQ);                                    LAP(32);
        matmul_tn_f32(*d->h[l].attn_c_proj_weight, **d_h_add3, ***attn_heads[l], WIDTH,
                WIDTH, BATCH * SEQ);                                    LAP(33);
        matmul_nn_f32(**d_c_proj_dot, **d_h_add3, *p->h[l].attn_c_proj_weight,
                BATCH * SEQ, WIDTH, WIDTH);                             LAP(34);
        attention_back_f32(**d_c_attn_concat, &d_c_attn_concat[0][0][WIDTH],
                &d_c_attn_concat[0][0][2 * WIDTH], **c_attn_dot[l],
                &c_attn_dot[l][0][0][WIDTH], &c_attn_dot[l][0][0][2 * WIDTH],
                ***attn_heads[l], **attn_lse[l], **d_c_proj_dot,
                &attn_attention_back_heads, NULL);                      LAP(35);
        TEAM {   /* panels of rows */
            const int tall = panel_rows(BATCH * SEQ, 24, 336);
            pack_shared_f32(*c_attn_matmul_back_packed, *p->h[l].attn_c_attn_weight, 3 * WIDTH,
                    WIDTH, 128, 1);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += tall) {
                const int to = min_i32(from + tall, BATCH * SEQ);
                gemm_packed_rows_f32(**d_c_attn_dot, **d_c_attn_concat, *c_attn_matmul_back_packed,
                        &c_attn_matmul_back_shape, false, from, to);
                ln_1_h_back(from, to, *d_ln_1_mul, d_h_ln_1_weight_partial, *d_h_add, *h_add[l],
                        *d_c_attn_dot, p->h[l].ln_1_weight, *d_h_add3);
            }
        }                                                               LAP(36);
        matmul_tn_f32(*d->h[l].attn_c_attn_weight, **d_c_attn_concat, **d_ln_1_mul,
                3 * WIDTH, WIDTH, BATCH * SEQ);                         LAP(40);
        ln_1_h_back_sums(d->h[l].ln_1_weight, d_h_ln_1_weight_partial); LAP(41);
    }
    wte_scatter_add_back(d->wte_weight, *d_h_add, *in->tokens);         LAP(42);
    wpe_sum_back(*d->wpe_weight, d_wpe_weight_partial, (void *)d_h_add); LAP(43);
}

static void run_train(const Lathe_call *c)
{
    gpt_train(c->params, c->grads, c->in, c->out, c->work);
}

/* grad
 *
 *   memory: 19,709,952 bytes for 38 buffers, 4 of them made over an input
 *           30,650,368 without sharing, no less than 19,709,952
 */
void gpt_grad(const Gpt_params *p, Gpt_params *d, const Gpt_grad_in *in, Gpt_grad_out *out,
        char *work)
{
    float (*wte_gather)[SEQ][WIDTH] = (void *)(work + 0);
    float (*h_add)[BATCH][SEQ][WIDTH] = (void *)(work + 11010048);
    float (*c_fc_dot)[BATCH][SEQ][4 * WIDTH] = (void *)(work + 0);
    float (*c_proj_dot)[BATCH][SEQ][WIDTH] = (void *)(work + 12976128);
    float (*attn_heads)[BATCH][SEQ][HEADS][WIDTH / HEADS] = (void *)(work + 14548992);
    float (*c_attn_dot)[BATCH][SEQ][3 * WIDTH] = (void *)(work + 6291456);
    float (*attn_lse)[BATCH][HEADS][SEQ] = (void *)(work + 19660800);
    float (*c_attn_matmul_packed)[3 * WIDTH] = (void *)(work + 16515072);
    float (*ln_1_mul)[SEQ][WIDTH] = (void *)(work + 16121856);
    float (*c_proj_matmul_packed)[WIDTH] = (void *)(work + 19398656);
    float (*c_fc_matmul_packed)[4 * WIDTH] = (void *)(work + 18874368);
    float (*c_proj_matmul_packed_2)[WIDTH] = (void *)(work + 19136512);
    float (*ln_2_mul)[SEQ][WIDTH] = (void *)(work + 18087936);
    float (*h_add2)[SEQ][WIDTH] = (void *)(work + 18481152);
    float (*mlp_mul)[SEQ][4 * WIDTH] = (void *)(work + 16121856);
    float (*c_proj_dot2)[SEQ][WIDTH] = (void *)(work + 17694720);
    float (*ln_f_mul)[SEQ][WIDTH] = (void *)(work + 16121856);
    float (*linear_cross_entropy_dot2)[VOCAB] = (void *)(work + 16515072);
    float (*linear_cross_entropy_sub)[VOCAB] = (void *)linear_cross_entropy_dot2;
    float (*accuracy_cast)[SEQ] = (void *)(work + 16717824);
    float *linear_cross_entropy_sub2 = (void *)(work + 16714752);
    float (*linear_cross_entropy_dot)[WIDTH] = (void *)(work + 19267584);
    float (*d_h_add)[SEQ][WIDTH] = (void *)linear_cross_entropy_dot;
    float (*d_ln_f_weight_partial)[WIDTH] = (void *)(work + 16121856);
    float (*d_c_proj_dot2)[SEQ][4 * WIDTH] = (void *)(work + 16121856);
    float (*d_mlp_mul)[SEQ][4 * WIDTH] = (void *)(work + 17694720);
    float (*d_c_fc_add)[SEQ][4 * WIDTH] = (void *)d_c_proj_dot2;
    float (*d_c_fc_dot)[SEQ][WIDTH] = (void *)(work + 17694720);
    float (*d_ln_2_mul)[SEQ][WIDTH] = (void *)(work + 18087936);
    float (*d_h_add3)[SEQ][WIDTH] = (void *)d_c_fc_dot;
    float (*d_h_ln_2_weight_partial)[WIDTH] = (void *)(work + 18481152);
    float (*d_c_proj_dot)[SEQ][WIDTH] = (void *)(work + 17301504);
    float (*d_c_attn_concat)[SEQ][3 * WIDTH] = (void *)(work + 16121856);
    float (*c_attn_matmul_back_packed)[WIDTH] = (void *)(work + 18481152);
    float (*d_c_attn_dot)[SEQ][WIDTH] = (void *)(work + 17301504);
    float (*d_ln_1_mul)[SEQ][WIDTH] = (void *)(work + 18087936);
    float (*d_h_ln_1_weight_partial)[WIDTH] = (void *)(work + 18677760);
    float (*d_wpe_weight_partial)[SEQ * WIDTH] = (void *)(work + 0);

    forward_part();
    make_wte_gather(*wte_gather, p->wte_weight, *in->tokens);           LAP(0);
    add(h_add[0], wte_gather, p->wpe_weight);                           LAP(1);
    for (int l = 0; l < LAYERS; l++) {    /* layer */
        TEAM {   /* panels of rows */
            const int tall = panel_rows(BATCH * SEQ, 1, 255);
            pack_shared_f32(*c_attn_matmul_packed, *p->h[l].attn_c_attn_weight, WIDTH, 3 * WIDTH,
                    1, 128);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += tall) {
                const int to = min_i32(from + tall, BATCH * SEQ);
                ln_1(from, to, *ln_1_mul, *h_add[l], p->h[l].ln_1_weight);
                gemm_packed_rows_f32(**c_attn_dot[l], **ln_1_mul, *c_attn_matmul_packed,
                        &c_attn_matmul_shape, false, from, to);
            }
        }                                                               LAP(3);
        attention_f32(***attn_heads[l], **attn_lse[l], **c_attn_dot[l],
                &c_attn_dot[l][0][0][WIDTH], &c_attn_dot[l][0][0][2 * WIDTH],
                &attn_attention_heads, NULL);                           LAP(7);
        TEAM {   /* panels of rows */
            const int tall = panel_rows(BATCH * SEQ, 1, 192);
            pack_shared_f32(*c_proj_matmul_packed, *p->h[l].attn_c_proj_weight, WIDTH, WIDTH, 1,
                    128);
            pack_shared_f32(*c_fc_matmul_packed, *p->h[l].mlp_c_fc_weight, WIDTH, 4 * WIDTH, 1,
                    128);
            pack_shared_f32(*c_proj_matmul_packed_2, *p->h[l].mlp_c_proj_weight, 4 * WIDTH, WIDTH,
                    1, 512);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += tall) {
                const int to = min_i32(from + tall, BATCH * SEQ);
                gemm_packed_rows_f32(**c_proj_dot[l], ***attn_heads[l], *c_proj_matmul_packed,
                        &c_proj_matmul_shape, false, from, to);
                h_ln_2(from, to, *h_add2, *ln_2_mul, *h_add[l], *c_proj_dot[l],
                        p->h[l].ln_2_weight);
                gemm_packed_rows_f32(**c_fc_dot[l], **ln_2_mul, *c_fc_matmul_packed,
                        &c_fc_matmul_shape, false, from, to);
                mlp_erf(from, to, *mlp_mul, *c_fc_dot[l]);
                gemm_packed_rows_f32(**c_proj_dot2, **mlp_mul, *c_proj_matmul_packed_2,
                        &c_proj_matmul_shape_2, false, from, to);
                make_h_add(from, to, *h_add[l + 1], *h_add2, *c_proj_dot2);
            }
        }                                                               LAP(8);
    }
    ln_f(*ln_f_mul, *h_add[LAYERS], p->ln_f_weight);                    LAP(18);
    matmul_nt_f32(**out->logits, **ln_f_mul, *p->wte_weight, BATCH * SEQ, VOCAB, WIDTH); LAP(19);
    matmul_nt_f32(*linear_cross_entropy_dot2, **ln_f_mul, *p->wte_weight, BATCH * SEQ,
            VOCAB, WIDTH);                                              LAP(20);
    backward_part();
    linear_cross_entropy_accuracy_exp(linear_cross_entropy_sub, linear_cross_entropy_sub2,
            *accuracy_cast, *in->targets);                              LAP(21);
    matmul_tn_f32(*d->wte_weight, *linear_cross_entropy_sub, **ln_f_mul, VOCAB, WIDTH,
            BATCH * SEQ);                                               LAP(22);
    forward_part();
    linear_cross_entropy_div(&out->loss, linear_cross_entropy_sub2);    LAP(23);
    linear_cross_entropy_div(&out->accuracy, *accuracy_cast);           LAP(24);
    backward_part();
    matmul_nn_f32(*linear_cross_entropy_dot, *linear_cross_entropy_sub, *p->wte_weight,
            BATCH * SEQ, WIDTH, VOCAB);                                 LAP(25);
    ln_f_back(d->ln_f_weight, d_ln_f_weight_partial, *d_h_add, *h_add[LAYERS],
            p->ln_f_weight);                                            LAP(26);
    for (int l = LAYERS - 1; l >= 0; l--) {    /* layer */
        matmul_nn_f32(**d_c_proj_dot2, **d_h_add, *p->h[l].mlp_c_proj_weight, BATCH * SEQ,
                4 * WIDTH, WIDTH);                                      LAP(28);
        mlp_c_fc_erf_back(*d_c_fc_add, *d_mlp_mul, *c_fc_dot[l]);       LAP(29);
        matmul_tn_f32(*d->h[l].mlp_c_proj_weight, **d_h_add, **d_mlp_mul, WIDTH,
                4 * WIDTH, BATCH * SEQ);                                LAP(30);
        matmul_nn_f32(**d_c_fc_dot, **d_c_fc_add, *p->h[l].mlp_c_fc_weight, BATCH * SEQ,
                WIDTH, 4 * WIDTH);                                      LAP(31);
        ln_2_h_back(*d_ln_2_mul, d->h[l].ln_2_weight, d_h_ln_2_weight_partial, *d_h_add3,
                *h_add[l], *c_proj_dot[l], p->h[l].ln_2_weight, *d_h_add); LAP(32);
        matmul_tn_f32(*d->h[l].mlp_c_fc_weight, **d_c_fc_add, **d_ln_2_mul, 4 * WIDTH,
                WIDTH, BATCH * SEQ);                                    LAP(33);
        matmul_tn_f32(*d->h[l].attn_c_proj_weight, **d_h_add3, ***attn_heads[l], WIDTH,
                WIDTH, BATCH * SEQ);                                    LAP(34);
        matmul_nn_f32(**d_c_proj_dot, **d_h_add3, *p->h[l].attn_c_proj_weight,
                BATCH * SEQ, WIDTH, WIDTH);                             LAP(35);
        attention_back_f32(**d_c_attn_concat, &d_c_attn_concat[0][0][WIDTH],
                &d_c_attn_concat[0][0][2 * WIDTH], **c_attn_dot[l],
                &c_attn_dot[l][0][0][WIDTH], &c_attn_dot[l][0][0][2 * WIDTH],
                ***attn_heads[l], **attn_lse[l], **d_c_proj_dot,
                &attn_attention_back_heads, NULL);                      LAP(36);
        TEAM {   /* panels of rows */
            const int tall = panel_rows(BATCH * SEQ, 24, 336);
            pack_shared_f32(*c_attn_matmul_back_packed, *p->h[l].attn_c_attn_weight, 3 * WIDTH,
                    WIDTH, 128, 1);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += tall) {
                const int to = min_i32(from + tall, BATCH * SEQ);
                gemm_packed_rows_f32(**d_c_attn_dot, **d_c_attn_concat, *c_attn_matmul_back_packed,
                        &c_attn_matmul_back_shape, false, from, to);
                ln_1_h_back(from, to, *d_ln_1_mul, d_h_ln_1_weight_partial, *d_h_add, *h_add[l],
                        *d_c_attn_dot, p->h[l].ln_1_weight, *d_h_add3);
            }
        }                                                               LAP(37);
        matmul_tn_f32(*d->h[l].attn_c_attn_weight, **d_c_attn_concat, **d_ln_1_mul,
                3 * WIDTH, WIDTH, BATCH * SEQ);                         LAP(41);
        ln_1_h_back_sums(d->h[l].ln_1_weight, d_h_ln_1_weight_partial); LAP(42);
    }
    wte_scatter_add_back(d->wte_weight, *d_h_add, *in->tokens);         LAP(43);
    wpe_sum_back(*d->wpe_weight, d_wpe_weight_partial, (void *)d_h_add); LAP(44);
}

static void run_grad(const Lathe_call *c)
{
    gpt_grad(c->params, c->grads, c->in, c->out, c->work);
}

/* eval
 *
 *   memory: 6,094,848 bytes for 20 buffers, 0 of them made over an input
 *           8,905,728 without sharing, no less than 6,094,848
 */
void gpt_eval(const Gpt_params *p, const Gpt_eval_in *in, Gpt_eval_out *out, char *work)
{
    float (*wte_gather)[SEQ][WIDTH] = (void *)(work + 0);
    float (*h_add)[SEQ][WIDTH] = (void *)(work + 3145728);
    float (*c_attn_matmul_packed)[3 * WIDTH] = (void *)(work + 1572864);
    float (*ln_1_mul)[SEQ][WIDTH] = (void *)(work + 1179648);
    float (*c_attn_dot)[SEQ][3 * WIDTH] = (void *)(work + 0);
    float (*attn_heads)[SEQ][HEADS][WIDTH / HEADS] = (void *)(work + 3538944);
    float (*c_proj_matmul_packed)[WIDTH] = (void *)(work + 6029312);
    float (*c_fc_matmul_packed)[4 * WIDTH] = (void *)(work + 5505024);
    float (*c_proj_matmul_packed_2)[WIDTH] = (void *)(work + 5767168);
    float (*c_proj_dot2)[SEQ][WIDTH] = (void *)(work + 5111808);
    float (*ln_2_mul)[SEQ][WIDTH] = (void *)(work + 4325376);
    float (*h_add3)[SEQ][WIDTH] = (void *)(work + 4718592);
    float (*c_fc_dot)[SEQ][4 * WIDTH] = (void *)(work + 1572864);
    float (*mlp_mul)[SEQ][4 * WIDTH] = (void *)(work + 0);
    float (*c_proj_dot)[SEQ][WIDTH] = (void *)(work + 3932160);
    float (*linear_cross_entropy_matmul_packed)[96] = (void *)(work + 592896);
    float (*ln_f_mul)[SEQ][WIDTH] = (void *)(work + 0);
    float (*linear_cross_entropy_dot)[VOCAB] = (void *)(work + 393216);
    float (*accuracy_cast)[SEQ] = (void *)(work + 645120);
    float *linear_cross_entropy_sub = (void *)(work + 642048);

    make_wte_gather(*wte_gather, p->wte_weight, *in->tokens);           LAP(0);
    add(h_add, wte_gather, p->wpe_weight);                              LAP(1);
    for (int l = 0; l < LAYERS; l++) {    /* layer */
        TEAM {   /* panels of rows */
            const int tall = panel_rows(BATCH * SEQ, 1, 255);
            pack_shared_f32(*c_attn_matmul_packed, *p->h[l].attn_c_attn_weight, WIDTH, 3 * WIDTH,
                    1, 128);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += tall) {
                const int to = min_i32(from + tall, BATCH * SEQ);
                ln_1(from, to, *ln_1_mul, *h_add, p->h[l].ln_1_weight);
                gemm_packed_rows_f32(**c_attn_dot, **ln_1_mul, *c_attn_matmul_packed,
                        &c_attn_matmul_shape, false, from, to);
            }
        }                                                               LAP(3);
        attention_f32(***attn_heads, NULL, **c_attn_dot, &c_attn_dot[0][0][WIDTH],
                &c_attn_dot[0][0][2 * WIDTH], &attn_attention_heads_2, NULL); LAP(7);
        TEAM {   /* panels of rows */
            const int tall = panel_rows(BATCH * SEQ, 1, 192);
            pack_shared_f32(*c_proj_matmul_packed, *p->h[l].attn_c_proj_weight, WIDTH, WIDTH, 1,
                    128);
            pack_shared_f32(*c_fc_matmul_packed, *p->h[l].mlp_c_fc_weight, WIDTH, 4 * WIDTH, 1,
                    128);
            pack_shared_f32(*c_proj_matmul_packed_2, *p->h[l].mlp_c_proj_weight, 4 * WIDTH, WIDTH,
                    1, 512);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += tall) {
                const int to = min_i32(from + tall, BATCH * SEQ);
                gemm_packed_rows_f32(**c_proj_dot2, ***attn_heads, *c_proj_matmul_packed,
                        &c_proj_matmul_shape, false, from, to);
                h_ln_2(from, to, *h_add3, *ln_2_mul, *h_add, *c_proj_dot2, p->h[l].ln_2_weight);
                gemm_packed_rows_f32(**c_fc_dot, **ln_2_mul, *c_fc_matmul_packed,
                        &c_fc_matmul_shape, false, from, to);
                mlp_erf(from, to, *mlp_mul, *c_fc_dot);
                gemm_packed_rows_f32(**c_proj_dot, **mlp_mul, *c_proj_matmul_packed_2,
                        &c_proj_matmul_shape_2, false, from, to);
                make_h_add(from, to, *h_add, *h_add3, *c_proj_dot);
            }
        }                                                               LAP(8);
    }
    TEAM {   /* panels of rows */
        const int tall = panel_rows(BATCH * SEQ, 1, 512);
        pack_shared_f32(*linear_cross_entropy_matmul_packed, *p->wte_weight, WIDTH, VOCAB, 1, 128);
        MEET
        SHARED for (int from = 0; from < BATCH * SEQ; from += tall) {
            const int to = min_i32(from + tall, BATCH * SEQ);
            ln_1(from, to, *ln_f_mul, *h_add, p->ln_f_weight);
            gemm_packed_rows_f32(*linear_cross_entropy_dot, **ln_f_mul,
                    *linear_cross_entropy_matmul_packed, &linear_cross_entropy_matmul_shape, false,
                    from, to);
            linear_cross_entropy_accuracy_exp_2(from, to, linear_cross_entropy_sub, *accuracy_cast,
                    linear_cross_entropy_dot, *in->targets);
        }
    }                                                                   LAP(18);
    linear_cross_entropy_div(&out->loss, linear_cross_entropy_sub);     LAP(23);
    linear_cross_entropy_div(&out->accuracy, *accuracy_cast);           LAP(24);
}

static void run_eval(const Lathe_call *c)
{
    gpt_eval(c->params, c->in, c->out, c->work);
}

/* decode
 *
 *   memory: 5,120 bytes for 13 buffers, 0 of them made over an input
 *           10,752 without sharing, no less than 5,120
 */
void gpt_decode(const Gpt_params *p, const Gpt_decode_in *in, Gpt_decode_out *out, Gpt_state *s,
        char *work)
{
    float (*wte_gather)[1][WIDTH] = (void *)(work + 0);
    float (*wpe_gather)[WIDTH] = (void *)(work + 512);
    float (*h_add)[1][WIDTH] = (void *)(work + 4096);
    float (*ln_1_mul)[1][WIDTH] = (void *)(work + 1536);
    float (*c_attn_dot)[1][3 * WIDTH] = (void *)(work + 0);
    float (*attn_heads)[1][HEADS][WIDTH / HEADS] = (void *)(work + 1536);
    float (*c_proj_dot2)[1][WIDTH] = (void *)(work + 0);
    float (*ln_2_mul)[1][WIDTH] = (void *)(work + 2048);
    float (*h_add3)[1][WIDTH] = (void *)(work + 4608);
    float (*c_fc_dot)[1][4 * WIDTH] = (void *)(work + 0);
    float (*mlp_mul)[1][4 * WIDTH] = (void *)(work + 2048);
    float (*c_proj_dot)[1][WIDTH] = (void *)(work + 0);
    float (*ln_f_mul)[1][WIDTH] = (void *)(work + 0);

    wte_gather_2(wte_gather[0][0], p->wte_weight, in->tokens[0][0]);    LAP(0);
    wte_gather_2(wpe_gather[0], p->wpe_weight, in->position);           LAP(1);
    add_2(h_add[0][0], wte_gather[0][0], wpe_gather[0]);                LAP(2);
    for (int l = 0; l < LAYERS; l++) {    /* layer */
        ln_1_2(ln_1_mul[0][0], h_add[0][0], p->h[l].ln_1_weight);       LAP(4);
        matmul_nt_f32(**c_attn_dot, **ln_1_mul, *p->h[l].attn_c_attn_weight, 1, 3 * WIDTH,
                WIDTH);                                                 LAP(5);
        attn_overwrite((void *)s->h_attn_keys[l][0], c_attn_dot[0][0], in->position); LAP(6);
        attn_overwrite_2((void *)s->h_attn_values[l][0], c_attn_dot[0][0], in->position); LAP(7);
        attention_f32(***attn_heads, NULL, **c_attn_dot, ***s->h_attn_keys[l],
                ***s->h_attn_values[l], &attn_attention_heads_3,
                &(Lathe_masks){.offset = in->position});                LAP(8);
        matmul_nt_f32(**c_proj_dot2, ***attn_heads, *p->h[l].attn_c_proj_weight, 1, WIDTH,
                WIDTH);                                                 LAP(9);
        h_ln_2_2(h_add3[0][0], ln_2_mul[0][0], h_add[0][0], c_proj_dot2[0][0],
                p->h[l].ln_2_weight);                                   LAP(10);
        matmul_nt_f32(**c_fc_dot, **ln_2_mul, *p->h[l].mlp_c_fc_weight, 1, 4 * WIDTH,
                WIDTH);                                                 LAP(11);
        mlp_erf_2(mlp_mul[0][0], c_fc_dot[0][0]);                       LAP(12);
        matmul_nt_f32(**c_proj_dot, **mlp_mul, *p->h[l].mlp_c_proj_weight, 1, WIDTH,
                4 * WIDTH);                                             LAP(13);
        add_2(h_add[0][0], h_add3[0][0], c_proj_dot[0][0]);             LAP(14);
    }
    ln_1_2(ln_f_mul[0][0], h_add[0][0], p->ln_f_weight);                LAP(15);
    matmul_nt_f32(**out->logits, **ln_f_mul, *p->wte_weight, 1, VOCAB, WIDTH); LAP(16);
}

static void run_decode(const Lathe_call *c)
{
    gpt_decode(c->params, c->in, c->out, c->state, c->work);
}

/* ---------------------------------------------------------------- what the trainer knows of it */

static const Lathe_param params[] = {
    {.name = "wte.weight", .export_name = "wte.weight",
     .where = "models/gpt.lua:141", .rank = 2, .loops = 0,
     .dim = {65, 128}, .stride = {128, 1},
     .offset = offsetof(Gpt_params, wte_weight) / sizeof(float), .decay = true,
     .init = LATHE_NORMAL, .init_a = 0.02, .init_b = 0},
    {.name = "wpe.weight", .export_name = "wpe.weight",
     .where = "models/gpt.lua:142", .rank = 2, .loops = 0,
     .dim = {64, 128}, .stride = {128, 1},
     .offset = offsetof(Gpt_params, wpe_weight) / sizeof(float), .decay = true,
     .init = LATHE_NORMAL, .init_a = 0.02, .init_b = 0},
    {.name = "h.ln_1.weight", .export_name = "h.%d.ln_1.weight",
     .where = "models/gpt.lua:17", .rank = 2, .loops = 1,
     .dim = {4, 128}, .stride = {196864, 1},
     .offset = offsetof(Gpt_params, h[0].ln_1_weight) / sizeof(float), .decay = false,
     .init = LATHE_ONES, .init_a = 0, .init_b = 0},
    {.name = "h.attn.c_attn.weight", .export_name = "h.%d.attn.c_attn.weight",
     .where = "models/gpt.lua:18", .rank = 3, .loops = 1,
     .dim = {4, 384, 128}, .stride = {196864, 128, 1},
     .offset = offsetof(Gpt_params, h[0].attn_c_attn_weight) / sizeof(float), .decay = true,
     .init = LATHE_NORMAL, .init_a = 0.02, .init_b = 0},
    {.name = "h.attn.c_proj.weight", .export_name = "h.%d.attn.c_proj.weight",
     .where = "models/gpt.lua:18", .rank = 3, .loops = 1,
     .dim = {4, 128, 128}, .stride = {196864, 128, 1},
     .offset = offsetof(Gpt_params, h[0].attn_c_proj_weight) / sizeof(float), .decay = true,
     .init = LATHE_NORMAL, .init_a = 0.0070710678118654745, .init_b = 0},
    {.name = "h.ln_2.weight", .export_name = "h.%d.ln_2.weight",
     .where = "models/gpt.lua:24", .rank = 2, .loops = 1,
     .dim = {4, 128}, .stride = {196864, 1},
     .offset = offsetof(Gpt_params, h[0].ln_2_weight) / sizeof(float), .decay = false,
     .init = LATHE_ONES, .init_a = 0, .init_b = 0},
    {.name = "h.mlp.c_fc.weight", .export_name = "h.%d.mlp.c_fc.weight",
     .where = "models/gpt.lua:25", .rank = 3, .loops = 1,
     .dim = {4, 512, 128}, .stride = {196864, 128, 1},
     .offset = offsetof(Gpt_params, h[0].mlp_c_fc_weight) / sizeof(float), .decay = true,
     .init = LATHE_NORMAL, .init_a = 0.02, .init_b = 0},
    {.name = "h.mlp.c_proj.weight", .export_name = "h.%d.mlp.c_proj.weight",
     .where = "models/gpt.lua:25", .rank = 3, .loops = 1,
     .dim = {4, 128, 512}, .stride = {196864, 512, 1},
     .offset = offsetof(Gpt_params, h[0].mlp_c_proj_weight) / sizeof(float), .decay = true,
     .init = LATHE_NORMAL, .init_a = 0.0070710678118654745, .init_b = 0},
    {.name = "ln_f.weight", .export_name = "ln_f.weight",
     .where = "models/gpt.lua:148", .rank = 1, .loops = 0,
     .dim = {128}, .stride = {1},
     .offset = offsetof(Gpt_params, ln_f_weight) / sizeof(float), .decay = false,
     .init = LATHE_ONES, .init_a = 0, .init_b = 0},
};

static const Lathe_tensor states[] = {
    {.name = "h.attn.keys", .role = LATHE_STATE, .dtype = LATHE_F32, .rank = 5,
            .dim = {4, 1, 64, 4, 32}, .offset = offsetof(Gpt_state, h_attn_keys), .rows_axis = 1},
    {.name = "h.attn.values", .role = LATHE_STATE, .dtype = LATHE_F32, .rank = 5,
            .dim = {4, 1, 64, 4, 32}, .offset = offsetof(Gpt_state, h_attn_values),
            .rows_axis = 1},
};

static const Lathe_tensor train_in[] = {
    {.name = "tokens", .role = LATHE_TOKENS, .dtype = LATHE_I32, .rank = 2, .dim = {12, 64},
            .offset = offsetof(Gpt_train_in, tokens)},
    {.name = "targets", .role = LATHE_TARGETS, .dtype = LATHE_I32, .rank = 2, .dim = {12, 64},
            .offset = offsetof(Gpt_train_in, targets)},
};
static const Lathe_tensor train_out[] = {
    {.name = "loss", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 0, .dim = {0},
            .offset = offsetof(Gpt_train_out, loss)},
    {.name = "accuracy", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 0, .dim = {0},
            .offset = offsetof(Gpt_train_out, accuracy)},
};
static const Lathe_kernel train_kernels[] = {
    /* lap, name, formula, layer, line, flop, bytes, backward */
    {0, "make_wte_gather", "wte_gather = wte_weight[tokens]",
     "wte", "gpt.lua:141", 0, 789504, false},
    {1, "add", "h_add: add",
     "", "gpt.lua:142", 0, 819200, false},
    {3, "ln_1_to_c_attn_matmul", "panel by panel: c_attn_matmul_pack, ln_1, c_attn_matmul",
     "h.ln_1", "gpt.lua:17", 75497472, 2949632, false},
    {7, "attn_attention", "attn_heads, attn_lse = attention of c_attn_dot, c_attn_dot, c_attn_dot",
     "h.attn", "gpt.lua:18", 25165824, 1585152, false},
    {8, "c_proj_matmul_to_h_add", "panel by panel: c_proj_matmul_pack, c_fc_matmul_pack, c_proj...",
     "h.attn.c_proj", "gpt.lua:18", 226492416, 12386816, false},
    {18, "ln_f", "ln_f_mul: sum, div, sub, mul, add, rsqrt",
     "ln_f", "gpt.lua:148", 0, 786944, false},
    {19, "linear_cross_entropy_matmul", "linear_cross_entropy_dot2 = ln_f_mul . wte_weight",
     "linear_cross_entropy", "gpt.lua:152", 12779520, 626176, false},
    {20, "linear_cross_entropy_accuracy_exp", "linear_cross_entropy_sub2, accuracy_cast, linear...",
     "linear_cross_entropy", "gpt.lua:152", 0, 411648, true},
    {21, "linear_cross_entropy_matmul", "d_wte_weight = linear_cross_entropy_sub . ln_f_mul",
     "linear_cross_entropy", "gpt.lua:152", 12779520, 626176, true},
    {22, "linear_cross_entropy_div", "loss: sum, div",
     "linear_cross_entropy", "gpt.lua:152", 0, 3076, false},
    {23, "linear_cross_entropy_div", "accuracy: sum, div",
     "accuracy", "gpt.lua:153", 0, 3076, false},
    {24, "linear_cross_entropy_matmul", "linear_cross_entropy_dot = linear_cross_entropy_sub . ...",
     "linear_cross_entropy", "gpt.lua:152", 12779520, 626176, true},
    {25, "ln_f_back", "d_ln_f_weight, d_h_add: sum, div, sub, mul, add, rsqrt, neg",
     "ln_f", "gpt.lua:148", 0, 1180672, true},
    {27, "c_proj_matmul_back", "d_c_proj_dot2 = d_h_add . mlp_c_proj_weight",
     "h.mlp.c_proj", "gpt.lua:25", 100663296, 2228224, true},
    {28, "mlp_c_fc_erf_back", "d_c_fc_add, d_mlp_mul: mul, neg, exp, erf, add",
     "h.mlp", "gpt.lua:25", 0, 6291456, true},
    {29, "c_proj_matmul_back", "d_mlp_c_proj_weight = d_h_add . d_mlp_mul",
     "h.mlp.c_proj", "gpt.lua:25", 100663296, 2228224, true},
    {30, "c_fc_matmul_back", "d_c_fc_dot = d_c_fc_add . mlp_c_fc_weight",
     "h.mlp.c_fc", "gpt.lua:25", 100663296, 2228224, true},
    {31, "ln_2_h_back", "d_ln_2_mul, d_ln_2_weight, d_h_add3: add, sum, div, sub, mul, rsqrt, neg",
     "h.ln_2", "gpt.lua:24", 0, 2360320, true},
    {32, "c_fc_matmul_back", "d_mlp_c_fc_weight = d_c_fc_add . d_ln_2_mul",
     "h.mlp.c_fc", "gpt.lua:25", 100663296, 2228224, true},
    {33, "c_proj_matmul_back", "d_attn_c_proj_weight = d_h_add3 . attn_heads",
     "h.attn.c_proj", "gpt.lua:18", 25165824, 851968, true},
    {34, "c_proj_matmul_back", "d_c_proj_dot = d_h_add3 . attn_c_proj_weight",
     "h.attn.c_proj", "gpt.lua:18", 25165824, 851968, true},
    {35, "attn_attention_back", "d_c_attn_concat, d_c_attn_concat, d_c_attn_concat = gradients ...",
     "h.attn", "gpt.lua:18", 62914560, 3158016, true},
    {36, "c_attn_matmul_back_to_ln_1_h_back", "panel by panel: c_attn_matmul_back_pack, c_attn_...",
     "h.attn.c_attn", "gpt.lua:18", 75497472, 4129792, true},
    {40, "c_attn_matmul_back", "d_attn_c_attn_weight = d_c_attn_concat . d_ln_1_mul",
     "h.attn.c_attn", "gpt.lua:18", 75497472, 1769472, true},
    {41, "ln_1_h_back_sums", "d_ln_1_mul, d_ln_1_weight, d_h_add: sum, div, sub, mul, add, rsqr...",
     "h.ln_1", "gpt.lua:17", 0, 16384, true},
    {42, "wte_scatter_add_back", "d_wte_weight[tokens] += d_h_add, in order",
     "wte", "gpt.lua:141", 0, 429568, true},
    {43, "wpe_sum_back", "d_wpe_weight: sum",
     "wpe", "gpt.lua:142", 0, 425984, true},
};
static const Lathe_tensor grad_in[] = {
    {.name = "tokens", .role = LATHE_TOKENS, .dtype = LATHE_I32, .rank = 2, .dim = {12, 64},
            .offset = offsetof(Gpt_grad_in, tokens)},
    {.name = "targets", .role = LATHE_TARGETS, .dtype = LATHE_I32, .rank = 2, .dim = {12, 64},
            .offset = offsetof(Gpt_grad_in, targets)},
};
static const Lathe_tensor grad_out[] = {
    {.name = "loss", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 0, .dim = {0},
            .offset = offsetof(Gpt_grad_out, loss)},
    {.name = "accuracy", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 0, .dim = {0},
            .offset = offsetof(Gpt_grad_out, accuracy)},
    {.name = "logits", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 3, .dim = {12, 64, 65},
            .offset = offsetof(Gpt_grad_out, logits)},
};
static const Lathe_tensor eval_in[] = {
    {.name = "tokens", .role = LATHE_TOKENS, .dtype = LATHE_I32, .rank = 2, .dim = {12, 64},
            .offset = offsetof(Gpt_eval_in, tokens)},
    {.name = "targets", .role = LATHE_TARGETS, .dtype = LATHE_I32, .rank = 2, .dim = {12, 64},
            .offset = offsetof(Gpt_eval_in, targets)},
};
static const Lathe_tensor eval_out[] = {
    {.name = "loss", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 0, .dim = {0},
            .offset = offsetof(Gpt_eval_out, loss)},
    {.name = "accuracy", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 0, .dim = {0},
            .offset = offsetof(Gpt_eval_out, accuracy)},
};
static const Lathe_tensor decode_in[] = {
    {.name = "tokens", .role = LATHE_TOKENS, .dtype = LATHE_I32, .rank = 2, .dim = {1, 1},
            .offset = offsetof(Gpt_decode_in, tokens)},
    {.name = "position", .role = LATHE_POSITION, .dtype = LATHE_I32, .rank = 0, .dim = {0},
            .offset = offsetof(Gpt_decode_in, position)},
};
static const Lathe_tensor decode_out[] = {
    {.name = "logits", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 3, .dim = {1, 1, 65},
            .offset = offsetof(Gpt_decode_out, logits)},
};

static const Lathe_entry entries[] = {
    {.name = "train", .run = run_train, .work_bytes = 19709952, .flops = 4014538752,
     .in_bytes = sizeof(Gpt_train_in), .out_bytes = sizeof(Gpt_train_out), .inputs = 2,
             .outputs = 2, .input = train_in, .output = train_out, .kernels = 27,
             .kernel = train_kernels},
    {.name = "grad", .run = run_grad, .work_bytes = 19709952, .flops = 4027318272,
     .in_bytes = sizeof(Gpt_grad_in), .out_bytes = sizeof(Gpt_grad_out), .inputs = 2, .outputs = 3,
             .input = grad_in, .output = grad_out, .kernels = 0, .kernel = NULL},
    {.name = "eval", .run = run_eval, .work_bytes = 6094848, .flops = 1321402368,
     .in_bytes = sizeof(Gpt_eval_in), .out_bytes = sizeof(Gpt_eval_out), .inputs = 2, .outputs = 2,
             .input = eval_in, .output = eval_out, .kernels = 0, .kernel = NULL},
    {.name = "decode", .run = run_decode, .work_bytes = 5120, .flops = 1720576,
     .in_bytes = sizeof(Gpt_decode_in), .out_bytes = sizeof(Gpt_decode_out), .inputs = 2,
             .outputs = 1, .input = decode_in, .output = decode_out, .kernels = 0, .kernel = NULL},
};

static const char *const knobs[][2] = {
    {"accumulate", "1"},
    {"attention_bias", "false"},
    {"batch", "12"},
    {"beta1", "0.9"},
    {"beta2", "0.99"},
    {"bias", "false"},
    {"clip", "1.0"},
    {"clip_value", "0.0"},
    {"context", "0"},
    {"decay", "0.1"},
    {"decay_on", "matrices"},
    {"dropout", "0.0"},
    {"eval_every", "250"},
    {"final_lr", "0.0001"},
    {"gelu", "erf"},
    {"heads", "4"},
    {"init", "gpt2"},
    {"layers", "4"},
    {"layout", "out_in"},
    {"loss_on", "auto"},
    {"lr", "0.001"},
    {"optimizer", "adamw"},
    {"pack", "false"},
    {"schedule", "cosine"},
    {"seq", "64"},
    {"steps", "2000"},
    {"tied", "true"},
    {"tokenizer", "chars"},
    {"vocab", "65"},
    {"warmup", "100"},
    {"width", "128"},
};

/* How Hugging Face knows it: train_hf.c goes by this. */
static const char hf[] =
    "{\n"
    "  \"absent\": {\n"
    "    \"activation_function\": \"gelu_new\",\n"
    "    \"layer_norm_epsilon\": 1e-05,\n"
    "    \"n_inner\": 512,\n"
    "    \"scale_attn_by_inverse_layer_idx\": false,\n"
    "    \"scale_attn_weights\": true,\n"
    "    \"tie_word_embeddings\": true},\n"
    "  \"also\": {\n"
    "    \"attn_pdrop\": 0.0,\n"
    "    \"embd_pdrop\": 0.0,\n"
    "    \"resid_pdrop\": 0.0},\n"
    "  \"config\": {\n"
    "    \"activation_function\": \"gelu\",\n"
    "    \"architectures\": [\"GPT2LMHeadModel\"],\n"
    "    \"layer_norm_epsilon\": 1e-05,\n"
    "    \"model_type\": \"gpt2\",\n"
    "    \"n_embd\": 128,\n"
    "    \"n_head\": 4,\n"
    "    \"n_inner\": 512,\n"
    "    \"n_layer\": 4,\n"
    "    \"n_positions\": 64,\n"
    "    \"scale_attn_by_inverse_layer_idx\": false,\n"
    "    \"scale_attn_weights\": true,\n"
    "    \"tie_word_embeddings\": true},\n"
    "  \"copies\": {\n"
    "    \"lm_head.weight\": \"wte.weight\"},\n"
    "  \"ids\": {\n"
    "    \"config\": \"vocab_size\",\n"
    "    \"tensors\": [\"wte.weight\"]},\n"
    "  \"ignored\": [\"h.%d.attn.bias\", \"h.%d.attn.masked_bias\"],\n"
    "  \"names\": [[\"lm_head.weight\", \"lm_head.weight\"], [\"*\", \"transformer.*\"]],\n"
    "  \"transposed\": [\"h.%d.attn.c_attn.weight\", \"h.%d.attn.c_proj.weight\", "
    "\"h.%d.mlp.c_fc.weight\", \"h.%d.mlp.c_proj.weight\"],\n"
    "  \"zeros\": {\n"
    "    \"h.%d.attn.c_attn.bias\": [4, 384],\n"
    "    \"h.%d.attn.c_proj.bias\": [4, 128],\n"
    "    \"h.%d.ln_1.bias\": [4, 128],\n"
    "    \"h.%d.ln_2.bias\": [4, 128],\n"
    "    \"h.%d.mlp.c_fc.bias\": [4, 512],\n"
    "    \"h.%d.mlp.c_proj.bias\": [4, 128],\n"
    "    \"ln_f.bias\": [128]}}";

static const Lathe_bytes planned[] = {
    {"parameters", 3216384},
    {"gradients", 3216384},
    {"optimizer", 6432768},
    {"states", 262144},
    {"inputs", 6144},
    {"outputs", 128},
    {"work", 19709952},
    {"blas", 7798784},
    {"data", 0},
    {"generation", 7808},
};

const Lathe_model lathe_model = {
    .name = "gpt", .config = "char", .precision = "fp32", .source_hash = "26a5dcf989f263e6",
    .needs = lathe_needs,
    .rebuild = "models/gpt.lua --config char",
    .real = LATHE_F32, .batch = 12, .seq = 64, .vocab = 65,
    .params = 9, .entries = 4, .states = 2, .knobs = 31, .categories = 10,
    .param = params, .entry = entries, .state = states,
    .state_bytes = sizeof(Gpt_state),
    .parameter_count = 804096, .flat_elements = 804096,
    .recipe = {
        .optimizer = LATHE_ADAMW, .lr = 0.001, .beta1 = 0.9, .beta2 = 0.99,
        .eps = 1e-08, .decay = 0.1, .momentum = 0, .nesterov = 0,
        .schedule = LATHE_COSINE, .final_lr = 0.0001, .warmup = 100, .steps = 2000,
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
    .hf = hf, .knob = knobs, .plan = planned,
    .planned_bytes = 40650496, .lower_bound_bytes = 40650496,
};

int main(int argc, char **argv) { return lathe_main(&lathe_model, argc, argv); }
