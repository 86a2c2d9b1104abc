/* small_model.h: the tables of a model of some 100 numbers, for targets over files that weights and adapters come in: a
 * table of ids, a matrix in two layers that is transposed there, a vector that files may lack, adapters of the matrix.
 */
#ifndef FUZZ_SMALL_MODEL_H
#define FUZZ_SMALL_MODEL_H

#include "interface/lathe_model.h"

enum {
    WEIGHTS = 3, /* parameters before those of adapters */
    IDS = 5,
    WIDTH = 4,
    OUT = 3,
    LAYERS = 2,
    RANK = 2,
    LAYER = WIDTH * OUT, /* elements of the matrix */
    AT_FRESH = IDS * WIDTH,
    AT_A = AT_FRESH + OUT,
    AT_B = AT_A + LAYERS * RANK * WIDTH,
    AT_MAGNITUDE = AT_B + LAYERS * OUT * RANK,
    AT_LAYER = AT_MAGNITUDE + LAYERS * OUT,
    ELEMENTS = AT_LAYER + LAYERS * LAYER
};

static const Lathe_param small_params[] = {
    {.name = "wte.weight",
     .export_name = "wte.weight",
     .where = "small.lua:1",
     .rank = 2,
     .dim = {IDS, WIDTH},
     .stride = {WIDTH, 1}},
    {.name = "fresh.bias",
     .export_name = "fresh.bias",
     .where = "small.lua:2",
     .rank = 1,
     .dim = {OUT},
     .stride = {1},
     .offset = AT_FRESH},
    {.name = "h.weight",
     .export_name = "h.%d.fc.weight",
     .where = "small.lua:3",
     .rank = 3,
     .loops = 1,
     .dim = {LAYERS, OUT, WIDTH},
     .stride = {LAYER, WIDTH, 1},
     .offset = AT_LAYER},
    {.name = "h.lora_A",
     .export_name = "h.%d.fc.lora_A.weight",
     .where = "small.lua:3",
     .rank = 3,
     .loops = 1,
     .dim = {LAYERS, RANK, WIDTH},
     .stride = {RANK * WIDTH, WIDTH, 1},
     .offset = AT_A},
    {.name = "h.lora_B",
     .export_name = "h.%d.fc.lora_B.weight",
     .where = "small.lua:3",
     .rank = 3,
     .loops = 1,
     .dim = {LAYERS, OUT, RANK},
     .stride = {OUT * RANK, RANK, 1},
     .offset = AT_B},
    {.name = "h.magnitude",
     .export_name = "h.%d.fc.lora_magnitude_vector",
     .where = "small.lua:3",
     .rank = 2,
     .loops = 1,
     .dim = {LAYERS, OUT},
     .stride = {OUT, 1},
     .offset = AT_MAGNITUDE},
};
static const Lathe_adapter small_adapter = {
    .weight = WEIGHTS - 1, .a = WEIGHTS, .b = WEIGHTS + 1, .magnitude = WEIGHTS + 2};

static const char small_hf[] =
    "{\"config\": {\"model_type\": \"small\", \"n_embd\": 4, \"tied\": true, \"architectures\": [\"Small\"], "
    "\"rope_parameters\": {\"rope_type\": \"default\"}, "
    "\"layer_types\": [\"full_attention\", \"sliding_attention\"]}, "
    "\"absent\": {\"tied\": true, \"n_embd\": 3}, \"alike\": {\"tied\": [1]}, "
    "\"elsewhere\": {\"n_embd\": \"text.width\"}, \"unset\": [\"n_inner\", \"final_logit_softcapping\"], "
    "\"harmless\": {\"note\": \"none\"}, \"ids\": {\"config\": \"vocab_size\", \"tensors\": [\"wte.weight\"]}, "
    "\"names\": [[\"*\", \"small.*\"]], \"aliases\": [[\"small.*\", \"*\"]], "
    "\"transposed\": [\"h.%d.fc.weight\"], \"zeros\": {\"h.%d.fc.bias\": [2, 3]}, "
    "\"copies\": {\"lm_head.weight\": \"wte.weight\"}, \"ignored\": [\"h.%d.attn.bias\"], \"bases\": [\"Base\"], "
    "\"left\": [\"pooler.bias\"], \"fresh\": [\"fresh.bias\"]}";

static const Lathe_model small_model = {.name = "small",
                                        .config = "fuzz",
                                        .precision = "fp32",
                                        .source_hash = "0123456789abcdef",
                                        .real = LATHE_F32,
                                        .batch = 1,
                                        .seq = 8,
                                        .vocab = IDS,
                                        .params = sizeof small_params / sizeof *small_params,
                                        .param = small_params,
                                        .parameter_count = ELEMENTS,
                                        .flat_elements = ELEMENTS,
                                        .frozen_elements = LAYERS * LAYER,
                                        .adapters = 1,
                                        .adapter = &small_adapter,
                                        .lora = {.rank = RANK, .alpha = 4, .scale = 2, .decomposed = true},
                                        .hf = small_hf};

#endif
