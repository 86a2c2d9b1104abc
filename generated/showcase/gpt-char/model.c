/* model.c: gpt, made by lathe from gpt.lua, configuration char.
 *   Edit that, not this file.  fp32.
 *
 *   804,096 parameters, 4,014,538,752 flop in a call of train, 40,380,544 bytes in all
 *
 *   First the kernels; then a function per entry, which calls them; then tables for the trainer. */
#include "model.h"

/* wte = wte_weight[tokens]      gpt.lua:145 wte      moves 789,504 bytes */
KERNEL void make_wte(float (*RESTRICT wte)[WIDTH], const float (*RESTRICT wte_weight)[WIDTH],
        const int *RESTRICT tokens)
{
    PARALLEL for (int r = 0; r < BATCH * SEQ; r++) {
        const int id = tokens[r];
        EACH for (int c = 0; c < WIDTH; c++)
            wte[r][c] = wte_weight[id][c];
    }
}

/* h_residual = wte + wpe_weight      gpt.lua:145      moves 819,200 bytes */
KERNEL void residual(float (*RESTRICT h_residual)[SEQ][WIDTH],
        const float (*RESTRICT wte)[SEQ][WIDTH], const float (*RESTRICT wpe_weight)[WIDTH])
{
    PARALLEL_2 for (int b = 0; b < BATCH; b++)
        for (int t = 0; t < SEQ; t++)
            EACH for (int c = 0; c < WIDTH; c++)
                h_residual[b][t][c] = wte[b][t][c] + wpe_weight[t][c];
}

/* mean = mean_WIDTH(h_residual);  centred = h_residual - mean;
 *     variance = mean_WIDTH(centred * centred);  rstd = rsqrt(variance + 1e-05);
 *     ln_1 = centred * rstd * ln_1_weight      gpt.lua:17 h.ln_1, gpt.lua:151 ln_f
 *     moves 786,944 bytes */
KERNEL void ln(int from, int to, float (*RESTRICT ln_1)[WIDTH],
        const float (*RESTRICT h_residual)[WIDTH], const float *RESTRICT ln_1_weight)
{
    for (int r = from; r < to; r++) {
        float sums_of_residual[LANES] = {0};
        for (int c = 0; c < WIDTH; c += LANES)
            SIMD for (int l = 0; l < LANES; l++)
                sums_of_residual[l] += h_residual[r][c + l];
        const float mean = sum_lanes_f32(sums_of_residual) / WIDTH;
        float sums_of_squares[LANES] = {0};
        for (int c = 0; c < WIDTH; c += LANES)
            SIMD for (int l = 0; l < LANES; l++) {
                const float centred = h_residual[r][c + l] - mean;
                sums_of_squares[l] += centred * centred;
            }
        const float rstd = rsqrt_f32(sum_lanes_f32(sums_of_squares) / WIDTH + 1e-05f);
        for (int c = 0; c < WIDTH; c++)
            ln_1[r][c] = (h_residual[r][c] - mean) * rstd * ln_1_weight[c];
    }
}

/* attended = h_residual + attn;  mean = mean_WIDTH(attended);  centred = attended - mean;
 *     variance = mean_WIDTH(centred * centred);  rstd = rsqrt(variance + 1e-05);
 *     ln_2 = centred * rstd * ln_2_weight      gpt.lua:24 h.ln_2, gpt.lua:23 h
 *     moves 1,573,376 bytes */
KERNEL void attended_and_ln_2(int from, int to, float (*RESTRICT attended)[WIDTH],
        float (*RESTRICT ln_2)[WIDTH], const float (*RESTRICT h_residual)[WIDTH],
        const float (*RESTRICT attn)[WIDTH], const float *RESTRICT ln_2_weight)
{
    for (int r = from; r < to; r++) {
        float sums_of_attended[LANES] = {0};
        for (int c = 0; c < WIDTH; c += LANES)
            SIMD for (int l = 0; l < LANES; l++) {
                const float one_attended = h_residual[r][c + l] + attn[r][c + l];
                attended[r][c + l] = one_attended;
                sums_of_attended[l] += one_attended;
            }
        const float mean = sum_lanes_f32(sums_of_attended) / WIDTH;
        float sums_of_squares[LANES] = {0};
        for (int c = 0; c < WIDTH; c += LANES)
            SIMD for (int l = 0; l < LANES; l++) {
                const float one_attended = h_residual[r][c + l] + attn[r][c + l];
                const float centred = one_attended - mean;
                sums_of_squares[l] += centred * centred;
            }
        const float rstd = rsqrt_f32(sum_lanes_f32(sums_of_squares) / WIDTH + 1e-05f);
        for (int c = 0; c < WIDTH; c++) {
            const float centred = h_residual[r][c] + attn[r][c] - mean;
            ln_2[r][c] = centred * rstd * ln_2_weight[c];
        }
    }
}

/* active = 0.5 * c_fc * (1 + erf(c_fc * 0.7071067811865476))      gpt.lua:25 h.mlp
 *     moves 3,145,728 bytes */
KERNEL void make_active(int from, int to, float (*RESTRICT active)[4 * WIDTH],
        const float (*RESTRICT c_fc)[4 * WIDTH])
{
    for (int r = from; r < to; r++)
        for (int c = 0; c < 4 * WIDTH; c++) {
            const float one_c_fc = c_fc[r][c];
            active[r][c] = 0.5f * one_c_fc * (1 + erf_f32(one_c_fc * 0.70710677f));
        }
}

/* h_residual = attended + mlp      gpt.lua:29 h      moves 1,179,648 bytes */
KERNEL void make_h_residual(int from, int to, float (*RESTRICT h_residual)[WIDTH],
        const float (*RESTRICT attended)[WIDTH], const float (*RESTRICT mlp)[WIDTH])
{
    for (int r = from; r < to; r++)
        for (int c = 0; c < WIDTH; c++)
            h_residual[r][c] = attended[r][c] + mlp[r][c];
}

/* mean = mean_WIDTH(h_residual);  centred = h_residual - mean;
 *     variance = mean_WIDTH(centred * centred);  rstd = rsqrt(variance + 1e-05);
 *     ln_f = centred * rstd * ln_f_weight      gpt.lua:151 ln_f      moves 786,944 bytes */
KERNEL void make_ln_f(float (*RESTRICT ln_f)[WIDTH], const float (*RESTRICT h_residual)[WIDTH],
        const float *RESTRICT ln_f_weight)
{
    PARALLEL for (int r = 0; r < BATCH * SEQ; r++) {
        float sums_for_mean[LANES] = {0};
        for (int c = 0; c < WIDTH; c += LANES)
            SIMD for (int l = 0; l < LANES; l++)
                sums_for_mean[l] += h_residual[r][c + l];
        const float mean = sum_lanes_f32(sums_for_mean) / WIDTH;
        float sums_of_squares[LANES] = {0};
        for (int c = 0; c < WIDTH; c += LANES)
            SIMD for (int l = 0; l < LANES; l++) {
                const float centred = h_residual[r][c + l] - mean;
                sums_of_squares[l] += centred * centred;
            }
        const float rstd = rsqrt_f32(sum_lanes_f32(sums_of_squares) / WIDTH + 1e-05f);
        EACH for (int c = 0; c < WIDTH; c++)
            ln_f[r][c] = (h_residual[r][c] - mean) * rstd * ln_f_weight[c];
    }
}

/* largest = max_VOCAB(head_logits);  total = sum_VOCAB(exp(head_logits - largest));
 *     predicted = argmax_VOCAB(head_logits);
 *     losses = log(total) - sum_VOCAB(v == targets ? head_logits - largest : 0);
 *     accuracy_values = (float)(predicted == targets);
 *     d_head_logits = exp(head_logits -
 *         largest) * (1 / (BATCH * SEQ) / total) - (v == targets ? 1 / (BATCH * SEQ) : 0);
 *     d_head_logits overwrites head_logits
 *     gpt.lua:155 linear_cross_entropy, gpt.lua:156 accuracy      moves 411,648 bytes */
KERNEL void linear_cross_entropy_accuracy(float (*RESTRICT d_head_logits)[VOCAB],
        float *RESTRICT losses, float *RESTRICT accuracy_values, const int *RESTRICT targets)
{
    PARALLEL for (int r = 0; r < BATCH * SEQ; r++) {
        float e_row[VOCAB];
        float maxima[LANES];
        for (int l = 0; l < LANES; l++) maxima[l] = -INFINITY;
        for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
            SIMD for (int l = 0; l < LANES; l++) {
                const float head_logits = d_head_logits[r][v + l];
                maxima[l] = max_f32(maxima[l], head_logits);
            }
        for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++) {
            const float head_logits = d_head_logits[r][v];
            maxima[v % LANES] = max_f32(maxima[v % LANES], head_logits);
        }
        const float largest = max_lanes_f32(maxima);
        const int target = targets[r];
        float sums[LANES] = {0};
        float sums_for_losses[LANES] = {0};
        int predicted = INT32_MAX;
        for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
            SIMD_AND(reduction(min : predicted)) for (int l = 0; l < LANES; l++) {
                const float head_logits = d_head_logits[r][v + l];
                const float below_largest = head_logits - largest;
                const float e = exp_f32(below_largest);
                e_row[v + l] = e;
                sums[l] += e;
                sums_for_losses[l] += v + l == target ? below_largest : 0;
                predicted = min_i32(predicted, below_largest == 0 ? v + l : VOCAB - 1);
            }
        for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++) {
            const float head_logits = d_head_logits[r][v];
            const float below_largest = head_logits - largest;
            const float e = exp_f32(below_largest);
            e_row[v] = e;
            sums[v % LANES] += e;
            sums_for_losses[v % LANES] += v == target ? below_largest : 0;
            predicted = min_i32(predicted, below_largest == 0 ? v : VOCAB - 1);
        }
        const float total = sum_lanes_f32(sums);
        const float factor_of_d_head_logits = 1.0f / (BATCH * SEQ) / total;
        EACH for (int v = 0; v < VOCAB; v++)
            d_head_logits[r][v] = e_row[v] * factor_of_d_head_logits -
                    (v == target ? 1.0f / (BATCH * SEQ) : 0.0f);
        losses[r] = log_f32(total) - sum_lanes_f32(sums_for_losses);
        accuracy_values[r] = (float)(predicted == target);
    }
}

/* loss = mean_{BATCH * SEQ}(losses)
 *     gpt.lua:155 linear_cross_entropy, gpt.lua:156 accuracy      moves 3,076 bytes */
KERNEL void mean(float *RESTRICT loss, const float *RESTRICT losses)
{
    float sums_of_losses[LANES] = {0};
    for (int i = 0; i < BATCH * SEQ; i += LANES)
        SIMD for (int l = 0; l < LANES; l++)
            sums_of_losses[l] += losses[i + l];
    *loss = sum_lanes_f32(sums_of_losses) / (BATCH * SEQ);
}

/* mean = mean_WIDTH(h_residual);  centred = h_residual - mean;
 *     d_rstd = sum_WIDTH(d_ln_f * ln_f_weight * centred);
 *     variance = mean_WIDTH(centred * centred);  rstd = rsqrt(variance + 1e-05);
 *     d_variance = d_rstd * (-0.5 * (rstd * (rstd * rstd)));
 *     d_centred = d_ln_f *
 *         ln_f_weight * rstd + d_variance / WIDTH * centred + d_variance / WIDTH * centred;
 *     d_mean = sum_WIDTH(-d_centred);
 *     d_ln_f_weight = sum_{BATCH * SEQ}(d_ln_f * (centred * rstd));
 *     d_h_residual = d_centred + d_mean / WIDTH;  d_h_residual overwrites d_ln_f
 *     gpt.lua:151 ln_f, gpt.lua:150      moves 1,180,672 bytes */
KERNEL void ln_f_back(float *RESTRICT d_ln_f_weight,
        float (*RESTRICT d_ln_f_weight_partial)[WIDTH], float (*RESTRICT d_h_residual)[WIDTH],
        const float (*RESTRICT h_residual)[WIDTH], const float *RESTRICT ln_f_weight)
{
    PARALLEL for (int k = 0; k < BATCH * SEQ / 24; k++) {
        for (int c = 0; c < WIDTH; c++)
            d_ln_f_weight_partial[k][c] = 0;
        for (int r = k * 24; r < (k + 1) * 24; r++) {
            float sums_for_mean[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++)
                    sums_for_mean[l] += h_residual[r][c + l];
            const float mean = sum_lanes_f32(sums_for_mean) / WIDTH;
            float sums_of_squares[LANES] = {0};
            float sums[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float d_ln_f = d_h_residual[r][c + l];
                    const float centred = h_residual[r][c + l] - mean;
                    sums_of_squares[l] += centred * centred;
                    sums[l] += d_ln_f * ln_f_weight[c + l] * centred;
                }
            const float rstd = rsqrt_f32(sum_lanes_f32(sums_of_squares) / WIDTH + 1e-05f);
            const float d_variance = sum_lanes_f32(sums) * (-0.5f * (rstd * (rstd * rstd)));
            const float share_of_d_variance = d_variance / WIDTH;
            float sums_for_d_mean[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float d_ln_f = d_h_residual[r][c + l];
                    const float centred = h_residual[r][c + l] - mean;
                    const float part_of_d_centred = share_of_d_variance * centred;
                    const float d_centred = d_ln_f * ln_f_weight[c + l] * rstd +
                            part_of_d_centred + part_of_d_centred;
                    sums_for_d_mean[l] += -d_centred;
                    d_ln_f_weight_partial[k][c + l] += d_ln_f * (centred * rstd);
                }
            const float share_of_d_mean = sum_lanes_f32(sums_for_d_mean) / WIDTH;
            EACH for (int c = 0; c < WIDTH; c++) {
                const float d_ln_f = d_h_residual[r][c];
                const float part_of_d_centred = share_of_d_variance * (h_residual[r][c] - mean);
                const float d_centred = d_ln_f * ln_f_weight[c] * rstd + part_of_d_centred +
                        part_of_d_centred;
                d_h_residual[r][c] = d_centred + share_of_d_mean;
            }
        }
    }
    for (int c = 0; c < WIDTH; c++)
        d_ln_f_weight[c] = d_ln_f_weight_partial[0][c];
    for (int k = 1; k < BATCH * SEQ / 24; k++)
        for (int c = 0; c < WIDTH; c++)
            d_ln_f_weight[c] += d_ln_f_weight_partial[k][c];
}

/* d_c_fc = d_active * (0.5 * c_fc) * (1.1283791670955126 * exp(-(c_fc * 0.7071067811865476 *
 *         (c_fc * 0.7071067811865476)))) *
 *         0.7071067811865476 + d_active * (1 + erf(c_fc * 0.7071067811865476)) * 0.5;
 *     active_again = 0.5 * c_fc * (1 + erf(c_fc * 0.7071067811865476));
 *     d_c_fc overwrites d_active      gpt.lua:25 h.mlp      moves 6,291,456 bytes */
KERNEL void active_back(float (*RESTRICT d_c_fc)[4 * WIDTH],
        float (*RESTRICT active_again)[4 * WIDTH], const float (*RESTRICT c_fc)[4 * WIDTH])
{
    PARALLEL for (int r = 0; r < BATCH * SEQ; r++)
        EACH for (int c = 0; c < 4 * WIDTH; c++) {
            const float d_active = d_c_fc[r][c];
            const float one_c_fc = c_fc[r][c];
            const float half_c_fc = 0.5f * one_c_fc;
            const float scaled_c_fc = one_c_fc * 0.70710677f;
            const float factor_of_active = 1 + erf_f32(scaled_c_fc);
            const float one_d_c_fc = d_active * half_c_fc *
                    (1.1283792f * exp_f32(-(scaled_c_fc * scaled_c_fc))) * 0.70710677f +
                    d_active * factor_of_active * 0.5f;
            d_c_fc[r][c] = one_d_c_fc;
            active_again[r][c] = half_c_fc * factor_of_active;
        }
}

/* attended = h_residual + attn;  mean = mean_WIDTH(attended);  centred = attended - mean;
 *     d_rstd = sum_WIDTH(d_ln_2 * ln_2_weight * centred);
 *     variance = mean_WIDTH(centred * centred);  rstd = rsqrt(variance + 1e-05);
 *     d_variance = d_rstd * (-0.5 * (rstd * (rstd * rstd)));
 *     d_centred = d_ln_2 *
 *         ln_2_weight * rstd + d_variance / WIDTH * centred + d_variance / WIDTH * centred;
 *     ln_2_again = centred * rstd * ln_2_weight;  d_mean = sum_WIDTH(-d_centred);
 *     d_ln_2_weight = sum_{BATCH * SEQ}(d_ln_2 * (centred * rstd));
 *     d_attended = d_h_residual + d_centred + d_mean / WIDTH;  d_attended overwrites d_ln_2
 *     gpt.lua:24 h.ln_2, gpt.lua:23 h      moves 2,360,320 bytes */
KERNEL void ln_2_h_back(float (*RESTRICT ln_2_again)[WIDTH], float *RESTRICT d_ln_2_weight,
        float (*RESTRICT d_ln_2_weight_partial)[WIDTH], float (*RESTRICT d_attended)[WIDTH],
        const float (*RESTRICT h_residual)[WIDTH], const float (*RESTRICT attn)[WIDTH],
        const float *RESTRICT ln_2_weight, const float (*RESTRICT d_h_residual)[WIDTH])
{
    PARALLEL for (int k = 0; k < BATCH * SEQ / 24; k++) {
        for (int c = 0; c < WIDTH; c++)
            d_ln_2_weight_partial[k][c] = 0;
        for (int r = k * 24; r < (k + 1) * 24; r++) {
            float sums_of_attended[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float attended = h_residual[r][c + l] + attn[r][c + l];
                    sums_of_attended[l] += attended;
                }
            const float mean = sum_lanes_f32(sums_of_attended) / WIDTH;
            float sums_of_squares[LANES] = {0};
            float sums[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float d_ln_2 = d_attended[r][c + l];
                    const float attended = h_residual[r][c + l] + attn[r][c + l];
                    const float centred = attended - mean;
                    sums_of_squares[l] += centred * centred;
                    sums[l] += d_ln_2 * ln_2_weight[c + l] * centred;
                }
            const float rstd = rsqrt_f32(sum_lanes_f32(sums_of_squares) / WIDTH + 1e-05f);
            const float d_variance = sum_lanes_f32(sums) * (-0.5f * (rstd * (rstd * rstd)));
            const float share_of_d_variance = d_variance / WIDTH;
            float sums_for_d_mean[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float d_ln_2 = d_attended[r][c + l];
                    const float weight = ln_2_weight[c + l];
                    const float attended = h_residual[r][c + l] + attn[r][c + l];
                    const float centred = attended - mean;
                    const float part_of_d_centred = share_of_d_variance * centred;
                    const float d_centred = d_ln_2 * weight * rstd + part_of_d_centred +
                            part_of_d_centred;
                    const float centred_times_rstd = centred * rstd;
                    ln_2_again[r][c + l] = centred_times_rstd * weight;
                    sums_for_d_mean[l] += -d_centred;
                    d_ln_2_weight_partial[k][c + l] += d_ln_2 * centred_times_rstd;
                }
            const float share_of_d_mean = sum_lanes_f32(sums_for_d_mean) / WIDTH;
            EACH for (int c = 0; c < WIDTH; c++) {
                const float d_ln_2 = d_attended[r][c];
                const float centred = h_residual[r][c] + attn[r][c] - mean;
                const float part_of_d_centred = share_of_d_variance * centred;
                const float d_centred = d_ln_2 * ln_2_weight[c] * rstd + part_of_d_centred +
                        part_of_d_centred;
                d_attended[r][c] = d_h_residual[r][c] + d_centred + share_of_d_mean;
            }
        }
    }
    for (int c = 0; c < WIDTH; c++)
        d_ln_2_weight[c] = d_ln_2_weight_partial[0][c];
    for (int k = 1; k < BATCH * SEQ / 24; k++)
        for (int c = 0; c < WIDTH; c++)
            d_ln_2_weight[c] += d_ln_2_weight_partial[k][c];
}

/* mean = mean_WIDTH(h_residual);  centred = h_residual - mean;
 *     d_rstd = sum_WIDTH(d_ln_1 * ln_1_weight * centred);
 *     variance = mean_WIDTH(centred * centred);  rstd = rsqrt(variance + 1e-05);
 *     d_variance = d_rstd * (-0.5 * (rstd * (rstd * rstd)));
 *     d_centred = d_ln_1 *
 *         ln_1_weight * rstd + d_variance / WIDTH * centred + d_variance / WIDTH * centred;
 *     ln_1_again = centred * rstd * ln_1_weight;  d_mean = sum_WIDTH(-d_centred);
 *     d_ln_1_weight = sum_{BATCH * SEQ}(d_ln_1 * (centred * rstd));
 *     d_h_residual = d_attended + d_centred + d_mean / WIDTH
 *     gpt.lua:17 h.ln_1, gpt.lua:150 h      moves 1,967,104 bytes */
KERNEL void ln_1_h_back(int from, int to, float (*RESTRICT ln_1_again)[WIDTH],
        float (*RESTRICT d_ln_1_weight_partial)[WIDTH], float (*RESTRICT d_h_residual)[WIDTH],
        const float (*RESTRICT h_residual)[WIDTH], const float (*RESTRICT d_ln_1)[WIDTH],
        const float *RESTRICT ln_1_weight, const float (*RESTRICT d_attended)[WIDTH])
{
    for (int k = from / 24; k * 24 < to; k++) {
        for (int c = 0; c < WIDTH; c++)
            d_ln_1_weight_partial[k][c] = 0;
        for (int r = k * 24; r < (k + 1) * 24; r++) {
            float sums_of_residual[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++)
                    sums_of_residual[l] += h_residual[r][c + l];
            const float mean = sum_lanes_f32(sums_of_residual) / WIDTH;
            float sums_of_squares[LANES] = {0};
            float sums[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float centred = h_residual[r][c + l] - mean;
                    sums_of_squares[l] += centred * centred;
                    sums[l] += d_ln_1[r][c + l] * ln_1_weight[c + l] * centred;
                }
            const float rstd = rsqrt_f32(sum_lanes_f32(sums_of_squares) / WIDTH + 1e-05f);
            const float d_variance = sum_lanes_f32(sums) * (-0.5f * (rstd * (rstd * rstd)));
            const float share_of_d_variance = d_variance / WIDTH;
            float sums_for_d_mean[LANES] = {0};
            for (int c = 0; c < WIDTH; c += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float one_d_ln_1 = d_ln_1[r][c + l];
                    const float weight = ln_1_weight[c + l];
                    const float centred = h_residual[r][c + l] - mean;
                    const float part_of_d_centred = share_of_d_variance * centred;
                    const float d_centred = one_d_ln_1 * weight * rstd + part_of_d_centred +
                            part_of_d_centred;
                    const float centred_times_rstd = centred * rstd;
                    ln_1_again[r][c + l] = centred_times_rstd * weight;
                    sums_for_d_mean[l] += -d_centred;
                    d_ln_1_weight_partial[k][c + l] += one_d_ln_1 * centred_times_rstd;
                }
            const float share_of_d_mean = sum_lanes_f32(sums_for_d_mean) / WIDTH;
            for (int c = 0; c < WIDTH; c++) {
                const float part_of_d_centred = share_of_d_variance * (h_residual[r][c] - mean);
                const float d_centred = d_ln_1[r][c] * ln_1_weight[c] * rstd + part_of_d_centred +
                        part_of_d_centred;
                d_h_residual[r][c] = d_attended[r][c] + d_centred + share_of_d_mean;
            }
        }
    }
}

/* d_ln_1_weight = sum(d_ln_1_weight_partial)      gpt.lua:17 h.ln_1, gpt.lua:150 h
 *     moves 16,384 bytes */
KERNEL void ln_1_h_back_sums(float *RESTRICT d_ln_1_weight,
        float (*RESTRICT d_ln_1_weight_partial)[WIDTH])
{
    for (int c = 0; c < WIDTH; c++)
        d_ln_1_weight[c] = d_ln_1_weight_partial[0][c];
    for (int k = 1; k < BATCH * SEQ / 24; k++)
        for (int c = 0; c < WIDTH; c++)
            d_ln_1_weight[c] += d_ln_1_weight_partial[k][c];
}

/* d_wte_weight[tokens] += d_h_residual, in order      gpt.lua:145 wte      moves 429,568 bytes */
KERNEL void wte_back(float (*RESTRICT d_wte_weight)[WIDTH],
        const float (*RESTRICT d_h_residual)[WIDTH], const int *RESTRICT tokens)
{
    const int parts = column_parts(WIDTH);
    PARALLEL for (int part = 0; part < parts; part++) {
        const int low = column_from(WIDTH, part, parts),
                high = column_from(WIDTH, part + 1, parts);
        for (int r = 0; r < BATCH * SEQ; r++) {
            const int id = tokens[r];
            EACH for (int c = 0; c < high - low; c++)
                d_wte_weight[id][low + c] += d_h_residual[r][low + c];
        }
    }
}

/* d_wpe_weight = sum_BATCH(d_h_residual)      gpt.lua:145 wpe      moves 425,984 bytes */
KERNEL void make_d_wpe_weight(float *RESTRICT d_wpe_weight,
        float (*RESTRICT d_wpe_weight_partial)[SEQ * WIDTH],
        const float (*RESTRICT d_h_residual)[SEQ * WIDTH])
{
    PARALLEL for (int k = 0; k < BATCH / 6; k++) {
        for (int c = 0; c < SEQ * WIDTH; c++)
            d_wpe_weight_partial[k][c] = 0;
        for (int b = k * 6; b < (k + 1) * 6; b++)
            EACH for (int c = 0; c < SEQ * WIDTH; c++)
                d_wpe_weight_partial[k][c] += d_h_residual[b][c];
    }
    for (int c = 0; c < SEQ * WIDTH; c++)
        d_wpe_weight[c] = d_wpe_weight_partial[0][c];
    for (int k = 1; k < BATCH / 6; k++)
        for (int c = 0; c < SEQ * WIDTH; c++)
            d_wpe_weight[c] += d_wpe_weight_partial[k][c];
}

/* largest = max_VOCAB(head_logits);  total = sum_VOCAB(exp(head_logits - largest));
 *     predicted = argmax_VOCAB(head_logits);
 *     losses = log(total) - sum_VOCAB(v == targets ? head_logits - largest : 0);
 *     accuracy_values = (float)(predicted == targets)
 *     gpt.lua:156 accuracy, gpt.lua:155 linear_cross_entropy      moves 211,968 bytes */
KERNEL void losses_and_accuracy_values(int from, int to, float *RESTRICT losses,
        float *RESTRICT accuracy_values, const float (*RESTRICT head_logits)[VOCAB],
        const int *RESTRICT targets)
{
    for (int r = from; r < to; r++) {
        float maxima[LANES];
        for (int l = 0; l < LANES; l++) maxima[l] = -INFINITY;
        for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
            SIMD for (int l = 0; l < LANES; l++)
                maxima[l] = max_f32(maxima[l], head_logits[r][v + l]);
        for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++)
            maxima[v % LANES] = max_f32(maxima[v % LANES], head_logits[r][v]);
        const float largest = max_lanes_f32(maxima);
        const int target = targets[r];
        float sums[LANES] = {0};
        float sums_for_losses[LANES] = {0};
        int predicted = INT32_MAX;
        for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
            SIMD_AND(reduction(min : predicted)) for (int l = 0; l < LANES; l++) {
                const float below_largest = head_logits[r][v + l] - largest;
                sums[l] += exp_f32(below_largest);
                sums_for_losses[l] += v + l == target ? below_largest : 0;
                predicted = min_i32(predicted, below_largest == 0 ? v + l : VOCAB - 1);
            }
        for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++) {
            const float below_largest = head_logits[r][v] - largest;
            sums[v % LANES] += exp_f32(below_largest);
            sums_for_losses[v % LANES] += v == target ? below_largest : 0;
            predicted = min_i32(predicted, below_largest == 0 ? v : VOCAB - 1);
        }
        losses[r] = log_f32(sum_lanes_f32(sums)) - sum_lanes_f32(sums_for_losses);
        accuracy_values[r] = (float)(predicted == target);
    }
}

/* wte = wte_weight[tokens]      gpt.lua:145 wte, gpt.lua:145 wpe      moves 1,028 bytes */
KERNEL void look_up(float *RESTRICT wte, const float (*RESTRICT wte_weight)[WIDTH], int tokens)
{
    const int id = tokens;
    for (int c = 0; c < WIDTH; c++)
        wte[c] = wte_weight[id][c];
}

/* h_residual = wte + wpe      gpt.lua:145, gpt.lua:29 h      moves 1,536 bytes */
KERNEL void decode_residual(float *RESTRICT h_residual, const float *RESTRICT wte,
        const float *RESTRICT wpe)
{
    for (int c = 0; c < WIDTH; c++)
        h_residual[c] = wte[c] + wpe[c];
}

/* mean = mean_WIDTH(h_residual);  centred = h_residual - mean;
 *     variance = mean_WIDTH(centred * centred);  rstd = rsqrt(variance + 1e-05);
 *     ln_1 = centred * rstd * ln_1_weight      gpt.lua:17 h.ln_1, gpt.lua:151 ln_f
 *     moves 2,048 bytes */
KERNEL void decode_ln(float *RESTRICT ln_1, const float *RESTRICT h_residual,
        const float *RESTRICT ln_1_weight)
{
    float sums_of_residual[LANES] = {0};
    for (int c = 0; c < WIDTH; c += LANES)
        SIMD for (int l = 0; l < LANES; l++)
            sums_of_residual[l] += h_residual[c + l];
    const float mean = sum_lanes_f32(sums_of_residual) / WIDTH;
    float sums_of_squares[LANES] = {0};
    for (int c = 0; c < WIDTH; c += LANES)
        SIMD for (int l = 0; l < LANES; l++) {
            const float centred = h_residual[c + l] - mean;
            sums_of_squares[l] += centred * centred;
        }
    const float rstd = rsqrt_f32(sum_lanes_f32(sums_of_squares) / WIDTH + 1e-05f);
    for (int c = 0; c < WIDTH; c++)
        ln_1[c] = (h_residual[c] - mean) * rstd * ln_1_weight[c];
}

/* h_attn_keys[position] = qkv[WIDTH..2*WIDTH]      gpt.lua:18 h.attn      moves 1,028 bytes */
KERNEL void store_keys(float (*RESTRICT h_attn_keys)[WIDTH], const float *RESTRICT qkv,
        int position)
{
    const int id = position;
    for (int r = 0; r < WIDTH; r++)
        h_attn_keys[id][r] = qkv[r + WIDTH];
}

/* h_attn_values[position] = qkv[2*WIDTH..3*WIDTH]      gpt.lua:18 h.attn
 *     moves 1,028 bytes */
KERNEL void store_values(float (*RESTRICT h_attn_values)[WIDTH], const float *RESTRICT qkv,
        int position)
{
    const int id = position;
    for (int r = 0; r < WIDTH; r++)
        h_attn_values[id][r] = qkv[r + 2 * WIDTH];
}

/* attended = h_residual + attn;  mean = mean_WIDTH(attended);  centred = attended - mean;
 *     variance = mean_WIDTH(centred * centred);  rstd = rsqrt(variance + 1e-05);
 *     ln_2 = centred * rstd * ln_2_weight      gpt.lua:24 h.ln_2, gpt.lua:23 h
 *     moves 2,560 bytes */
KERNEL void decode_attended_and_ln_2(float *RESTRICT attended, float *RESTRICT ln_2,
        const float *RESTRICT h_residual, const float *RESTRICT attn,
        const float *RESTRICT ln_2_weight)
{
    float sums_of_attended[LANES] = {0};
    for (int c = 0; c < WIDTH; c += LANES)
        SIMD for (int l = 0; l < LANES; l++) {
            const float one_attended = h_residual[c + l] + attn[c + l];
            attended[c + l] = one_attended;
            sums_of_attended[l] += one_attended;
        }
    const float mean = sum_lanes_f32(sums_of_attended) / WIDTH;
    float sums_of_squares[LANES] = {0};
    for (int c = 0; c < WIDTH; c += LANES)
        SIMD for (int l = 0; l < LANES; l++) {
            const float centred = h_residual[c + l] + attn[c + l] - mean;
            sums_of_squares[l] += centred * centred;
        }
    const float rstd = rsqrt_f32(sum_lanes_f32(sums_of_squares) / WIDTH + 1e-05f);
    for (int c = 0; c < WIDTH; c++)
        ln_2[c] = (h_residual[c] + attn[c] - mean) * rstd * ln_2_weight[c];
}

/* active = 0.5 * c_fc * (1 + erf(c_fc * 0.7071067811865476))      gpt.lua:25 h.mlp
 *     moves 4,096 bytes */
KERNEL void decode_active(float *RESTRICT active, const float *RESTRICT c_fc)
{
    for (int c = 0; c < 4 * WIDTH; c++) {
        const float one_c_fc = c_fc[c];
        active[c] = 0.5f * one_c_fc * (1 + erf_f32(one_c_fc * 0.70710677f));
    }
}

/* Matrix products with packed operands or with strides. M, N and K are extents; strides count
 * elements, and are those before packing. */

/* qkv = ln_1 . c_attn_weight_packed      gpt.lua:18 h.attn.c_attn */
static const Lathe_gemm qkv_shape = {.M = 768, .N = 384, .K = 128, .a_m = 128, .a_k = 1, .b_k = 1,
        .b_n = 128, .c_m = 384, .c_n = 1};

/* attn = heads . c_proj_weight_packed      gpt.lua:18 h.attn.c_proj */
static const Lathe_gemm attn_shape = {.M = 768, .N = 128, .K = 128, .a_m = 128, .a_k = 1, .b_k = 1,
        .b_n = 128, .c_m = 128, .c_n = 1};

/* c_fc = ln_2 . c_fc_weight_packed      gpt.lua:25 h.mlp.c_fc */
static const Lathe_gemm c_fc_shape = {.M = 768, .N = 512, .K = 128, .a_m = 128, .a_k = 1, .b_k = 1,
        .b_n = 128, .c_m = 512, .c_n = 1};

/* mlp = active . c_proj_weight_packed_for_mlp      gpt.lua:25 h.mlp.c_proj */
static const Lathe_gemm mlp_shape = {.M = 768, .N = 128, .K = 512, .a_m = 512, .a_k = 1, .b_k = 1,
        .b_n = 512, .c_m = 128, .c_n = 1};

/* d_ln_1 = d_qkv . c_attn_weight_packed_for_d_ln_1      gpt.lua:18 h.attn.c_attn */
static const Lathe_gemm d_ln_1_shape = {.M = 768, .N = 128, .K = 384, .a_m = 384, .a_k = 1,
        .b_k = 128, .b_n = 1, .c_m = 128, .c_n = 1};

/* head_logits = ln_f . wte_weight_packed      gpt.lua:155 linear_cross_entropy */
static const Lathe_gemm head_logits_shape = {.M = 768, .N = 65, .K = 128, .a_m = 128, .a_k = 1,
        .b_k = 1, .b_n = 128, .c_m = 65, .c_n = 1};

/* Attention: extents, and strides of its operands in numbers. */

/* heads, lse = attention of qkv[0..WIDTH], [WIDTH..2*WIDTH], [2*WIDTH..3*WIDTH]
 *     gpt.lua:18 h.attn */
static const Lathe_attention heads_shape = {.nbatch = 1, .batch = {12}, .T = 64, .S = 64, .H = 4,
        .G = 4, .D = 32, .E = 32, .scale = 0.17677669529663687, .causal = true,
        .q = {.batch = {24576}, .time = 384, .head = 32},
        .k = {.batch = {24576}, .time = 384, .head = 32},
        .v = {.batch = {24576}, .time = 384, .head = 32},
        .o = {.batch = {8192}, .time = 128, .head = 32},
        .lse = {.batch = {256}, .time = 1, .head = 64}};

/* d_qkv[0..WIDTH], [WIDTH..2*WIDTH], [2*WIDTH..3*WIDTH] =
 *         gradients of attention of qkv[0..WIDTH], [WIDTH..2*WIDTH], [2*WIDTH..3*WIDTH]
 *     gpt.lua:18 h.attn */
static const Lathe_attention heads_back_shape = {.nbatch = 1, .batch = {12}, .T = 64, .S = 64,
        .H = 4, .G = 4, .D = 32, .E = 32, .scale = 0.17677669529663687, .causal = true,
        .q = {.batch = {24576}, .time = 384, .head = 32},
        .k = {.batch = {24576}, .time = 384, .head = 32},
        .v = {.batch = {24576}, .time = 384, .head = 32},
        .o = {.batch = {8192}, .time = 128, .head = 32},
        .lse = {.batch = {256}, .time = 1, .head = 64},
        .d_o = {.batch = {8192}, .time = 128, .head = 32},
        .d_q = {.batch = {24576}, .time = 384, .head = 32},
        .d_k = {.batch = {24576}, .time = 384, .head = 32},
        .d_v = {.batch = {24576}, .time = 384, .head = 32}};

/* heads = attention of qkv[0..WIDTH], [WIDTH..2*WIDTH], [2*WIDTH..3*WIDTH]
 *     gpt.lua:18 h.attn */
static const Lathe_attention heads_shape_b = {.nbatch = 1, .batch = {12}, .T = 64, .S = 64, .H = 4,
        .G = 4, .D = 32, .E = 32, .scale = 0.17677669529663687, .causal = true,
        .q = {.batch = {24576}, .time = 384, .head = 32},
        .k = {.batch = {24576}, .time = 384, .head = 32},
        .v = {.batch = {24576}, .time = 384, .head = 32},
        .o = {.batch = {8192}, .time = 128, .head = 32}};

/* heads = attention of qkv, h_attn_keys, h_attn_values      gpt.lua:18 h.attn */
static const Lathe_attention heads_shape_c = {.nbatch = 1, .batch = {1}, .T = 1, .S = 64, .H = 4,
        .G = 4, .D = 32, .E = 32, .scale = 0.17677669529663687, .causal = true,
        .q = {.batch = {0}, .time = 0, .head = 32}, .k = {.batch = {8192}, .time = 128,
        .head = 32}, .v = {.batch = {8192}, .time = 128, .head = 32}, .o = {.batch = {128},
        .time = 128, .head = 32}};

/* train
 *
 *   memory: 19,709,952 bytes (30,650,368 without sharing) for 38 buffers, 4 of them over another
 *   buffer                   shape                          bytes    offset steps
 *   wte                      [BATCH][SEQ][WIDTH]           393216         0   0-1   |
 *   h_residual               [5][BATCH][SEQ][WIDTH]       1966080  11010048   1-41  |-----------|
 *   c_fc                     [LAYERS][BATCH][SEQ][512]    6291456         0   2-41  |-----------|
 *   attn                     [4][BATCH][SEQ][WIDTH]       1572864  12976128   2-41  |-----------|
 *   heads                    [4][BATCH][SEQ][HEADS][32]   1572864  14548992   2-41  |-----------|
 *   qkv                      [LAYERS][BATCH][SEQ][384]    4718592   6291456   2-41  |-----------|
 *   lse                      [4][BATCH][HEADS][SEQ]         49152  19660800   2-41  |-----------|
 *   c_attn_weight_packed     [WIDTH][3 * WIDTH]            196608  16515072   3-6   ||
 *   ln_1                     [BATCH][SEQ][WIDTH]           393216  16121856   3-6   ||
 *   c_proj_weight_packed     [WIDTH][WIDTH]                 65536  19398656   8-17    |--|
 *   c_fc_weight_packed       [WIDTH][4 * WIDTH]            262144  18874368   8-17    |--|
 *   .._weight_packed_for_mlp [4 * WIDTH][WIDTH]            262144  19136512   8-17    |--|
 *   ln_2                     [BATCH][SEQ][WIDTH]           393216  18087936   8-17    |--|
 *   attended                 [BATCH][SEQ][WIDTH]           393216  18481152   8-17    |--|
 *   active                   [BATCH][SEQ][4 * WIDTH]      1572864  16121856   8-17    |--|
 *   mlp                      [BATCH][SEQ][WIDTH]           393216  17694720   8-17    |--|
 *   ln_f                     [BATCH][SEQ][WIDTH]           393216  16121856  18-23       ||
 *   head_logits              [BATCH * SEQ][VOCAB]          199680  16515072  19-24       |-|
 *   accuracy_values          [BATCH][SEQ]                    3072  16717824  20-22        |
 *   losses                   [BATCH * SEQ]                   3072  16714752  20-21        |
 *   d_ln_f                   [BATCH * SEQ][WIDTH]          393216  19267584  24-43         |-----|
 *   d_ln_f_weight_partial    [32][WIDTH]                    16384  16121856  25-25         |
 *   d_active                 [BATCH][SEQ][4 * WIDTH]      1572864  16121856  27-32          ||
 *   active_again             [BATCH][SEQ][4 * WIDTH]      1572864  17694720  28-29          |
 *   d_ln_2                   [BATCH][SEQ][WIDTH]           393216  17694720  30-39           |-|
 *   ln_2_again               [BATCH][SEQ][WIDTH]           393216  18087936  31-32           |
 *   d_ln_2_weight_partial    [32][WIDTH]                    16384  18481152  31-31           |
 *   d_heads                  [BATCH][SEQ][WIDTH]           393216  17301504  34-35            |
 *   d_qkv                    [BATCH][SEQ][3 * WIDTH]      1179648  16121856  35-40            |-|
 *   ..ight_packed_for_d_ln_1 [3 * WIDTH][WIDTH]            196608  18481152  36-39            ||
 *   d_ln_1                   [BATCH][SEQ][WIDTH]           393216  17301504  36-39            ||
 *   ln_1_again               [BATCH][SEQ][WIDTH]           393216  18087936  36-40            |-|
 *   d_ln_1_weight_partial    [32][WIDTH]                    16384  18677760  36-41            |-|
 *   d_wpe_weight_partial     [2][SEQ * WIDTH]               65536         0  43-43               |
 */
void gpt_train(const Gpt_params *p, Gpt_params *d, const Gpt_train_in *in, Gpt_train_out *out,
        char *work)
{
    float (*wte)[SEQ][WIDTH] = (void *)(work + 0);
    float (*h_residual)[BATCH][SEQ][WIDTH] = (void *)(work + 11010048);
    float (*c_fc)[BATCH][SEQ][4 * WIDTH] = (void *)(work + 0);
    float (*attn)[BATCH][SEQ][WIDTH] = (void *)(work + 12976128);
    float (*heads)[BATCH][SEQ][HEADS][WIDTH / HEADS] = (void *)(work + 14548992);
    float (*qkv)[BATCH][SEQ][3 * WIDTH] = (void *)(work + 6291456);
    float (*lse)[BATCH][HEADS][SEQ] = (void *)(work + 19660800);
    float (*c_attn_weight_packed)[3 * WIDTH] = (void *)(work + 16515072);
    float (*ln_1)[SEQ][WIDTH] = (void *)(work + 16121856);
    float (*c_proj_weight_packed)[WIDTH] = (void *)(work + 19398656);
    float (*c_fc_weight_packed)[4 * WIDTH] = (void *)(work + 18874368);
    float (*c_proj_weight_packed_for_mlp)[WIDTH] = (void *)(work + 19136512);
    float (*ln_2)[SEQ][WIDTH] = (void *)(work + 18087936);
    float (*attended)[SEQ][WIDTH] = (void *)(work + 18481152);
    float (*active)[SEQ][4 * WIDTH] = (void *)(work + 16121856);
    float (*mlp)[SEQ][WIDTH] = (void *)(work + 17694720);
    float (*ln_f)[SEQ][WIDTH] = (void *)(work + 16121856);
    float (*head_logits)[VOCAB] = (void *)(work + 16515072);
    float (*d_head_logits)[VOCAB] = (void *)head_logits;
    float (*accuracy_values)[SEQ] = (void *)(work + 16717824);
    float *losses = (void *)(work + 16714752);
    float (*d_ln_f)[WIDTH] = (void *)(work + 19267584);
    float (*d_h_residual)[SEQ][WIDTH] = (void *)d_ln_f;
    float (*d_ln_f_weight_partial)[WIDTH] = (void *)(work + 16121856);
    float (*d_active)[SEQ][4 * WIDTH] = (void *)(work + 16121856);
    float (*active_again)[SEQ][4 * WIDTH] = (void *)(work + 17694720);
    float (*d_c_fc)[SEQ][4 * WIDTH] = (void *)d_active;
    float (*d_ln_2)[SEQ][WIDTH] = (void *)(work + 17694720);
    float (*ln_2_again)[SEQ][WIDTH] = (void *)(work + 18087936);
    float (*d_attended)[SEQ][WIDTH] = (void *)d_ln_2;
    float (*d_ln_2_weight_partial)[WIDTH] = (void *)(work + 18481152);
    float (*d_heads)[SEQ][WIDTH] = (void *)(work + 17301504);
    float (*d_qkv)[SEQ][3 * WIDTH] = (void *)(work + 16121856);
    float (*c_attn_weight_packed_for_d_ln_1)[WIDTH] = (void *)(work + 18481152);
    float (*d_ln_1)[SEQ][WIDTH] = (void *)(work + 17301504);
    float (*ln_1_again)[SEQ][WIDTH] = (void *)(work + 18087936);
    float (*d_ln_1_weight_partial)[WIDTH] = (void *)(work + 18677760);
    float (*d_wpe_weight_partial)[SEQ * WIDTH] = (void *)(work + 0);

    forward_part();
    parameters_needed(&p->wte_weight, sizeof p->wte_weight);
    make_wte(*wte, p->wte_weight, *in->tokens);                         LAP(0);
    parameters_needed(&p->wpe_weight, sizeof p->wpe_weight);
    residual(h_residual[0], wte, p->wpe_weight);                        LAP(1);
    for (int l = 0; l < LAYERS; l++) {    /* layer */
        parameters_needed(&p->h[l], sizeof p->h[l]);
        TEAM {   /* ln_1_to_qkv: panels of rows */
            const int height = panel_rows(BATCH * SEQ, 1, 255);   /* at most 255 */
            pack_shared_f32(*c_attn_weight_packed, *p->h[l].attn_c_attn_weight, &qkv_shape);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += height) {
                const int to = min_i32(from + height, BATCH * SEQ);
                ln(from, to, *ln_1, *h_residual[l], p->h[l].ln_1_weight);
                gemm_packed_rows_f32(**qkv[l], **ln_1, *c_attn_weight_packed, &qkv_shape, false,
                        from, to);
            }
        }                                                               LAP(3);
        attention_f32(***heads[l], **lse[l], **qkv[l], &qkv[l][0][0][WIDTH],
                &qkv[l][0][0][2 * WIDTH], &heads_shape, NULL);          LAP(7);
        TEAM {   /* attn_to_h_residual: panels of rows */
            const int height = panel_rows(BATCH * SEQ, 1, 192);   /* at most 192 */
            pack_shared_f32(*c_proj_weight_packed, *p->h[l].attn_c_proj_weight, &attn_shape);
            pack_shared_f32(*c_fc_weight_packed, *p->h[l].mlp_c_fc_weight, &c_fc_shape);
            pack_shared_f32(*c_proj_weight_packed_for_mlp, *p->h[l].mlp_c_proj_weight, &mlp_shape);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += height) {
                const int to = min_i32(from + height, BATCH * SEQ);
                gemm_packed_rows_f32(**attn[l], ***heads[l], *c_proj_weight_packed, &attn_shape,
                        false, from, to);
                attended_and_ln_2(from, to, *attended, *ln_2, *h_residual[l], *attn[l],
                        p->h[l].ln_2_weight);
                gemm_packed_rows_f32(**c_fc[l], **ln_2, *c_fc_weight_packed, &c_fc_shape, false,
                        from, to);
                make_active(from, to, *active, *c_fc[l]);
                gemm_packed_rows_f32(**mlp, **active, *c_proj_weight_packed_for_mlp, &mlp_shape,
                        false, from, to);
                make_h_residual(from, to, *h_residual[l + 1], *attended, *mlp);
            }
        }                                                               LAP(8);
    }
    parameters_needed(&p->ln_f_weight, sizeof p->ln_f_weight);
    make_ln_f(*ln_f, *h_residual[LAYERS], p->ln_f_weight);              LAP(18);
    matmul_nt_f32(*head_logits, **ln_f, *p->wte_weight, BATCH * SEQ, VOCAB, WIDTH); LAP(19);
    linear_cross_entropy_accuracy(d_head_logits, losses, *accuracy_values, *in->targets); LAP(20);
    mean(&out->loss, losses);                                           LAP(21);
    mean(&out->accuracy, *accuracy_values);                             LAP(22);
    backward_part();
    matmul_tn_f32(*d->wte_weight, *d_head_logits, **ln_f, VOCAB, WIDTH, BATCH * SEQ); LAP(23);
    matmul_nn_f32(*d_ln_f, *d_head_logits, *p->wte_weight, BATCH * SEQ, WIDTH, VOCAB); LAP(24);
    ln_f_back(d->ln_f_weight, d_ln_f_weight_partial, *d_h_residual, *h_residual[LAYERS],
            p->ln_f_weight);                                            LAP(25);
    gradients_done(&d->ln_f_weight, sizeof d->ln_f_weight);
    for (int l = LAYERS - 1; l >= 0; l--) {    /* layer */
        matmul_nn_f32(**d_active, **d_h_residual, *p->h[l].mlp_c_proj_weight, BATCH * SEQ,
                4 * WIDTH, WIDTH);                                      LAP(27);
        active_back(*d_c_fc, *active_again, *c_fc[l]);                  LAP(28);
        matmul_tn_f32(*d->h[l].mlp_c_proj_weight, **d_h_residual, **active_again, WIDTH,
                4 * WIDTH, BATCH * SEQ);                                LAP(29);
        matmul_nn_f32(**d_ln_2, **d_c_fc, *p->h[l].mlp_c_fc_weight, BATCH * SEQ, WIDTH,
                4 * WIDTH);                                             LAP(30);
        ln_2_h_back(*ln_2_again, d->h[l].ln_2_weight, d_ln_2_weight_partial, *d_attended,
                *h_residual[l], *attn[l], p->h[l].ln_2_weight, *d_h_residual); LAP(31);
        matmul_tn_f32(*d->h[l].mlp_c_fc_weight, **d_c_fc, **ln_2_again, 4 * WIDTH, WIDTH,
                BATCH * SEQ);                                           LAP(32);
        matmul_tn_f32(*d->h[l].attn_c_proj_weight, **d_attended, ***heads[l], WIDTH,
                WIDTH, BATCH * SEQ);                                    LAP(33);
        matmul_nn_f32(**d_heads, **d_attended, *p->h[l].attn_c_proj_weight, BATCH * SEQ,
                WIDTH, WIDTH);                                          LAP(34);
        attention_back_f32(**d_qkv, &d_qkv[0][0][WIDTH], &d_qkv[0][0][2 * WIDTH],
                **qkv[l], &qkv[l][0][0][WIDTH], &qkv[l][0][0][2 * WIDTH], ***heads[l],
                **lse[l], **d_heads, &heads_back_shape, NULL);          LAP(35);
        TEAM {   /* d_ln_1_to_ln_1_h_back: panels of rows */
            const int height = panel_rows(BATCH * SEQ, 24, 336);   /* at most 336, in steps of 24 */
            pack_shared_f32(*c_attn_weight_packed_for_d_ln_1, *p->h[l].attn_c_attn_weight,
                    &d_ln_1_shape);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += height) {
                const int to = min_i32(from + height, BATCH * SEQ);
                gemm_packed_rows_f32(**d_ln_1, **d_qkv, *c_attn_weight_packed_for_d_ln_1,
                        &d_ln_1_shape, false, from, to);
                ln_1_h_back(from, to, *ln_1_again, d_ln_1_weight_partial, *d_h_residual,
                        *h_residual[l], *d_ln_1, p->h[l].ln_1_weight, *d_attended);
            }
        }                                                               LAP(36);
        matmul_tn_f32(*d->h[l].attn_c_attn_weight, **d_qkv, **ln_1_again, 3 * WIDTH,
                WIDTH, BATCH * SEQ);                                    LAP(40);
        ln_1_h_back_sums(d->h[l].ln_1_weight, d_ln_1_weight_partial);   LAP(41);
        gradients_done(&d->h[l], sizeof d->h[l]);
    }
    wte_back(d->wte_weight, *d_h_residual, *in->tokens);                LAP(42);
    gradients_done(&d->wte_weight, sizeof d->wte_weight);
    make_d_wpe_weight(*d->wpe_weight, d_wpe_weight_partial, (void *)d_h_residual); LAP(43);
    gradients_done(&d->wpe_weight, sizeof d->wpe_weight);
}

static void run_train(const Lathe_call *c)
{
    gpt_train(c->params, c->grads, c->in, c->out, c->work);
}

/* grad
 *
 *   memory: 19,709,952 bytes (30,650,368 without sharing) for 38 buffers, 4 of them over another
 */
void gpt_grad(const Gpt_params *p, Gpt_params *d, const Gpt_grad_in *in, Gpt_grad_out *out,
        char *work)
{
    float (*wte)[SEQ][WIDTH] = (void *)(work + 0);
    float (*h_residual)[BATCH][SEQ][WIDTH] = (void *)(work + 11010048);
    float (*c_fc)[BATCH][SEQ][4 * WIDTH] = (void *)(work + 0);
    float (*attn)[BATCH][SEQ][WIDTH] = (void *)(work + 12976128);
    float (*heads)[BATCH][SEQ][HEADS][WIDTH / HEADS] = (void *)(work + 14548992);
    float (*qkv)[BATCH][SEQ][3 * WIDTH] = (void *)(work + 6291456);
    float (*lse)[BATCH][HEADS][SEQ] = (void *)(work + 19660800);
    float (*c_attn_weight_packed)[3 * WIDTH] = (void *)(work + 16515072);
    float (*ln_1)[SEQ][WIDTH] = (void *)(work + 16121856);
    float (*c_proj_weight_packed)[WIDTH] = (void *)(work + 19398656);
    float (*c_fc_weight_packed)[4 * WIDTH] = (void *)(work + 18874368);
    float (*c_proj_weight_packed_for_mlp)[WIDTH] = (void *)(work + 19136512);
    float (*ln_2)[SEQ][WIDTH] = (void *)(work + 18087936);
    float (*attended)[SEQ][WIDTH] = (void *)(work + 18481152);
    float (*active)[SEQ][4 * WIDTH] = (void *)(work + 16121856);
    float (*mlp)[SEQ][WIDTH] = (void *)(work + 17694720);
    float (*ln_f)[SEQ][WIDTH] = (void *)(work + 16121856);
    float (*head_logits)[VOCAB] = (void *)(work + 16515072);
    float (*d_head_logits)[VOCAB] = (void *)head_logits;
    float (*accuracy_values)[SEQ] = (void *)(work + 16717824);
    float *losses = (void *)(work + 16714752);
    float (*d_ln_f)[WIDTH] = (void *)(work + 19267584);
    float (*d_h_residual)[SEQ][WIDTH] = (void *)d_ln_f;
    float (*d_ln_f_weight_partial)[WIDTH] = (void *)(work + 16121856);
    float (*d_active)[SEQ][4 * WIDTH] = (void *)(work + 16121856);
    float (*active_again)[SEQ][4 * WIDTH] = (void *)(work + 17694720);
    float (*d_c_fc)[SEQ][4 * WIDTH] = (void *)d_active;
    float (*d_ln_2)[SEQ][WIDTH] = (void *)(work + 17694720);
    float (*ln_2_again)[SEQ][WIDTH] = (void *)(work + 18087936);
    float (*d_attended)[SEQ][WIDTH] = (void *)d_ln_2;
    float (*d_ln_2_weight_partial)[WIDTH] = (void *)(work + 18481152);
    float (*d_heads)[SEQ][WIDTH] = (void *)(work + 17301504);
    float (*d_qkv)[SEQ][3 * WIDTH] = (void *)(work + 16121856);
    float (*c_attn_weight_packed_for_d_ln_1)[WIDTH] = (void *)(work + 18481152);
    float (*d_ln_1)[SEQ][WIDTH] = (void *)(work + 17301504);
    float (*ln_1_again)[SEQ][WIDTH] = (void *)(work + 18087936);
    float (*d_ln_1_weight_partial)[WIDTH] = (void *)(work + 18677760);
    float (*d_wpe_weight_partial)[SEQ * WIDTH] = (void *)(work + 0);

    forward_part();
    make_wte(*wte, p->wte_weight, *in->tokens);                         LAP(0);
    residual(h_residual[0], wte, p->wpe_weight);                        LAP(1);
    for (int l = 0; l < LAYERS; l++) {    /* layer */
        TEAM {   /* ln_1_to_qkv: panels of rows */
            const int height = panel_rows(BATCH * SEQ, 1, 255);   /* at most 255 */
            pack_shared_f32(*c_attn_weight_packed, *p->h[l].attn_c_attn_weight, &qkv_shape);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += height) {
                const int to = min_i32(from + height, BATCH * SEQ);
                ln(from, to, *ln_1, *h_residual[l], p->h[l].ln_1_weight);
                gemm_packed_rows_f32(**qkv[l], **ln_1, *c_attn_weight_packed, &qkv_shape, false,
                        from, to);
            }
        }                                                               LAP(3);
        attention_f32(***heads[l], **lse[l], **qkv[l], &qkv[l][0][0][WIDTH],
                &qkv[l][0][0][2 * WIDTH], &heads_shape, NULL);          LAP(7);
        TEAM {   /* attn_to_h_residual: panels of rows */
            const int height = panel_rows(BATCH * SEQ, 1, 192);   /* at most 192 */
            pack_shared_f32(*c_proj_weight_packed, *p->h[l].attn_c_proj_weight, &attn_shape);
            pack_shared_f32(*c_fc_weight_packed, *p->h[l].mlp_c_fc_weight, &c_fc_shape);
            pack_shared_f32(*c_proj_weight_packed_for_mlp, *p->h[l].mlp_c_proj_weight, &mlp_shape);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += height) {
                const int to = min_i32(from + height, BATCH * SEQ);
                gemm_packed_rows_f32(**attn[l], ***heads[l], *c_proj_weight_packed, &attn_shape,
                        false, from, to);
                attended_and_ln_2(from, to, *attended, *ln_2, *h_residual[l], *attn[l],
                        p->h[l].ln_2_weight);
                gemm_packed_rows_f32(**c_fc[l], **ln_2, *c_fc_weight_packed, &c_fc_shape, false,
                        from, to);
                make_active(from, to, *active, *c_fc[l]);
                gemm_packed_rows_f32(**mlp, **active, *c_proj_weight_packed_for_mlp, &mlp_shape,
                        false, from, to);
                make_h_residual(from, to, *h_residual[l + 1], *attended, *mlp);
            }
        }                                                               LAP(8);
    }
    make_ln_f(*ln_f, *h_residual[LAYERS], p->ln_f_weight);              LAP(18);
    matmul_nt_f32(**out->logits, **ln_f, *p->wte_weight, BATCH * SEQ, VOCAB, WIDTH); LAP(19);
    matmul_nt_f32(*head_logits, **ln_f, *p->wte_weight, BATCH * SEQ, VOCAB, WIDTH); LAP(20);
    linear_cross_entropy_accuracy(d_head_logits, losses, *accuracy_values, *in->targets); LAP(21);
    mean(&out->loss, losses);                                           LAP(22);
    mean(&out->accuracy, *accuracy_values);                             LAP(23);
    backward_part();
    matmul_tn_f32(*d->wte_weight, *d_head_logits, **ln_f, VOCAB, WIDTH, BATCH * SEQ); LAP(24);
    matmul_nn_f32(*d_ln_f, *d_head_logits, *p->wte_weight, BATCH * SEQ, WIDTH, VOCAB); LAP(25);
    ln_f_back(d->ln_f_weight, d_ln_f_weight_partial, *d_h_residual, *h_residual[LAYERS],
            p->ln_f_weight);                                            LAP(26);
    for (int l = LAYERS - 1; l >= 0; l--) {    /* layer */
        matmul_nn_f32(**d_active, **d_h_residual, *p->h[l].mlp_c_proj_weight, BATCH * SEQ,
                4 * WIDTH, WIDTH);                                      LAP(28);
        active_back(*d_c_fc, *active_again, *c_fc[l]);                  LAP(29);
        matmul_tn_f32(*d->h[l].mlp_c_proj_weight, **d_h_residual, **active_again, WIDTH,
                4 * WIDTH, BATCH * SEQ);                                LAP(30);
        matmul_nn_f32(**d_ln_2, **d_c_fc, *p->h[l].mlp_c_fc_weight, BATCH * SEQ, WIDTH,
                4 * WIDTH);                                             LAP(31);
        ln_2_h_back(*ln_2_again, d->h[l].ln_2_weight, d_ln_2_weight_partial, *d_attended,
                *h_residual[l], *attn[l], p->h[l].ln_2_weight, *d_h_residual); LAP(32);
        matmul_tn_f32(*d->h[l].mlp_c_fc_weight, **d_c_fc, **ln_2_again, 4 * WIDTH, WIDTH,
                BATCH * SEQ);                                           LAP(33);
        matmul_tn_f32(*d->h[l].attn_c_proj_weight, **d_attended, ***heads[l], WIDTH,
                WIDTH, BATCH * SEQ);                                    LAP(34);
        matmul_nn_f32(**d_heads, **d_attended, *p->h[l].attn_c_proj_weight, BATCH * SEQ,
                WIDTH, WIDTH);                                          LAP(35);
        attention_back_f32(**d_qkv, &d_qkv[0][0][WIDTH], &d_qkv[0][0][2 * WIDTH],
                **qkv[l], &qkv[l][0][0][WIDTH], &qkv[l][0][0][2 * WIDTH], ***heads[l],
                **lse[l], **d_heads, &heads_back_shape, NULL);          LAP(36);
        TEAM {   /* d_ln_1_to_ln_1_h_back: panels of rows */
            const int height = panel_rows(BATCH * SEQ, 24, 336);   /* at most 336, in steps of 24 */
            pack_shared_f32(*c_attn_weight_packed_for_d_ln_1, *p->h[l].attn_c_attn_weight,
                    &d_ln_1_shape);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += height) {
                const int to = min_i32(from + height, BATCH * SEQ);
                gemm_packed_rows_f32(**d_ln_1, **d_qkv, *c_attn_weight_packed_for_d_ln_1,
                        &d_ln_1_shape, false, from, to);
                ln_1_h_back(from, to, *ln_1_again, d_ln_1_weight_partial, *d_h_residual,
                        *h_residual[l], *d_ln_1, p->h[l].ln_1_weight, *d_attended);
            }
        }                                                               LAP(37);
        matmul_tn_f32(*d->h[l].attn_c_attn_weight, **d_qkv, **ln_1_again, 3 * WIDTH,
                WIDTH, BATCH * SEQ);                                    LAP(41);
        ln_1_h_back_sums(d->h[l].ln_1_weight, d_ln_1_weight_partial);   LAP(42);
    }
    wte_back(d->wte_weight, *d_h_residual, *in->tokens);                LAP(43);
    make_d_wpe_weight(*d->wpe_weight, d_wpe_weight_partial, (void *)d_h_residual); LAP(44);
}

static void run_grad(const Lathe_call *c)
{
    gpt_grad(c->params, c->grads, c->in, c->out, c->work);
}

/* eval
 *
 *   memory: 6,094,848 bytes (8,905,728 without sharing) for 20 buffers
 */
void gpt_eval(const Gpt_params *p, const Gpt_eval_in *in, Gpt_eval_out *out, char *work)
{
    float (*wte)[SEQ][WIDTH] = (void *)(work + 0);
    float (*h_residual)[SEQ][WIDTH] = (void *)(work + 3145728);
    float (*c_attn_weight_packed)[3 * WIDTH] = (void *)(work + 1572864);
    float (*ln_1)[SEQ][WIDTH] = (void *)(work + 1179648);
    float (*qkv)[SEQ][3 * WIDTH] = (void *)(work + 0);
    float (*heads)[SEQ][HEADS][WIDTH / HEADS] = (void *)(work + 3538944);
    float (*c_proj_weight_packed)[WIDTH] = (void *)(work + 6029312);
    float (*c_fc_weight_packed)[4 * WIDTH] = (void *)(work + 5505024);
    float (*c_proj_weight_packed_for_mlp)[WIDTH] = (void *)(work + 5767168);
    float (*attn)[SEQ][WIDTH] = (void *)(work + 5111808);
    float (*ln_2)[SEQ][WIDTH] = (void *)(work + 4325376);
    float (*attended)[SEQ][WIDTH] = (void *)(work + 4718592);
    float (*c_fc)[SEQ][4 * WIDTH] = (void *)(work + 1572864);
    float (*active)[SEQ][4 * WIDTH] = (void *)(work + 0);
    float (*mlp)[SEQ][WIDTH] = (void *)(work + 3932160);
    float (*wte_weight_packed)[96] = (void *)(work + 592896);
    float (*ln_f)[SEQ][WIDTH] = (void *)(work + 0);
    float (*head_logits)[VOCAB] = (void *)(work + 393216);
    float (*accuracy_values)[SEQ] = (void *)(work + 645120);
    float *losses = (void *)(work + 642048);

    make_wte(*wte, p->wte_weight, *in->tokens);                         LAP(0);
    residual(h_residual, wte, p->wpe_weight);                           LAP(1);
    for (int l = 0; l < LAYERS; l++) {    /* layer */
        TEAM {   /* ln_1_to_qkv: panels of rows */
            const int height = panel_rows(BATCH * SEQ, 1, 255);   /* at most 255 */
            pack_shared_f32(*c_attn_weight_packed, *p->h[l].attn_c_attn_weight, &qkv_shape);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += height) {
                const int to = min_i32(from + height, BATCH * SEQ);
                ln(from, to, *ln_1, *h_residual, p->h[l].ln_1_weight);
                gemm_packed_rows_f32(**qkv, **ln_1, *c_attn_weight_packed, &qkv_shape, false, from,
                        to);
            }
        }                                                               LAP(3);
        attention_f32(***heads, NULL, **qkv, &qkv[0][0][WIDTH], &qkv[0][0][2 * WIDTH],
                &heads_shape_b, NULL);                                  LAP(7);
        TEAM {   /* attn_to_h_residual: panels of rows */
            const int height = panel_rows(BATCH * SEQ, 1, 192);   /* at most 192 */
            pack_shared_f32(*c_proj_weight_packed, *p->h[l].attn_c_proj_weight, &attn_shape);
            pack_shared_f32(*c_fc_weight_packed, *p->h[l].mlp_c_fc_weight, &c_fc_shape);
            pack_shared_f32(*c_proj_weight_packed_for_mlp, *p->h[l].mlp_c_proj_weight, &mlp_shape);
            MEET
            SHARED for (int from = 0; from < BATCH * SEQ; from += height) {
                const int to = min_i32(from + height, BATCH * SEQ);
                gemm_packed_rows_f32(**attn, ***heads, *c_proj_weight_packed, &attn_shape, false,
                        from, to);
                attended_and_ln_2(from, to, *attended, *ln_2, *h_residual, *attn,
                        p->h[l].ln_2_weight);
                gemm_packed_rows_f32(**c_fc, **ln_2, *c_fc_weight_packed, &c_fc_shape, false, from,
                        to);
                make_active(from, to, *active, *c_fc);
                gemm_packed_rows_f32(**mlp, **active, *c_proj_weight_packed_for_mlp, &mlp_shape,
                        false, from, to);
                make_h_residual(from, to, *h_residual, *attended, *mlp);
            }
        }                                                               LAP(8);
    }
    TEAM {   /* ln_f_to_losses_and_accuracy_values: panels of rows */
        const int height = panel_rows(BATCH * SEQ, 1, 512);   /* at most 512 */
        pack_shared_f32(*wte_weight_packed, *p->wte_weight, &head_logits_shape);
        MEET
        SHARED for (int from = 0; from < BATCH * SEQ; from += height) {
            const int to = min_i32(from + height, BATCH * SEQ);
            ln(from, to, *ln_f, *h_residual, p->ln_f_weight);
            gemm_packed_rows_f32(*head_logits, **ln_f, *wte_weight_packed, &head_logits_shape,
                    false, from, to);
            losses_and_accuracy_values(from, to, losses, *accuracy_values, head_logits,
                    *in->targets);
        }
    }                                                                   LAP(18);
    mean(&out->loss, losses);                                           LAP(23);
    mean(&out->accuracy, *accuracy_values);                             LAP(24);
}

static void run_eval(const Lathe_call *c)
{
    gpt_eval(c->params, c->in, c->out, c->work);
}

/* decode
 *
 *   memory: 5,120 bytes (10,752 without sharing) for 13 buffers
 */
void gpt_decode(const Gpt_params *p, const Gpt_decode_in *in, Gpt_decode_out *out, Gpt_state *s,
        char *work)
{
    float (*wte)[1][WIDTH] = (void *)(work + 0);
    float (*wpe)[WIDTH] = (void *)(work + 512);
    float (*h_residual)[1][WIDTH] = (void *)(work + 4096);
    float (*ln_1)[1][WIDTH] = (void *)(work + 1536);
    float (*qkv)[1][3 * WIDTH] = (void *)(work + 0);
    float (*heads)[1][HEADS][WIDTH / HEADS] = (void *)(work + 1536);
    float (*attn)[1][WIDTH] = (void *)(work + 0);
    float (*ln_2)[1][WIDTH] = (void *)(work + 2048);
    float (*attended)[1][WIDTH] = (void *)(work + 4608);
    float (*c_fc)[1][4 * WIDTH] = (void *)(work + 0);
    float (*active)[1][4 * WIDTH] = (void *)(work + 2048);
    float (*mlp)[1][WIDTH] = (void *)(work + 0);
    float (*ln_f)[1][WIDTH] = (void *)(work + 0);

    look_up(wte[0][0], p->wte_weight, in->tokens[0][0]);                LAP(0);
    look_up(wpe[0], p->wpe_weight, in->position);                       LAP(1);
    decode_residual(h_residual[0][0], wte[0][0], wpe[0]);               LAP(2);
    for (int l = 0; l < LAYERS; l++) {    /* layer */
        decode_ln(ln_1[0][0], h_residual[0][0], p->h[l].ln_1_weight);   LAP(4);
        matmul_nt_f32(**qkv, **ln_1, *p->h[l].attn_c_attn_weight, 1, 3 * WIDTH, WIDTH); LAP(5);
        store_keys((void *)s->h_attn_keys[l][0], qkv[0][0], in->position); LAP(6);
        store_values((void *)s->h_attn_values[l][0], qkv[0][0], in->position); LAP(7);
        attention_f32(***heads, NULL, **qkv, ***s->h_attn_keys[l], ***s->h_attn_values[l],
                &heads_shape_c, &(Lathe_masks){.offset = in->position}); LAP(8);
        matmul_nt_f32(**attn, ***heads, *p->h[l].attn_c_proj_weight, 1, WIDTH, WIDTH); LAP(9);
        decode_attended_and_ln_2(attended[0][0], ln_2[0][0], h_residual[0][0], attn[0][0],
                p->h[l].ln_2_weight);                                   LAP(10);
        matmul_nt_f32(**c_fc, **ln_2, *p->h[l].mlp_c_fc_weight, 1, 4 * WIDTH, WIDTH); LAP(11);
        decode_active(active[0][0], c_fc[0][0]);                        LAP(12);
        matmul_nt_f32(**mlp, **active, *p->h[l].mlp_c_proj_weight, 1, WIDTH, 4 * WIDTH); LAP(13);
        decode_residual(h_residual[0][0], attended[0][0], mlp[0][0]);   LAP(14);
    }
    decode_ln(ln_f[0][0], h_residual[0][0], p->ln_f_weight);            LAP(15);
    matmul_nt_f32(**out->logits, **ln_f, *p->wte_weight, 1, VOCAB, WIDTH); LAP(16);
}

static void run_decode(const Lathe_call *c)
{
    gpt_decode(c->params, c->in, c->out, c->state, c->work);
}

/* ---------------------------------------------------------------- tables for the trainer */

static const Lathe_param params[] = {
    {.name = "wte.weight", .export_name = "wte.weight",
     .where = "models/gpt.lua:145", .rank = 2, .loops = 0,
     .dim = {65, 128}, .stride = {128, 1},
     .offset = offsetof(Gpt_params, wte_weight) / sizeof(float), .decay = true,
     .init = LATHE_NORMAL, .init_a = 0.02, .init_b = 0},
    {.name = "wpe.weight", .export_name = "wpe.weight",
     .where = "models/gpt.lua:145", .rank = 2, .loops = 0,
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
     .where = "models/gpt.lua:151", .rank = 1, .loops = 0,
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
    {0, "make_wte", "wte = wte_weight[tokens]",
     "wte", "gpt.lua:145", 0, 789504, false},
    {1, "residual", "h_residual = wte + wpe_weight",
     "", "gpt.lua:145", 0, 819200, false},
    {3, "ln_1_to_qkv", "panel by panel: qkv_pack, ln, qkv",
     "h", "gpt.lua:17", 75497472, 2949632, false},
    {7, "heads", "heads, lse = attention of qkv[0..WIDTH], [WIDTH..2*WIDTH], [2*WIDTH..3*WIDTH]",
     "h.attn", "gpt.lua:18", 25165824, 1585152, false},
    {8, "attn_to_h_residual", "panel by panel: attn_pack, c_fc_pack, mlp_pack, attn, attended_a...",
     "h", "gpt.lua:18", 226492416, 12386816, false},
    {18, "make_ln_f", "ln_f = centred * rstd * ln_f_weight",
     "ln_f", "gpt.lua:151", 0, 786944, false},
    {19, "head_logits", "head_logits = ln_f . wte_weight^T",
     "linear_cross_entropy", "gpt.lua:155", 12779520, 626176, false},
    {20, "linear_cross_entropy_accuracy", "losses = log(total) - sum_VOCAB(v == targets ? head_...",
     "linear_cross_entropy", "gpt.lua:155", 0, 411648, false},
    {21, "mean", "loss = mean_{BATCH * SEQ}(losses)",
     "linear_cross_entropy", "gpt.lua:155", 0, 3076, false},
    {22, "mean", "accuracy = mean_{BATCH * SEQ}(accuracy_values)",
     "accuracy", "gpt.lua:156", 0, 3076, false},
    {23, "part_of_d_wte_weight", "d_wte_weight = d_head_logits^T . ln_f",
     "linear_cross_entropy", "gpt.lua:155", 12779520, 626176, true},
    {24, "d_ln_f", "d_ln_f = d_head_logits . wte_weight",
     "linear_cross_entropy", "gpt.lua:155", 12779520, 626176, true},
    {25, "ln_f_back", "d_ln_f_weight = sum_{BATCH * SEQ}(d_ln_f * (centred * rstd)); d_h_residu...",
     "ln_f", "gpt.lua:151", 0, 1180672, true},
    {27, "d_active", "d_active = d_h_residual . mlp_c_proj_weight",
     "h.mlp.c_proj", "gpt.lua:25", 100663296, 2228224, true},
    {28, "active_back", "d_c_fc = d_active * (0.5 * c_fc) * (1.1283791670955126 * exp(-(c_fc * ...",
     "h.mlp", "gpt.lua:25", 0, 6291456, true},
    {29, "d_mlp_c_proj_weight", "d_mlp_c_proj_weight = d_h_residual^T . active_again",
     "h.mlp.c_proj", "gpt.lua:25", 100663296, 2228224, true},
    {30, "d_ln_2", "d_ln_2 = d_c_fc . mlp_c_fc_weight",
     "h.mlp.c_fc", "gpt.lua:25", 100663296, 2228224, true},
    {31, "ln_2_h_back", "ln_2_again = centred * rstd * ln_2_weight; d_ln_2_weight = sum_{BATCH ...",
     "h.ln_2", "gpt.lua:24", 0, 2360320, true},
    {32, "d_mlp_c_fc_weight", "d_mlp_c_fc_weight = d_c_fc^T . ln_2_again",
     "h.mlp.c_fc", "gpt.lua:25", 100663296, 2228224, true},
    {33, "d_attn_c_proj_weight", "d_attn_c_proj_weight = d_attended^T . heads",
     "h.attn.c_proj", "gpt.lua:18", 25165824, 851968, true},
    {34, "d_heads", "d_heads = d_attended . attn_c_proj_weight",
     "h.attn.c_proj", "gpt.lua:18", 25165824, 851968, true},
    {35, "heads_back", "d_qkv[0..WIDTH], [WIDTH..2*WIDTH], [2*WIDTH..3*WIDTH] = gradients of at...",
     "h.attn", "gpt.lua:18", 62914560, 3158016, true},
    {36, "d_ln_1_to_ln_1_h_back", "panel by panel: d_ln_1_pack, d_ln_1, ln_1_h_back",
     "h", "gpt.lua:18", 75497472, 4129792, true},
    {40, "d_attn_c_attn_weight", "d_attn_c_attn_weight = d_qkv^T . ln_1_again",
     "h.attn.c_attn", "gpt.lua:18", 75497472, 1769472, true},
    {41, "ln_1_h_back_sums", "d_ln_1_weight = sum(d_ln_1_weight_partial)",
     "h.ln_1", "gpt.lua:17", 0, 16384, true},
    {42, "wte_back", "d_wte_weight[tokens] += d_h_residual, in order",
     "wte", "gpt.lua:145", 0, 429568, true},
    {43, "make_d_wpe_weight", "d_wpe_weight = sum_BATCH(d_h_residual)",
     "wpe", "gpt.lua:145", 0, 425984, true},
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

#include "model.plan.h"

static const Lathe_entry entries[] = {
    {.name = "train", .run = run_train, .work_bytes = 19709952, .flops = 4014538752, .rows = 12,
     .in_bytes = sizeof(Gpt_train_in), .out_bytes = sizeof(Gpt_train_out), .inputs = 2,
             .outputs = 2, .input = train_in, .output = train_out, .kernels = 27,
             .kernel = train_kernels, .buffers = 34, .buffer = train_buffers},
    {.name = "grad", .run = run_grad, .work_bytes = 19709952, .flops = 4027318272, .rows = 12,
     .in_bytes = sizeof(Gpt_grad_in), .out_bytes = sizeof(Gpt_grad_out), .inputs = 2, .outputs = 3,
             .input = grad_in, .output = grad_out, .kernels = 0, .kernel = NULL},
    {.name = "eval", .run = run_eval, .work_bytes = 6094848, .flops = 1321402368, .rows = 12,
     .in_bytes = sizeof(Gpt_eval_in), .out_bytes = sizeof(Gpt_eval_out), .inputs = 2, .outputs = 2,
             .input = eval_in, .output = eval_out, .kernels = 0, .kernel = NULL},
    {.name = "decode", .run = run_decode, .work_bytes = 5120, .flops = 1720576, .rows = 1,
     .in_bytes = sizeof(Gpt_decode_in), .out_bytes = sizeof(Gpt_decode_out), .inputs = 2,
             .outputs = 1, .input = decode_in, .output = decode_out, .kernels = 0, .kernel = NULL},
};

static const char *const knobs[][2] = {
    {"accumulate", "1"}, {"attention_bias", "false"}, {"batch", "12"}, {"beta1", "0.9"},
    {"beta2", "0.99"}, {"bias", "false"}, {"clip", "1.0"}, {"clip_value", "0.0"}, {"context", "0"},
    {"decay", "0.1"}, {"decay_on", "matrices"}, {"dropout", "0.0"}, {"eval_every", "250"},
    {"final_lr", "0.0001"}, {"gelu", "erf"}, {"heads", "4"}, {"init", "gpt2"}, {"layers", "4"},
    {"layout", "out_in"}, {"loss_on", "auto"}, {"lr", "0.001"}, {"muon_lr", "0.02"},
    {"optimizer", "adamw"}, {"pack", "false"}, {"schedule", "cosine"}, {"seq", "64"},
    {"steps", "2000"}, {"tied", "true"}, {"tokenizer", "chars"}, {"vocab", "65"},
    {"warmup", "100"}, {"width", "128"},
};

/* Its form in Hugging Face's files, for the runtime's model/hf.c. */
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
    {"states", 0},
    {"inputs", 6144},
    {"outputs", 128},
    {"work", 19709952},
    {"blas", 7798784},
    {"data", 0},
    {"generation", 0},
};

const Lathe_model lathe_model = {
    .name = "gpt", .config = "char", .precision = "fp32", .source_hash = "bcf50239a250d1f5",
    .needs = lathe_needs,
    .rebuild = "models/gpt.lua --config char",
    .real = LATHE_F32, .batch = 12, .seq = 64, .vocab = 65, .context = 64,
    .params = 9, .entries = 4, .states = 2, .knobs = 32, .categories = 10,
    .param = params, .entry = entries, .state = states,
    .state_bytes = sizeof(Gpt_state),
    .parameter_count = 804096, .flat_elements = 804096,
    .recipe = {
        .optimizer = LATHE_ADAMW, .lr = 0.001, .beta1 = 0.9, .beta2 = 0.99,
        .eps = 1e-08, .decay = 0.1, .momentum = 0, .nesterov = 0, .bits = 32,
        .schedule = LATHE_COSINE, .final_lr = 0.0001, .warmup = 100, .steps = 2000,
        .schedule_steps = 0, .cooldown = 0, .warm_fraction = 0.3,
        .start_div = 25, .final_div = 1e+04,
        .cycle_momentum = 1, .low_momentum = 0.85, .high_momentum = 0.95,
        .step_every = 0, .step_factor = 0.1, .milestones = NULL,
        .clip = 1, .clip_value = 0, .accumulate = 1,
        .eval_every = 250, .save_every = 0, .log_every = 0,
        .eval_epochs = 0, .eval_rows = 0, .patience = 0,
        .best = NULL, .best_mode = LATHE_MODE_KNOWN, .samples = NULL, .keep_last = 3,
        .tokenizer = LATHE_CHARS, .val_fraction = 0.1, .csv_target = NULL,
        .order = LATHE_ORDER_FOUND, .documents = LATHE_FILES, .pack = false,
        .bad_records = 0, .raw_id_size = 0,
        .shuffle_tokens = 4194304, .eval_tokens = 1048576, .stride = 0, .bos = NULL, .eos = NULL,
        .temperature = 0.8, .top_p = 1, .min_p = 0, .repetition_penalty = 1,
        .top_k = 0, .sample_tokens = 200, .rows = 1,
        .beams = 0, .min_tokens = 0, .no_repeat_ngram = 0, .length_penalty = 1,
        .prefill = 1,
    },
    .hf = hf, .knob = knobs, .plan = planned,
    .planned_bytes = 40380544, .lower_bound_bytes = 40380544,
};

int main(int argc, char **argv) { return lathe_main(&lathe_model, argc, argv); }
