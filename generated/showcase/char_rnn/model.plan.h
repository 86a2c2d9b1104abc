/* model.plan.h: buffers of the arena, for reports of runs; made by lathe, as plan.txt is. */

static const Lathe_buffer train_buffers[] = {
    /* name, shape, line, bytes, offset, first and last lap */
    {"embed", "[BATCH][SEQ][WIDTH]", "char_rnn.lua:16", 524288, 19939328, 0, 15},
    {"lstm_weight_hh_l0_packed", "[HIDDEN][4 * HIDDEN]", "char_rnn.lua:17", 1048576, 16777216, 1,
            8},
    {"cell", "[SEQ + 1][BATCH][HIDDEN]", "char_rnn.lua:17", 2129920, 25165824, 2, 23},
    {"from_x", "[SEQ][BATCH][4 * HIDDEN]", "char_rnn.lua:17", 8388608, 0, 3, 23},
    {"hidden", "[SEQ + 1][BATCH][HIDDEN]", "char_rnn.lua:17", 2129920, 27295744, 4, 24},
    {"from_hidden", "[SEQ][BATCH][4 * HIDDEN]", "char_rnn.lua:17", 8388608, 8388608, 4, 23},
    {"lstm", "[BATCH][SEQ][HIDDEN]", "char_rnn.lua:17", 2097152, 16777216, 9, 14},
    {"part_of_head_logits", "[BATCH * SEQ][VOCAB]", "char_rnn.lua:21", 532480, 18874368, 10, 11},
    {"d_head_logits", "[BATCH * SEQ][VOCAB]", "char_rnn.lua:21", 532480, 19406848, 11, 18},
    {"accuracy_values", "[BATCH][SEQ]", "char_rnn.lua:22", 8192, 20480128, 11, 13},
    {"losses", "[BATCH * SEQ]", "char_rnn.lua:21", 8192, 20471936, 11, 12},
    {"d_head_bias_partial", "[32][VOCAB]", "char_rnn.lua:21", 8320, 20463616, 11, 11},
    {"embed_copy", "[SEQ][BATCH][WIDTH]", "char_rnn.lua:17", 524288, 32571392, 15, 25},
    {"d_cell", "[BATCH][HIDDEN]", "char_rnn.lua:17", 32768, 33095680, 16, 23},
    {"lstm_weight_hh_l0_packed_for_d_hidden", "[4 * HIDDEN][HIDDEN]", "char_rnn.lua:17", 1048576,
            31522816, 17, 23},
    {"d_lstm", "[BATCH * SEQ][HIDDEN]", "char_rnn.lua:21", 2097152, 29425664, 18, 23},
    {"d_hidden", "[BATCH][HIDDEN]", "char_rnn.lua:17", 32768, 33128448, 19, 23},
    {"d_gates", "[SEQ][BATCH][4 * HIDDEN]", "char_rnn.lua:17", 8388608, 16777216, 19, 27},
    {"d_lstm_bias_ih_l0_partial", "[32][4 * HIDDEN]", "char_rnn.lua:17", 131072, 0, 26, 26},
    {"d_embed", "[SEQ][BATCH][WIDTH]", "char_rnn.lua:17", 524288, 0, 27, 28},
};
