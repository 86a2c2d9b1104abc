/* model.c: char_rnn, made by lathe from char_rnn.lua, configuration default.
 *   Edit that, not this file.  fp32.
 *
 *   350,593 parameters, 4,231,004,160 flop in a call of train, 46,586,240 bytes in all
 *
 *   First the kernels; then a function per entry, which calls them; then tables for the trainer. */
#include "model.h"

/* embed = embed_weight[tokens]      char_rnn.lua:16 embed      moves 1,056,768 bytes */
KERNEL void make_embed(float (*RESTRICT embed)[WIDTH], const float (*RESTRICT embed_weight)[WIDTH],
        const int *RESTRICT tokens)
{
    PARALLEL for (int r = 0; r < BATCH * SEQ; r++) {
        const int id = tokens[r];
        EACH for (int c = 0; c < WIDTH; c++)
            embed[r][c] = embed_weight[id][c];
    }
}

/* cell = 0      char_rnn.lua:17 lstm      moves 32,768 bytes */
KERNEL void zero_cell(float (*RESTRICT cell)[HIDDEN])
{
    for (int b = 0; b < BATCH; b++)
        for (int c = 0; c < HIDDEN; c++)
            cell[b][c] = 0;
}

/* hidden = 0      char_rnn.lua:17 lstm      moves 32,768 bytes */
KERNEL void zero_hidden(int from, int to, float (*RESTRICT hidden)[HIDDEN])
{
    for (int b = from; b < to; b++)
        for (int c = 0; c < HIDDEN; c++)
            hidden[b][c] = 0;
}

/* to_f = from_x[HIDDEN+c] +
 *         lstm_bias_ih_l0[HIDDEN+c] + (from_hidden[HIDDEN+c] + lstm_bias_hh_l0[HIDDEN+c]);
 *     f = sigmoid(to_f);
 *     to_i = from_x[c] + lstm_bias_ih_l0[c] + (from_hidden[c] + lstm_bias_hh_l0[c]);
 *     i = sigmoid(to_i);
 *     to_g = from_x[2*HIDDEN+c] +
 *         lstm_bias_ih_l0[2*HIDDEN+c] + (from_hidden[2*HIDDEN+c] + lstm_bias_hh_l0[2*HIDDEN+c]);
 *     g = tanh(to_g);  cell = f * cell_before + i * g;
 *     to_o = from_x[3*HIDDEN+c] +
 *         lstm_bias_ih_l0[3*HIDDEN+c] + (from_hidden[3*HIDDEN+c] + lstm_bias_hh_l0[3*HIDDEN+c]);
 *     o = sigmoid(to_o);  hidden = o * tanh(cell)      char_rnn.lua:17 lstm
 *     moves 368,640 bytes */
KERNEL void cell_and_hidden(int from, int to, float (*RESTRICT cell)[HIDDEN],
        float (*RESTRICT hidden)[HIDDEN], const float (*RESTRICT cell_before)[HIDDEN],
        const float (*RESTRICT from_x)[4 * HIDDEN], const float *RESTRICT lstm_bias_ih_l0,
        const float (*RESTRICT from_hidden)[4 * HIDDEN], const float *RESTRICT lstm_bias_hh_l0)
{
    for (int b = from; b < to; b++)
        for (int c = 0; c < HIDDEN; c++) {
            const float to_f = from_x[b][c + HIDDEN] + lstm_bias_ih_l0[c + HIDDEN] +
                    (from_hidden[b][c + HIDDEN] + lstm_bias_hh_l0[c + HIDDEN]);
            const float to_i = from_x[b][c] + lstm_bias_ih_l0[c] +
                    (from_hidden[b][c] + lstm_bias_hh_l0[c]);
            const float to_g = from_x[b][c + 2 * HIDDEN] + lstm_bias_ih_l0[c + 2 * HIDDEN] +
                    (from_hidden[b][c + 2 * HIDDEN] + lstm_bias_hh_l0[c + 2 * HIDDEN]);
            const float one_cell = sigmoid_f32(to_f) * cell_before[b][c] +
                    sigmoid_f32(to_i) * tanh_f32(to_g);
            const float to_o = from_x[b][c + 3 * HIDDEN] + lstm_bias_ih_l0[c + 3 * HIDDEN] +
                    (from_hidden[b][c + 3 * HIDDEN] + lstm_bias_hh_l0[c + 3 * HIDDEN]);
            cell[b][c] = one_cell;
            hidden[b][c] = sigmoid_f32(to_o) * tanh_f32(one_cell);
        }
}

/* lstm = hidden      char_rnn.lua:17 lstm      moves 4,194,304 bytes */
KERNEL void copy_lstm(float (*RESTRICT lstm)[SEQ][HIDDEN],
        const float (*RESTRICT hidden)[BATCH][HIDDEN])
{
    PARALLEL for (int b = 0; b < BATCH; b++)
        for (int t = 0; t < SEQ; t++)
            EACH for (int c = 0; c < HIDDEN; c++)
                lstm[b][t][c] = hidden[t + 1][b][c];
}

/* largest = max_VOCAB(part_of_head_logits + head_bias);
 *     total = sum_VOCAB(exp(part_of_head_logits + head_bias - largest));
 *     predicted = argmax_VOCAB(part_of_head_logits + head_bias);
 *     losses =
 *         log(total) - sum_VOCAB(v == targets ? part_of_head_logits + head_bias - largest : 0);
 *     accuracy_values = (float)(predicted == targets);
 *     d_head_logits = exp(part_of_head_logits + head_bias -
 *         largest) * (1 / (BATCH * SEQ) / total) - (v == targets ? 1 / (BATCH * SEQ) : 0);
 *     d_head_bias = sum_{BATCH * SEQ}(d_head_logits)
 *     char_rnn.lua:21 linear_cross_entropy, char_rnn.lua:22 accuracy
 *     moves 1,098,248 bytes */
KERNEL void linear_cross_entropy_accuracy(float (*RESTRICT d_head_logits)[VOCAB],
        float *RESTRICT losses, float *RESTRICT accuracy_values, float *RESTRICT d_head_bias,
        float (*RESTRICT d_head_bias_partial)[VOCAB],
        const float (*RESTRICT part_of_head_logits)[VOCAB], const float *RESTRICT head_bias,
        const int *RESTRICT targets)
{
    PARALLEL for (int k = 0; k < BATCH * SEQ / 64; k++) {
        for (int v = 0; v < VOCAB; v++)
            d_head_bias_partial[k][v] = 0;
        for (int r = k * 64; r < (k + 1) * 64; r++) {
            float e_row[VOCAB];
            float maxima[LANES];
            for (int l = 0; l < LANES; l++) maxima[l] = -INFINITY;
            for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
                SIMD for (int l = 0; l < LANES; l++)
                    maxima[l] = max_f32(maxima[l],
                            part_of_head_logits[r][v + l] + head_bias[v + l]);
            for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++)
                maxima[v % LANES] = max_f32(maxima[v % LANES],
                        part_of_head_logits[r][v] + head_bias[v]);
            const float largest = max_lanes_f32(maxima);
            const int target = targets[r];
            float sums[LANES] = {0};
            float sums_for_losses[LANES] = {0};
            int predicted = INT32_MAX;
            for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
                SIMD_AND(reduction(min : predicted)) for (int l = 0; l < LANES; l++) {
                    const float below_largest = part_of_head_logits[r][v + l] + head_bias[v + l] -
                            largest;
                    const float e = exp_f32(below_largest);
                    e_row[v + l] = e;
                    sums[l] += e;
                    sums_for_losses[l] += v + l == target ? below_largest : 0;
                    predicted = min_i32(predicted, below_largest == 0 ? v + l : VOCAB - 1);
                }
            for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++) {
                const float below_largest = part_of_head_logits[r][v] + head_bias[v] - largest;
                const float e = exp_f32(below_largest);
                e_row[v] = e;
                sums[v % LANES] += e;
                sums_for_losses[v % LANES] += v == target ? below_largest : 0;
                predicted = min_i32(predicted, below_largest == 0 ? v : VOCAB - 1);
            }
            const float total = sum_lanes_f32(sums);
            const float factor_of_d_head_logits = 1.0f / (BATCH * SEQ) / total;
            EACH for (int v = 0; v < VOCAB; v++) {
                const float one_d_head_logits = e_row[v] * factor_of_d_head_logits -
                        (v == target ? 1.0f / (BATCH * SEQ) : 0.0f);
                d_head_logits[r][v] = one_d_head_logits;
                d_head_bias_partial[k][v] += one_d_head_logits;
            }
            losses[r] = log_f32(total) - sum_lanes_f32(sums_for_losses);
            accuracy_values[r] = (float)(predicted == target);
        }
    }
    for (int v = 0; v < VOCAB; v++)
        d_head_bias[v] = d_head_bias_partial[0][v];
    for (int k = 1; k < BATCH * SEQ / 64; k++)
        for (int v = 0; v < VOCAB; v++)
            d_head_bias[v] += d_head_bias_partial[k][v];
}

/* loss = mean_{BATCH * SEQ}(losses)
 *     char_rnn.lua:21 linear_cross_entropy, char_rnn.lua:22 accuracy      moves 8,196 bytes */
KERNEL void mean(float *RESTRICT loss, const float *RESTRICT losses)
{
    float sums_of_losses[LANES] = {0};
    for (int i = 0; i < BATCH * SEQ; i += LANES)
        SIMD for (int l = 0; l < LANES; l++)
            sums_of_losses[l] += losses[i + l];
    *loss = sum_lanes_f32(sums_of_losses) / (BATCH * SEQ);
}

/* embed_copy = embed      char_rnn.lua:17 lstm      moves 1,048,576 bytes */
KERNEL void copy_embed(float (*RESTRICT embed_copy)[BATCH][WIDTH],
        const float (*RESTRICT embed)[SEQ][WIDTH])
{
    PARALLEL for (int t = 0; t < SEQ; t++)
        for (int b = 0; b < BATCH; b++)
            EACH for (int c = 0; c < WIDTH; c++)
                embed_copy[t][b][c] = embed[b][t][c];
}

/* one_d_hidden = d_hidden + d_lstm;
 *     to_o = from_x[3*HIDDEN+c] +
 *         lstm_bias_ih_l0[3*HIDDEN+c] + (from_hidden[3*HIDDEN+c] + lstm_bias_hh_l0[3*HIDDEN+c]);
 *     o = sigmoid(to_o);
 *     to_f = from_x[HIDDEN+c] +
 *         lstm_bias_ih_l0[HIDDEN+c] + (from_hidden[HIDDEN+c] + lstm_bias_hh_l0[HIDDEN+c]);
 *     f = sigmoid(to_f);
 *     to_i = from_x[c] + lstm_bias_ih_l0[c] + (from_hidden[c] + lstm_bias_hh_l0[c]);
 *     i = sigmoid(to_i);
 *     to_g = from_x[2*HIDDEN+c] +
 *         lstm_bias_ih_l0[2*HIDDEN+c] + (from_hidden[2*HIDDEN+c] + lstm_bias_hh_l0[2*HIDDEN+c]);
 *     g = tanh(to_g);  one_cell = f * cell_before + i * g;
 *     one_d_cell = d_cell + one_d_hidden * o * (1 - tanh(one_cell) * tanh(one_cell));
 *     d_cell = one_d_cell * f;  d_i = one_d_cell * g;
 *     d_gates[c] = d_i * 0.5 * (1 - tanh(0.5 * to_i) * tanh(0.5 * to_i)) * 0.5;
 *     d_f = one_d_cell * cell_before;
 *     d_gates[HIDDEN+c] = d_f * 0.5 * (1 - tanh(0.5 * to_f) * tanh(0.5 * to_f)) * 0.5;
 *     d_g = one_d_cell * i;  d_gates[2*HIDDEN+c] = d_g * (1 - g * g);
 *     d_o = one_d_hidden * tanh(one_cell);
 *     d_gates[3*HIDDEN+c] = d_o * 0.5 * (1 - tanh(0.5 * to_o) * tanh(0.5 * to_o)) * 0.5
 *     char_rnn.lua:17 lstm      moves 565,248 bytes */
KERNEL void lstm_back(int from, int to, float (*RESTRICT d_cell)[HIDDEN],
        float (*RESTRICT d_gates)[4 * HIDDEN], const float (*RESTRICT d_hidden)[HIDDEN],
        const float (*RESTRICT d_lstm)[HIDDEN], const float (*RESTRICT from_x)[4 * HIDDEN],
        const float *RESTRICT lstm_bias_ih_l0, const float (*RESTRICT from_hidden)[4 * HIDDEN],
        const float *RESTRICT lstm_bias_hh_l0, const float (*RESTRICT cell_before)[HIDDEN], int t)
{
    for (int b = from; b < to; b++)
        for (int c = 0; c < HIDDEN; c++) {
            const float d_cell_later = d_cell[b][c];
            const float one_d_hidden = d_hidden[b][c] + d_lstm[t + SEQ * b][c];
            const float to_o = from_x[b][c + 3 * HIDDEN] + lstm_bias_ih_l0[c + 3 * HIDDEN] +
                    (from_hidden[b][c + 3 * HIDDEN] + lstm_bias_hh_l0[c + 3 * HIDDEN]);
            const float tanh_of_half_to_o = tanh_f32(0.5f * to_o);
            const float to_f = from_x[b][c + HIDDEN] + lstm_bias_ih_l0[c + HIDDEN] +
                    (from_hidden[b][c + HIDDEN] + lstm_bias_hh_l0[c + HIDDEN]);
            const float tanh_of_half_to_f = tanh_f32(0.5f * to_f);
            const float f = 0.5f + 0.5f * tanh_of_half_to_f;
            const float one_cell_before = cell_before[b][c];
            const float to_i = from_x[b][c] + lstm_bias_ih_l0[c] +
                    (from_hidden[b][c] + lstm_bias_hh_l0[c]);
            const float tanh_of_half_to_i = tanh_f32(0.5f * to_i);
            const float i = 0.5f + 0.5f * tanh_of_half_to_i;
            const float to_g = from_x[b][c + 2 * HIDDEN] + lstm_bias_ih_l0[c + 2 * HIDDEN] +
                    (from_hidden[b][c + 2 * HIDDEN] + lstm_bias_hh_l0[c + 2 * HIDDEN]);
            const float g = tanh_f32(to_g);
            const float tanh_of_cell = tanh_f32(f * one_cell_before + i * g);
            const float one_d_cell = d_cell_later +
                    one_d_hidden * (0.5f + 0.5f * tanh_of_half_to_o) *
                    (1 - tanh_of_cell * tanh_of_cell);
            d_cell[b][c] = one_d_cell * f;
            d_gates[b][c] = one_d_cell * g * 0.5f * (1 - tanh_of_half_to_i * tanh_of_half_to_i) *
                    0.5f;
            d_gates[b][c + HIDDEN] = one_d_cell * one_cell_before * 0.5f *
                    (1 - tanh_of_half_to_f * tanh_of_half_to_f) * 0.5f;
            d_gates[b][c + 2 * HIDDEN] = one_d_cell * i * (1 - g * g);
            d_gates[b][c + 3 * HIDDEN] = one_d_hidden * tanh_of_cell * 0.5f *
                    (1 - tanh_of_half_to_o * tanh_of_half_to_o) * 0.5f;
        }
}

/* d_lstm_bias_ih_l0 = sum_{SEQ * BATCH}(d_gates)      char_rnn.lua:17 lstm
 *     moves 8,392,704 bytes */
KERNEL void make_d_lstm_bias_ih_l0(float *RESTRICT d_lstm_bias_ih_l0,
        float (*RESTRICT d_lstm_bias_ih_l0_partial)[4 * HIDDEN],
        const float (*RESTRICT d_gates)[4 * HIDDEN])
{
    PARALLEL for (int k = 0; k < SEQ * BATCH / 64; k++) {
        for (int c = 0; c < 4 * HIDDEN; c++)
            d_lstm_bias_ih_l0_partial[k][c] = 0;
        for (int r = k * 64; r < (k + 1) * 64; r++)
            EACH for (int c = 0; c < 4 * HIDDEN; c++)
                d_lstm_bias_ih_l0_partial[k][c] += d_gates[r][c];
    }
    for (int c = 0; c < 4 * HIDDEN; c++)
        d_lstm_bias_ih_l0[c] = d_lstm_bias_ih_l0_partial[0][c];
    for (int k = 1; k < SEQ * BATCH / 64; k++)
        for (int c = 0; c < 4 * HIDDEN; c++)
            d_lstm_bias_ih_l0[c] += d_lstm_bias_ih_l0_partial[k][c];
}

/* d_embed_weight[tokens] += d_embed, in order      char_rnn.lua:16 embed
 *     moves 549,120 bytes */
KERNEL void make_d_embed_weight(float (*RESTRICT d_embed_weight)[WIDTH],
        const float (*RESTRICT d_embed)[BATCH][WIDTH], const int (*RESTRICT tokens)[SEQ])
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
                    d_embed_weight[id][low + c] += d_embed[t][b][low + c];
            }
    }
}

/* d_lstm_bias_hh_l0 = d_lstm_bias_ih_l0      char_rnn.lua:17 lstm      moves 8,192 bytes */
KERNEL void copy_d_lstm_bias_hh_l0(float *RESTRICT d_lstm_bias_hh_l0,
        const float *RESTRICT d_lstm_bias_ih_l0)
{
    for (int c = 0; c < 4 * HIDDEN; c++)
        d_lstm_bias_hh_l0[c] = d_lstm_bias_ih_l0[c];
}

/* logits = head_y + head_bias;  largest = max_VOCAB(part_of_head_logits + head_bias);
 *     total = sum_VOCAB(exp(part_of_head_logits + head_bias - largest));
 *     predicted = argmax_VOCAB(part_of_head_logits + head_bias);
 *     losses =
 *         log(total) - sum_VOCAB(v == targets ? part_of_head_logits + head_bias - largest : 0);
 *     accuracy_values = (float)(predicted == targets);
 *     d_head_logits = exp(part_of_head_logits + head_bias -
 *         largest) * (1 / (BATCH * SEQ) / total) - (v == targets ? 1 / (BATCH * SEQ) : 0);
 *     d_head_bias = sum_{BATCH * SEQ}(d_head_logits)
 *     char_rnn.lua:21 linear_cross_entropy, char_rnn.lua:20 head, char_rnn.lua:22 accuracy
 *     moves 2,163,468 bytes */
KERNEL void linear_cross_entropy_head(float (*RESTRICT logits)[VOCAB],
        float (*RESTRICT d_head_logits)[VOCAB], float *RESTRICT losses,
        float *RESTRICT accuracy_values, float *RESTRICT d_head_bias,
        float (*RESTRICT d_head_bias_partial)[VOCAB],
        const float (*RESTRICT part_of_head_logits)[VOCAB], const float *RESTRICT head_bias,
        const float (*RESTRICT head_y)[VOCAB], const int *RESTRICT targets)
{
    PARALLEL for (int k = 0; k < BATCH * SEQ / 64; k++) {
        for (int v = 0; v < VOCAB; v++)
            d_head_bias_partial[k][v] = 0;
        for (int r = k * 64; r < (k + 1) * 64; r++) {
            float e_row[VOCAB];
            float maxima[LANES];
            for (int l = 0; l < LANES; l++) maxima[l] = -INFINITY;
            for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
                SIMD for (int l = 0; l < LANES; l++) {
                    const float bias = head_bias[v + l];
                    logits[r][v + l] = head_y[r][v + l] + bias;
                    maxima[l] = max_f32(maxima[l], part_of_head_logits[r][v + l] + bias);
                }
            for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++) {
                const float bias = head_bias[v];
                logits[r][v] = head_y[r][v] + bias;
                maxima[v % LANES] = max_f32(maxima[v % LANES], part_of_head_logits[r][v] + bias);
            }
            const float largest = max_lanes_f32(maxima);
            const int target = targets[r];
            float sums[LANES] = {0};
            float sums_for_losses[LANES] = {0};
            int predicted = INT32_MAX;
            for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
                SIMD_AND(reduction(min : predicted)) for (int l = 0; l < LANES; l++) {
                    const float below_largest = part_of_head_logits[r][v + l] + head_bias[v + l] -
                            largest;
                    const float e = exp_f32(below_largest);
                    e_row[v + l] = e;
                    sums[l] += e;
                    sums_for_losses[l] += v + l == target ? below_largest : 0;
                    predicted = min_i32(predicted, below_largest == 0 ? v + l : VOCAB - 1);
                }
            for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++) {
                const float below_largest = part_of_head_logits[r][v] + head_bias[v] - largest;
                const float e = exp_f32(below_largest);
                e_row[v] = e;
                sums[v % LANES] += e;
                sums_for_losses[v % LANES] += v == target ? below_largest : 0;
                predicted = min_i32(predicted, below_largest == 0 ? v : VOCAB - 1);
            }
            const float total = sum_lanes_f32(sums);
            const float factor_of_d_head_logits = 1.0f / (BATCH * SEQ) / total;
            EACH for (int v = 0; v < VOCAB; v++) {
                const float one_d_head_logits = e_row[v] * factor_of_d_head_logits -
                        (v == target ? 1.0f / (BATCH * SEQ) : 0.0f);
                d_head_logits[r][v] = one_d_head_logits;
                d_head_bias_partial[k][v] += one_d_head_logits;
            }
            losses[r] = log_f32(total) - sum_lanes_f32(sums_for_losses);
            accuracy_values[r] = (float)(predicted == target);
        }
    }
    for (int v = 0; v < VOCAB; v++)
        d_head_bias[v] = d_head_bias_partial[0][v];
    for (int k = 1; k < BATCH * SEQ / 64; k++)
        for (int v = 0; v < VOCAB; v++)
            d_head_bias[v] += d_head_bias_partial[k][v];
}

/* to_f = from_x[HIDDEN+c] +
 *         lstm_bias_ih_l0[HIDDEN+c] + (from_hidden[HIDDEN+c] + lstm_bias_hh_l0[HIDDEN+c]);
 *     f = sigmoid(to_f);
 *     to_i = from_x[c] + lstm_bias_ih_l0[c] + (from_hidden[c] + lstm_bias_hh_l0[c]);
 *     i = sigmoid(to_i);
 *     to_g = from_x[2*HIDDEN+c] +
 *         lstm_bias_ih_l0[2*HIDDEN+c] + (from_hidden[2*HIDDEN+c] + lstm_bias_hh_l0[2*HIDDEN+c]);
 *     g = tanh(to_g);  cell = f * cell_before + i * g;
 *     to_o = from_x[3*HIDDEN+c] +
 *         lstm_bias_ih_l0[3*HIDDEN+c] + (from_hidden[3*HIDDEN+c] + lstm_bias_hh_l0[3*HIDDEN+c]);
 *     o = sigmoid(to_o);  hidden = o * tanh(cell)      char_rnn.lua:17 lstm
 *     moves 368,640 bytes */
KERNEL void eval_cell_and_hidden(int from, int to, float (*RESTRICT cell)[HIDDEN],
        float (*RESTRICT hidden)[HIDDEN], const float (*RESTRICT from_x)[4 * HIDDEN],
        const float *RESTRICT lstm_bias_ih_l0, const float (*RESTRICT from_hidden)[4 * HIDDEN],
        const float *RESTRICT lstm_bias_hh_l0)
{
    for (int b = from; b < to; b++)
        for (int c = 0; c < HIDDEN; c++) {
            const float cell_before = cell[b][c];
            const float to_f = from_x[b][c + HIDDEN] + lstm_bias_ih_l0[c + HIDDEN] +
                    (from_hidden[b][c + HIDDEN] + lstm_bias_hh_l0[c + HIDDEN]);
            const float to_i = from_x[b][c] + lstm_bias_ih_l0[c] +
                    (from_hidden[b][c] + lstm_bias_hh_l0[c]);
            const float to_g = from_x[b][c + 2 * HIDDEN] + lstm_bias_ih_l0[c + 2 * HIDDEN] +
                    (from_hidden[b][c + 2 * HIDDEN] + lstm_bias_hh_l0[c + 2 * HIDDEN]);
            const float one_cell = sigmoid_f32(to_f) * cell_before +
                    sigmoid_f32(to_i) * tanh_f32(to_g);
            const float to_o = from_x[b][c + 3 * HIDDEN] + lstm_bias_ih_l0[c + 3 * HIDDEN] +
                    (from_hidden[b][c + 3 * HIDDEN] + lstm_bias_hh_l0[c + 3 * HIDDEN]);
            cell[b][c] = one_cell;
            hidden[b][c] = sigmoid_f32(to_o) * tanh_f32(one_cell);
        }
}

/* lstm = hidden      char_rnn.lua:17 lstm      moves 4,194,304 bytes */
KERNEL void eval_copy_lstm(int from, int to, float (*RESTRICT lstm)[SEQ][HIDDEN],
        const float (*RESTRICT hidden)[BATCH][HIDDEN])
{
    for (int r = from; r < to; r++) {
        const int b = r / SEQ;
        const int t = r % SEQ;
        for (int c = 0; c < HIDDEN; c++)
            lstm[b][t][c] = hidden[t + 1][b][c];
    }
}

/* largest = max_VOCAB(part_of_head_logits + head_bias);
 *     total = sum_VOCAB(exp(part_of_head_logits + head_bias - largest));
 *     predicted = argmax_VOCAB(part_of_head_logits + head_bias);
 *     losses =
 *         log(total) - sum_VOCAB(v == targets ? part_of_head_logits + head_bias - largest : 0);
 *     accuracy_values = (float)(predicted == targets)
 *     char_rnn.lua:22 accuracy, char_rnn.lua:21 linear_cross_entropy      moves 565,508 bytes */
KERNEL void losses_and_accuracy_values(int from, int to, float *RESTRICT losses,
        float *RESTRICT accuracy_values, const float (*RESTRICT part_of_head_logits)[VOCAB],
        const float *RESTRICT head_bias, const int *RESTRICT targets)
{
    for (int r = from; r < to; r++) {
        float maxima[LANES];
        for (int l = 0; l < LANES; l++) maxima[l] = -INFINITY;
        for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
            SIMD for (int l = 0; l < LANES; l++)
                maxima[l] = max_f32(maxima[l], part_of_head_logits[r][v + l] + head_bias[v + l]);
        for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++)
            maxima[v % LANES] = max_f32(maxima[v % LANES],
                    part_of_head_logits[r][v] + head_bias[v]);
        const float largest = max_lanes_f32(maxima);
        const int target = targets[r];
        float sums[LANES] = {0};
        float sums_for_losses[LANES] = {0};
        int predicted = INT32_MAX;
        for (int v = 0; v < VOCAB - VOCAB % LANES; v += LANES)
            SIMD_AND(reduction(min : predicted)) for (int l = 0; l < LANES; l++) {
                const float below_largest = part_of_head_logits[r][v + l] + head_bias[v + l] -
                        largest;
                sums[l] += exp_f32(below_largest);
                sums_for_losses[l] += v + l == target ? below_largest : 0;
                predicted = min_i32(predicted, below_largest == 0 ? v + l : VOCAB - 1);
            }
        for (int v = VOCAB - VOCAB % LANES; v < VOCAB; v++) {
            const float below_largest = part_of_head_logits[r][v] + head_bias[v] - largest;
            sums[v % LANES] += exp_f32(below_largest);
            sums_for_losses[v % LANES] += v == target ? below_largest : 0;
            predicted = min_i32(predicted, below_largest == 0 ? v : VOCAB - 1);
        }
        losses[r] = log_f32(sum_lanes_f32(sums)) - sum_lanes_f32(sums_for_losses);
        accuracy_values[r] = (float)(predicted == target);
    }
}

/* embed = embed_weight[tokens]      char_rnn.lua:16 embed      moves 516 bytes */
KERNEL void decode_embed(float *RESTRICT embed, const float (*RESTRICT embed_weight)[WIDTH],
        int tokens)
{
    const int id = tokens;
    for (int c = 0; c < WIDTH; c++)
        embed[c] = embed_weight[id][c];
}

/* to_f = from_x[HIDDEN+c] +
 *         lstm_bias_ih_l0[HIDDEN+c] + (from_hidden[HIDDEN+c] + lstm_bias_hh_l0[HIDDEN+c]);
 *     f = sigmoid(to_f);
 *     to_i = from_x[c] + lstm_bias_ih_l0[c] + (from_hidden[c] + lstm_bias_hh_l0[c]);
 *     i = sigmoid(to_i);
 *     to_g = from_x[2*HIDDEN+c] +
 *         lstm_bias_ih_l0[2*HIDDEN+c] + (from_hidden[2*HIDDEN+c] + lstm_bias_hh_l0[2*HIDDEN+c]);
 *     g = tanh(to_g);  lstm_c = f * lstm_c_before + i * g;
 *     to_o = from_x[3*HIDDEN+c] +
 *         lstm_bias_ih_l0[3*HIDDEN+c] + (from_hidden[3*HIDDEN+c] + lstm_bias_hh_l0[3*HIDDEN+c]);
 *     o = sigmoid(to_o);  lstm_h = o * tanh(lstm_c)      char_rnn.lua:17 lstm
 *     moves 19,456 bytes */
KERNEL void decode_cell_and_hidden(float *RESTRICT lstm_c, float *RESTRICT lstm_h,
        const float *RESTRICT from_x, const float *RESTRICT lstm_bias_ih_l0,
        const float *RESTRICT from_hidden, const float *RESTRICT lstm_bias_hh_l0)
{
    for (int c = 0; c < HIDDEN; c++) {
        const float lstm_c_before = lstm_c[c];
        const float to_f = from_x[c + HIDDEN] + lstm_bias_ih_l0[c + HIDDEN] +
                (from_hidden[c + HIDDEN] + lstm_bias_hh_l0[c + HIDDEN]);
        const float to_i = from_x[c] + lstm_bias_ih_l0[c] + (from_hidden[c] + lstm_bias_hh_l0[c]);
        const float to_g = from_x[c + 2 * HIDDEN] + lstm_bias_ih_l0[c + 2 * HIDDEN] +
                (from_hidden[c + 2 * HIDDEN] + lstm_bias_hh_l0[c + 2 * HIDDEN]);
        const float cell = sigmoid_f32(to_f) * lstm_c_before + sigmoid_f32(to_i) * tanh_f32(to_g);
        const float to_o = from_x[c + 3 * HIDDEN] + lstm_bias_ih_l0[c + 3 * HIDDEN] +
                (from_hidden[c + 3 * HIDDEN] + lstm_bias_hh_l0[c + 3 * HIDDEN]);
        lstm_c[c] = cell;
        lstm_h[c] = sigmoid_f32(to_o) * tanh_f32(cell);
    }
}

/* logits = head_y + head_bias      char_rnn.lua:20 head      moves 780 bytes */
KERNEL void make_logits(float *RESTRICT logits, const float *RESTRICT head_y,
        const float *RESTRICT head_bias)
{
    for (int v = 0; v < VOCAB; v++)
        logits[v] = head_y[v] + head_bias[v];
}

/* Matrix products with packed operands or with strides. M, N and K are extents; strides count
 * elements, and are those before packing. */

/* from_hidden = hidden . lstm_weight_hh_l0_packed      char_rnn.lua:17 lstm */
static const Lathe_gemm from_hidden_shape = {.M = 32, .N = 1024, .K = 256, .a_m = 256, .a_k = 1,
        .b_k = 1, .b_n = 256, .c_m = 1024, .c_n = 1};

/* from_x = embed . lstm_weight_ih_l0^T      char_rnn.lua:17 lstm */
static const Lathe_gemm from_x_shape = {.nbatch = 1, .batch = {32}, .a_batch = {4096},
        .b_batch = {0}, .c_batch = {1024}, .M = 64, .N = 1024, .K = 64, .a_m = 64, .a_k = 1,
        .b_k = 1, .b_n = 64, .c_m = 32768, .c_n = 1};

/* d_hidden = d_gates . lstm_weight_hh_l0_packed_for_d_hidden      char_rnn.lua:17 lstm */
static const Lathe_gemm d_hidden_shape = {.M = 32, .N = 256, .K = 1024, .a_m = 1024, .a_k = 1,
        .b_k = 256, .b_n = 1, .c_m = 256, .c_n = 1};

/* part_of_head_logits = lstm . head_weight_packed      char_rnn.lua:21 linear_cross_entropy */
static const Lathe_gemm part_of_head_logits_shape = {.M = 2048, .N = 65, .K = 256, .a_m = 256,
        .a_k = 1, .b_k = 1, .b_n = 256, .c_m = 65, .c_n = 1};

/* train
 *
 *   memory: 33,161,216 bytes (38,576,256 without sharing) for 20 buffers
 *   buffer                   shape                        bytes    offset steps
 *   embed                    [BATCH][SEQ][WIDTH]         524288  19939328   0-15  |------|
 *   lstm_weight_hh_l0_packed [HIDDEN][4 * HIDDEN]       1048576  16777216   1-8   |---|
 *   cell                     [SEQ + 1][BATCH][HIDDEN]   2129920  25165824   2-23   |---------|
 *   from_x                   [SEQ][BATCH][4 * HIDDEN]   8388608         0   3-23   |---------|
 *   hidden                   [SEQ + 1][BATCH][HIDDEN]   2129920  27295744   4-24    |---------|
 *   from_hidden              [SEQ][BATCH][4 * HIDDEN]   8388608   8388608   4-23    |--------|
 *   lstm                     [BATCH][SEQ][HIDDEN]       2097152  16777216   9-14      |--|
 *   part_of_head_logits      [BATCH * SEQ][VOCAB]        532480  18874368  10-11       |
 *   d_head_logits            [BATCH * SEQ][VOCAB]        532480  19406848  11-18       |---|
 *   accuracy_values          [BATCH][SEQ]                  8192  20480128  11-13       ||
 *   losses                   [BATCH * SEQ]                 8192  20471936  11-12       ||
 *   d_head_bias_partial      [32][VOCAB]                   8320  20463616  11-11       |
 *   embed_copy               [SEQ][BATCH][WIDTH]         524288  32571392  15-25         |----|
 *   d_cell                   [BATCH][HIDDEN]              32768  33095680  16-23          |--|
 *   ..l0_packed_for_d_hidden [4 * HIDDEN][HIDDEN]       1048576  31522816  17-23          |--|
 *   d_lstm                   [BATCH * SEQ][HIDDEN]      2097152  29425664  18-23           |-|
 *   d_hidden                 [BATCH][HIDDEN]              32768  33128448  19-23           |-|
 *   d_gates                  [SEQ][BATCH][4 * HIDDEN]   8388608  16777216  19-27           |---|
 *   ..stm_bias_ih_l0_partial [32][4 * HIDDEN]            131072         0  26-26               |
 *   d_embed                  [SEQ][BATCH][WIDTH]         524288         0  27-28               ||
 */
void char_rnn_train(const Char_rnn_params *p, Char_rnn_params *d, const Char_rnn_train_in *in,
        Char_rnn_train_out *out, char *work)
{
    float (*embed)[SEQ][WIDTH] = (void *)(work + 19939328);
    float (*lstm_weight_hh_l0_packed)[4 * HIDDEN] = (void *)(work + 16777216);
    float (*cell)[BATCH][HIDDEN] = (void *)(work + 25165824);
    float (*from_x)[BATCH][4 * HIDDEN] = (void *)(work + 0);
    float (*hidden)[BATCH][HIDDEN] = (void *)(work + 27295744);
    float (*from_hidden)[BATCH][4 * HIDDEN] = (void *)(work + 8388608);
    float (*lstm)[SEQ][HIDDEN] = (void *)(work + 16777216);
    float (*part_of_head_logits)[VOCAB] = (void *)(work + 18874368);
    float (*d_head_logits)[VOCAB] = (void *)(work + 19406848);
    float (*accuracy_values)[SEQ] = (void *)(work + 20480128);
    float *losses = (void *)(work + 20471936);
    float (*d_head_bias_partial)[VOCAB] = (void *)(work + 20463616);
    float (*embed_copy)[BATCH][WIDTH] = (void *)(work + 32571392);
    float (*d_cell)[HIDDEN] = (void *)(work + 33095680);
    float (*lstm_weight_hh_l0_packed_for_d_hidden)[HIDDEN] = (void *)(work + 31522816);
    float (*d_lstm)[HIDDEN] = (void *)(work + 29425664);
    float (*d_hidden)[HIDDEN] = (void *)(work + 33128448);
    float (*d_gates)[BATCH][4 * HIDDEN] = (void *)(work + 16777216);
    float (*d_lstm_bias_ih_l0_partial)[4 * HIDDEN] = (void *)(work + 0);
    float (*d_embed)[BATCH][WIDTH] = (void *)(work + 0);

    forward_part();
    parameters_needed(&p->embed_weight, sizeof p->embed_weight);
    make_embed(*embed, p->embed_weight, *in->tokens);                   LAP(0);
    parameters_needed(&p->lstm_weight_hh_l0, sizeof p->lstm_weight_hh_l0);
    pack_f32(*lstm_weight_hh_l0_packed, *p->lstm_weight_hh_l0, &from_hidden_shape); LAP(1);
    zero_cell(cell[0]);                                                 LAP(2);
    parameters_needed(&p->lstm_weight_ih_l0, sizeof p->lstm_weight_ih_l0);
    gemm_f32(**from_x, **embed, *p->lstm_weight_ih_l0, &from_x_shape, false); LAP(3);
    parameters_needed(&p->lstm_bias_ih_l0, sizeof p->lstm_bias_ih_l0);
    parameters_needed(&p->lstm_bias_hh_l0, sizeof p->lstm_bias_hh_l0);
    TEAM {   /* zero_hidden_to_time: panels of rows */
        const int height = panel_rows(BATCH, 1, BATCH);
        SHARED for (int from = 0; from < BATCH; from += height) {
            const int to = min_i32(from + height, BATCH);
            zero_hidden(from, to, hidden[0]);
            for (int t = 0; t < SEQ; t++) {    /* time */
                gemm_packed_rows_f32(*from_hidden[t], *hidden[t], *lstm_weight_hh_l0_packed,
                        &from_hidden_shape, false, from, to);
                cell_and_hidden(from, to, cell[t + 1], hidden[t + 1], cell[t], from_x[t],
                        p->lstm_bias_ih_l0, from_hidden[t], p->lstm_bias_hh_l0);
            }
        }
    }                                                                   LAP(4);
    copy_lstm(lstm, hidden);                                            LAP(9);
    parameters_needed(&p->head_weight, sizeof p->head_weight);
    matmul_nt_f32(*part_of_head_logits, **lstm, *p->head_weight, BATCH * SEQ, VOCAB,
            HIDDEN);                                                    LAP(10);
    parameters_needed(&p->head_bias, sizeof p->head_bias);
    linear_cross_entropy_accuracy(d_head_logits, losses, *accuracy_values, d->head_bias,
            d_head_bias_partial, part_of_head_logits, p->head_bias, *in->targets); LAP(11);
    gradients_done(&d->head_bias, sizeof d->head_bias);
    mean(&out->loss, losses);                                           LAP(12);
    mean(&out->accuracy, *accuracy_values);                             LAP(13);
    backward_part();
    matmul_tn_f32(*d->head_weight, *d_head_logits, **lstm, VOCAB, HIDDEN, BATCH * SEQ); LAP(14);
    gradients_done(&d->head_weight, sizeof d->head_weight);
    copy_embed(embed_copy, embed);                                      LAP(15);
    zero_cell(d_cell);                                                  LAP(16);
    pack_f32(*lstm_weight_hh_l0_packed_for_d_hidden, *p->lstm_weight_hh_l0,
            &d_hidden_shape);                                           LAP(17);
    matmul_nn_f32(*d_lstm, *d_head_logits, *p->head_weight, BATCH * SEQ, HIDDEN, VOCAB); LAP(18);
    TEAM {   /* zero_d_hidden_to_time: panels of rows */
        const int height = panel_rows(BATCH, 1, BATCH);
        SHARED for (int from = 0; from < BATCH; from += height) {
            const int to = min_i32(from + height, BATCH);
            zero_hidden(from, to, d_hidden);
            for (int t = SEQ - 1; t >= 0; t--) {    /* time */
                lstm_back(from, to, d_cell, d_gates[t], d_hidden, d_lstm, from_x[t],
                        p->lstm_bias_ih_l0, from_hidden[t], p->lstm_bias_hh_l0, cell[t], t);
                gemm_packed_rows_f32(*d_hidden, *d_gates[t],
                        *lstm_weight_hh_l0_packed_for_d_hidden, &d_hidden_shape, false, from, to);
            }
        }
    }                                                                   LAP(19);
    matmul_tn_f32(*d->lstm_weight_hh_l0, **d_gates, **hidden, 4 * HIDDEN, HIDDEN,
            SEQ * BATCH);                                               LAP(24);
    gradients_done(&d->lstm_weight_hh_l0, sizeof d->lstm_weight_hh_l0);
    matmul_tn_f32(*d->lstm_weight_ih_l0, **d_gates, **embed_copy, 4 * HIDDEN, WIDTH,
            SEQ * BATCH);                                               LAP(25);
    gradients_done(&d->lstm_weight_ih_l0, sizeof d->lstm_weight_ih_l0);
    make_d_lstm_bias_ih_l0(d->lstm_bias_ih_l0, d_lstm_bias_ih_l0_partial, *d_gates); LAP(26);
    matmul_nn_f32(**d_embed, **d_gates, *p->lstm_weight_ih_l0, SEQ * BATCH, WIDTH,
            4 * HIDDEN);                                                LAP(27);
    make_d_embed_weight(d->embed_weight, d_embed, in->tokens);          LAP(28);
    gradients_done(&d->embed_weight, sizeof d->embed_weight);
    copy_d_lstm_bias_hh_l0(d->lstm_bias_hh_l0, d->lstm_bias_ih_l0);     LAP(29);
    gradients_done(&d->lstm_bias_ih_l0, sizeof d->lstm_bias_ih_l0);
    gradients_done(&d->lstm_bias_hh_l0, sizeof d->lstm_bias_hh_l0);
}

static void run_train(const Lathe_call *c)
{
    char_rnn_train(c->params, c->grads, c->in, c->out, c->work);
}

/* grad
 *
 *   memory: 33,161,216 bytes (39,108,736 without sharing) for 21 buffers
 */
void char_rnn_grad(const Char_rnn_params *p, Char_rnn_params *d, const Char_rnn_grad_in *in,
        Char_rnn_grad_out *out, char *work)
{
    float (*embed)[SEQ][WIDTH] = (void *)(work + 20471808);
    float (*lstm_weight_hh_l0_packed)[4 * HIDDEN] = (void *)(work + 16777216);
    float (*cell)[BATCH][HIDDEN] = (void *)(work + 25165824);
    float (*from_x)[BATCH][4 * HIDDEN] = (void *)(work + 0);
    float (*hidden)[BATCH][HIDDEN] = (void *)(work + 27295744);
    float (*from_hidden)[BATCH][4 * HIDDEN] = (void *)(work + 8388608);
    float (*lstm)[SEQ][HIDDEN] = (void *)(work + 16777216);
    float (*part_of_head_logits)[VOCAB] = (void *)(work + 18874368);
    float (*head_y)[SEQ][VOCAB] = (void *)(work + 19406848);
    float (*d_head_logits)[VOCAB] = (void *)(work + 19939328);
    float (*accuracy_values)[SEQ] = (void *)(work + 21012608);
    float *losses = (void *)(work + 21004416);
    float (*d_head_bias_partial)[VOCAB] = (void *)(work + 20996096);
    float (*embed_copy)[BATCH][WIDTH] = (void *)(work + 32571392);
    float (*d_cell)[HIDDEN] = (void *)(work + 33095680);
    float (*lstm_weight_hh_l0_packed_for_d_hidden)[HIDDEN] = (void *)(work + 31522816);
    float (*d_lstm)[HIDDEN] = (void *)(work + 29425664);
    float (*d_hidden)[HIDDEN] = (void *)(work + 33128448);
    float (*d_gates)[BATCH][4 * HIDDEN] = (void *)(work + 16777216);
    float (*d_lstm_bias_ih_l0_partial)[4 * HIDDEN] = (void *)(work + 0);
    float (*d_embed)[BATCH][WIDTH] = (void *)(work + 0);

    forward_part();
    make_embed(*embed, p->embed_weight, *in->tokens);                   LAP(0);
    pack_f32(*lstm_weight_hh_l0_packed, *p->lstm_weight_hh_l0, &from_hidden_shape); LAP(1);
    zero_cell(cell[0]);                                                 LAP(2);
    gemm_f32(**from_x, **embed, *p->lstm_weight_ih_l0, &from_x_shape, false); LAP(3);
    TEAM {   /* zero_hidden_to_time: panels of rows */
        const int height = panel_rows(BATCH, 1, BATCH);
        SHARED for (int from = 0; from < BATCH; from += height) {
            const int to = min_i32(from + height, BATCH);
            zero_hidden(from, to, hidden[0]);
            for (int t = 0; t < SEQ; t++) {    /* time */
                gemm_packed_rows_f32(*from_hidden[t], *hidden[t], *lstm_weight_hh_l0_packed,
                        &from_hidden_shape, false, from, to);
                cell_and_hidden(from, to, cell[t + 1], hidden[t + 1], cell[t], from_x[t],
                        p->lstm_bias_ih_l0, from_hidden[t], p->lstm_bias_hh_l0);
            }
        }
    }                                                                   LAP(4);
    copy_lstm(lstm, hidden);                                            LAP(9);
    matmul_nt_f32(*part_of_head_logits, **lstm, *p->head_weight, BATCH * SEQ, VOCAB,
            HIDDEN);                                                    LAP(10);
    matmul_nt_f32(**head_y, **lstm, *p->head_weight, BATCH * SEQ, VOCAB, HIDDEN); LAP(11);
    linear_cross_entropy_head(*out->logits, d_head_logits, losses, *accuracy_values,
            d->head_bias, d_head_bias_partial, part_of_head_logits, p->head_bias, *head_y,
            *in->targets);                                              LAP(12);
    mean(&out->loss, losses);                                           LAP(13);
    mean(&out->accuracy, *accuracy_values);                             LAP(14);
    backward_part();
    matmul_tn_f32(*d->head_weight, *d_head_logits, **lstm, VOCAB, HIDDEN, BATCH * SEQ); LAP(15);
    copy_embed(embed_copy, embed);                                      LAP(16);
    zero_cell(d_cell);                                                  LAP(17);
    pack_f32(*lstm_weight_hh_l0_packed_for_d_hidden, *p->lstm_weight_hh_l0,
            &d_hidden_shape);                                           LAP(18);
    matmul_nn_f32(*d_lstm, *d_head_logits, *p->head_weight, BATCH * SEQ, HIDDEN, VOCAB); LAP(19);
    TEAM {   /* zero_d_hidden_to_time: panels of rows */
        const int height = panel_rows(BATCH, 1, BATCH);
        SHARED for (int from = 0; from < BATCH; from += height) {
            const int to = min_i32(from + height, BATCH);
            zero_hidden(from, to, d_hidden);
            for (int t = SEQ - 1; t >= 0; t--) {    /* time */
                lstm_back(from, to, d_cell, d_gates[t], d_hidden, d_lstm, from_x[t],
                        p->lstm_bias_ih_l0, from_hidden[t], p->lstm_bias_hh_l0, cell[t], t);
                gemm_packed_rows_f32(*d_hidden, *d_gates[t],
                        *lstm_weight_hh_l0_packed_for_d_hidden, &d_hidden_shape, false, from, to);
            }
        }
    }                                                                   LAP(20);
    matmul_tn_f32(*d->lstm_weight_hh_l0, **d_gates, **hidden, 4 * HIDDEN, HIDDEN,
            SEQ * BATCH);                                               LAP(25);
    matmul_tn_f32(*d->lstm_weight_ih_l0, **d_gates, **embed_copy, 4 * HIDDEN, WIDTH,
            SEQ * BATCH);                                               LAP(26);
    make_d_lstm_bias_ih_l0(d->lstm_bias_ih_l0, d_lstm_bias_ih_l0_partial, *d_gates); LAP(27);
    matmul_nn_f32(**d_embed, **d_gates, *p->lstm_weight_ih_l0, SEQ * BATCH, WIDTH,
            4 * HIDDEN);                                                LAP(28);
    make_d_embed_weight(d->embed_weight, d_embed, in->tokens);          LAP(29);
    copy_d_lstm_bias_hh_l0(d->lstm_bias_hh_l0, d->lstm_bias_ih_l0);     LAP(30);
}

static void run_grad(const Lathe_call *c)
{
    char_rnn_grad(c->params, c->grads, c->in, c->out, c->work);
}

/* eval
 *
 *   memory: 11,730,944 bytes (14,999,552 without sharing) for 11 buffers
 */
void char_rnn_eval(const Char_rnn_params *p, const Char_rnn_eval_in *in, Char_rnn_eval_out *out,
        char *work)
{
    float (*cell)[HIDDEN] = (void *)(work + 11698176);
    float (*embed)[SEQ][WIDTH] = (void *)(work + 8388608);
    float (*lstm_weight_hh_l0_packed)[4 * HIDDEN] = (void *)(work + 10518528);
    float (*from_x)[BATCH][4 * HIDDEN] = (void *)(work + 0);
    float (*hidden)[BATCH][HIDDEN] = (void *)(work + 8388608);
    float (*from_hidden)[4 * HIDDEN] = (void *)(work + 11567104);
    float (*head_weight_packed)[96] = (void *)(work + 2629632);
    float (*lstm)[SEQ][HIDDEN] = (void *)(work + 0);
    float (*part_of_head_logits)[VOCAB] = (void *)(work + 2097152);
    float (*accuracy_values)[SEQ] = (void *)(work + 2736128);
    float *losses = (void *)(work + 2727936);

    zero_cell(cell);                                                    LAP(0);
    make_embed(*embed, p->embed_weight, *in->tokens);                   LAP(1);
    pack_f32(*lstm_weight_hh_l0_packed, *p->lstm_weight_hh_l0, &from_hidden_shape); LAP(2);
    gemm_f32(**from_x, **embed, *p->lstm_weight_ih_l0, &from_x_shape, false); LAP(3);
    TEAM {   /* zero_hidden_to_time: panels of rows */
        const int height = panel_rows(BATCH, 1, BATCH);
        SHARED for (int from = 0; from < BATCH; from += height) {
            const int to = min_i32(from + height, BATCH);
            zero_hidden(from, to, hidden[0]);
            for (int t = 0; t < SEQ; t++) {    /* time */
                gemm_packed_rows_f32(*from_hidden, *hidden[t], *lstm_weight_hh_l0_packed,
                        &from_hidden_shape, false, from, to);
                eval_cell_and_hidden(from, to, cell, hidden[t + 1], from_x[t], p->lstm_bias_ih_l0,
                        from_hidden, p->lstm_bias_hh_l0);
            }
        }
    }                                                                   LAP(4);
    TEAM {   /* copy_lstm_to_losses_and_accuracy_values: panels of rows */
        const int height = panel_rows(BATCH * SEQ, 1, 405);   /* at most 405 */
        pack_shared_f32(*head_weight_packed, *p->head_weight, &part_of_head_logits_shape);
        MEET
        SHARED for (int from = 0; from < BATCH * SEQ; from += height) {
            const int to = min_i32(from + height, BATCH * SEQ);
            eval_copy_lstm(from, to, lstm, hidden);
            gemm_packed_rows_f32(*part_of_head_logits, **lstm, *head_weight_packed,
                    &part_of_head_logits_shape, false, from, to);
            losses_and_accuracy_values(from, to, losses, *accuracy_values, part_of_head_logits,
                    p->head_bias, *in->targets);
        }
    }                                                                   LAP(9);
    mean(&out->loss, losses);                                           LAP(14);
    mean(&out->accuracy, *accuracy_values);                             LAP(15);
}

static void run_eval(const Lathe_call *c)
{
    char_rnn_eval(c->params, c->in, c->out, c->work);
}

/* decode
 *
 *   memory: 8,192 bytes (8,768 without sharing) for 4 buffers
 */
void char_rnn_decode(const Char_rnn_params *p, const Char_rnn_decode_in *in,
        Char_rnn_decode_out *out, Char_rnn_state *s, char *work)
{
    float (*embed)[1][WIDTH] = (void *)(work + 4096);
    float (*from_x)[4 * HIDDEN] = (void *)(work + 0);
    float (*from_hidden)[4 * HIDDEN] = (void *)(work + 4096);
    float (*head_y)[1][VOCAB] = (void *)(work + 0);

    decode_embed(embed[0][0], p->embed_weight, in->tokens[0][0]);       LAP(0);
    matmul_nt_f32(*from_x, **embed, *p->lstm_weight_ih_l0, 1, 4 * HIDDEN, WIDTH); LAP(1);
    matmul_nt_f32(*from_hidden, *s->lstm_h, *p->lstm_weight_hh_l0, 1, 4 * HIDDEN, HIDDEN); LAP(2);
    decode_cell_and_hidden(s->lstm_c[0], s->lstm_h[0], from_x[0], p->lstm_bias_ih_l0,
            from_hidden[0], p->lstm_bias_hh_l0);                        LAP(3);
    matmul_nt_f32(**head_y, *s->lstm_h, *p->head_weight, 1, VOCAB, HIDDEN); LAP(4);
    make_logits(out->logits[0][0], head_y[0][0], p->head_bias);         LAP(5);
}

static void run_decode(const Lathe_call *c)
{
    char_rnn_decode(c->params, c->in, c->out, c->state, c->work);
}

/* ---------------------------------------------------------------- tables for the trainer */

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
    {0, "make_embed", "embed = embed_weight[tokens]",
     "embed", "char_rnn.lua:16", 0, 1056768, false},
    {1, "from_hidden_pack", "lstm_weight_hh_l0_packed = lstm_weight_hh_l0, packed",
     "lstm", "char_rnn.lua:17", 0, 2097152, false},
    {2, "zero_cell", "cell = 0",
     "lstm", "char_rnn.lua:17", 0, 32768, false},
    {3, "from_x", "from_x = embed . lstm_weight_ih_l0^T",
     "lstm", "char_rnn.lua:17", 268435456, 17301504, false},
    {4, "zero_hidden_to_time", "panel by panel: zero_hidden, time",
     "lstm", "char_rnn.lua:17", 1073741824, 101220352, false},
    {9, "copy_lstm", "lstm = hidden",
     "lstm", "char_rnn.lua:17", 0, 4194304, false},
    {10, "part_of_head_logits", "part_of_head_logits = lstm . head_weight^T",
     "linear_cross_entropy", "char_rnn.lua:21", 68157440, 2696192, false},
    {11, "linear_cross_entropy_accuracy", "losses = log(total) - sum_VOCAB(v == targets ? part_...",
     "linear_cross_entropy", "char_rnn.lua:21", 0, 1098248, false},
    {12, "mean", "loss = mean_{BATCH * SEQ}(losses)",
     "linear_cross_entropy", "char_rnn.lua:21", 0, 8196, false},
    {13, "mean", "accuracy = mean_{BATCH * SEQ}(accuracy_values)",
     "accuracy", "char_rnn.lua:22", 0, 8196, false},
    {14, "d_head_weight", "d_head_weight = d_head_logits^T . lstm",
     "linear_cross_entropy", "char_rnn.lua:21", 68157440, 2696192, true},
    {15, "copy_embed", "embed_copy = embed",
     "lstm", "char_rnn.lua:17", 0, 1048576, true},
    {16, "zero_cell", "d_cell = 0",
     "lstm", "char_rnn.lua:17", 0, 32768, true},
    {17, "d_hidden_pack", "lstm_weight_hh_l0_packed_for_d_hidden = lstm_weight_hh_l0, packed",
     "lstm", "char_rnn.lua:17", 0, 2097152, true},
    {18, "d_lstm", "d_lstm = d_head_logits . head_weight",
     "linear_cross_entropy", "char_rnn.lua:21", 68157440, 2696192, true},
    {19, "zero_d_hidden_to_time", "panel by panel: zero_hidden, time",
     "lstm", "char_rnn.lua:17", 1073741824, 113803264, true},
    {24, "d_lstm_weight_hh_l0", "d_lstm_weight_hh_l0 = d_gates^T . hidden",
     "lstm", "char_rnn.lua:17", 1073741824, 11534336, true},
    {25, "d_lstm_weight_ih_l0", "d_lstm_weight_ih_l0 = d_gates^T . embed_copy",
     "lstm", "char_rnn.lua:17", 268435456, 9175040, true},
    {26, "make_d_lstm_bias_ih_l0", "d_lstm_bias_ih_l0 = sum_{SEQ * BATCH}(d_gates)",
     "lstm", "char_rnn.lua:17", 0, 8392704, true},
    {27, "d_embed", "d_embed = d_gates . lstm_weight_ih_l0",
     "lstm", "char_rnn.lua:17", 268435456, 9175040, true},
    {28, "make_d_embed_weight", "d_embed_weight[tokens] += d_embed, in order",
     "embed", "char_rnn.lua:16", 0, 549120, true},
    {29, "copy_d_lstm_bias_hh_l0", "d_lstm_bias_hh_l0 = d_lstm_bias_ih_l0",
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

#include "model.plan.h"

static const Lathe_entry entries[] = {
    {.name = "train", .run = run_train, .work_bytes = 33161216, .flops = 4231004160, .rows = 32,
     .in_bytes = sizeof(Char_rnn_train_in), .out_bytes = sizeof(Char_rnn_train_out), .inputs = 2,
             .outputs = 2, .input = train_in, .output = train_out, .kernels = 22,
             .kernel = train_kernels, .buffers = 20, .buffer = train_buffers},
    {.name = "grad", .run = run_grad, .work_bytes = 33161216, .flops = 4299161600, .rows = 32,
     .in_bytes = sizeof(Char_rnn_grad_in), .out_bytes = sizeof(Char_rnn_grad_out), .inputs = 2,
             .outputs = 3, .input = grad_in, .output = grad_out, .kernels = 0, .kernel = NULL},
    {.name = "eval", .run = run_eval, .work_bytes = 11730944, .flops = 1410334720, .rows = 32,
     .in_bytes = sizeof(Char_rnn_eval_in), .out_bytes = sizeof(Char_rnn_eval_out), .inputs = 2,
             .outputs = 2, .input = eval_in, .output = eval_out, .kernels = 0, .kernel = NULL},
    {.name = "decode", .run = run_decode, .work_bytes = 8192, .flops = 688640, .rows = 1,
     .in_bytes = sizeof(Char_rnn_decode_in), .out_bytes = sizeof(Char_rnn_decode_out), .inputs = 1,
             .outputs = 1, .input = decode_in, .output = decode_out, .kernels = 0, .kernel = NULL},
};

static const char *const knobs[][2] = {
    {"accumulate", "1"}, {"batch", "32"}, {"carry", "false"}, {"clip", "1.0"}, {"dropout", "0.0"},
    {"eval_every", "250"}, {"final_lr", "0.0002"}, {"hidden", "256"}, {"layers", "1"},
    {"lr", "0.002"}, {"seq", "64"}, {"steps", "2000"}, {"tokenizer", "chars"}, {"vocab", "65"},
    {"warmup", "50"}, {"width", "64"},
};

static const Lathe_bytes planned[] = {
    {"parameters", 1402432},
    {"gradients", 1402432},
    {"optimizer", 2804864},
    {"states", 0},
    {"inputs", 16384},
    {"outputs", 128},
    {"work", 33161216},
    {"blas", 7798784},
    {"data", 0},
    {"generation", 0},
};

const Lathe_model lathe_model = {
    .name = "char_rnn", .config = "default", .precision = "fp32",
            .source_hash = "28bb834a71d8687a",
    .needs = lathe_needs,
    .rebuild = "models/char_rnn.lua",
    .real = LATHE_F32, .batch = 32, .seq = 64, .vocab = 65,
    .params = 7, .entries = 4, .states = 2, .knobs = 16, .categories = 10,
    .param = params, .entry = entries, .state = states,
    .state_bytes = sizeof(Char_rnn_state),
    .parameter_count = 350593, .flat_elements = 350608,
    .recipe = {
        .optimizer = LATHE_ADAMW, .lr = 0.002, .beta1 = 0.9, .beta2 = 0.999,
        .eps = 1e-08, .decay = 0, .momentum = 0, .nesterov = 0, .bits = 32,
        .schedule = LATHE_COSINE, .final_lr = 0.0002, .warmup = 50, .steps = 2000,
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
    .hf = NULL, .knob = knobs, .plan = planned,
    .planned_bytes = 46586240, .lower_bound_bytes = 46586240,
};

int main(int argc, char **argv) { return lathe_main(&lathe_model, argc, argv); }
