/* pytorch.c: what PyTorch's names are called here, for messages about names that are not known.
 *
 * Capitals, underscores and a final "Loss" do not count, so that MaxPool2d, max_pool2d and F.mse_loss find their own;
 * the table has what is called otherwise, and how the common layers are called. */
#include "front/front.h"

#include <string.h>

static const struct Other {
    const char *theirs, *here;
} others[] = {
    {"linear", "nn.linear(x, { out = N })"},
    {"conv1d", "nn.conv1d(x, { out = N, kernel = K }), of x [B, T, C]"},
    {"conv2d", "nn.conv2d(x, { out = N, kernel = K }), of x [B, H, W, C]"},
    {"conv3d", "nn.conv3d(x, { out = N, kernel = K }), of x [B, D, H, W, C]"},
    {"convtranspose1d", "nn.conv_transpose1d(x, { out = N, kernel = K }), of x [B, T, C]"},
    {"convtranspose2d", "nn.conv_transpose2d(x, { out = N, kernel = K }), of x [B, H, W, C]"},
    {"convtranspose3d", "nn.conv_transpose3d(x, { out = N, kernel = K }), of x [B, D, H, W, C]"},
    {"maxpool1d", "nn.max_pool1d(x, { kernel = K }), of x [B, T, C]"},
    {"maxpool2d", "nn.max_pool2d(x, { kernel = K }), of x [B, H, W, C]"},
    {"maxpool3d", "nn.max_pool3d(x, { kernel = K }), of x [B, D, H, W, C]"},
    {"avgpool1d", "nn.avg_pool1d(x, { kernel = K }), of x [B, T, C]"},
    {"avgpool2d", "nn.avg_pool2d(x, { kernel = K }), of x [B, H, W, C]"},
    {"avgpool3d", "nn.avg_pool3d(x, { kernel = K }), of x [B, D, H, W, C]"},
    {"batchnorm1d", "nn.batchnorm(x), for any number of axes"},
    {"batchnorm2d", "nn.batchnorm(x), for any number of axes"},
    {"batchnorm3d", "nn.batchnorm(x), for any number of axes"},
    {"instancenorm1d", "nn.instancenorm(x), for any number of axes"},
    {"instancenorm2d", "nn.instancenorm(x), for any number of axes"},
    {"instancenorm3d", "nn.instancenorm(x), for any number of axes"},
    {"groupnorm", "nn.groupnorm(x, { groups = N })"},
    {"embedding", "nn.embedding(ids, { rows = N, width = W })"},
    {"multiheadattention", "nn.attention(x, { heads = N })"},
    {"scaleddotproductattention", "nn.attend(q, k, v, { … }), of q [B, T, H, D]"},
    {"lstm", "nn.lstm(x, { hidden = N })"},
    {"gru", "nn.gru(x, { hidden = N })"},
    {"rnn", "nn.rnn(x, { hidden = N })"},
    {"interpolate", "nn.upsample(x, { scale = N })"},
    {"flatten", "x:reshape { x:size(0), -1 }"},
    {"view", "x:reshape { … }"},
    {"weightnorm", "x:matmul(g * v / nn.sqrt(nn.sum(v * v, 0))), with v and g made by nn.param"},
    {"t", "x:transpose(0, 1)"},
    {"ndim", "x.rank"},
    {"dim", "x.rank"},
    {"numel", "the product of x.shape"},
    {"cosineannealinglr", "optim.cosine { final_lr = 0 }, of the whole training"},
    {"onecyclelr", "optim.one_cycle {}, up to the optimizer's lr"},
    {"steplr", "optim.step { every = N, factor = 0.1 }, of steps"},
    {"multisteplr", "optim.step { at = { … }, factor = 0.1 }, of steps"},
    {"linearlr", "optim.linear { warmup = N }"},
    {"sequential", "one call after another: x = nn.relu(nn.linear(x, { … }))"},
    {"modulelist", "nn.stack(n, x, f), or a `for` of Lua"},
    {"module", "a function of tensors"},
    {"parameter", "nn.param { name = \"…\", shape = { … } }"},
    {"identity", "x itself"},
    {"bce", "nn.bce_with_logits(logits, target), of logits without a sigmoid"},
    {"binarycrossentropy", "nn.bce_with_logits(logits, target), of logits without a sigmoid"},
    {"binarycrossentropywithlogits", "nn.bce_with_logits(logits, target)"},
    {"cat", "nn.concat({ a, b }, axis)"},
    {"arange", "nn.iota(n)"},
    {"tensor", "nn.constant"},
    {"bmm", "a:matmul(b)"},
    {"mm", "a:matmul(b)"},
    {"maximum", "nn.max(a, b)"},
    {"minimum", "nn.min(a, b)"},
    {"detach", "nn.stop_gradient(x)"},
    {"maskedfill", "nn.where(mask, value, x)"},
    {"repeat", "x:expand { … }"},
    {"randn", "nn.normal(x), of the shape of x"},
    {"rand", "nn.uniform(x, 0, 1), of the shape of x"},
    {"float", "x:cast(\"f32\")"},
    {"long", "x:cast(\"i32\")"},
    {"int", "x:cast(\"i32\")"},
    {"contiguous", "x itself: there is nothing to write"},
    {"to", "x itself: --target and --precision say where and how it runs"},
    {"cuda", "x itself: --target says where it runs"},
    {"cpu", "x itself: --target says where it runs"},
    {"backward", "nothing to write: gradients follow from the loss that forward returns"},
};

/* What is not here at all, and what to do. */
static const struct Other absent[] = {
    {"spectralnorm", "it can be written: divide a weight made by nn.param by a bound of its norm, then x:matmul(w)"},
    {"functional", "its functions are in nn itself: nn.relu(x)"},
    {"utils", "`clip = 1.0` in train clips gradients; weight norm and spectral norm are not here"},
    {"autograd", "gradients follow from the loss that forward returns; forward cannot use them"},
    {"grad", "gradients follow from the loss that forward returns; forward cannot use them"},
    {"requiresgrad",
     "nn.stop_gradient(x) stops gradients, and a group { match = \"…\", frozen = true } freezes parameters"},
    {"nograd", "nn.stop_gradient(x) stops gradients"},
    {"item", "forward is traced before values exist; return x among the outputs, and a scalar is reported"},
    {"numpy", "forward is traced before values exist; return x among the outputs, and `predict` writes it"},
    {"tolist", "forward is traced before values exist; return x among the outputs, and `predict` writes it"},
    {"device", "--target says where it runs"},
    {"lrscheduler", "schedules are in optim itself: schedule = optim.cosine { warmup = 100 }"},
    {"optim", "optimizers are in optim: optim.adamw { lr = 1e-3 }"},
    {"manualseed", "`--seed` of the trainer sets the seed"},
    {"save", "`train` saves checkpoints, as safetensors"},
    {"load", "`--init FILE` of the trainer reads weights"},
};

/* "maxpool2d" of "MaxPool2d" and "max_pool2d", "mse" of "MSELoss" and "mse_loss". */
static const char *letters_of_name(const char *name)
{
    Text t = {0};
    for (; *name; name++)
        if (*name != '_') say(&t, "%c", *name >= 'A' && *name <= 'Z' ? *name + 32 : *name);
    size_t n = t.at ? strlen(t.at) : 0;
    return n > 4 && same(t.at + n - 4, "loss") ? copy_bytes_as_string(t.at, n - 4) : n ? t.at : "";
}

const char *known_as(const char *name, const char *const *known, int n)
{
    const char *plain = letters_of_name(name);
    for (int i = 0; i < COUNT_OF(others); i++)
        if (same(others[i].theirs, plain)) return format("; here it is %s", others[i].here);
    for (int i = 0; i < COUNT_OF(absent); i++)
        if (same(absent[i].theirs, plain)) return format("; %s", absent[i].here);
    for (int i = 0; i < n; i++)
        if (same(letters_of_name(known[i]), plain)) return format("; here it is nn.%s", known[i]);
    return NULL;
}

/* ------------------------------------------------------------------ torch.…, F.… */

/* "autograd.grad" of a line with torch.autograd.grad(…) */
static const char *words_after(lua_State *L, const char *name)
{
    Where w = lua_place(L);
    const char *text = source_text(trace_of(L), w.file), *at;
    for (int line = 1; text && *text && line < w.line; text++) line += *text == '\n';
    text = text ? copy_bytes_as_string(text, strcspn(text, "\n")) : "";
    if (!(at = strstr(text, format("%s.", name)))) return "";
    at += strlen(name) + 1;
    return copy_bytes_as_string(at, strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."));
}

void refuse_torch(lua_State *L, const char *name)
{
    const char *words = words_after(L, name), *dot = strrchr(words, '.'), *last = dot ? dot + 1 : words;
    const char **known;
    int n;
    push_library(L, "nn");
    keys_of(L, -1, &known, &n);
    const char *here = *last ? known_as(last, known, n) : NULL;
    if (here) user_error(L, "there is no %s.%s%s", name, words, here);
    user_error(L,
               "unknown name '%s'; what PyTorch has there is in nn, and in the methods of tensors (models/README.md, "
               "From PyTorch)",
               name);
}

/* ------------------------------------------------------------------ options */

static const char width_is_known[] = "leave it out: the width of the input is known";

/* An option of ours, if the function has it; what is no plain word is advice. */
static const struct Other options[] = {
    {"out_features", "out"},
    {"out_channels", "out"},
    {"in_features", width_is_known},
    {"in_channels", width_is_known},
    {"input_size", width_is_known},
    {"embed_dim", width_is_known},
    {"num_features", width_is_known},
    {"num_channels", width_is_known},
    {"normalized_shape", width_is_known},
    {"kernel_size", "kernel"},
    {"hidden_size", "hidden"},
    {"num_layers", "layers"},
    {"num_heads", "heads"},
    {"num_groups", "groups"},
    {"num_embeddings", "rows"},
    {"embedding_dim", "width"},
    {"scale_factor", "scale"},
    {"output_size", "size"},
    {"is_causal", "causal"},
    {"attn_mask", "score_bias"},
    {"ignore_index", "ignore"},
    {"label_smoothing", "smoothing"},
    {"keepdim", "keep"},
    {"dim", "axis"},
    {"batch_first", "leave it out: the batch is the first axis"},
    {"inplace", "leave it out: there is nothing to write"},
    {"device", "leave it out: --target says where it runs"},
    {"weight_decay", "decay"},
    {"alpha", "beta2"},
    {"betas", "write beta1 = 0.9, beta2 = 0.999"},
    {"learning_rate", "lr"},
    {"learning_rate", "it belongs to the optimizer: optimizer = optim.adamw { lr = 1e-3 }"},
    {"lr", "it belongs to the optimizer: optimizer = optim.adamw { lr = 1e-3 }"},
    {"decay", "it belongs to the optimizer: optimizer = optim.adamw { decay = 0.01 }"},
    {"weight_decay", "it belongs to the optimizer: optimizer = optim.adamw { decay = 0.01 }"},
    {"momentum", "it belongs to the optimizer: optimizer = optim.sgd { momentum = 0.9 }"},
    {"batch_size", "the batch is `batch` of config"},
    {"batch", "the batch is `batch` of config"},
    {"epochs", "the recipe has `steps`, and `trainer train --epochs N` makes N passes"},
    {"num_epochs", "the recipe has `steps`, and `trainer train --epochs N` makes N passes"},
    {"scheduler", "schedule"},
    {"max_norm", "clip"},
    {"grad_clip", "clip"},
    {"gradient_clip_val", "clip"},
    {"max_grad_norm", "clip"},
    {"gradient_accumulation_steps", "accumulate"},
    {"seed", "`--seed` of the trainer sets it"},
    {"loss", "the loss is the first result of forward"},
    {"metrics", "metrics are the scalar outputs of forward"},
};

const char *option_known_as(const char *word, const char *const *known, int n)
{
    for (int i = 0; i < COUNT_OF(options); i++) {
        if (!same(options[i].theirs, word)) continue;
        if (strchr(options[i].here, ' ')) return format("; %s", options[i].here);
        for (int k = 0; k < n; k++)
            if (same(known[k], options[i].here)) return format("; here it is '%s'", options[i].here);
    }
    return NULL;
}
